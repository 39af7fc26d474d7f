package responses

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// end stores the turn and emits its last events. A turn that ran to its end and
// cannot be stored has failed, and is charged all the same.
func (t *turn) end(ctx context.Context, err error) {
	if err != nil {
		t.dies(err)
	}
	r := t.response
	r.CompletedAt = t.o.Now().Unix()
	usage := t.meter.Usage()
	r.Usage = &usage
	t.settled = true
	ctx = context.WithoutCancel(ctx)
	r.events = t.emitter.sequence
	if saveErr := t.save(ctx); saveErr != nil {
		saveErr = t.saveLess(ctx, saveErr)
		t.o.Log.LogAttrs(ctx, slog.LevelError, "responses: a turn was not stored", slog.String("response", r.ID), slog.Any("err", saveErr))
		if err == nil {
			err = saveErr
			t.dies(err)
		}
	}
	if err != nil {
		t.emitter.fail(fault.From(err))
		return
	}
	t.emitter.lifecycle(EventCompleted)
}

// saveLess charges a turn that could not be stored, and ends it without its
// output where it is stored as running. It returns all that went wrong.
func (t *turn) saveLess(ctx context.Context, err error) error {
	if !t.store {
		return err
	}
	if t.live != nil && !errors.Is(err, conversations.ErrEnded) {
		t.dies(err)
		t.bare = true
		again := t.save(ctx)
		if again == nil {
			return err
		}
		err = errors.Join(err, again)
	}
	t.store = false
	t.response.Echo.Unstored = true
	return errors.Join(err, t.save(ctx))
}

// settle charges what a turn has used that came to no end of its own, unless that
// was done: nothing of it is stored.
func (t *turn) settle(ctx context.Context) {
	if t.settled || t.meter.Usage() == (model.Usage{}) {
		return
	}
	t.settled = true
	if _, err := t.o.Accounts.Charge(context.WithoutCancel(ctx), t.caller, t.use(), nil); err != nil {
		t.o.Log.LogAttrs(ctx, slog.LevelError, "responses: usage was not charged", slog.String("response", t.response.ID), slog.Any("err", err))
	}
}

// dies makes the response that of a turn that failed or was cancelled.
func (t *turn) dies(err error) {
	t.emitter.seal(conversations.Incomplete, "")
	e := fault.From(err)
	t.response.Status = Failed
	if e.Kind == fault.Canceled {
		t.response.Status = Cancelled
	}
	t.response.Incomplete = ""
	t.response.Error = &Error{Code: e.Code, Message: e.Message, Cause: e}
}

// save charges the turn and, unless it is not to be kept, stores it in the same
// transaction: without its log-probabilities where it is too large with them.
func (t *turn) save(ctx context.Context) error {
	err := t.saveAll(ctx)
	if errors.Is(err, storage.ErrTooLarge) && t.req.Logprobs && !t.short {
		t.short = true
		err = t.saveAll(ctx)
	}
	return err
}

func (t *turn) saveAll(ctx context.Context) error {
	r := t.response
	if !t.store {
		var also func(storage.Tx) error
		if r.Status == Completed {
			also = t.caller.Claim.Doing()
		}
		_, err := t.o.Accounts.Charge(ctx, t.caller, t.use(), also)
		return err
	}
	body, err := r.encodeBody()
	if err != nil {
		return err
	}
	again := true
	for n := 0; again && n < keepAttempts; n++ {
		again, err = t.saveStored(ctx, t.draft(body))
	}
	return err
}

// keepAttempts is how often a turn is stored again whose last events have found
// that the store has lost some before them.
const keepAttempts = 3

// saveStored charges the turn and stores it. It says whether to try again: events
// that the store has lost are to be stored first.
func (t *turn) saveStored(ctx context.Context, draft *conversations.Draft) (again bool, err error) {
	r := t.response
	page, unlock, err := t.lastPage(ctx, t.live, t.short)
	defer unlock()
	if err != nil {
		return false, err
	}
	_, err = t.o.Accounts.Charge(ctx, t.caller, t.use(), func(tx storage.Tx) error {
		if t.req.Background {
			if err := conversations.LastEvents(tx, r.Conversation, r.ID, page); err != nil {
				return err
			}
		}
		if r.Status == Completed && !t.req.Background { // then it was done when it began
			if err := t.caller.Claim.Did(tx, r.ID); err != nil {
				return err
			}
		}
		return t.o.Conversations.Write(tx, draft)
	})
	return t.live != nil && t.live.goBack(err), err
}

func (t *turn) draft(body json.RawMessage) *conversations.Draft {
	r := t.response
	d := &conversations.Draft{
		ID: r.ID, Point: t.point, Begins: t.begins, Input: t.input, Output: r.Output,
		Dead: r.Status != Completed, Begun: t.live != nil, Detached: t.req.Background, Body: body, CreatedAt: r.CreatedAt,
	}
	if t.req.Background {
		d.FirstEvent = firstKept
	}
	switch {
	case t.bare:
		d.Output = nil
	case t.short:
		d.Output = conversations.WithoutLogprobs(d.Output)
	}
	return d
}

// show emits the first events, once the turn is stored as one that runs.
func (t *turn) show(ctx context.Context) error {
	if t.emitter.sequence > 0 {
		return nil
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	t.emitter.begin()
	return nil
}

// open stores the turn as one that runs, if it is one that others may look at
// while it does.
func (t *turn) open(ctx context.Context) error {
	if !t.store || !t.announced {
		return nil
	}
	body, err := t.response.encodeBody()
	if err != nil {
		return err
	}
	if err := t.o.Conversations.Begin(ctx, t.caller, t.draft(body)); err != nil {
		return err
	}
	t.live = t.running.add(t)
	return nil
}

func (t *turn) use() accounts.Use {
	u := t.meter.Usage()
	return accounts.Use{
		Endpoint:        "responses",
		Model:           t.req.Model,
		Object:          t.response.ID,
		Kind:            accounts.Generation,
		InputTokens:     u.InputTokens,
		CachedTokens:    u.CachedTokens,
		OutputTokens:    u.OutputTokens,
		ReasoningTokens: u.ReasoningTokens,
	}
}
