package openai

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// talk is a conversation that goes on, as requests with a Memo have it.
type talk struct {
	random *rand.Rand
	said   []model.Message
	memo   *model.Memo
	same   int
}

func newTalk(seed uint64) *talk {
	return &talk{random: rand.New(rand.NewPCG(seed, 0)), memo: new(model.Memo)}
}

// next is the request of the next turn, which is not sure yet to stay.
func (c *talk) next() *model.Request {
	for range c.random.IntN(4) {
		c.said = append(c.said, c.message())
	}
	c.same += c.random.IntN(len(c.said) - c.same + 1)
	req := &model.Request{Model: model.DefaultGenerator, Memo: c.memo, Same: c.same, MaxTokens: 1 + c.random.IntN(9)}
	req.Messages = append(req.Messages, c.said[:c.same]...)
	for range 1 + c.random.IntN(3) {
		req.Messages = append(req.Messages, c.message())
	}
	if c.random.IntN(2) == 0 {
		req.Tools = []model.Tool{{Name: "f", Description: strings.Repeat("x", c.random.IntN(500))}}
	}
	return req
}

func (c *talk) message() model.Message {
	text := fmt.Sprintf("Message %d \"says\"\n%s", c.random.IntN(1e6), strings.Repeat("é ", c.random.IntN(50)))
	switch c.random.IntN(4) {
	case 0:
		return model.Message{Role: model.Assistant, Reasoning: text, ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: text}}}
	case 1:
		return model.Message{Role: model.User, Parts: []model.Part{model.Text(text), model.Document{Name: "d", Text: text}}}
	}
	return model.TextMessage(model.User, text)
}

// forgetful is the same request without a Memo.
func forgetful(req *model.Request) *model.Request {
	c := *req
	c.Memo, c.Same = nil, 0
	return &c
}

// TestAMemoChangesNothing: what a server is sent, and what a prompt is counted as,
// is the same with a Memo and without.
func TestAMemoChangesNothing(t *testing.T) {
	for seed := range uint64(20) {
		c := newTalk(seed)
		b := (&double{}).serve(t).backend(t)
		m := b.find(model.DefaultGenerator)
		names := []string{"", reasoningField, "reasoning", thinkOpen}
		for turn := range 100 {
			req := c.next()
			if c.random.IntN(10) == 0 { // the server calls it something else
				name := names[c.random.IntN(len(names))]
				m.targets[0].facts.learn(func(k *known) { k.reasoningAs, k.noReasoning = name, name == "" })
			}
			got, err := newRequest(m, m.targets[0], req).encode()
			if err != nil {
				t.Fatal(err)
			}
			want, err := newRequest(m, m.targets[0], forgetful(req)).encode()
			if err != nil || string(got) != string(want) {
				t.Fatalf("seed %d, turn %d, %v:\ngot  %s\nwant %s", seed, turn, err, got, want)
			}
			if held := c.memo.Held(); held != cap(got) {
				t.Fatalf("seed %d, turn %d: %d bytes are said to be held, not %d", seed, turn, held, cap(got))
			}
			counted, err := b.estimate(t.Context(), forgetful(req), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if most := c.random.IntN(counted); most > 0 { // it is too long for another model
				if n, err := b.estimate(t.Context(), req, most); n <= most || err != nil {
					t.Fatalf("seed %d, turn %d: counted %d tokens, want more than %d, %v", seed, turn, n, most, err)
				}
			}
			if n, err := b.estimate(t.Context(), req, 1<<30); n != counted || err != nil {
				t.Fatalf("seed %d, turn %d: counted %d tokens, want %d, %v", seed, turn, n, counted, err)
			}
		}
	}
}

// TestWhatIsKnownIsNotWorkedOutAgain changes what a Memo is told to stay.
func TestWhatIsKnownIsNotWorkedOutAgain(t *testing.T) {
	b := (&double{}).serve(t).backend(t)
	m := b.find(model.DefaultGenerator)
	req := ask("What came of it?")
	req.Messages = append([]model.Message{model.TextMessage(model.User, "Before.")}, req.Messages...)
	req.Memo, req.Same = new(model.Memo), 1
	body := func() string {
		body, err := newRequest(m, m.targets[0], req).encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	count := func() int {
		n, err := b.CountTokens(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	wasBody, wasCount := body(), count()
	req.Messages[0] = model.TextMessage(model.User, "Something that is much longer.")
	if got := body(); got != wasBody {
		t.Errorf("encoded again: %s", got)
	}
	if got := count(); got != wasCount {
		t.Errorf("counted again: %d, not %d", got, wasCount)
	}
}

// TestATokenizerIsSentWhatIsNew has the prompts of a long conversation counted by
// the server: most of each is known.
func TestATokenizerIsSentWhatIsNew(t *testing.T) {
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		prompt := gjson.GetBytes(body, "prompt").Str
		sent += len(prompt)
		fmt.Fprintf(w, `{"count":%d}`, len(strings.Fields(prompt)))
	}))
	defer server.Close()
	b := (&double{url: server.URL + "/v1"}).backend(t)
	c, text := newTalk(1), 0
	for turn := range 200 {
		req := c.next()
		got, err := b.CountTokens(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want := model.PromptTokens(req, func(s string) int { return len(strings.Fields(s)) })
		if got != want {
			t.Fatalf("turn %d: got %d, want %d", turn, got, want)
		}
		text = max(text, model.PromptTextTokens(req, func(s string) int { return len(s) }))
	}
	if sent > 4*text {
		t.Errorf("the tokenizer was sent %d bytes, for a conversation of %d", sent, text)
	}
}
