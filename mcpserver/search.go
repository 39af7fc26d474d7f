package mcpserver

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/responses/filesearch"
	"github.com/seed-506d8e5d/svc/vectorstores"
)

const (
	// searched is how many vector stores a search goes through that names none: those
	// that were made last.
	searched = 10
	// found is how many passages a search finds unless the request says, and at most.
	found, mostFound = 5, 20
)

var searchTool = tool{
	tool: &mcp.Tool{
		Name: "search_files", Title: "Search files", Annotations: readOnly,
		Description: `Search the files in vector stores for passages, best first, with a score from 0 to 1. Use words that the passage would have. Then read_file shows what stands around it. Example: {"query":"notice period of the lease","max_num_results":3}`,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"vector_store_id":{"type":"string","description":"Search this store alone."},"max_num_results":{"type":"integer","minimum":1,"maximum":20,"default":5}},"required":["query"],"additionalProperties":false}`),
	},
	run: searchFiles,
}

// passage is what a model reads of a passage.
type passage struct {
	FileID   string   `json:"file_id"`
	Filename string   `json:"filename"`
	Score    float64  `json:"score"`
	Page     int      `json:"page_of_document,omitempty"`
	Headings []string `json:"headings,omitempty"`
	Text     string   `json:"text"`
}

func searchFiles(c *call, arguments json.RawMessage) *mcp.CallToolResult {
	var a struct {
		Query string `json:"query"`
		Store string `json:"vector_store_id"`
		Most  *int   `json:"max_num_results"`
	}
	if err := decode(arguments, &a); err != nil {
		return failed(err)
	}
	q := filesearch.Query{Texts: []string{a.Query}, Limit: found}
	if a.Most != nil {
		q.Limit = *a.Most
	}
	if q.Limit < 1 || q.Limit > mostFound {
		return failed(fault.Invalidf("max_num_results", "max_num_results must be 1 to %d.", mostFound))
	}
	if a.Store != "" {
		q.Stores = []string{a.Store}
	} else {
		stores, err := c.o.VectorStores.List(c.ctx, c.caller, svc.Page{Limit: searched, Desc: true})
		if err != nil {
			return failed(err)
		}
		for _, s := range stores.Items {
			if s.Status != vectorstores.Expired {
				q.Stores = append(q.Stores, s.ID)
			}
		}
	}
	answer := struct {
		Passages []passage `json:"passages"`
	}{[]passage{}}
	passages, err := c.o.VectorStores.SearchFiles(c.ctx, c.caller, q)
	if err != nil {
		return failed(err)
	}
	for _, p := range passages {
		answer.Passages = append(answer.Passages, passage{p.File, p.Filename, p.Score, p.Page, p.Headings, p.Text})
	}
	return structured(answer)
}
