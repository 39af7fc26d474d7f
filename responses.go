package svc

import (
	"context"
	"iter"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/responses"
)

// CreateResponse makes a turn and returns its response. The error is what refused
// the request before it began, or a *[responses.TurnError] with the response of a
// turn that failed or was cancelled in the middle.
func (s *Service) CreateResponse(ctx context.Context, caller Caller, req *responses.Request) (*responses.Response, error) {
	req, err := s.responseRequest(caller, req)
	if err != nil {
		return nil, err
	}
	return run(ctx, s.lifecycle, func(ctx context.Context) (*responses.Response, error) {
		return s.responses.Create(ctx, caller, req)
	})
}

// StreamResponse makes a turn and yields its events. What refuses the request is
// the error, or the one thing that the sequence yields; what ends a turn in the
// middle is the last thing, a *[responses.TurnError]. See [responses.Service.Stream].
func (s *Service) StreamResponse(ctx context.Context, caller Caller, req *responses.Request) (iter.Seq2[responses.Event, error], error) {
	req, err := s.responseRequest(caller, req)
	if err != nil {
		return nil, err
	}
	return stream(ctx, s.lifecycle, func(ctx context.Context) (iter.Seq2[responses.Event, error], error) {
		return s.responses.Stream(ctx, caller, req)
	})
}

// Response returns a stored response. The error is NotFound.
func (s *Service) Response(ctx context.Context, caller Caller, id string) (*responses.Response, error) {
	return s.responses.Get(ctx, caller, id)
}

// Responses returns a page of the organization's stored responses, 1 to 100, by
// the time of their creation.
func (s *Service) Responses(ctx context.Context, caller Caller, p Page) (List[*responses.Response], error) {
	return s.responses.List(ctx, caller, p)
}

// ReplayResponse yields the events of a stored response again, those behind the
// one with a number, -1 for all; see [responses.Service.Replay]. The error is
// NotFound.
func (s *Service) ReplayResponse(ctx context.Context, caller Caller, id string, after int) (iter.Seq2[responses.Event, error], error) {
	return s.responses.Replay(ctx, caller, id, after)
}

// CancelResponse ends a turn that runs and returns its response, or one that was
// cancelled before. The error is Invalid for any other that has ended, and
// NotFound.
func (s *Service) CancelResponse(ctx context.Context, caller Caller, id string) (*responses.Response, error) {
	return s.responses.Cancel(ctx, caller, id)
}

// ResponseSession is a row of turns that one client makes one after another; see
// [responses.Session].
type ResponseSession struct {
	service *Service
	session *responses.Session
}

// NewResponseSession returns a session without turns.
func (s *Service) NewResponseSession() *ResponseSession {
	return &ResponseSession{s, s.responses.NewSession()}
}

// Remembers reports whether the last turn can be continued from though it is not
// stored.
func (n *ResponseSession) Remembers() bool { return n.session.Remembers() }

// StreamResponse is [Service.StreamResponse], but that the request may continue
// from the last turn of the session, which need not be stored.
func (n *ResponseSession) StreamResponse(ctx context.Context, caller Caller, req *responses.Request) (iter.Seq2[responses.Event, error], error) {
	req, err := n.service.responseRequest(caller, req)
	if err != nil {
		return nil, err
	}
	return stream(ctx, n.service.lifecycle, func(ctx context.Context) (iter.Seq2[responses.Event, error], error) {
		return n.session.Stream(ctx, caller, req)
	})
}

// CompactResponse has the model summarize a history: what the request continues
// from, and its input. Nothing is stored.
func (s *Service) CompactResponse(ctx context.Context, caller Caller, req *responses.Request) (*responses.Compacted, error) {
	req, err := s.responseRequest(caller, req)
	if err != nil {
		return nil, err
	}
	return run(ctx, s.lifecycle, func(ctx context.Context) (*responses.Compacted, error) {
		return s.responses.Compact(ctx, caller, req)
	})
}

// DeleteResponse removes a stored response; what was said stays in its
// conversation. The error is NotFound.
func (s *Service) DeleteResponse(ctx context.Context, caller Caller, id string) error {
	return s.responses.Delete(ctx, caller, id)
}

// ResponseInput returns a page of the input items of a stored response, 1 to
// 100. The error is NotFound or Invalid.
func (s *Service) ResponseInput(ctx context.Context, caller Caller, id string, p Page) (List[conversations.Item], error) {
	return s.responses.InputItems(ctx, caller, id, p)
}

// CountResponseInput returns how many input tokens a request has, history
// included, without running it.
func (s *Service) CountResponseInput(ctx context.Context, caller Caller, req *responses.Request) (int, error) {
	return s.responses.CountInput(ctx, caller, s.named(req))
}

// named returns a request with the ID of its model.
func (s *Service) named(req *responses.Request) *responses.Request {
	named := *req
	named.Model = s.modelID(req.Model)
	return &named
}

// ResponsePrompt returns what a stored turn showed its model, and what it left out; see
// [responses.Service.Prompt].
func (s *Service) ResponsePrompt(ctx context.Context, caller Caller, id string) ([]responses.PromptItem, error) {
	return s.responses.Prompt(ctx, caller, id)
}

// Branches returns the newest responses of a conversation; see
// [responses.Service.Branches].
func (s *Service) Branches(ctx context.Context, caller Caller, conversation string, most int) ([]*responses.Response, error) {
	return s.responses.Branches(ctx, caller, conversation, most)
}

// RunningResponses returns the responses of the caller's organization that are being
// made, by whichever process.
func (s *Service) RunningResponses(ctx context.Context, caller Caller) ([]*responses.Response, error) {
	return s.responses.Running(ctx, caller)
}
