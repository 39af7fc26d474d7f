package openai

import (
	"sync/atomic"
	"time"
)

// ServerState is how a server does, for who looks after it.
type ServerState struct {
	URL        string
	Kind       string        // such as "llama.cpp"; "other" where it did not say
	Well       bool          // as far as is known; one that is not is asked after all others
	Requests   int64         // since the start
	Failures   int64         // of them, those that were the server's fault
	FirstToken time.Duration // how long an answer takes to begin, of late; 0 where none has
}

// Servers returns the servers of the configuration, in no order.
func (b *Backend) Servers() []ServerState {
	all := make([]ServerState, 0, len(b.servers))
	for _, s := range b.servers {
		state := ServerState{
			URL: s.URL, Well: !s.health.ailing.Load(), Requests: s.load.requests.Load(), Failures: s.load.failures.Load(),
			FirstToken: time.Duration(s.load.firstToken.Load()),
		}
		if a := s.known.Load(); a != nil {
			state.Kind = string(a.kind)
		}
		all = append(all, state)
	}
	return all
}

// load counts what a server was asked and how it took that.
type load struct {
	requests, failures atomic.Int64
	firstToken         atomic.Int64 // nanoseconds, a moving mean
}

// begins notes how long an answer took to begin. Of two at once one may be lost,
// which a mean can bear.
func (l *load) begins(took time.Duration) {
	const weight = 8 // of the past
	if mean := l.firstToken.Load(); mean != 0 {
		took = (time.Duration(mean)*(weight-1) + took) / weight
	}
	l.firstToken.Store(int64(took))
}
