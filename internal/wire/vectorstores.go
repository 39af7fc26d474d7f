package wire

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// VectorStoreRequest is the body of POST /v1/vector_stores.
type VectorStoreRequest struct {
	Name             string              `json:"name,omitempty"`
	Description      string              `json:"description,omitempty"`
	FileIDs          []string            `json:"file_ids,omitempty" api:"first=501" doc:"Up to 500 files to put into the store."`
	ChunkingStrategy *ChunkingStrategy   `json:"chunking_strategy,omitempty" doc:"Of those files."`
	ExpiresAfter     *VectorStoreExpires `json:"expires_after,omitempty"`
	Metadata         Tags                `json:"metadata,omitempty"`
}

// VectorStoreUpdate is the body of POST /v1/vector_stores/{id}.
type VectorStoreUpdate struct {
	Name         *string             `json:"name,omitempty"`
	ExpiresAfter *VectorStoreExpires `json:"expires_after,omitempty" doc:"null: never."`
	Metadata     *Tags               `json:"metadata,omitempty" doc:"Replaces all tags."`

	Stays bool `json:"-"` // expires_after is null
}

func (u *VectorStoreUpdate) check(n *jsonin.Node) {
	e := n.Field("expires_after")
	u.Stays = e.Absent() && !e.Missing()
}

// VectorStoreExpires is when a store expires.
type VectorStoreExpires struct {
	Anchor string `json:"anchor" api:"required,const=last_active_at"`
	Days   int    `json:"days" api:"required,min=1,max=365"`
}

// ChunkingStrategy is how files are cut into chunks: at headings, paragraphs and sentences,
// within these bounds.
type ChunkingStrategy struct {
	Type   string          `json:"type" api:"required,enum=auto|static"`
	Static *StaticChunking `json:"static,omitempty" of:"static" api:"required"`
}

// StaticChunking is how many tokens a chunk may have.
type StaticChunking struct {
	MaxChunkSizeTokens int `json:"max_chunk_size_tokens" api:"required,min=100,max=4096"`
	ChunkOverlapTokens int `json:"chunk_overlap_tokens" api:"required,min=0" doc:"That a chunk shares with the one before, in whole sentences; at most half of max_chunk_size_tokens."`
}

// VectorStore is a set of files that can be searched.
type VectorStore struct {
	ID           string              `json:"id"`
	Object       string              `json:"object" api:"const=vector_store"`
	CreatedAt    int64               `json:"created_at"`
	Name         string              `json:"name"`
	Description  *string             `json:"description"`
	UsageBytes   int64               `json:"usage_bytes"`
	FileCounts   FileCounts          `json:"file_counts"`
	Status       string              `json:"status" api:"enum=expired|in_progress|completed"`
	ExpiresAfter *VectorStoreExpires `json:"expires_after"`
	ExpiresAt    *int64              `json:"expires_at"`
	LastActiveAt *int64              `json:"last_active_at"`
	Metadata     Tags                `json:"metadata"`
}

// FileCounts counts the files of a store or a batch by their status.
type FileCounts struct {
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Failed     int `json:"failed"`
	Cancelled  int `json:"cancelled"`
	Total      int `json:"total"`
}

// VectorStoreFileRequest is the body of POST /v1/vector_stores/{id}/files.
type VectorStoreFileRequest struct {
	FileID           string            `json:"file_id" api:"required"`
	Attributes       json.RawMessage   `json:"attributes,omitempty" api:"object" doc:"Up to 16 strings, numbers and booleans by name, for filters."`
	ChunkingStrategy *ChunkingStrategy `json:"chunking_strategy,omitempty"`
}

// VectorStoreFileUpdate is the body of POST /v1/vector_stores/{id}/files/{file_id}.
type VectorStoreFileUpdate struct {
	Attributes json.RawMessage `json:"attributes" api:"present,object" doc:"Replaces all attributes; null is none."`
}

// VectorStoreAttributes are what a caller notes about a file: strings, numbers and booleans.
type VectorStoreAttributes map[string]any

// VectorStoreFile is a file in a store.
type VectorStoreFile struct {
	ID               string                `json:"id" doc:"That of the file."`
	Object           string                `json:"object" api:"const=vector_store.file"`
	CreatedAt        int64                 `json:"created_at"`
	VectorStoreID    string                `json:"vector_store_id"`
	UsageBytes       int64                 `json:"usage_bytes"`
	Status           string                `json:"status" api:"enum=in_progress|completed|cancelled|failed"`
	LastError        *VectorStoreFileError `json:"last_error" doc:"Why the file has failed."`
	Attributes       VectorStoreAttributes `json:"attributes"`
	ChunkingStrategy ChunkingStrategy      `json:"chunking_strategy"`
}

// VectorStoreFileError is why a file has failed.
type VectorStoreFileError struct {
	Code    string `json:"code" api:"enum=server_error|unsupported_file|invalid_file"`
	Message string `json:"message"`
}

// VectorStoreContent is the chunks of a file in a store.
type VectorStoreContent struct {
	Object   string            `json:"object" api:"const=vector_store.file_content.page"`
	Data     []VectorStoreText `json:"data"`
	HasMore  bool              `json:"has_more"`
	NextPage *string           `json:"next_page" doc:"The query parameter page of the request for what follows."`
}

// VectorStoreText is a chunk.
type VectorStoreText struct {
	Type string `json:"type" api:"const=text"`
	Text string `json:"text"`
}

// FileBatchRequest is the body of POST /v1/vector_stores/{id}/file_batches. It has either
// file_ids or files.
type FileBatchRequest struct {
	FileIDs          []string                 `json:"file_ids,omitempty" api:"first=2001" doc:"1 to 2000 files."`
	Files            []VectorStoreFileRequest `json:"files,omitempty" api:"first=2001" doc:"1 to 2000 files, each with its own attributes and chunking strategy."`
	Attributes       json.RawMessage          `json:"attributes,omitempty" api:"object" doc:"Of all files of file_ids."`
	ChunkingStrategy *ChunkingStrategy        `json:"chunking_strategy,omitempty" doc:"Of all files of file_ids."`
}

func (r *FileBatchRequest) check(n *jsonin.Node) {
	if (len(r.FileIDs) > 0) == (len(r.Files) > 0) {
		n.Fail("must have either file_ids or files")
	}
}

// FileBatch is files that were put into a store together.
type FileBatch struct {
	ID            string     `json:"id"`
	Object        string     `json:"object" api:"const=vector_store.files_batch"`
	CreatedAt     int64      `json:"created_at"`
	VectorStoreID string     `json:"vector_store_id"`
	Status        string     `json:"status" api:"enum=in_progress|completed|cancelled|failed"`
	FileCounts    FileCounts `json:"file_counts"`
}

// SearchRequest is the body of POST /v1/vector_stores/{id}/search.
type SearchRequest struct {
	Query          TextOr[[]string] `json:"query" api:"required,first=17" must:"a string or an array of strings"`
	MaxNumResults  *int             `json:"max_num_results,omitempty" api:"min=1,max=50,default=10"`
	Filters        json.RawMessage  `json:"filters,omitempty" api:"object" doc:"A comparison of an attribute ({type: eq|ne|gt|gte|lt|lte|in|nin, key, value}) or several ({type: and|or, filters})."`
	RankingOptions *SearchRanking   `json:"ranking_options,omitempty"`

	RewriteQuery Ignored `json:"rewrite_query,omitzero" harmless:"a query is searched for as it is"`
}

// SearchRanking is how results are put in order.
type SearchRanking struct {
	Ranker         string        `json:"ranker,omitempty" api:"default=auto,enum=none|auto|default-2024-11-15"`
	ScoreThreshold float64       `json:"score_threshold,omitempty" api:"min=0,max=1"`
	HybridSearch   *HybridSearch `json:"hybrid_search,omitempty" doc:"How results by words and by vectors are fused by reciprocal rank, where there are vectors."`
}

// HybridSearch is how much results by vectors and by words count.
type HybridSearch struct {
	EmbeddingWeight float64 `json:"embedding_weight" api:"required,min=0"`
	TextWeight      float64 `json:"text_weight" api:"required,min=0"`
}

// SearchResults are chunks that were found, the best first.
type SearchResults struct {
	Object      string         `json:"object" api:"const=vector_store.search_results.page"`
	SearchQuery []string       `json:"search_query"`
	Ranker      string         `json:"ranker" api:"enum=words|hybrid" doc:"What the scores are of: words, how much of what the words are worth a chunk has; hybrid, the places among the results by words and by vectors."`
	Data        []SearchResult `json:"data"`
	HasMore     bool           `json:"has_more"`
	NextPage    *string        `json:"next_page"`
}

// SearchResult is a chunk that was found.
type SearchResult struct {
	FileID     string                `json:"file_id"`
	Filename   string                `json:"filename"`
	Score      float64               `json:"score" doc:"0 to 1."`
	Attributes VectorStoreAttributes `json:"attributes"`
	Content    []VectorStoreText     `json:"content"`
	Page       *int                  `json:"page,omitempty" doc:"On which the chunk begins, where the document has pages."`
	Headings   []string              `json:"headings,omitempty" doc:"That the chunk stands under, the outermost first."`
}
