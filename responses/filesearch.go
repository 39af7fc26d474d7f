package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses/filesearch"
)

// The bounds of the search in files.
const (
	MaxStores     = 10 // stores that a tool names
	MaxPassages   = 50 // that a search finds
	DefaultFound  = 20 // where the tool does not say
	maxSearchText = 4000
)

// FileSearch is what a search in files looks at.
type FileSearch struct {
	Stores    []string        // IDs of vector stores, 1 to [MaxStores]
	Filters   json.RawMessage // nil: all files
	Limit     int             // passages that a search finds, 1 to [MaxPassages]; 0 is [DefaultFound]
	Threshold float64         // of their scores

	TextWeight, EmbeddingWeight float64 // of results by words and by vectors; both 0: the default
}

const fileSearchName = "file_search"

// FileSearchTool returns the tool that searches files, for the tools of a [Request], as
// models see it.
func FileSearchTool() model.Tool {
	return model.Tool{
		Name: fileSearchName,
		Description: "Search the user's files. What is found is numbered passages. " +
			"Put the number of the passage that a statement is from behind the statement, in square brackets: [1].",
		Parameters: searchParameters,
		Search:     true,
	}
}

// query is what the searches of a request look for, without the texts.
func (f *FileSearch) query() filesearch.Query {
	q := filesearch.Query{Stores: f.Stores, Filters: f.Filters, Limit: f.Limit, Threshold: f.Threshold, TextWeight: f.TextWeight, EmbeddingWeight: f.EmbeddingWeight}
	if q.Limit == 0 {
		q.Limit = DefaultFound
	}
	return q
}

// checkFileSearch returns why the files of a request cannot be searched.
func (s *Service) checkFileSearch(ctx context.Context, caller accounts.Caller, req *Request) error {
	f := req.FileSearch
	switch {
	case f == nil:
		return nil
	case s.files.Load() == nil:
		return fault.Invalidf("tools", "tools has one of type file_search, which this service does not run: offer functions of your own instead.")
	case len(f.Stores) == 0 || len(f.Stores) > MaxStores:
		return fault.Invalidf("tools", "vector_store_ids must have 1 to %d vector stores.", MaxStores)
	case f.Limit < 0 || f.Limit > MaxPassages:
		return fault.Invalidf("tools", "max_num_results must be between 1 and %d.", MaxPassages)
	}
	return (*s.files.Load()).CheckSearch(ctx, caller, f.query())
}

// newFileSearch returns the search that the model has planned.
func (t *turn) newFileSearch(p *plannedCall) *conversations.FileSearch {
	return &conversations.FileSearch{
		ID: t.o.NewID("fs"), Status: conversations.Incomplete, CallID: t.o.NewID("call"), Queries: queries(p.arguments.String()), Shown: t.req.SearchResults, Thought: p.thought,
	}
}

// searchFiles runs the searches in files of a round, each shown as an item of the
// output, unless ctx ends or the consumer stops.
func (t *turn) searchFiles(ctx context.Context) {
	most := t.callsLeft()
	for i, s := range t.round.fileSearches {
		if ctx.Err() != nil || t.emitter.stopped {
			return
		}
		t.emitter.fileSearch(s, func() {
			switch {
			case len(s.Queries) == 0:
				s.Failure = "The search was not run: it needs between one and five queries."
			case i >= most:
				s.Failure = "The search was not run: no more are allowed for this answer."
			case i >= maxSearches:
				s.Failure = "The search was not run: too many searches at once."
			default:
				t.runFileSearch(ctx, s)
			}
			if ctx.Err() == nil {
				s.Status = conversations.Completed
			}
		})
	}
}

// runFileSearch notes what a search finds. That it fails is a result too: the model can
// go on without it.
func (t *turn) runFileSearch(ctx context.Context, s *conversations.FileSearch) {
	ctx, cancel := context.WithTimeout(ctx, t.o.SearchTimeout)
	defer cancel()
	q := t.req.FileSearch.query()
	for _, text := range s.Queries {
		q.Texts = append(q.Texts, firstBytes(text, maxSearchText))
	}
	found, err := (*t.files.Load()).SearchFiles(ctx, t.caller, q)
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.o.Log.LogAttrs(ctx, slog.LevelWarn, "responses: a search in files failed", slog.String("response", t.response.ID), slog.Any("err", err))
		}
		s.Failure = "The search failed: no results are available."
		return
	}
	next := t.passages().next
	for i, p := range found {
		s.Passages = append(s.Passages, conversations.Passage{
			Number: next + i, File: p.File, Filename: p.Filename, Score: p.Score, Text: p.Text, Attributes: p.Attributes, Page: p.Page, Headings: p.Headings,
		})
	}
}

func firstBytes(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// foundText is what the model reads of a search. What looks like a mark in a passage is
// put in other brackets: the model might repeat it.
func foundText(s *conversations.FileSearch) string {
	if s.Failure != "" {
		return s.Failure
	}
	if len(s.Passages) == 0 {
		return "Nothing was found."
	}
	var b strings.Builder
	for i, p := range s.Passages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "[%d] From the file %s", p.Number, strconv.Quote(p.Filename))
		if p.Page > 0 {
			fmt.Fprintf(&b, ", page %d", p.Page)
		}
		if len(p.Headings) > 0 {
			fmt.Fprintf(&b, ", under %s", strconv.Quote(strings.Join(p.Headings, " > ")))
		}
		b.WriteString(":\n" + model.Quote(likeMark.ReplaceAllString(p.Text, "($1)")))
	}
	return b.String()
}

var likeMark = regexp.MustCompile(`\[([0-9 ,]+)\]`)

// knownPassages are the passages that the model has read, by number.
type knownPassages struct {
	byNumber map[int]*conversations.Passage // nil for a number that several have
	next     int                            // the first free number
}

// passages returns those of the history and of the turn so far.
func (t *turn) passages() knownPassages {
	known := knownPassages{byNumber: map[int]*conversations.Passage{}, next: 1}
	add := func(item conversations.Item) {
		s, ok := item.(*conversations.FileSearch)
		if !ok {
			return
		}
		for i := range s.Passages {
			p := &s.Passages[i]
			if other, ok := known.byNumber[p.Number]; ok && (other == nil || other.File != p.File) {
				known.byNumber[p.Number] = nil
			} else {
				known.byNumber[p.Number] = p
			}
			known.next = max(known.next, p.Number+1)
		}
	}
	for _, e := range t.entries() {
		add(e.Item)
	}
	for _, item := range t.response.Output {
		add(item)
	}
	return known
}

// newMarks returns what finds the marks of passages in the model's text, nil where it
// has read none or writes JSON.
func (t *turn) newMarks() *marks {
	if t.schema != nil || t.req.Format.Type == model.FormatObject {
		return nil
	}
	known := t.passages()
	if len(known.byNumber) == 0 {
		return nil
	}
	return &marks{known: known.byNumber}
}
