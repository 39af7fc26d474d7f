package responses

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/responses/websearch"
)

const (
	// maxQueries is how many queries one web_search_call carries.
	maxQueries = 5
	// maxSearches is how many searches a model may ask for at once. More than
	// that are told that they were not run.
	maxSearches = 4
)

// plannedCall is a search, or a call of a server's tool, whose arguments the model is
// writing. That is internal: no event shows it.
type plannedCall struct {
	arguments strings.Builder
	thought   conversations.Thought
	tool      offeredTool // zero: a search
	files     bool        // a search in files
}

// endPlanning takes the search or the call that the model has planned, if there is
// one, to those of the round.
func (t *turn) endPlanning() {
	if t.round.planned == nil {
		return
	}
	if t.round.planned.tool.tool != nil {
		t.round.calls = append(t.round.calls, t.plannedCall(t.round.planned))
		t.round.planned = nil
		return
	}
	if t.round.planned.files {
		t.round.fileSearches = append(t.round.fileSearches, t.newFileSearch(t.round.planned))
		t.round.planned = nil
		return
	}
	w := &conversations.WebSearch{
		ID: t.o.NewID("ws"), Status: conversations.Incomplete, CallID: t.o.NewID("call"),
		Queries: queries(t.round.planned.arguments.String()), Thought: t.round.planned.thought,
	}
	t.round.planned = nil
	t.round.searches = append(t.round.searches, w)
}

// queries reads the arguments of a search, as models write them: the list that
// they were asked for, or a single query.
func queries(arguments string) []string {
	var a struct {
		Queries []string `json:"queries"`
		Query   string   `json:"query"`
	}
	if json.Unmarshal([]byte(arguments), &a) != nil {
		return nil
	}
	var list []string
	for _, q := range append(a.Queries, a.Query) {
		if q = strings.TrimSpace(q); q != "" && !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list[:min(len(list), maxQueries)]
}

// callsLeft is how many searches and calls of servers' tools more the turn may have.
func (t *turn) callsLeft() int {
	if t.req.MaxToolCalls == nil {
		return math.MaxInt
	}
	left := *t.req.MaxToolCalls
	for _, item := range t.response.Output {
		switch item.(type) {
		case *conversations.WebSearch, *conversations.FileSearch, *conversations.MCPCall:
			left--
		}
	}
	return max(left, 0)
}

// search runs the searches of a round, each shown as an item of the output,
// unless ctx ends or the consumer stops.
func (t *turn) search(ctx context.Context) {
	most := t.callsLeft()
	for i, w := range t.round.searches {
		if ctx.Err() != nil || t.emitter.stopped {
			return
		}
		t.emitter.search(w, func() {
			if t.req.SearchSources {
				w.Sources = []string{}
			}
			switch {
			case len(w.Queries) == 0:
				w.Results = "The search was not run: it needs between one and five queries."
			case i >= most:
				w.Results = "The search was not run: no more are allowed for this answer."
			case i >= maxSearches:
				w.Results = "The search was not run: too many searches at once."
			default:
				t.runQueries(ctx, w)
			}
			if ctx.Err() == nil {
				w.Status = conversations.Completed
			}
		})
	}
}

// runQueries runs the queries of a search at once and notes what they found, in
// their order. One that fails or takes too long is a result too: the model can go
// on without it.
func (t *turn) runQueries(ctx context.Context, w *conversations.WebSearch) {
	ctx, cancel := context.WithTimeout(ctx, t.o.SearchTimeout)
	defer cancel()
	found := make([]string, len(w.Queries))
	sources := make([][]string, len(w.Queries))
	var group errgroup.Group
	for i, query := range w.Queries {
		group.Go(func() error {
			found[i], sources[i] = t.runQuery(ctx, query)
			return nil
		})
	}
	group.Wait() // the functions return no errors
	w.Results = strings.Join(found, "\n")
	if !t.req.SearchSources {
		return
	}
	for _, address := range slices.Concat(sources...) {
		if !slices.Contains(w.Sources, address) {
			w.Sources = append(w.Sources, address)
		}
	}
}

func (t *turn) runQuery(ctx context.Context, query string) (found string, sources []string) {
	results, err := t.engine.Search(ctx, query)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		t.o.Log.LogAttrs(ctx, slog.LevelWarn, "responses: a web search failed", slog.String("response", t.response.ID), slog.Any("err", err))
	}
	if err != nil {
		return "The search for \"" + query + "\" failed: no results are available.\n", nil
	}
	return websearch.Format(query, results), websearch.Sources(results)
}
