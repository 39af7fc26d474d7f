package convert

import (
	"encoding/json"
	"strconv"

	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/vectorstores"
)

// FromVectorStoreRequest returns the store that is to be made.
func FromVectorStoreRequest(w *wire.VectorStoreRequest) vectorstores.NewStore {
	n := vectorstores.NewStore{Name: w.Name, Description: w.Description, Files: w.FileIDs, Chunking: fromChunking(w.ChunkingStrategy), Metadata: FromTags(w.Metadata)}
	if w.ExpiresAfter != nil {
		n.ExpiryDays = w.ExpiresAfter.Days
	}
	return n
}

// FromVectorStoreUpdate returns what is to change of a store.
func FromVectorStoreUpdate(w *wire.VectorStoreUpdate) vectorstores.Update {
	u := vectorstores.Update{Name: w.Name}
	if w.Metadata != nil {
		u.Metadata = new(FromTags(*w.Metadata))
	}
	if w.ExpiresAfter != nil {
		u.ExpiryDays = &w.ExpiresAfter.Days
	} else if w.Stays {
		u.ExpiryDays = new(int)
	}
	return u
}

func fromChunking(w *wire.ChunkingStrategy) vectorstores.Chunking {
	if w == nil || w.Static == nil {
		return vectorstores.Chunking{}
	}
	return vectorstores.Chunking{MaxTokens: w.Static.MaxChunkSizeTokens, Overlap: w.Static.ChunkOverlapTokens}
}

// ToVectorStore returns a store as it is answered.
func ToVectorStore(s *vectorstores.Store) wire.VectorStore {
	w := wire.VectorStore{
		ID: s.ID, Object: "vector_store", CreatedAt: s.CreatedAt, Name: s.Name, Description: optional(s.Description), UsageBytes: s.Bytes, FileCounts: toFileCounts(s.Files),
		Status: string(s.Status), ExpiresAt: optional(s.ExpiresAt), LastActiveAt: optional(s.LastActiveAt), Metadata: tags(s.Metadata),
	}
	if s.ExpiryDays > 0 {
		w.ExpiresAfter = &wire.VectorStoreExpires{Anchor: "last_active_at", Days: s.ExpiryDays}
	}
	return w
}

func toFileCounts(c vectorstores.Counts) wire.FileCounts {
	return wire.FileCounts{InProgress: c.InProgress, Completed: c.Completed, Failed: c.Failed, Cancelled: c.Cancelled, Total: c.Total()}
}

// FromVectorStoreFileRequest returns the file that is to be put into a store. The error
// is Invalid.
func FromVectorStoreFileRequest(w *wire.VectorStoreFileRequest) (vectorstores.NewFile, error) {
	attributes, err := vectorstores.ParseAttributes(w.Attributes, "attributes")
	return vectorstores.NewFile{ID: w.FileID, Attributes: attributes, Chunking: fromChunking(w.ChunkingStrategy)}, err
}

// FromFileBatchRequest returns the files that are to be put into a store. The error is
// Invalid.
func FromFileBatchRequest(w *wire.FileBatchRequest) (added []vectorstores.NewFile, err error) {
	attributes, err := vectorstores.ParseAttributes(w.Attributes, "attributes")
	if err != nil {
		return nil, err
	}
	for _, id := range w.FileIDs {
		added = append(added, vectorstores.NewFile{ID: id, Attributes: attributes, Chunking: fromChunking(w.ChunkingStrategy)})
	}
	for i := range w.Files {
		n, err := FromVectorStoreFileRequest(&w.Files[i])
		if err != nil {
			return nil, err
		}
		added = append(added, n)
	}
	return added, nil
}

// ToVectorStoreFile returns a file in a store as it is answered.
func ToVectorStoreFile(f *vectorstores.File) wire.VectorStoreFile {
	most, overlap := f.Chunking.Tokens()
	w := wire.VectorStoreFile{
		ID: f.ID, Object: "vector_store.file", CreatedAt: f.CreatedAt, VectorStoreID: f.Store, UsageBytes: f.Bytes, Status: string(f.Status), Attributes: attributes(f.Attributes),
		ChunkingStrategy: wire.ChunkingStrategy{Type: "static", Static: &wire.StaticChunking{MaxChunkSizeTokens: most, ChunkOverlapTokens: overlap}},
	}
	if f.Error != nil {
		w.LastError = &wire.VectorStoreFileError{Code: f.Error.Code, Message: f.Error.Message}
	}
	return w
}

func attributes(a vectorstores.Attributes) map[string]any {
	if a == nil {
		return map[string]any{}
	}
	return a
}

// ToVectorStoreContent returns chunks of a file as they are answered, of which next is
// the number of the one after them.
func ToVectorStoreContent(texts []string, next int) wire.VectorStoreContent {
	w := wire.VectorStoreContent{Object: "vector_store.file_content.page", Data: []wire.VectorStoreText{}, HasMore: next > 0}
	for _, text := range texts {
		w.Data = append(w.Data, wire.VectorStoreText{Type: "text", Text: text})
	}
	if next > 0 {
		w.NextPage = new(strconv.Itoa(next))
	}
	return w
}

// ToFileBatch returns a batch of files as it is answered.
func ToFileBatch(b *vectorstores.Batch) wire.FileBatch {
	return wire.FileBatch{ID: b.ID, Object: "vector_store.files_batch", CreatedAt: b.CreatedAt, VectorStoreID: b.Store, Status: string(b.Status), FileCounts: toFileCounts(b.Files)}
}

// FromSearchRequest returns what is to be searched for. The error is Invalid.
func FromSearchRequest(w *wire.SearchRequest) (q vectorstores.Query, err error) {
	q.Texts = w.Query.Value
	if w.Query.Text != nil {
		q.Texts = []string{*w.Query.Text}
	}
	if w.MaxNumResults != nil {
		if q.Limit = *w.MaxNumResults; q.Limit < 1 {
			q.Limit = -1 // as invalid, where 0 would be the default
		}
	}
	if q.Filter, err = FromFilters(w.Filters); err != nil || w.RankingOptions == nil {
		return q, err
	}
	q.Threshold = w.RankingOptions.ScoreThreshold
	if h := w.RankingOptions.HybridSearch; h != nil {
		q.TextWeight, q.EmbeddingWeight = h.TextWeight, h.EmbeddingWeight
	}
	return q, checkRanker(w.RankingOptions.Ranker, "ranking_options.ranker")
}

// FromFilters returns a filter. The error is Invalid.
func FromFilters(w json.RawMessage) (*vectorstores.Filter, error) {
	return vectorstores.ParseFilter(w, "filters")
}

// ToSearchResults returns what was found as it is answered.
func ToSearchResults(queries []string, found *vectorstores.Results) wire.SearchResults {
	w := wire.SearchResults{Object: "vector_store.search_results.page", SearchQuery: queries, Ranker: found.Ranker, Data: []wire.SearchResult{}}
	for _, r := range found.Items {
		w.Data = append(w.Data, wire.SearchResult{
			FileID: r.File, Filename: r.Filename, Score: r.Score, Attributes: attributes(r.Attributes), Content: []wire.VectorStoreText{{Type: "text", Text: r.Text}},
			Page: optional(r.Page), Headings: r.Headings,
		})
	}
	return w
}
