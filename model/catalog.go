package model

import (
	"slices"

	"github.com/seed-506d8e5d/svc/fault"
)

// The model IDs that the interface names.
const (
	DefaultGenerator = "svc-preview"
	DefaultDecider   = "svc-snap-preview"
)

// DefaultContextWindow is the window assumed where an [Info] has none: 393,216
// tokens, the window of the decision model of the interface.
const DefaultContextWindow = 384 << 10

// Info describes one model. The zero value of every field but ID is a usable
// default.
type Info struct {
	ID               string
	OwnedBy          string   // who serves it, for the model list
	Created          int64    // Unix seconds, for the model list
	Generates        bool     // may be named in Responses and Chat Completions
	Decides          bool     // may be named in Decisions
	ContextWindow    int      // tokens; 0 is [DefaultContextWindow]
	ReasoningEfforts []string // those of [Efforts] that it takes; nil is all

	// Debias asks it each question of a decision twice, the second time with the
	// options in reverse order, and takes the mean: many models prefer an option
	// for its place.
	Debias bool
}

// Window returns the context window in tokens.
func (i Info) Window() int {
	if i.ContextWindow > 0 {
		return i.ContextWindow
	}
	return DefaultContextWindow
}

// TakesEffort reports whether the model accepts a reasoning effort.
func (i Info) TakesEffort(effort string) bool {
	if i.ReasoningEfforts == nil {
		return slices.Contains(Efforts, effort)
	}
	return slices.Contains(i.ReasoningEfforts, effort)
}

// Lister is a [Backend] that says which models it has. Its methods are called
// for every request.
type Lister interface {
	// Models returns the models in the order they are listed to clients. The
	// slice is shared and must not be changed.
	Models() []Info

	// Model returns the model with an ID. A backend that passes unknown IDs on
	// to a server may know models that Models does not list.
	Model(id string) (Info, bool)
}

// List returns b's models. A backend that is no [Lister] has the two models
// that the interface names: one that generates and, for a [Scorer], one that
// decides.
func List(b Backend) []Info {
	if l, ok := b.(Lister); ok {
		return l.Models()
	}
	models := []Info{{ID: DefaultGenerator, Generates: true}}
	if _, ok := b.(Scorer); ok {
		models = append(models, Info{ID: DefaultDecider, Decides: true})
	}
	return models
}

// Find returns b's model with an ID, and whether there is one.
func Find(b Backend, id string) (Info, bool) {
	if l, ok := b.(Lister); ok {
		return l.Model(id)
	}
	for _, info := range List(b) {
		if info.ID == id {
			return info, true
		}
	}
	return Info{}, false
}

// CodeNotFound is the code of the error for a model ID that nothing serves.
const CodeNotFound = "model_not_found"

// Generator returns b's model with an ID for generation, or a NotFound error
// that names the field model.
func Generator(b Backend, id string) (Info, error) {
	if id == "" {
		return Info{}, fault.Invalidf("model", "model is required.")
	}
	info, ok := Find(b, id)
	if !ok || !info.Generates {
		e := fault.Missing(CodeNotFound, "generation model", id)
		e.Param = "model"
		return Info{}, e
	}
	return info, nil
}
