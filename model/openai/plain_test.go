package openai

import (
	"context"
	"io"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// plainSeeds are events as servers send them, and ones that are more than text.
var plainSeeds = []string{
	`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1763712000,"model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":" word"},"logprobs":null,"finish_reason":null}]}`,
	`{"choices": [ {"delta": {"content": "a\n\"b\" \u00e9 \ud83d\ude00"}} ] , "usage": null}`,
	`{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
	`{"choices":[],"usage":{"prompt_tokens":1}}`,
	`{"choices":[{"delta":{"content":"x"}},{"delta":{"content":"y"}}]}`,
	`{"choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]}`,
	`{"choices":[{"delta":{"content":"x","tool_calls":null}}],"error":null}`,
	`{"choices":[{"message":{"content":"x"}}]}`,
	`{"choices":[{"delta":{"content":"x"}}]} x`,
	`{"choices":[{"delta":{"content":"` + "\x01" + `"}}]}`,
	`{"created":01,"choices":[{"delta":{"content":"x"}}]}`,
	`{"error":{"message":"no"}}`,
	`null`,
	``,
}

// checkPlain reads data behind an event that may have been nearly the same.
func checkPlain(t *testing.T, before, data string) {
	var p plainChunks
	p.read([]byte(before))
	got, ok := p.read([]byte(data))
	if !ok {
		return
	}
	var want chunk
	if valid := want.parse([]byte(data)); !valid || got != want.text || want.reasoning != "" || want.finish != "" || want.calls.Raw != "" && want.calls.Raw != "null" || want.counted || want.err.Exists() {
		t.Errorf("%s, behind %s: got %q, want %+v", data, before, got, want)
	}
}

func FuzzPlainChunk(f *testing.F) {
	for _, seed := range plainSeeds {
		f.Add(seed, seed)
		f.Add(strings.Replace(seed, `"x"`, `"y"`, 1), seed)
		f.Add(strings.Replace(seed, `"x"`, `""`, 1), seed)
	}
	f.Fuzz(checkPlain)
}

func TestOrdinaryChunksArePlain(t *testing.T) {
	for i, seed := range plainSeeds {
		if _, ok := new(plainChunks).read([]byte(seed)); ok != (i < 2 || seed == plainSeeds[6]) {
			t.Errorf("%s: %v", seed, ok)
		}
	}
}

func TestChunksAreReadWithOneAllocation(t *testing.T) {
	var p plainChunks
	data := []byte(plainSeeds[0])
	if n := testing.AllocsPerRun(100, func() { p.read(data) }); n > 1 {
		t.Errorf("%v allocations, want that of the text alone", n)
	}
}

func TestWhatIsLikeTheEventBeforeIsReadForItsTextAlone(t *testing.T) {
	event := func(text, rest string) string { return `{"choices":[{"delta":{"content":"` + text + `"}` + rest }
	for _, c := range []struct{ rule, before, data, want string }{
		{"another text", event("a", `}]}`), event("bcd", `}]}`), "bcd"},
		{"no text", event("a", `}]}`), event("", `}]}`), ""},
		{"an escape", event("a", `}]}`), event(`b\u0041`, `}]}`), "bA"},
		{"a text that ends sooner", event("a", `}]}`), event(`b","role":"c`, `}]}`), "b"},
		{"something behind it", event("a", `}]}`), event("b", `,"index":1}]}`), "b"},
		{"the last of two texts", `{"choices":[{"text":"a","delta":{"content":"b"}}]}`, `{"choices":[{"text":"a","delta":{"content":"c"}}]}`, "c"},
		{"what stood around overlaps", event("a", `}]}`), event("", `}]}`)[:30], ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var p plainChunks
			p.read([]byte(c.before))
			if got, _ := p.read([]byte(c.data)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			checkPlain(t, c.before, c.data)
		})
	}
}

// TestWhatIsAhead reads a stream of which some events have come together.
func TestWhatIsAhead(t *testing.T) {
	text := func(s string) string { return `data: {"choices":[{"delta":{"content":"` + s + `"}}]}` + "\n\n" }
	finish := `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usage := `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}` + "\n\ndata: [DONE]\n\n"
	r, w := io.Pipe()
	go func() {
		for _, piece := range []string{text("a") + text("b") + text("c"), text("d"), text("e") + finish + usage} {
			io.WriteString(w, piece)
		}
		w.Close()
	}()
	events := newEventReader(r)
	var got []string
	more := false
	for {
		if more {
			events.skip()
		} else if _, _, err := events.next(); err != nil {
			break
		}
		var text string
		if text, more = events.ahead(); more {
			got = append(got, text)
		}
	}
	if want := []string{"b", "c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("ahead were %q, want %q", got, want)
	}
}

// whole is a backend all of whose answers are asked for as a whole.
type whole struct{ *Backend }

func (w whole) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	asked := *req
	asked.Whole = true
	return w.Backend.Generate(ctx, &asked)
}

// stopping has a backend take its servers for ones that stop when the caller of a
// whole answer leaves.
func stopping(b *Backend) *Backend {
	for _, s := range b.servers {
		s.known.Store(&about{kind: vLLM, until: time.Now().Add(time.Hour)})
	}
	return b
}

func TestWholeAnswersConform(t *testing.T) {
	modeltest.Run(t, func(t *testing.T) model.Backend {
		d := &double{}
		t.Cleanup(func() {
			for _, r := range d.requests {
				if r.Get("stream").Bool() && !r.Get("tool_choice").Exists() {
					t.Error("a stream was asked for")
				}
			}
		})
		return whole{stopping(d.serve(t).backend(t))}
	}, modeltest.Options{})
}
