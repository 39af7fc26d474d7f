package openai

import (
	"context"
	"regexp"
	"strconv"

	"github.com/tidwall/gjson"
)

// How servers say that a prompt is too long: codes of OpenAI and of llama.cpp,
// which Ollama hands on as JSON in a string, and vLLM's sentence.
var tooLong = regexp.MustCompile(`context_length_exceeded|exceed_context_size_error|maximum context length (?:is|of) [0-9]`)

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
// is loaded, or else 0.
func (s *server) ollamaWindow(ctx context.Context, name string) int64 {
	loaded, err := s.get(ctx, s.root()+"/api/ps")
	if err != nil {
		return 0
	}
	window := int64(0)
	loaded.Get("models").ForEach(func(_, m gjson.Result) bool {
		if id := m.Get("name").Str; id == name || id == name+":latest" {
			window = m.Get("context_length").Int()
		}
		return true
	})
	return window
}
