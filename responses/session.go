package responses

import (
	"context"
	"iter"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
)

// Session is a row of turns that one client makes one after another. A turn that
// is not stored can be continued from by the next one of its session, which is not
// stored either: the last one is remembered. The methods are for one goroutine.
type Session struct {
	s    *Service
	id   string // of the response of the last turn, if it is remembered
	last *conversations.Parent
}

// NewSession returns a Session without turns.
func (s *Service) NewSession() *Session { return &Session{s: s} }

// Remembers reports whether the last turn can be continued from though it is not
// stored.
func (n *Session) Remembers() bool { return n.id != "" }

// Stream is [Service.Stream], but that the request may continue from the last
// turn of the session. The sequence must be ranged over before the next call.
func (n *Session) Stream(ctx context.Context, caller accounts.Caller, req *Request) (iter.Seq2[Event, error], error) {
	var from *conversations.Parent
	if n.id != "" && n.id == req.PreviousResponseID && !req.stored() {
		from = n.last
	}
	n.id, n.last = "", nil
	t, err := n.s.beginFrom(ctx, caller, req, from)
	if err != nil {
		return nil, err
	}
	t.announced = true
	return func(yield func(Event, error) bool) {
		t.run(ctx, yield)
		if r := t.response; !t.saving.enabled && r.Status == Completed {
			n.id = r.ID
			n.last = &conversations.Parent{Conversation: r.Conversation, Lineage: nil, Entries: t.with(t.entries(), r.Output)}
		}
	}, nil
}
