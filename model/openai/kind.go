package openai

import (
	"context"
	"errors"
	"path"
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

// traits are what servers of a kind do differently.
type traits struct {
	exact        []scorer // ways to show the probability of every label, the best first
	continues    bool     // continues a last message of the assistant without being told
	anyTop       bool     // shows any number of log-probabilities
	toldTop      bool     // says how many log-probabilities it shows
	decidesAny   bool     // answers decisions for every chat model, from labels like we do
	stopsWhole   bool     // stops when the caller of a whole answer leaves
	ignoresForce bool     // does not make the model call a tool
	cutsPrompts  bool     // cuts a prompt that is too long, in old versions, and counts all that is left
}

// traitsOf is the table of kinds. Kinds that are not in it have none of the traits.
var traitsOf = map[kind]traits{
	llamaCPP: {exact: []scorer{biased{}}, continues: true, ignoresForce: true},
	vLLM:     {exact: []scorer{named{}, allowed{}}, toldTop: true, decidesAny: true, stopsWhole: true},
	sgLang:   {exact: []scorer{replayed{}}, anyTop: true, decidesAny: true, stopsWhole: true},
	ollama:   {continues: true, ignoresForce: true, cutsPrompts: true},
}

// traits returns what is known of the server's kind without asking it.
func (s *server) traits() traits {
	if a := s.known.Load(); a != nil {
		return traitsOf[a.kind]
	}
	return traits{}
}

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
	slots int    // of llama.cpp: prefix caches
	model string // of llama.cpp and SGLang, which serve one model whatever it is called
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
	page := func(route string) gjson.Result {
		doc, err := s.get(ctx, s.root()+route)
		if f, ok := errors.AsType[*failure](err); err != nil && (!ok || f.status == 0 || f.busy() || f.status >= 500) {
			answered = false
		}
		return doc
	}
	if props := page("/props"); props.Get("default_generation_settings").Exists() {
		return &about{kind: llamaCPP, slots: int(props.Get("total_slots").Int()), model: path.Base(props.Get("model_path").Str)}
	}
	if info := page("/get_model_info"); info.Get("model_path").Exists() {
		return &about{kind: sgLang, model: info.Get("model_path").Str}
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

// reading names what answers for a model and how its distribution is read; see
// [model.Scores].
func (t *target) reading(id, way string) string {
	name, kind := t.model(id), other
	if a := t.known.Load(); a != nil {
		if kind = a.kind; a.model != "" {
			name = a.model
		}
	}
	return string(kind) + " " + name + " " + way
}
