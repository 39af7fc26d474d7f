package responses

import (
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// prompt turns items into the messages that a model reads. It only ever appends:
// the messages for a turn begin with those for the turn before it and its
// answer, so that a model server's prefix cache keeps working.
//
// Function calls of one turn that follow each other, or the text that announced
// them, are one message of the assistant, and their outputs come right behind
// it. A web search is a message of its own with what it found behind it. A call
// that the token limit cut is left out: it cannot be answered, and its arguments
// are not JSON.
type prompt struct {
	messages []model.Message
	outputs  map[string]string    // of function calls, by the ID of the call's item
	open     *conversations.Entry // the last entry, where a call would join its message
	answers  []string             // to the calls of the message that is open
}

// messages builds the messages for a history and what the turn has so far.
// document returns a file as the model reads it.
func buildMessages(instructions string, entries []conversations.Entry, document func(id string) model.Document) []model.Message {
	p := &prompt{outputs: map[string]string{}}
	if instructions != "" {
		p.messages = append(p.messages, model.TextMessage(model.System, instructions))
	}
	for _, e := range entries {
		if output, ok := e.Item.(*conversations.FunctionCallOutput); ok {
			p.outputs[output.Call] = output.Output
		}
	}
	for i := range entries {
		p.add(&entries[i], document)
	}
	p.close()
	return p.messages
}

func (p *prompt) add(e *conversations.Entry, document func(id string) model.Document) {
	switch item := e.Item.(type) {
	case *conversations.Message:
		p.close()
		if parts := messageParts(item, document); len(parts) > 0 {
			p.messages = append(p.messages, model.Message{Role: item.Role, Parts: parts})
			if item.Phase == conversations.Commentary {
				p.open = e
			}
		}
	case *conversations.FunctionCall:
		if item.Status != conversations.Incomplete {
			p.call(e, model.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments}, p.outputs[item.ID])
		}
	case *conversations.FunctionCallOutput:
		p.close() // what follows was said after it
	case *conversations.WebSearch:
		p.call(e, model.ToolCall{ID: item.CallID, Name: searchName, Arguments: searchArguments(item.Queries)}, item.Results)
		p.close()
	}
}

// call adds a call and its answer to the assistant's message that is open, or to
// a new one.
func (p *prompt) call(e *conversations.Entry, call model.ToolCall, answer string) {
	if p.open == nil || p.open.Turn != e.Turn {
		p.close()
		p.messages = append(p.messages, model.Message{Role: model.Assistant})
	}
	last := &p.messages[len(p.messages)-1]
	last.ToolCalls = append(last.ToolCalls, call)
	p.answers = append(p.answers, answer)
	p.open = e
}

// close ends the assistant's message that is open: the outputs of its calls
// follow.
func (p *prompt) close() {
	if p.open == nil {
		return
	}
	for i, call := range p.messages[len(p.messages)-1].ToolCalls {
		p.messages = append(p.messages, model.Message{
			Role: model.ToolRole, ToolCallID: call.ID, Parts: []model.Part{model.Text(p.answers[i])},
		})
	}
	p.open, p.answers = nil, nil
}

func messageParts(m *conversations.Message, document func(id string) model.Document) []model.Part {
	parts := make([]model.Part, 0, len(m.Content))
	for _, p := range m.Content {
		if p.Type == conversations.InputFile {
			parts = append(parts, document(p.FileID))
			continue
		}
		parts = append(parts, model.Text(p.Text))
	}
	return parts
}

func searchArguments(queries []string) string {
	data, err := jsonout.Marshal(map[string][]string{"queries": queries})
	if err != nil {
		return "{}" // strings always encode
	}
	return string(data)
}
