package responses

import (
	"cmp"
	"slices"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// entries are the history and the input. What was said before the last compaction
// is left out, but the instructions among it.
func (t *turn) entries() []conversations.Entry {
	entries := t.parent.Entries[:len(t.parent.Entries):len(t.parent.Entries)]
	entries = t.with(entries, t.input)
	for i, e := range slices.Backward(entries) {
		if _, ok := e.Item.(*conversations.Compaction); ok {
			return append(instructionsOf(entries[:i]), entries[i:]...)
		}
	}
	return entries
}

func (t *turn) with(entries []conversations.Entry, items []conversations.Item) []conversations.Entry {
	for _, item := range items {
		entries = append(entries, conversations.Entry{Turn: t.response.ID, Item: item})
	}
	return entries
}

// request is what the model is sent next: the history, the input, and what the
// turn has so far.
func (t *turn) request() *model.Request {
	messages := t.plan.opening
	if len(t.response.Output) > 0 {
		messages = t.messages()
	} else if messages == nil {
		messages = slices.Clip(t.messages())
		t.plan.opening = messages
	}
	req := t.settings.Request(messages)
	if t.plan.next != nil && t.plan.whole() {
		req.Memo, req.Same = t.plan.next.memo, len(t.plan.next.messages)
	}
	req.Reasoning, req.Guard = true, t.req.Guard
	req.Tenant, req.Whole = model.Tenant(t.caller.Organization, t.caller.Background), !t.announced
	return req
}

// messages builds the prompt of a request.
func (t *turn) messages() []model.Message {
	output := t.response.Output
	if t.plan.whole() {
		return t.extend(output)
	}
	entries := t.entries()
	if t.plan.leftOut > 0 {
		entries = append(instructionsOf(entries[:t.plan.leftOut]), entries[t.plan.leftOut:]...)
	}
	if t.plan.compaction != nil {
		kept := entries[len(entries)-t.plan.behind:]
		entries = t.with(instructionsOf(entries[:len(entries)-t.plan.behind]), []conversations.Item{t.plan.compaction})
		entries, output = append(entries, kept...), output[1:]
	}
	entries = t.with(entries, output)
	entries = ofTask(entries, t.settings.Model)
	return buildMessages(t.req.Instructions, entries, t.documents.Get)
}

// extend builds the prompt with all that there is, behind the transcript.
func (t *turn) extend(output []conversations.Item) []model.Message {
	entries, extendable := t.follows()
	p := prompt{messages: t.plan.begins.messages}
	if t.plan.built {
		p.messages = slices.Clip(p.messages) // what is behind them has been handed out
	}
	p.grow(ofTask(t.with(entries, output), t.settings.Model), t.documents.Get)
	if extendable && !t.plan.built {
		t.plan.next = t.extended(entries, p.messages, p.marks)
	}
	t.plan.built = true
	return p.messages
}

// cutAt leaves entries out of the prompt; see [turn].
func (t *turn) cutAt(n int) { t.plan.leftOut, t.plan.opening = n, nil }

// prompt turns items into the messages that a model reads. It only ever appends:
// the messages for a turn begin with those for the turn before it and its
// answer, so that a model server's prefix cache keeps working.
//
// Function calls of one turn that follow each other, or the text that announced
// them, are one message of the assistant, and their outputs come right behind
// it. A web search, and a call of a server's tool, is a message of its own with what
// came of it behind it. A call
// that the token limit cut is left out: it cannot be answered, and its arguments
// are not JSON.
type prompt struct {
	messages []model.Message
	outputs  map[string][]model.Part // of function calls, by the ID of the call's item
	open     *conversations.Entry    // the last entry, where a call would join its message
	answers  [][]model.Part          // to the calls of the message that is open
	waiting  map[string]bool         // IDs of items: the calls whose outputs have not come yet
	asked    map[string]bool         // likewise: the approval requests that nobody has answered yet
	marks    []int                   // how many messages there are behind each entry; 0 where something is open
}

// messages builds the messages for a history and what the turn has so far.
// document returns a file as the model reads it.
func buildMessages(instructions string, entries []conversations.Entry, document func(id string) model.Document) []model.Message {
	p := prompt{messages: newTranscript(instructions).messages}
	p.grow(entries, document)
	return p.messages
}

// grow adds entries, with whose end the prompt ends.
func (p *prompt) grow(entries []conversations.Entry, document func(id string) model.Document) {
	p.messages = slices.Grow(p.messages, len(entries))
	p.outputs, p.waiting, p.asked, p.marks = map[string][]model.Part{}, map[string]bool{}, map[string]bool{}, make([]int, len(entries))
	for _, e := range entries {
		switch item := e.Item.(type) {
		case *conversations.FunctionCallOutput:
			p.outputs[item.Call] = outputParts(item, document)
		case *conversations.MCPCall:
			if item.Request != "" {
				p.outputs[item.Request] = []model.Part{model.Text(item.Output)}
			}
		case *conversations.MCPApprovalResponse:
			if !item.Approve {
				p.outputs[item.Request] = []model.Part{model.Text(denied(item.Reason))}
			}
		}
	}
	for i := range entries {
		p.add(&entries[i], document)
		if p.open == nil && len(p.waiting)+len(p.asked) == 0 {
			p.marks[i] = len(p.messages)
		}
	}
	p.close()
}

func (p *prompt) add(e *conversations.Entry, document func(id string) model.Document) {
	switch item := e.Item.(type) {
	case *conversations.Message:
		p.close()
		if parts := contentParts(item.Content, document); len(parts) > 0 {
			p.messages = append(p.messages, model.Message{Role: item.Role, Parts: parts})
			if item.Role == model.User {
				clear(p.asked) // the user has passed over them
			}
			if item.Phase == conversations.Commentary {
				p.open = e
			}
		}
	case *conversations.FunctionCall:
		p.waiting[item.ID] = true
		if item.Status != conversations.Incomplete {
			p.call(e, modelCall(item), p.outputs[item.ID])
			p.think(item.Thought)
		}
	case *conversations.Compaction:
		p.close()
		p.messages = append(p.messages, model.TextMessage(model.User, summaryBegins+item.Summary))
	case *conversations.FunctionCallOutput:
		delete(p.waiting, item.Call)
		p.close() // what follows was said after it
	case *conversations.FileSearch:
		p.call(e, model.ToolCall{ID: item.CallID, Name: fileSearchName, Arguments: searchArguments(item.Queries)}, []model.Part{model.Text(foundText(item))})
		p.think(item.Thought)
		p.close()
	case *conversations.WebSearch:
		p.call(e, model.ToolCall{ID: item.CallID, Name: searchName, Arguments: searchArguments(item.Queries)}, []model.Part{model.Text(item.Results)})
		p.think(item.Thought)
		p.close()
	case *conversations.MCPCall:
		if item.Request != "" {
			delete(p.asked, item.Request)
			p.close()
			return
		}
		p.call(e, model.ToolCall{ID: item.CallID, Name: Qualified(item.Server, item.Name), Arguments: item.Arguments}, []model.Part{model.Text(item.Output)})
		p.think(item.Thought)
		p.close()
	case *conversations.MCPApprovalRequest:
		p.asked[item.ID] = true
		output := p.outputs[item.ID]
		if output == nil {
			output = []model.Part{model.Text(unapproved)}
		}
		p.call(e, model.ToolCall{ID: item.CallID, Name: Qualified(item.Server, item.Name), Arguments: item.Arguments}, output)
		p.think(item.Thought)
	case *conversations.MCPApprovalResponse:
		if !item.Approve {
			delete(p.asked, item.Request)
		}
		p.close()
	}
}

// unapproved is what the model reads of a call that nobody has approved.
const unapproved = "The call was not made: the user has not approved it."

// denied is what the model reads of a call that was not approved, for a reason that
// may be empty.
func denied(reason string) string {
	text := "The call was not made: the user has denied it."
	if reason != "" {
		text += " The reason: " + reason
	}
	return text
}

// awaits returns the ID of an item which another one answers, empty for others.
func awaits(item conversations.Item) string {
	switch item := item.(type) {
	case *conversations.FunctionCall:
		return item.ID
	case *conversations.MCPApprovalRequest:
		return item.ID
	}
	return ""
}

// answers returns the ID of the item that an item answers, empty for others.
func answers(item conversations.Item) string {
	switch item := item.(type) {
	case *conversations.FunctionCallOutput:
		return item.Call
	case *conversations.MCPCall:
		return item.Request
	case *conversations.MCPApprovalResponse:
		return item.Request
	}
	return ""
}

// modelCall is a call as the model made it: to the function that stands for the
// tool.
func modelCall(c *conversations.FunctionCall) model.ToolCall {
	arguments := c.Arguments
	if c.Custom {
		arguments = generation.CustomArguments(arguments)
	}
	return model.ToolCall{ID: c.CallID, Name: Qualified(c.Namespace, c.Name), Arguments: arguments}
}

// call adds a call and its answer to the assistant's message that is open, or to
// a new one.
func (p *prompt) call(e *conversations.Entry, call model.ToolCall, answer []model.Part) {
	if p.open == nil || p.open.Turn != e.Turn {
		p.close()
		p.messages = append(p.messages, model.Message{Role: model.Assistant})
	}
	last := &p.messages[len(p.messages)-1]
	last.ToolCalls = append(last.ToolCalls, call)
	p.answers = append(p.answers, answer)
	p.open = e
}

// think puts what led to the call that was added last with its message.
func (p *prompt) think(t conversations.Thought) { p.messages[len(p.messages)-1].Reasoning += t.Text }

// close ends the assistant's message that is open: the outputs of its calls
// follow.
func (p *prompt) close() {
	if p.open == nil {
		return
	}
	for i, call := range p.messages[len(p.messages)-1].ToolCalls {
		p.messages = append(p.messages, model.Message{
			Role: model.ToolRole, ToolCallID: call.ID, Parts: p.answers[i],
		})
	}
	p.open, p.answers = nil, nil
}

func outputParts(o *conversations.FunctionCallOutput, document func(id string) model.Document) []model.Part {
	if o.Content == nil {
		return []model.Part{model.Text(o.Output)}
	}
	return contentParts(o.Content, document)
}

func contentParts(content []conversations.Part, document func(id string) model.Document) []model.Part {
	parts := make([]model.Part, 0, len(content))
	for _, p := range content {
		switch p.Type {
		case conversations.InputFile:
			if p.Inline != nil {
				parts = append(parts, inlineDocument(p.Inline))
				continue
			}
			parts = append(parts, document(p.FileID))
		case conversations.InputImage:
			parts = append(parts, *p.Image)
		default:
			parts = append(parts, model.Text(cmp.Or(p.Written, p.Text)))
		}
	}
	return parts
}

func inlineDocument(f *conversations.InlineFile) model.Document {
	return model.Document{Name: f.Name, Text: f.Text, Note: f.Note}
}

func searchArguments(queries []string) string {
	data, err := jsonout.Marshal(map[string][]string{"queries": queries})
	if err != nil {
		return "{}" // strings always encode
	}
	return string(data)
}
