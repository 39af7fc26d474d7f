package responses_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// whim is a model that does one of all things that models do, and keeps what it
// was sent first in a turn.
type whim struct {
	random   *rand.Rand
	fails    bool
	n        int
	calls    int // in this turn
	messages []model.Message

	known  int   // the most messages that requests have had in common
	broken error // what a request with a Memo has not kept
}

// remember keeps the messages that requests have in common with their Memo, and
// looks whether they have.
func (w *whim) remember(req *model.Request) {
	if req.Memo == nil {
		return
	}
	kept := req.Memo.Once("messages", func() any { return new([]model.Message) }).(*[]model.Message)
	if n := len(*kept); n > req.Same || !reflect.DeepEqual(*kept, slices.Clip(req.Messages[:n])) && n > 0 {
		w.broken = fmt.Errorf("a request that has %d messages in common with others begins with\n%v, and they had\n%v", req.Same, req.Messages[:min(n, req.Same)], *kept)
	}
	*kept = slices.Clone(req.Messages[:req.Same])
	w.known = max(w.known, req.Same)
}

func (w *whim) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	if w.calls++; w.messages == nil {
		w.calls, w.messages = 1, req.Messages
	}
	w.remember(req)
	return func(yield func(model.Event, error) bool) {
		if w.n++; w.fails {
			yield(nil, fault.Upstreamf(nil, "The model fails."))
			return
		}
		events := []model.Event{model.TextDelta{Text: fmt.Sprint("Answer ", w.n)}}
		finish := model.Stop
		if req.Format.Type == model.FormatObject && w.calls > 1 {
			events[0] = model.TextDelta{Text: "{}"}
		} else if len(req.Tools) > 1 && w.calls == 1 && w.random.IntN(2) == 0 {
			finish = model.ToolCalls
			events = append(events, model.ToolCallStart{ID: "s", Name: "web_search"}, model.ToolCallDelta{Arguments: `{"queries":["x"]}`})
		} else if len(req.Tools) > 0 && w.random.IntN(3) == 0 {
			if w.random.IntN(2) == 0 {
				events = nil
			}
			if finish = model.ToolCalls; w.random.IntN(2) == 0 {
				events = append(events, model.Reasoning{Text: fmt.Sprint("Thought ", w.n)})
			}
			for i := range 1 + w.random.IntN(2) {
				events = append(events, model.ToolCallStart{ID: fmt.Sprint("c", i), Name: "f"}, model.ToolCallDelta{Arguments: fmt.Sprint(w.n)})
			}
			if w.random.IntN(8) == 0 {
				finish = model.Length
			}
		}
		for _, e := range append(events, model.Usage{InputTokens: 1, OutputTokens: 1}, model.Finish{Reason: finish}) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// drawer has files, whose text changes when they are deleted.
type drawer map[string]string

func (d drawer) Inline(_ context.Context, name, _ string, data []byte) (model.Document, error) {
	return model.Document{Name: name, Text: string(data)}, nil
}

func (d drawer) Stored(_ context.Context, _ accounts.Caller, id string) (model.Document, error) {
	if text, ok := d[id]; ok {
		return model.Document{Name: id, Text: text}, nil
	}
	return model.Document{}, fault.Missing("file_not_found", "file", id)
}

// nothing is what a web search finds.
type nothing struct{}

func (nothing) Search(context.Context, string) ([]websearch.Result, error) { return nil, nil }

// TestPromptsAreThoseOfTheWholeHistory makes turns of every kind, one behind
// another and in branches, and sends each to a service, too, that has never seen
// the history: both send the model the same.
func TestPromptsAreThoseOfTheWholeHistory(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newWanderer(t, seed).wander(150) })
	}
}

// wanderer makes turns at random.
type wanderer struct {
	*testing.T
	random  *rand.Rand
	store   storage.Store
	books   *accounts.Service
	caller  accounts.Caller
	history *conversations.Service
	service *responses.Service
	model   *whim
	files   drawer

	conversation string
	turns        []*responses.Response // that can be continued from
	added        []string              // IDs of calls in the conversation that have no output
}

func newWanderer(t *testing.T, seed uint64) *wanderer {
	w := &wanderer{T: t, random: rand.New(rand.NewPCG(seed, 0)), store: memstore.New(), files: drawer{}}
	var err error
	w.books, err = accounts.New(t.Context(), accounts.Options{Store: w.store, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, w.books.Close()); must(t, w.store.Close()) })
	organization, err := w.books.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "test", Credits: 100 * accounts.Dollar})
	must(t, err)
	w.caller, err = w.books.CallerFor(t.Context(), organization.ID)
	must(t, err)
	w.model = &whim{random: rand.New(rand.NewPCG(seed, 1))}
	w.history, w.service = w.open(w.model)
	t.Cleanup(func() { must(t, w.service.Close()) })
	return w
}

// open opens a service over the store, which knows nothing yet.
func (w *wanderer) open(m model.Backend) (*conversations.Service, *responses.Service) {
	quiet := slog.New(slog.DiscardHandler)
	history := conversations.New(conversations.Options{Store: w.store, Log: quiet, AnyItems: true})
	service := responses.New(responses.Options{Accounts: w.books, Log: quiet, Conversations: history, Backend: m, Documents: w.files, Search: nothing{}})
	return history, service
}

func (w *wanderer) wander(steps int) {
	c, err := w.history.Create(w.Context(), w.caller, nil, nil)
	must(w.T, err)
	w.conversation = c.ID
	longer := 0
	for n := range steps {
		switch w.random.IntN(20) {
		case 0:
			w.files[fmt.Sprint("file_", n)] = fmt.Sprint("The text of ", n)
		case 1:
			for id := range w.files {
				delete(w.files, id)
				break
			}
		case 2:
			w.deleteItem()
		case 3:
			items := []conversations.Item{conversations.UserMessage(fmt.Sprint("Added ", n))}
			if w.random.IntN(2) == 0 {
				w.added = append(w.added, fmt.Sprint("call_", n))
				items = append([]conversations.Item{&conversations.FunctionCall{CallID: fmt.Sprint("call_", n), Name: "f", Arguments: "{}"}}, items...)
			}
			_, err := w.history.AddItems(w.Context(), w.caller, w.conversation, items)
			must(w.T, err)
		default:
			if w.turn(n) > 20 {
				longer++
			}
		}
	}
	if longer < steps/4 || w.model.known < 10 {
		w.Errorf("only %d prompts were long, and had only %d messages in common", longer, w.model.known)
	}
}

func (w *wanderer) deleteItem() {
	items, err := w.history.ListItems(w.Context(), w.caller, w.conversation, page.Params{Limit: 100, Desc: true})
	must(w.T, err)
	if len(items.Items) < 60 { // long enough to do without
		return
	}
	_, err = w.history.DeleteItem(w.Context(), w.caller, w.conversation, items.Items[w.random.IntN(50)].ItemID())
	must(w.T, err)
}

// turn makes a turn and returns how many messages its prompt had.
func (w *wanderer) turn(n int) int {
	req := ask("")
	req.Input = w.input(n, req)
	if w.random.IntN(10) > 0 {
		req.Tools = []model.Tool{{Name: "f"}}
		if w.random.IntN(4) == 0 {
			req.Tools = append(req.Tools, responses.SearchTool())
		}
	} else if w.random.IntN(2) == 0 {
		req.Format.Type = model.FormatObject // whose first answer is none
	}
	if w.random.IntN(4) > 0 {
		req.Instructions = "Stay."
	}
	again := *req
	store := false
	again.Store = &store
	w.model.fails = w.random.IntN(8) == 0
	whole := &whim{random: w.random, fails: w.model.fails}
	_, fresh := w.open(whole)
	_, freshErr := fresh.Create(w.Context(), w.caller, &again)
	must(w.T, fresh.Close())
	w.model.messages = nil
	r, err := w.service.Create(w.Context(), w.caller, req)
	if fmt.Sprint(err) != fmt.Sprint(freshErr) || !reflect.DeepEqual(w.model.messages, whole.messages) {
		w.Fatalf("turn %d: got  %v, %v\nwant %v, %v", n, err, w.model.messages, freshErr, whole.messages)
	}
	if w.model.broken != nil {
		w.Fatalf("turn %d: %v", n, w.model.broken)
	}
	if err == nil {
		w.turns = append(w.turns, r)
		if req.Conversation != "" {
			w.added = nil
		}
	}
	return len(whole.messages)
}

// input says what a request continues from, and returns what it adds to that.
func (w *wanderer) input(n int, req *responses.Request) []conversations.Item {
	said := conversations.UserMessage(fmt.Sprint("Question ", n))
	for id := range w.files {
		if w.random.IntN(4) == 0 {
			said.Content = append(said.Content, conversations.Part{Type: conversations.InputFile, FileID: id})
		}
		break
	}
	if len(w.turns) == 0 {
		req.Conversation = w.conversation
		return []conversations.Item{said}
	}
	last := w.turns[len(w.turns)-1]
	if w.random.IntN(8) == 0 {
		last = w.turns[max(0, len(w.turns)-1-w.random.IntN(6))]
	}
	if req.PreviousResponseID = last.ID; last == w.turns[len(w.turns)-1] && w.random.IntN(3) == 0 {
		req.PreviousResponseID, req.Conversation = "", w.conversation
	}
	var items []conversations.Item
	for _, item := range last.Output {
		if call, ok := item.(*conversations.FunctionCall); ok && call.Status == conversations.Completed {
			items = append(items, &conversations.FunctionCallOutput{CallID: call.CallID, Output: fmt.Sprint("Output ", n)})
		}
	}
	if req.Conversation != "" && w.random.IntN(4) > 0 {
		for _, id := range w.added {
			items = append(items, &conversations.FunctionCallOutput{CallID: id, Output: "Late"})
		}
	}
	if items != nil && w.random.IntN(3) > 0 {
		return items
	}
	return append(items, said)
}

// TestACallThatWaitsIsNotForgotten has a turn with the output of a call that was
// added to the conversation fail, and one without follow.
func TestACallThatWaitsIsNotForgotten(t *testing.T) {
	w := newWanderer(t, 0)
	c, err := w.history.Create(t.Context(), w.caller, nil, []conversations.Item{
		&conversations.FunctionCall{CallID: "call", Name: "f", Arguments: "{}"}, conversations.UserMessage("Hi"),
	})
	must(t, err)
	w.model.fails = true
	req := ask("")
	req.Conversation, req.Input = c.ID, []conversations.Item{&conversations.FunctionCallOutput{CallID: "call", Output: "x"}}
	_, err = w.service.Create(t.Context(), w.caller, req)
	if len(w.model.messages) != 3 {
		t.Fatalf("got %v, %v", w.model.messages, err)
	}
	req = ask("And now?")
	req.Conversation = c.ID
	if _, err = w.service.Create(t.Context(), w.caller, req); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v, want that the call has no output", err)
	}
}
