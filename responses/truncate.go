package responses

import (
	"context"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// The values of truncation.
const (
	TruncationDisabled = "disabled" // a prompt over the context window is refused
	TruncationAuto     = "auto"     // the oldest items of the prompt are left out
)

// fit makes the turn's prompt fit its model's context window: by leaving out the
// oldest items, where the request lets it. The error is Rejected where it does
// not.
func (t *turn) fit(ctx context.Context) error {
	err := t.models.CheckWindow(ctx, t.info, t.request())
	if overWindow(err) && t.req.Compact {
		return nil // it is compacted first
	}
	if !overWindow(err) || t.req.Truncation != TruncationAuto {
		return err
	}
	entries := t.entries()
	cut, err := t.shortest(ctx, cuts(entries), func(cut int) *model.Request {
		t.cutAt(cut)
		return t.request()
	})
	t.cutAt(cut)
	t.response.Truncated = t.plan.leftOut - len(instructionsOf(entries[:t.plan.leftOut]))
	return err
}

// shortest returns the first of the cuts that makes a request fit the model's
// window. The error is Rejected where none does.
func (t *turn) shortest(ctx context.Context, cuts []int, request func(cut int) *model.Request) (cut int, err error) {
	err = errTooLong()
	for low, high := 0, len(cuts); low < high; {
		middle := (low + high) / 2
		switch next := t.models.CheckWindow(ctx, t.info, request(cuts[middle])); {
		case next == nil:
			high, cut, err = middle, cuts[middle], nil
		case overWindow(next):
			low = middle + 1
		default:
			return 0, next
		}
	}
	return cut, err
}

func errTooLong() error {
	return fault.ContextLength("The input is longer than the model's context window, even without the history.")
}

func overWindow(err error) bool {
	return err != nil && fault.From(err).Code == fault.CodeContextLength
}

// cuts returns the places before which a prompt may be cut, the longest prompt
// first: no output is left without its call, and something is left.
func cuts(entries []conversations.Entry) (places []int) {
	waiting := map[string]bool{} // calls whose outputs are still to come
	last := map[string]int{}     // where the outputs of calls are, the last of each
	for i, e := range entries {
		if call := answers(e.Item); call != "" {
			last[call] = i
		}
	}
	for i, e := range entries {
		if i > 0 && len(waiting) == 0 {
			places = append(places, i)
		}
		if call := awaits(e.Item); call != "" && last[call] > i {
			waiting[call] = true
		}
		if call := answers(e.Item); call != "" && last[call] == i {
			delete(waiting, call)
		}
	}
	return places
}

// instructionsOf returns what is never left out of a prompt: the messages of the
// system.
func instructionsOf(entries []conversations.Entry) (kept []conversations.Entry) {
	for _, e := range entries {
		if m, ok := e.Item.(*conversations.Message); ok && m.Role == model.System {
			kept = append(kept, e)
		}
	}
	return kept
}
