package convert

import (
	"encoding/json"
	"slices"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// addFileSearch adds the tool that searches files.
func addFileSearch(t *wire.ResponseTool, at string, r *responses.Request) error {
	if r.FileSearch != nil {
		return fault.Invalidf(at, "%s is a second tool of type file_search: name all stores in one.", at)
	}
	tool := responses.FileSearchTool()
	if slices.ContainsFunc(r.Tools, func(t model.Tool) bool { return t.Name == tool.Name }) {
		return fault.Invalidf(at, "%s has the name of a function: rename the function.", at)
	}
	r.Tools = append(r.Tools, tool)
	r.FileSearch = &responses.FileSearch{Stores: t.VectorStoreIDs, Filters: t.Filters}
	if t.MaxNumResults != nil {
		if r.FileSearch.Limit = *t.MaxNumResults; r.FileSearch.Limit < 1 {
			r.FileSearch.Limit = -1 // as invalid, where 0 would be the default
		}
	}
	if o := t.RankingOptions; o != nil {
		if err := checkRanker(o.Ranker, at+".ranking_options.ranker"); err != nil {
			return err
		}
		r.FileSearch.Threshold = o.ScoreThreshold
		if h := o.HybridSearch; h != nil {
			r.FileSearch.TextWeight, r.FileSearch.EmbeddingWeight = h.TextWeight, h.EmbeddingWeight
		}
	}
	return nil
}

// toFileSearchTool returns the tool as it is sent.
func toFileSearchTool(f *responses.FileSearch) wire.ResponseTool {
	w := wire.ToolFields{Type: "file_search"}
	if f != nil {
		w.VectorStoreIDs, w.Filters, w.MaxNumResults = f.Stores, f.Filters, optional(f.Limit)
		if f.Threshold+f.TextWeight+f.EmbeddingWeight != 0 {
			w.RankingOptions = &wire.SearchRanking{ScoreThreshold: f.Threshold}
		}
		if f.TextWeight+f.EmbeddingWeight != 0 {
			w.RankingOptions.HybridSearch = &wire.HybridSearch{TextWeight: f.TextWeight, EmbeddingWeight: f.EmbeddingWeight}
		}
	}
	return wire.ResponseTool{ToolFields: w}
}

// shownFileSearch returns the tool as a response shows it: with its defaults.
func shownFileSearch(t *wire.ResponseTool) json.RawMessage {
	type ranking struct {
		Ranker         string             `json:"ranker"`
		ScoreThreshold float64            `json:"score_threshold"`
		HybridSearch   *wire.HybridSearch `json:"hybrid_search,omitempty"`
	}
	shown := struct {
		Type           string          `json:"type"`
		Filters        json.RawMessage `json:"filters"`
		MaxNumResults  int             `json:"max_num_results"`
		RankingOptions ranking         `json:"ranking_options"`
		VectorStoreIDs []string        `json:"vector_store_ids"`
	}{"file_search", t.Filters, responses.DefaultFound, ranking{Ranker: "auto"}, t.VectorStoreIDs}
	if t.MaxNumResults != nil {
		shown.MaxNumResults = *t.MaxNumResults
	}
	if o := t.RankingOptions; o != nil {
		shown.RankingOptions.ScoreThreshold, shown.RankingOptions.HybridSearch = o.ScoreThreshold, o.HybridSearch
		if o.Ranker != "" {
			shown.RankingOptions.Ranker = o.Ranker
		}
	}
	return toJSON(shown)
}

// fromOwnSearch returns the search of ours that an item stands for, nil for an item that
// has more to say than its ID.
func fromOwnSearch(w *wire.InputItem) conversations.Item {
	var sent struct {
		ID      string            `json:"id"`
		Results []json.RawMessage `json:"results"`
	}
	if w.Type != "file_search_call" || json.Unmarshal(w.Hosted, &sent) != nil || sent.ID == "" || len(sent.Results) > 0 {
		return nil
	}
	return &conversations.FileSearch{ID: sent.ID}
}

// toSearchInput returns a search as it is sent back.
func toSearchInput(s *conversations.FileSearch) wire.InputItem {
	return wire.InputItem{Type: "item_reference", ID: s.ID}
}

// toFileSearch returns a search as it is answered.
func toFileSearch(s *conversations.FileSearch) wire.Item {
	w := wire.Item{ID: s.ID, Type: "file_search_call", Status: string(s.Status), Queries: s.Queries}
	if s.Queries == nil {
		w.Queries = []string{}
	}
	if w.Results = json.RawMessage("null"); !s.Shown {
		return w
	}
	results := []wire.FoundChunk{}
	for _, p := range s.Passages {
		results = append(results, wire.FoundChunk{
			FileID: p.File, Filename: p.Filename, Score: p.Score, Text: p.Text, Attributes: attributes(p.Attributes), Page: optional(p.Page), Headings: p.Headings,
		})
	}
	w.Results = toJSON(results)
	return w
}

// fromFileSearch returns a search that was answered.
func fromFileSearch(w *wire.Item) *conversations.FileSearch {
	s := &conversations.FileSearch{ID: w.ID, Status: conversations.Status(w.Status), Queries: w.Queries}
	var results []wire.FoundChunk
	if json.Unmarshal(w.Results, &results) != nil || results == nil {
		return s
	}
	s.Shown = true
	for _, r := range results {
		s.Passages = append(s.Passages, conversations.Passage{
			File: r.FileID, Filename: r.Filename, Score: r.Score, Text: r.Text, Attributes: r.Attributes, Page: value(r.Page), Headings: r.Headings,
		})
	}
	return s
}

func toAnnotation(c *conversations.Citation) wire.Annotation {
	return wire.Annotation{Type: "file_citation", FileID: c.File, Filename: c.Filename, Index: c.Index}
}

func fromAnnotation(w *wire.Annotation) conversations.Citation {
	return conversations.Citation{File: w.FileID, Filename: w.Filename, Index: w.Index}
}

func toAnnotations(list []conversations.Citation) []wire.Annotation {
	if list == nil {
		return []wire.Annotation{}
	}
	return mapped(list, toAnnotation)
}

func fromAnnotations(list []wire.Annotation) []conversations.Citation {
	if len(list) == 0 {
		return nil
	}
	return mapped(list, fromAnnotation)
}

// checkRanker refuses a ranker that nobody knows.
func checkRanker(name, param string) error {
	switch name {
	case "", "auto", "none", "default-2024-11-15":
		return nil
	}
	return fault.Invalidf(param, "%s must be one of none, auto, default-2024-11-15.", param)
}
