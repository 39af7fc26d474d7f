package responses

import (
	"slices"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
)

// transcript is the immutable prefix of a conversation's prompt. It ends after the
// last message at which every tool call has its output and no reasoning belongs to
// an unfinished task, so later turns only append. The history cache of package
// conversations keeps it from turn to turn; with it a whole request behind 200 turns
// takes half the CPU time (BenchmarkChainedTurn in package httpapi).
type transcript struct {
	instructions string
	entries      int             // of the history that are in it
	messages     []model.Message // the instructions first, if there are any
	quotes       []string        // IDs of the files in it, as often as they are referred to
	documents    map[string]model.Document
	memo         *model.Memo // what backends know of the messages
	bytes        int         // that it takes beside the items and the memo
}

// messageSize is about what a message takes beside its text, in bytes.
const messageSize = 160

func newTranscript(instructions string) *transcript {
	t := &transcript{instructions: instructions}
	if instructions != "" {
		t.messages = append(t.messages, model.TextMessage(model.System, instructions))
	}
	return t
}

// recall takes the transcript that an earlier turn has left with the history, or
// begins one.
func (t *turn) recall() {
	t.plan.begins = newTranscript(t.req.Instructions)
	left, ok := t.parent.Derived.Value.(*transcript)
	if !ok || left.instructions != t.req.Instructions || left.entries > len(t.parent.Entries) {
		return
	}
	if holds(t.parent.Entries[left.entries:]) {
		t.plan.begins = left
	}
}

// holds reports whether a transcript is still the beginning of the prompt when a
// history goes on with entries: none of them is the output of a call before them,
// or stands for what was said before it.
func holds(entries []conversations.Entry) bool {
	calls := map[string]bool{}
	for i := range entries {
		item := entries[i].Item
		if id := awaits(item); id != "" {
			calls[id] = true
		}
		if id := answers(item); id != "" && !calls[id] {
			return false
		}
		if _, ok := item.(*conversations.Compaction); ok {
			return false
		}
	}
	return true
}

// recent are the entries of the history behind the transcript.
func (t *turn) recent() []conversations.Entry { return t.parent.Entries[t.plan.begins.entries:] }

// follows are the entries that the prompt has behind the transcript, which is
// begun anew where the input does not let it stand. extendable reports whether the
// transcript can be extended by them.
func (t *turn) follows() (entries []conversations.Entry, extendable bool) {
	entries = t.with(slices.Clip(t.recent()), t.input)
	if holds(entries) {
		return entries, true
	}
	t.plan.begins = newTranscript(t.req.Instructions)
	return t.entries(), false
}

// extended returns the transcript with as many entries of the history more as a
// later turn cannot change, of those that follow it, or nil where that is none at
// all. marks are where the prompt of those could end: the number of messages behind
// each entry, and 0 where something is open.
func (t *turn) extended(entries []conversations.Entry, messages []model.Message, marks []int) *transcript {
	p := t.plan.begins
	last, size := 0, p.bytes
	thinks := false // there is a thought whose task has not ended yet
	for i, e := range t.recent() {
		if thinks = !asks(e.Item) && (thinks || thoughtOf(e.Item).Text != ""); !thinks && marks[i] > 0 {
			last = i + 1
		}
	}
	if p.entries+last == 0 {
		return nil
	}
	next := &transcript{instructions: p.instructions, entries: p.entries + last, messages: p.messages, quotes: p.quotes, documents: p.documents, memo: p.memo}
	if next.memo == nil {
		next.memo = new(model.Memo)
	}
	if last == 0 {
		return next
	}
	next.messages = messages[:marks[last-1]]
	for _, e := range entries[:last] {
		for _, part := range contentOf(e.Item) {
			if part.Inline != nil {
				size += len(part.Inline.Text)
			}
			if part.Type != conversations.InputFile || part.Inline != nil {
				continue
			}
			if next.documents == nil {
				next.documents = map[string]model.Document{}
			}
			d := t.documents.Get(part.FileID)
			next.quotes, next.documents[part.FileID] = append(next.quotes, part.FileID), d
			size += len(d.Text)
		}
	}
	next.bytes = size + (len(next.messages)-len(p.messages))*messageSize
	return next
}

// leaveTranscript leaves the transcript to the turn that continues from the same
// history. The model has ended: nobody reads the messages that the next turn appends
// to.
func (t *turn) leaveTranscript() {
	if t.plan.next != nil {
		t.o.Conversations.CacheDerived(t.parent, conversations.Derived{Value: t.plan.next, Entries: t.plan.next.entries, Bytes: t.plan.next.bytes + t.plan.next.memo.Held()})
	}
}

// contentOf returns the content of an item that has any.
func contentOf(item conversations.Item) []conversations.Part {
	switch item := item.(type) {
	case *conversations.Message:
		return item.Content
	case *conversations.FunctionCallOutput:
		return item.Content
	}
	return nil
}
