package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/images"
	"github.com/seed-506d8e5d/svc/model"
)

func (r *Request) checkMessages() error {
	if len(r.Messages) == 0 {
		return fault.Invalidf("messages", "messages must have at least one message.")
	}
	if len(r.Messages) > MaxMessages {
		return fault.Invalidf("messages", "messages must have at most %d messages.", MaxMessages)
	}
	var calls openCalls
	inline := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		at := place{message: i}
		if err := m.check(at); err != nil {
			return err
		}
		if err := calls.next(m, at); err != nil {
			return err
		}
		inline += m.inlineBytes()
	}
	if inline > MaxInlineBytes {
		return tooLarge("messages", "Inline documents must have at most %d bytes together; send larger ones by file_id.", MaxInlineBytes)
	}
	return calls.end()
}

// place is where in a request something stands: in a message, or in one of its
// lists. It is written out only for errors.
type place struct {
	message int
	list    string // "content", "tool_calls" or empty
	index   int
}

func (p place) String() string {
	if p.list == "" {
		return fmt.Sprintf("messages[%d]", p.message)
	}
	return fmt.Sprintf("messages[%d].%s[%d]", p.message, p.list, p.index)
}

// invalid returns an Invalid error about a field there, or about all of it where
// field is empty. The format is what follows the path.
func (p place) invalid(field, format string, args ...any) error {
	path := p.String()
	if field != "" {
		path += "." + field
	}
	e := fault.Invalidf(path, format, args...)
	e.Message = path + " " + e.Message
	return e
}

// tooLarge returns a TooLarge error about the field param.
func tooLarge(param, format string, args ...any) error {
	e := fault.Invalidf(param, format, args...)
	e.Kind, e.Code = fault.TooLarge, CodeTooLarge
	return e
}

// check holds a message to the rules that concern it alone.
func (m *Message) check(at place) error {
	switch m.Role {
	case model.System, Developer, model.User, model.Assistant, model.ToolRole:
	case "":
		return at.invalid("role", "is required.")
	default:
		return at.invalid("role", "must be system, developer, user, assistant or tool, not %.64q.", string(m.Role))
	}
	if len(m.Content) == 0 && len(m.ToolCalls) == 0 {
		return at.invalid("content", "is required.")
	}
	if len(m.Content) > MaxParts {
		return at.invalid("content", "must have at most %d parts.", MaxParts)
	}
	for i, p := range m.Content {
		if err := checkPart(p, place{at.message, "content", i}); err != nil {
			return err
		}
	}
	switch {
	case len(m.ToolCalls) > 0 && m.Role != model.Assistant:
		return at.invalid("tool_calls", "may only stand in an assistant message.")
	case m.ToolCallID != "" && m.Role != model.ToolRole:
		return at.invalid("tool_call_id", "may only stand in a tool message.")
	case m.ToolCallID == "" && m.Role == model.ToolRole:
		return at.invalid("tool_call_id", "is required in a tool message.")
	}
	return m.checkToolCalls(at)
}

func (m *Message) checkToolCalls(at place) error {
	if len(m.ToolCalls) > generation.MaxTools {
		return at.invalid("tool_calls", "must have at most %d elements.", generation.MaxTools)
	}
	for i, call := range m.ToolCalls {
		at := place{at.message, "tool_calls", i}
		if call.ID == "" {
			return at.invalid("id", "is required.")
		}
		if call.Name == "" {
			return at.invalid("function.name", "is required.")
		}
	}
	return nil
}

func checkPart(p Part, at place) error {
	switch p := p.(type) {
	case Text, Image:
		return nil
	case File:
		if p.ID == "" && p.Data == nil {
			return at.invalid("", "needs a file_id or file_data.")
		}
		if p.ID != "" && p.Data != nil {
			return at.invalid("", "has both a file_id and file_data; it must have one of them.")
		}
		return nil
	}
	return at.invalid("", "must be a text or file part.")
}

func (m *Message) inlineBytes() int {
	bytes := 0
	for _, p := range m.Content {
		switch p := p.(type) {
		case File:
			bytes += len(p.Data)
		case Image:
			bytes += len(p.Data)
		}
	}
	return bytes
}

// openCalls follows tool calls and the messages that answer them: every call of
// an assistant message is answered once, by the tool messages that directly
// follow it.
type openCalls struct {
	at    place // the message with the calls
	calls []model.ToolCall
	done  map[string]bool // by ID: answered
}

func (c *openCalls) next(m *Message, at place) error {
	if m.Role == model.ToolRole {
		return c.answer(m.ToolCallID, at)
	}
	if err := c.end(); err != nil {
		return err
	}
	*c = openCalls{}
	if len(m.ToolCalls) == 0 {
		return nil
	}
	*c = openCalls{at: at, calls: m.ToolCalls, done: make(map[string]bool, len(m.ToolCalls))}
	for i, call := range m.ToolCalls {
		if _, ok := c.done[call.ID]; ok {
			return place{at.message, "tool_calls", i}.invalid("id", "is %.64q, which another call of the message has, too.", call.ID)
		}
		c.done[call.ID] = false
	}
	return nil
}

func (c *openCalls) answer(id string, at place) error {
	done, ok := c.done[id]
	if !ok {
		return at.invalid("tool_call_id", "is %.64q, which is no call of the assistant message before it.", id)
	}
	if done {
		return at.invalid("tool_call_id", "is %.64q, a call that was answered before.", id)
	}
	c.done[id] = true
	return nil
}

// end returns an error unless every call is answered.
func (c *openCalls) end() error {
	for i, call := range c.calls {
		if !c.done[call.ID] {
			return place{c.at.message, "tool_calls", i}.invalid("", "is the call %.64q, which no tool message directly after it answers.", call.ID)
		}
	}
	return nil
}

// messages returns the messages as the model sees them, with the documents read.
func (s *Service) messages(ctx context.Context, caller accounts.Caller, messages []Message) ([]model.Message, error) {
	documents := generation.NewDocuments(func(ctx context.Context, id string) (model.Document, error) {
		return s.documents.Stored(ctx, caller, id)
	})
	var pictures images.Prompt
	seen := make([]model.Message, len(messages))
	for i := range messages {
		m := &messages[i]
		parts := make([]model.Part, len(m.Content))
		for j, p := range m.Content {
			part, err := s.part(ctx, documents, &pictures, p)
			if err != nil {
				return nil, placed(err, place{i, "content", j})
			}
			parts[j] = part
		}
		role := m.Role
		if role == Developer {
			role = model.System
		}
		seen[i] = model.Message{Role: role, Parts: parts, ToolCalls: m.ToolCalls, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID}
	}
	return seen, nil
}

func (s *Service) part(ctx context.Context, documents *generation.Documents, pictures *images.Prompt, p Part) (model.Part, error) {
	var f File
	switch p := p.(type) {
	case Text:
		return model.Text(p), nil
	case Image:
		return pictures.Read(p.MediaType, p.Data)
	case File:
		f = p
	}
	if f.ID != "" {
		return documents.Stored(ctx, f.ID)
	}
	document, err := s.documents.Inline(ctx, f.Name, f.MIMEType, f.Data)
	if err != nil {
		return nil, err
	}
	return document, documents.Count(document)
}

// placed returns err with the path of the part that it is about.
func placed(err error, at place) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Param != "" {
		return err
	}
	clone := *e
	clone.Param = at.String()
	return &clone
}
