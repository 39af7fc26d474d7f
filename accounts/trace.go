package accounts

import "time"

// Trace is what is stored with a result for the log of its organization: who asked for
// it, what it cost and how long it took. Results that were stored by earlier versions
// have none. The tags are those of its record in the store.
type Trace struct {
	Key        string `json:"key,omitempty"`   // key_… ID, empty where no key was used
	Cost       Micros `json:"cost,omitempty"`  // at the prices of that time
	Latency    int64  `json:"ms,omitempty"`    // from the request to the end of the answer, in milliseconds
	FirstToken int64  `json:"first,omitempty"` // until the first piece of a streamed answer, in milliseconds; 0 for any other
}

// Stopwatch measures the times of a [Trace].
type Stopwatch struct {
	now   func() time.Time
	began time.Time
	first int64
	begun bool
}

// NewStopwatch returns a Stopwatch that runs.
func NewStopwatch(now func() time.Time) Stopwatch { return Stopwatch{now: now, began: now()} }

// Token says that a piece of the answer has come.
func (s *Stopwatch) Token() {
	if !s.begun {
		s.first, s.begun = s.now().Sub(s.began).Milliseconds(), true
	}
}

// Trace returns the trace of a call that ends now. A use that nothing is charged for
// costs nothing.
func (s *Service) Trace(c Caller, use Use, w *Stopwatch) Trace {
	cost, err := s.Cost(use)
	if err != nil || s.own != nil {
		cost = 0 // it is not charged: an error is that of the charge
	}
	return Trace{Key: c.Key, Cost: cost, Latency: w.now().Sub(w.began).Milliseconds(), FirstToken: w.first}
}
