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
	Embeds           bool     // may be named in Embeddings
	ContextWindow    int      // tokens; 0 is [DefaultContextWindow]
	ReasoningEfforts []string // those of [Efforts] that it takes; nil is all
	Routes           bool     // it chooses a model that answers, and says which one: [Answering]

	// Debias is in how many orders it is asked each question of a decision, 0 and 1
	// for one: many models prefer an option for its place. The orders are cyclic
	// shifts, and both directions for a scale; the answers are averaged in log
	// space.
	Debias int

	// PriorStates is from how many states before, of the same organization and
	// question, a model's liking of some options whatever the state is estimated
	// and taken out of its answers; 0 does not.
	PriorStates int
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
