package responses

import (
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/model"
)

// emitter turns what happens in a turn into events and into the response's
// output. It is the one place that counts sequence numbers and output indices.
// When the consumer has stopped its methods go on building the output and yield
// nothing more.
type emitter struct {
	yield    func(Event, error) bool
	response *Response
	sequence int
	stopped  bool // the consumer wants no more events

	// The item that is open, which is the last of the output.
	message *conversations.Message
	call    *conversations.FunctionCall
	text    strings.Builder         // of its text or arguments
	tokens  []model.Logprob         // of its text
	input   *generation.CustomInput // of the arguments of a custom tool's call

	marks     *marks                   // finds citations in texts; nil: there are none
	written   strings.Builder          // text of the open message as the model wrote it, where marks is set
	citations []conversations.Citation // of the open message
}

func (e *emitter) emit(ev Event) {
	ev.Sequence = e.sequence
	e.sequence++
	if !e.stopped && !e.yield(ev, nil) {
		e.stopped = true
	}
}

// lifecycle emits an event that carries the response as it stands.
func (e *emitter) lifecycle(t EventType) {
	snapshot := *e.response
	e.emit(Event{Type: t, Response: &snapshot, More: t == EventCreated})
}

// begin emits the first events.
func (e *emitter) begin() {
	e.lifecycle(EventCreated)
	e.lifecycle(EventInProgress)
}

// index is the output index of the last item.
func (e *emitter) index() int { return len(e.response.Output) - 1 }

// add begins an item: it is in the output from now on, and shown as it is.
func (e *emitter) add(item, shown conversations.Item) {
	e.response.Output = append(e.response.Output, item)
	_, more := item.(*conversations.Message) // its part follows
	e.emit(Event{Type: EventItemAdded, OutputIndex: e.index(), Item: shown, More: more})
}

// done ends an item. More says that something follows at once: an item of the
// model's is closed because it has gone on to something else, or is at its end.
func (e *emitter) done(item conversations.Item, more bool) {
	e.emit(Event{Type: EventItemDone, OutputIndex: e.index(), Item: item, More: more})
}

// textDelta adds text and its tokens, if they were asked for, to the open message,
// or to a new one with an ID from newID.
func (e *emitter) textDelta(piece model.TextDelta, tokens []model.Logprob, newID func(prefix string) string) {
	if e.message == nil {
		e.closeItem(conversations.Completed, "")
		id := newID("msg")
		e.message = &conversations.Message{ID: id, Status: conversations.InProgress, Role: model.Assistant}
		shown := *e.message
		e.add(e.message, &shown)
		e.emit(Event{Type: EventPartAdded, OutputIndex: e.index(), ItemID: id, Part: &conversations.Part{Type: conversations.OutputText}, More: true})
	}
	e.tokens = append(e.tokens, tokens...)
	if e.marks == nil {
		e.showText(piece.Text, tokens, piece.More)
		return
	}
	e.written.WriteString(piece.Text)
	e.showPieces(e.marks.add(piece.Text), tokens)
}

// showText adds text to the open message.
func (e *emitter) showText(text string, tokens []model.Logprob, more bool) {
	e.text.WriteString(text)
	e.emit(Event{Type: EventTextDelta, OutputIndex: e.index(), ItemID: e.message.ID, Text: text, Logprobs: tokens, More: more})
}

// showPieces adds text and citations to the open message. The tokens go with the
// first text.
func (e *emitter) showPieces(pieces []citedPiece, tokens []model.Logprob) {
	if len(tokens) > 0 && (len(pieces) == 0 || pieces[0].citation != nil) {
		e.showText("", tokens, len(pieces) > 0)
		tokens = nil
	}
	for _, p := range pieces {
		if p.citation != nil {
			e.cite(*p.citation)
			continue
		}
		e.showText(p.text, tokens, false)
		tokens = nil
	}
}

// cite adds a citation to the open message.
func (e *emitter) cite(c conversations.Citation) {
	e.citations = append(e.citations, c)
	e.emit(Event{Type: EventCited, OutputIndex: e.index(), ItemID: e.message.ID, Citation: &c, Cited: len(e.citations) - 1})
}

// callStart begins a call. What was said before it was commentary. A call of one of the
// caller's own tools is shown when it is whole: its action cannot be shown in pieces.
func (e *emitter) callStart(call *conversations.FunctionCall) {
	e.closeItem(conversations.Completed, conversations.Commentary)
	e.call = call
	if call.Tool != "" {
		e.response.Output = append(e.response.Output, call)
		return
	}
	if call.Custom {
		e.input = &generation.CustomInput{}
	}
	shown := *e.call
	e.add(e.call, &shown)
}

// argumentsDelta adds to the arguments of the open call.
func (e *emitter) argumentsDelta(arguments string) {
	if e.input != nil {
		e.inputDelta(e.input.Add(arguments))
		return
	}
	e.text.WriteString(arguments)
	if e.call.Tool != "" {
		return
	}
	e.emit(Event{Type: EventArgumentsDelta, OutputIndex: e.index(), ItemID: e.call.ID, Text: arguments})
}

// inputDelta adds to the input of the open call of a custom tool.
func (e *emitter) inputDelta(input string) {
	if input == "" {
		return
	}
	e.text.WriteString(input)
	e.emit(Event{Type: EventInputDelta, OutputIndex: e.index(), ItemID: e.call.ID, Text: input})
}

// closeItem ends the item that is open, if there is one. The phase is that of a
// message.
func (e *emitter) closeItem(status conversations.Status, phase string) {
	message, call := e.message, e.call
	if e.input != nil {
		_, rest := e.input.End()
		e.input = nil
		e.inputDelta(rest)
	}
	if message != nil && e.marks != nil {
		e.showPieces(e.marks.end(), nil)
	}
	whole := e.seal(status, phase)
	switch {
	case message != nil:
		e.emit(Event{Type: EventTextDone, OutputIndex: e.index(), ItemID: message.ID, Text: whole, Logprobs: message.Content[0].Logprobs, More: true})
		e.emit(Event{Type: EventPartDone, OutputIndex: e.index(), ItemID: message.ID, Part: &message.Content[0], More: true})
		e.done(message, true)
	case call != nil && call.Tool != "":
		shown := *call
		shown.Status = conversations.InProgress
		e.emit(Event{Type: EventItemAdded, OutputIndex: e.index(), Item: &shown, More: true})
		e.done(call, true)
	case call != nil && call.Custom:
		e.emit(Event{Type: EventInputDone, OutputIndex: e.index(), ItemID: call.ID, Text: whole, More: true})
		e.done(call, true)
	case call != nil:
		e.emit(Event{Type: EventArgumentsDone, OutputIndex: e.index(), ItemID: call.ID, Name: call.Name, Text: whole, More: true})
		e.done(call, true)
	}
}

// seal fills in the item that is open, without events, and returns its text or
// arguments. No item is open afterwards.
func (e *emitter) seal(status conversations.Status, phase string) string {
	if e.input != nil {
		_, rest := e.input.End()
		e.text.WriteString(rest)
	}
	if e.message != nil && e.marks != nil {
		for _, p := range e.marks.end() {
			e.text.WriteString(p.text)
			if p.citation != nil {
				e.citations = append(e.citations, *p.citation)
			}
		}
	}
	whole := e.text.String()
	e.text.Reset()
	if m := e.message; m != nil {
		m.Status, m.Phase = status, phase
		part := conversations.Part{Type: conversations.OutputText, Text: whole, Logprobs: e.tokens, Citations: e.citations}
		if written := e.written.String(); written != "" && written != whole {
			part.Written = written
		}
		m.Content = []conversations.Part{part}
		e.written.Reset()
		e.citations = nil
	}
	if c := e.call; c != nil {
		c.Status, c.Arguments = status, whole
	}
	e.message, e.call, e.input, e.tokens = nil, nil, nil, nil
	return whole
}

// reasoning emits what the model has thought.
func (e *emitter) reasoning(item *conversations.Reasoning) {
	shown := *item
	shown.Summary = ""
	e.add(item, &shown)
	if text := item.Summary; text != "" {
		at := Event{OutputIndex: e.index(), ItemID: item.ID, More: true}
		part := func(t EventType, text string) {
			at.Type, at.Part, at.Text = t, &conversations.Part{Type: conversations.SummaryText, Text: text}, ""
			e.emit(at)
		}
		part(EventSummaryPartAdded, "")
		for _, t := range []EventType{EventSummaryDelta, EventSummaryDone} {
			at.Type, at.Part, at.Text = t, nil, text
			e.emit(at)
		}
		part(EventSummaryPartDone, text)
	}
	e.done(item, true)
}

// search emits a web search around its run, which fills in what was found.
func (e *emitter) search(w *conversations.WebSearch, run func()) {
	shown := conversations.WebSearch{ID: w.ID, Status: conversations.InProgress}
	e.add(w, &shown)
	at := Event{OutputIndex: e.index(), ItemID: w.ID}
	for _, t := range []EventType{EventSearchProgress, EventSearching} {
		at.Type = t
		e.emit(at)
	}
	run()
	at.Type = EventSearchDone
	e.emit(at)
	e.done(w, false)
}

// list emits a list of a server's tools around the listing, which fills it in.
func (e *emitter) list(l *conversations.MCPListTools, run func()) {
	e.add(l, &conversations.MCPListTools{ID: l.ID, Server: l.Server})
	at := Event{Type: EventListProgress, OutputIndex: e.index(), ItemID: l.ID}
	e.emit(at)
	run()
	at.Type, at.More = EventListDone, true
	if l.Error != "" {
		at.Type = EventListFailed
	}
	e.emit(at)
	e.done(l, false)
}

// beginCall emits the begin of a call of a server's tool, and returns its output index.
func (e *emitter) beginCall(c *conversations.MCPCall) (index int) {
	e.add(c, &conversations.MCPCall{ID: c.ID, Status: conversations.InProgress, Server: c.Server, Name: c.Name, Approval: c.Approval})
	at := Event{OutputIndex: e.index(), ItemID: c.ID, More: true}
	at.Type = EventMCPProgress
	e.emit(at)
	at.Type, at.Text = EventMCPArgumentsDelta, c.Arguments
	e.emit(at)
	at.Type, at.More = EventMCPArgumentsDone, false
	e.emit(at)
	return at.OutputIndex
}

// endCall emits the end of a call of a server's tool.
func (e *emitter) endCall(index int, c *conversations.MCPCall) {
	at := Event{Type: EventMCPDone, OutputIndex: index, ItemID: c.ID, More: true}
	if c.Status == conversations.Failed {
		at.Type = EventMCPFailed
	}
	if c.Status != conversations.Incomplete {
		e.emit(at)
	}
	e.emit(Event{Type: EventItemDone, OutputIndex: index, Item: c})
}

// answered ends the stream of a turn that ran to its end.
func (e *emitter) answered() {
	if e.response.Status == Incomplete {
		e.lifecycle(EventIncomplete)
		return
	}
	e.lifecycle(EventCompleted)
}

// fileSearch emits a search in files around its run, which fills in what was found.
func (e *emitter) fileSearch(s *conversations.FileSearch, run func()) {
	e.add(s, &conversations.FileSearch{ID: s.ID, Status: conversations.InProgress})
	at := Event{OutputIndex: e.index(), ItemID: s.ID}
	for _, t := range []EventType{EventFilesProgress, EventFilesSearching} {
		at.Type = t
		e.emit(at)
	}
	run()
	at.Type = EventFilesDone
	e.emit(at)
	e.done(s, false)
}

// fail ends the stream of a turn that failed. The item that was open stays in
// the output as far as it came.
func (e *emitter) fail(err *fault.Error) {
	e.emit(Event{Type: EventError, Error: err, More: true})
	e.lifecycle(EventFailed)
}
