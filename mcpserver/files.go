package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
)

const (
	// pageBytes is how many bytes of text a page of a file has at most. A page ends at
	// the end of a line where it can.
	pageBytes = 16_000
	// listed is how many files a list has unless the request says, and at most.
	listed, mostListed = 20, 100

	fileScheme = "svc://files/"
)

// fileTemplate is how resources are named.
var fileTemplate = &mcp.ResourceTemplate{
	Name: "file", URITemplate: fileScheme + "{id}", MIMEType: "text/plain",
	Description: "The text of a file of the organization, whole.",
}

// file is a file as a model reads of it.
type file struct {
	ID        string `json:"id"`
	Filename  string `json:"filename"`
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	Status    string `json:"status"`
	Details   string `json:"status_details,omitempty"`
}

func listFiles(c *call, arguments json.RawMessage) *mcp.CallToolResult {
	var a struct {
		After string `json:"after"`
		Limit *int   `json:"limit"`
	}
	if err := decode(arguments, &a); err != nil {
		return failed(err)
	}
	p := svc.Page{After: a.After, Limit: listed, Desc: true}
	if a.Limit != nil {
		p.Limit = *a.Limit
	}
	if p.Limit < 1 || p.Limit > mostListed {
		return failed(fault.Invalidf("limit", "limit must be 1 to %d.", mostListed))
	}
	found, err := c.o.Service.Files(c.ctx, c.caller, "", p)
	if err != nil {
		return failed(err)
	}
	answer := struct {
		Files   []file `json:"files"`
		HasMore bool   `json:"has_more"`
	}{make([]file, 0, len(found.Items)), found.HasMore}
	for _, f := range found.Items {
		answer.Files = append(answer.Files, file{f.ID, f.Filename, f.Bytes, f.CreatedAt, string(f.Status), f.Details()})
	}
	return structured(answer)
}

func readFile(c *call, arguments json.RawMessage) *mcp.CallToolResult {
	var a struct {
		FileID string `json:"file_id"`
		Page   *int   `json:"page"`
	}
	if err := decode(arguments, &a); err != nil {
		return failed(err)
	}
	if a.FileID == "" {
		return failed(fault.Invalidf("file_id", "file_id is required."))
	}
	f, text, err := c.text(a.FileID)
	if err != nil {
		return failed(err)
	}
	pages := pagesOf(text)
	page := 1
	if a.Page != nil {
		page = *a.Page
	}
	if page < 1 || page > len(pages) {
		return failed(fault.Invalidf("page", "page must be 1 to %d: the file has no other pages.", len(pages)))
	}
	return structured(struct {
		FileID   string `json:"file_id"`
		Filename string `json:"filename"`
		Page     int    `json:"page"`
		Pages    int    `json:"pages"`
		Text     string `json:"text"`
	}{f.ID, f.Filename, page, len(pages), pages[page-1]})
}

// text returns a file and its text.
func (c *call) text(id string) (files.File, string, error) {
	f, err := c.o.Service.File(c.ctx, c.caller, id)
	if err != nil {
		return f, "", err
	}
	text, err := c.o.Service.FileText(c.ctx, c.caller, id)
	return f, text, err
}

// pagesOf cuts a text into pages, at least one.
func pagesOf(text string) []string {
	var pages []string
	for len(text) > pageBytes {
		end := strings.LastIndexByte(text[:pageBytes], '\n') + 1
		if end == 0 {
			for end = pageBytes; !utf8.RuneStart(text[end]); end-- {
			}
		}
		pages, text = append(pages, text[:end]), text[end:]
	}
	return append(pages, text)
}

func (c *call) listResources(cursor string) (*mcp.ListResourcesResult, error) {
	found, err := c.o.Service.Files(c.ctx, c.caller, "", svc.Page{After: cursor, Limit: mostListed, Desc: true})
	if err != nil {
		return nil, protocolError(err)
	}
	result := &mcp.ListResourcesResult{Cacheable: mcp.Cacheable{CacheScope: ofCaller}, Resources: make([]*mcp.Resource, 0, len(found.Items))}
	for _, f := range found.Items {
		result.Resources = append(result.Resources, &mcp.Resource{URI: fileScheme + f.ID, Name: f.Filename, MIMEType: "text/plain", Description: f.Details()})
	}
	if found.HasMore {
		result.NextCursor = found.Items[len(found.Items)-1].ID
	}
	return result, nil
}

func (c *call) readResource(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, _ := strings.CutPrefix(r.Params.URI, fileScheme)
	_, text, err := c.text(id)
	if fault.Is(err, fault.NotFound) {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	if err != nil {
		return nil, protocolError(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: text}}}, nil
}
