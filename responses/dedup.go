package responses

import (
	"slices"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
)

// dropResent removes leading input messages that the history already contains: some
// clients resend the whole task with each tool output, the question and every output
// so far. It recognises them by what follows: the output of a call that the history
// has behind the same messages.
func dropResent(history []conversations.Entry, input []conversations.Item) []conversations.Item {
	asked := slices.IndexFunc(input, func(item conversations.Item) bool { return !isAsked(item) })
	if asked < 1 {
		return input
	}
	output, ok := input[asked].(*conversations.FunctionCallOutput)
	if !ok {
		return input
	}
	at := len(history) - 1
	for ; at >= 0; at-- {
		if call, ok := history[at].Item.(*conversations.FunctionCall); ok && call.CallID == output.CallID {
			break
		}
	}
	for ; at >= 0 && !isAsked(history[at].Item); at-- {
	}
	if at+1 < asked {
		return input
	}
	for i, item := range input[:asked] {
		if !sameMessage(item, history[at+1-asked+i].Item) {
			return input
		}
	}
	return input[asked:]
}

// isAsked reports whether an item is a message that is not the model's.
func isAsked(item conversations.Item) bool {
	m, ok := item.(*conversations.Message)
	return ok && m.Role != model.Assistant
}

func sameMessage(a, b conversations.Item) bool {
	x, ok := a.(*conversations.Message)
	y, also := b.(*conversations.Message)
	return ok && also && x.Role == y.Role && conversations.SameParts(x.Content, y.Content)
}
