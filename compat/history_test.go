package compat

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

var (
	historyRounds = flag.Int("history.rounds", 2, "how many histories TestConversationsAreLinearizable checks, each of four conversations")
	historySteps  = flag.Int("history.steps", 8, "what each of its clients does in one history")
)

// What clients do with a conversation. A turn is two operations: its model looks at
// what was said, and what it answers is stored. In between others may add and
// remove; no other turn may look.
type step struct {
	kind string // add, remove, look, store, list
	key  string // what is said, or removed
}

// talk is a conversation as one process would have it: what was said, in order,
// and the turn whose model works.
type talk struct {
	said string // keys, each with a space behind it
	turn string // the key of the turn, or ""
	seen int    // bytes of said that its model has seen
}

// oneProcess says what a conversation does if there is one process.
var oneProcess = porcupine.Model{
	Init: func() any { return talk{} },
	Step: func(state, input, output any) (bool, any) {
		t, in, out := state.(talk), input.(step), output.(string)
		switch in.kind {
		case "add":
			t.said += in.key + " "
		case "remove":
			at := strings.Index(" "+t.said, " "+in.key+" ")
			if found := at >= 0; !found || out == "none" {
				return found == (out != "none"), t
			}
			t.said = t.said[:at] + t.said[at+len(in.key)+1:]
			if at < t.seen {
				t.seen -= len(in.key) + 1
			}
		case "look":
			if t.turn != "" || out != t.said {
				return false, t
			}
			t.turn, t.seen = in.key, len(t.said)
		case "store": // behind what its model has seen, and before what it has not
			if t.turn != in.key {
				return false, t
			}
			t.said = t.said[:t.seen] + in.key + " " + t.said[t.seen:]
			t.turn, t.seen = "", 0
		case "list": // the items are in the order in which they were written
			return sorted(out) == sorted(t.said), t
		}
		return true, t
	},
	DescribeOperation: func(input, output any) string {
		s, _ := input.(step)
		return fmt.Sprintf("%s %s: %v", s.kind, s.key, output)
	},
	DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
}

func sorted(keys string) string {
	all := strings.Fields(keys)
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestConversationsAreLinearizable has clients add items, remove them, make turns
// and list what was said, each on any of three services over one database. What
// they saw is what one process could have done.
func TestConversationsAreLinearizable(t *testing.T) {
	for name, faults := range map[string]pgtest.Faults{
		"well":   {},
		"faults": {Refuse: 0.03, Cut: 0.005, CutCommit: 0.03, Delay: 0.1, MaxDelay: 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := pgtest.NewProxy(t, pgtest.Database(t))
			h := newHistory(t, proxy.URL)
			proxy.Set(faults)
			defer proxy.Set(pgtest.Faults{})
			for range *historyRounds {
				h.round()
			}
			if faults.CutCommit > 0 && proxy.Counts().CutCommits == 0 {
				t.Error("no commit was cut")
			}
			t.Logf("%d operations in %d histories are linearizable; %+v", h.total, 4**historyRounds, proxy.Counts())
		})
	}
}

// history is what clients did, on three services.
type history struct {
	t        *testing.T
	services []*svc.Service
	caller   svc.Caller
	begin    time.Time
	total    int

	mu   sync.Mutex
	ops  []porcupine.Operation // of one conversation
	last int                   // number of the last key
	seen map[string]sight      // what models saw, by the key of the turn
}

type sight struct {
	said       string
	from, till int64 // when the model was asked, and when it had answered
}

func newHistory(t *testing.T, database string) *history {
	h := &history{t: t, begin: time.Now(), seen: map[string]sight{}}
	for range 3 {
		store, err := pgstore.Open(t.Context(), pgstore.Options{URL: database})
		if err != nil {
			t.Fatal(err)
		}
		service, err := svc.New(t.Context(), svc.Options{Store: store, Logger: slog.New(slog.DiscardHandler), Backend: &modeltest.Script{Respond: h.answer}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := service.Close(); err != nil {
				t.Error(err)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		h.services = append(h.services, service)
	}
	var err error
	if h.caller, err = h.services[0].LocalCaller(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *history) now() int64 { return time.Since(h.begin).Nanoseconds() }

// answer is the model: it remembers what it was shown, and takes its time.
func (h *history) answer(req *model.Request) modeltest.Answer {
	from := h.now()
	var keys []string
	for _, m := range req.Messages {
		if m.Role == model.User {
			keys = append(keys, string(m.Parts[0].(model.Text)))
		}
	}
	own := keys[len(keys)-1]
	said := ""
	for _, key := range keys[:len(keys)-1] {
		said += key + " "
	}
	answer := modeltest.Text("Yes.")
	answer.Before = func(context.Context) error {
		time.Sleep(rand.N(10 * time.Millisecond)) // models do
		h.mu.Lock()
		defer h.mu.Unlock()
		h.seen[own] = sight{said, from, h.now()}
		return nil
	}
	return answer
}

// round makes and checks the histories of four conversations.
func (h *history) round() {
	for range 4 {
		c, err := h.services[0].CreateConversation(h.t.Context(), h.caller, nil, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		h.ops = nil
		var clients sync.WaitGroup
		for id := range 6 {
			clients.Go(func() {
				for range *historySteps {
					h.step(id, c.ID)
				}
			})
		}
		clients.Wait()
		if h.t.Failed() {
			return
		}
		result, info := porcupine.CheckOperationsVerbose(oneProcess, h.ops, time.Minute)
		if result != porcupine.Ok {
			file := h.t.ArtifactDir() + "/history.html"
			err := porcupine.VisualizePath(oneProcess, info, file)
			slices.SortFunc(h.ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
			for _, op := range h.ops {
				h.t.Logf("%d: %d to %d µs: %s", op.ClientId, op.Call/1000, op.Return/1000, oneProcess.DescribeOperation(op.Input, op.Output))
			}
			h.t.Fatalf("no order of what was seen is what one process would have done (%v, %s, %v)", result, file, err)
		}
		h.total += len(h.ops)
	}
}

func (h *history) note(client int, s step, output string, call, end int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: s, Output: output, Call: call, Return: end})
}

// step does one thing on one of the services.
func (h *history) step(client int, conversation string) {
	service, ctx := h.services[rand.IntN(3)], h.t.Context()
	h.mu.Lock()
	h.last++
	key := fmt.Sprintf("k%d", h.last)
	h.mu.Unlock()
	call := h.now()
	var err error
	switch rand.IntN(5) {
	case 0, 1:
		_, err = service.CreateResponse(ctx, h.caller, &responses.Request{
			Model: model.DefaultGenerator, Conversation: conversation, Input: responses.Text(key),
		})
		if err != nil {
			break
		}
		h.mu.Lock()
		saw := h.seen[key]
		h.mu.Unlock()
		h.note(client, step{"look", key}, saw.said, call, saw.from)
		h.note(client, step{"store", key}, "", saw.till, h.now())
	case 2:
		_, err = service.AddConversationItems(ctx, h.caller, conversation, []conversations.Item{conversations.UserMessage(key)})
		h.note(client, step{"add", key}, "", call, h.now())
	case 3:
		var said string
		said, _, err = h.list(ctx, service, conversation)
		h.note(client, step{"list", ""}, said, call, h.now())
	case 4:
		var ids map[string]string
		if _, ids, err = h.list(ctx, service, conversation); err != nil || len(ids) == 0 {
			break
		}
		for key, id := range ids { // any of them
			call = h.now()
			output := ""
			if _, err = service.DeleteConversationItem(ctx, h.caller, conversation, id); err != nil && fault.From(err).Code == conversations.CodeItemNotFound {
				output, err = "none", nil
			}
			h.note(client, step{"remove", key}, output, call, h.now())
			break
		}
	}
	if err != nil {
		h.t.Error(err)
	}
}

// list returns what users said, and the IDs of it.
func (h *history) list(ctx context.Context, service *svc.Service, conversation string) (said string, ids map[string]string, err error) {
	page, err := service.ConversationItems(ctx, h.caller, conversation, svc.Page{Limit: 100})
	if page.HasMore {
		h.t.Error("a page does not hold what was said")
	}
	ids = map[string]string{}
	for _, item := range page.Items {
		if m, ok := item.(*conversations.Message); ok && m.Role == model.User {
			said += m.Content[0].Text + " "
			ids[m.Content[0].Text] = m.ID
		}
	}
	return said, ids, err
}
