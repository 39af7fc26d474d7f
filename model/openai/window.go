package openai

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// How servers say that a prompt is too long: codes of OpenAI and of llama.cpp,
// which Ollama hands on as JSON in a string, vLLM's sentence, and llama.cpp's for a
// window that is full before the answer ends, with a status of 500.
var tooLong = regexp.MustCompile(`context_length_exceeded|exceed_context_size_error|maximum context length (?:is|of) [0-9]|Context size has been exceeded`)

// Where such an error has the window, in tokens.
var windowIn = regexp.MustCompile(`(?:\\*"n_ctx\\*"\s*:\s*|maximum context length (?:is|of) )([0-9]{1,9})`)

// overWindow reports whether an error is about a prompt that is too long.
func overWindow(text []byte) bool { return tooLong.Match(text) }

// toldWindow returns the context window that such an error names, or 0.
func toldWindow(text []byte) int {
	found := windowIn.FindSubmatch(text)
	if found == nil {
		return 0
	}
	window, err := strconv.Atoi(string(found[1]))
	if err != nil {
		return 0
	}
	return window
}

// ollamaWindow asks Ollama for the context window of a model: that with which it
// is loaded, or else that which it is set up for, or at the most has, or else 0.
func (s *server) ollamaWindow(ctx context.Context, name string) int64 {
	if loaded, err := s.get(ctx, s.root()+"/api/ps"); err == nil {
		for _, m := range loaded.Get("models").Array() {
			if id := m.Get("name").Str; id == name || id == name+":latest" {
				return m.Get("context_length").Int()
			}
		}
	}
	body, err := encode(map[string]string{"model": name})
	if err != nil {
		return 0
	}
	x, err := s.send(ctx, post("", s.root()+"/api/show", body))
	if err != nil {
		return 0
	}
	defer x.close()
	shown, err := x.whole(maxEvent)
	if err != nil {
		return 0
	}
	if found := contextSet.FindStringSubmatch(shown.Get("parameters").Str); found != nil {
		if window, err := strconv.ParseInt(found[1], 10, 64); err == nil {
			return window
		}
	}
	window := int64(0)
	shown.Get("model_info").ForEach(func(name, value gjson.Result) bool {
		if strings.HasSuffix(name.Str, ".context_length") {
			window = value.Int()
		}
		return window == 0
	})
	return window
}

// contextSet is where Ollama shows the window that a model is set up for.
var contextSet = regexp.MustCompile(`(?m)^num_ctx\s+([0-9]{1,9})\s*$`)
