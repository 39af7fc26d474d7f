package model

import "slices"

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

// CodeNotFound is the code of the error for a model ID that nothing serves.
const CodeNotFound = "model_not_found"
