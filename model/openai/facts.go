package openai

import (
	"maps"
	"sync"
	"time"
)

// facts are what answers have taught about a target. They are forgotten after a
// while, and when the server turns out to be down: it may come back as another.
type facts struct {
	mu    sync.Mutex
	until time.Time // guarded by mu, as is known
	known known
}

// known is what there is to learn. The zero value is the begin.
type known struct {
	noEffort bool            // the server refuses reasoning_effort none
	template bool            // the model thinks for all that; chat_template_kwargs is the way
	lead     int             // tokens that answers to questions need; 0 is one
	try      try             // the way to read a distribution that worked last
	tested   bool            // it has been asked a question, and what follows is found out
	lacking  map[scorer]bool // ways that the server does not have; not changed once it is here
	top      int             // log-probabilities that it shows at most; 0: not found out
	unforced bool            // tool_choice does not make the model call a tool
	ratio    float64

	// The fewest tokens that the server counted lately, for each byte of a prompt and
	// for each event of an answer; 0: not found out.
	perByte, perPiece float64

	noReasoning bool   // the server refuses messages that have reasoning
	reasoningAs string // how it sends reasoning: the name of a field, or thinkOpen for in the text; empty: not found out

	decides      Decides // how the target decides for now; empty: not found out
	decidesUntil time.Time
}

// get returns what is known now.
func (f *facts) get() known {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Now().After(f.until) {
		f.known = known{}
	}
	return f.known
}

// learn changes what is known.
func (f *facts) learn(change func(*known)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.After(f.until) {
		f.known, f.until = known{}, now.Add(knownFor)
	}
	change(&f.known)
}

// forget begins anew.
func (f *facts) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = time.Time{}
}

// lacks notes that the server does not have a way to show labels.
func (k *known) lacks(way scorer) {
	k.lacking = maps.Clone(k.lacking)
	if k.lacking == nil {
		k.lacking = map[scorer]bool{}
	}
	k.lacking[way] = true
}
