package openai

import (
	"context"
	"errors"
	"time"

	"github.com/tidwall/gjson"
)

// kind is a kind of model server, known by what it answers on routes that only
// servers of its kind have.
type kind string

const (
	unknown  kind = ""
	llamaCPP kind = "llama.cpp"
	vLLM     kind = "vLLM"
	sgLang   kind = "SGLang"
	ollama   kind = "Ollama"
	other    kind = "other" // hosted APIs and everything else
)

const (
	// identifyTime bounds the questions that tell a server's kind.
	identifyTime = 5 * time.Second
	// unknownFor is how long a server that did not answer them is not asked again.
	unknownFor = 30 * time.Second
	// knownFor is how long what was learned of a server or a target holds: it may
	// be started anew with other settings.
	knownFor = time.Hour
)

// about is what a server says of itself.
type about struct {
	kind  kind
	slots int // of llama.cpp: prefix caches
	until time.Time
}

// about returns what is known of the server, and asks it where that is too old.
func (s *server) about(ctx context.Context) *about {
	if a := s.known.Load(); a != nil && time.Now().Before(a.until) {
		return a
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	if a := s.known.Load(); a != nil && time.Now().Before(a.until) {
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	a := s.identify(ctx)
	a.until = time.Now().Add(knownFor)
	if a.kind == unknown {
		a.until = time.Now().Add(unknownFor)
	}
	if a.slots > 0 {
		s.conns.limit(a.slots) // an idle connection occupies a thread of llama-server
	}
	s.known.Store(a)
	return a
}

// identify asks for the pages that tell a kind.
func (s *server) identify(ctx context.Context) *about {
	answered := true
	page := func(path string) gjson.Result {
		doc, err := s.get(ctx, s.root()+path)
		if f, ok := errors.AsType[*failure](err); err != nil && (!ok || f.status == 0 || f.busy() || f.status >= 500) {
			answered = false
		}
		return doc
	}
	if props := page("/props"); props.Get("default_generation_settings").Exists() {
		return &about{kind: llamaCPP, slots: int(props.Get("total_slots").Int())}
	}
	if info := page("/get_model_info"); info.Get("model_path").Exists() {
		return &about{kind: sgLang}
	}
	if version := page("/api/version"); version.Get("version").Exists() {
		return &about{kind: ollama}
	}
	if version := page("/version"); version.Get("version").Exists() {
		return &about{kind: vLLM}
	}
	if !answered {
		return &about{}
	}
	return &about{kind: other}
}
