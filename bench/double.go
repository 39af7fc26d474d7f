package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serveDouble is a model server that costs little and answers what the last
// message orders: "chunks=500 pause=1ms" is an answer of 500 tokens with a pause
// before each.
func serveDouble() error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"double","object":"model"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", complete)
	cache := &promptCache{}
	mux.Handle("/cached/v1/", http.StripPrefix("/cached", cache.before(mux)))
	mux.HandleFunc("GET /cached", cache.counts)
	return serve(mux)
}

// order is what the last message of a request says.
type order struct {
	chunks int
	pause  time.Duration
	size   int // bytes of the text of a chunk
	prompt int // tokens that it came with
}

func orderOf(text string) order {
	o := order{chunks: 1, size: len(word)}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "chunks":
			if n, err := strconv.Atoi(value); err == nil {
				o.chunks = n
			}
		case "size":
			if n, err := strconv.Atoi(value); err == nil {
				o.size = n
			}
		case "pause":
			if d, err := time.ParseDuration(value); err == nil {
				o.pause = d
			}
		}
	}
	return o
}

func complete(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Stream   bool `json:"stream"`
		Logprobs bool `json:"logprobs"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no messages"}}`, http.StatusBadRequest)
		return
	}
	var text string
	if json.Unmarshal(req.Messages[len(req.Messages)-1].Content, &text) != nil {
		text = string(req.Messages[len(req.Messages)-1].Content)
	}
	o := orderOf(text)
	for _, m := range req.Messages {
		o.prompt += 1 + len(m.Content)/4
	}
	switch {
	case req.Logprobs:
		judge(w, o)
	case req.Stream:
		stream(w, o)
	default:
		whole(w, o)
	}
}

const usage = `"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`

// judge answers with a distribution over the first letters, which decisions are
// read from whatever labels they ask for.
func judge(w http.ResponseWriter, o order) {
	var top []string
	for i, p := range []float64{0.02, 0.6, 0.3, 0.02, 0.01} {
		top = append(top, fmt.Sprintf(`{"token":"%c","logprob":%g}`, 'A'+i, math.Log(p)))
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"double","choices":[{"index":0,"message":{"role":"assistant","content":"B"},`+
		`"logprobs":{"content":[{"token":"B","logprob":-0.51,"top_logprobs":[%s]}]},"finish_reason":"stop"}],`+usage+`}`, strings.Join(top, ","), o.prompt, 1, o.prompt+1)
}

func whole(w http.ResponseWriter, o order) {
	time.Sleep(o.pause * time.Duration(o.chunks))
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"double","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],`+usage+`}`,
		strings.Repeat("word ", o.chunks), o.prompt, o.chunks, o.prompt+o.chunks)
}

// word is the text of a chunk.
const word = "word "

const (
	chunk = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"double","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}` + "\n\n"
	first = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"double","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	last  = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"double","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
)

// stream sends chunks, each in a write of its own, as model servers do.
func stream(w http.ResponseWriter, o order) {
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	fmt.Fprint(w, first)
	piece := fmt.Sprintf(chunk, strings.Repeat(word, o.size/len(word)))
	for range o.chunks {
		fmt.Fprint(w, piece)
		if rc.Flush() != nil {
			return
		}
		time.Sleep(o.pause)
	}
	fmt.Fprint(w, last)
	fmt.Fprintf(w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"double","choices":[],`+usage+`}`+"\n\ndata: [DONE]\n\n", o.prompt, o.chunks, o.prompt+o.chunks)
}
