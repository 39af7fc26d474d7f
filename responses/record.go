package responses

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// body is what is stored of a response beside its items.
type body struct {
	CreatedAt   int64        `json:"created"`
	CompletedAt int64        `json:"completed,omitempty"`
	Status      Status       `json:"status"`
	Error       *errorRecord `json:"error,omitempty"`
	Incomplete  string       `json:"incomplete,omitempty"`
	Usage       model.Usage  `json:"usage,omitzero"`
	Events      int          `json:"events,omitempty"`
	Truncated   int          `json:"truncated,omitempty"`
	Echo        Echo         `json:"echo"`

	Trace accounts.Trace `json:"trace,omitzero"`
}

type errorRecord struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *Response) encodeBody() (json.RawMessage, error) {
	b := body{
		CreatedAt: r.CreatedAt, CompletedAt: r.CompletedAt, Status: r.Status, Incomplete: r.Incomplete,
		Events: r.events, Truncated: r.Truncated, Echo: r.Echo, Trace: r.Trace,
	}
	if r.Error != nil {
		b.Error = &errorRecord{r.Error.Code, r.Error.Message}
	}
	if r.Usage != nil {
		b.Usage = *r.Usage
	}
	return jsonout.Marshal(b)
}

// newResponse returns the response of a stored turn.
func newResponse(t conversations.Turn, output []conversations.Item) (*Response, error) {
	var b body
	if err := json.Unmarshal(t.Body, &b); err != nil {
		return nil, err
	}
	r := &Response{
		ID: t.ID, Conversation: t.Conversation,
		CreatedAt: b.CreatedAt, CompletedAt: b.CompletedAt, Status: b.Status, Incomplete: b.Incomplete,
		Output: output, Echo: b.Echo, Truncated: b.Truncated, Trace: b.Trace, events: b.Events,
	}
	if b.Error != nil {
		r.Error = &Error{Code: b.Error.Code, Message: b.Error.Message}
	}
	if !t.Running {
		r.Usage = &b.Usage
	}
	return r, nil
}

// interrupted returns the body of a turn whose process has ended before it, from
// the one that it was begun with, in the transaction that ends the turn.
func (s *Service) interrupted(tx storage.Tx, id string, data json.RawMessage) (json.RawMessage, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, err
	}
	b.Status, b.CompletedAt = Failed, s.o.Now().Unix()
	b.Error = &errorRecord{CodeInterrupted, "The server was stopped while it made the response."}
	if b.Echo.Background {
		if err := s.o.ended(tx, id, Failed, false); err != nil {
			return nil, err
		}
	}
	return jsonout.Marshal(b)
}
