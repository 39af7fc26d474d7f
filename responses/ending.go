package responses

import (
	"cmp"
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
		t.fail(err)
	}
	r := t.response
	r.CompletedAt = t.o.Now().Unix()
	usage := t.meter.Usage()
	r.Usage, r.Answering = &usage, t.meter.Answering()
	r.Trace = t.o.Accounts.Trace(t.caller, t.use(), &t.watch)
	t.saving.charged = true
	ctx = context.WithoutCancel(ctx)
	t.chargeSpent(ctx)
	r.events = t.emitter.sequence
	saveErr := t.save(ctx)
	if saveErr != nil {
		saveErr = t.saveReduced(ctx, saveErr)
	}
	if saveErr != nil {
		t.o.Log.LogAttrs(ctx, slog.LevelError, "responses: a turn was not stored", slog.String("response", r.ID), slog.Any("err", saveErr))
		if err == nil {
			err = saveErr
			t.fail(err)
		}
	}
	if err != nil {
		t.emitter.fail(fault.From(err))
		return
	}
	t.emitter.answered()
}

// saveReduced ends a turn that could not be stored, and charges it: without its
// output where it is stored as running, and otherwise it is charged alone. It returns
// all that went wrong, and nil where the turn turns out to be stored.
func (t *turn) saveReduced(ctx context.Context, err error) error {
	if !t.saving.enabled {
		return err
	}
	if errors.Is(err, storage.ErrInDoubt) {
		stored, readErr := t.isStored(ctx)
		if stored {
			return nil
		}
		if readErr != nil {
			t.o.Accounts.ChargeCut(ctx, t.caller, t.use()) // once, if it turns out to be stored
			return errors.Join(err, readErr)
		}
	}
	if t.saving.run != nil && !errors.Is(err, conversations.ErrEnded) {
		t.fail(err)
		t.saving.withoutOutput = true
		second := t.save(ctx)
		if second == nil {
			return err
		}
		err = errors.Join(err, second)
	}
	t.saving.enabled = false
	t.response.Echo.Unstored = true
	t.o.Accounts.ChargeCut(ctx, t.caller, t.use())
	return err
}

// isStored reports whether the turn is stored as it has ended.
func (t *turn) isStored(ctx context.Context) (bool, error) {
	stored, _, _, err := t.o.Conversations.GetTurn(ctx, t.caller, t.response.ID)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && !stored.Running, err
}

// settle charges what a turn has used that came to no end of its own, unless that
// was done: nothing of it is stored.
func (t *turn) settle(ctx context.Context) {
	if t.saving.charged {
		return
	}
	t.chargeSpent(ctx)
	if t.meter.Usage() == (model.Usage{}) {
		return
	}
	t.saving.charged = true
	t.o.Accounts.ChargeCut(ctx, t.caller, t.use())
}

// chargeSpent charges what other models than the one that answers have used.
func (t *turn) chargeSpent(ctx context.Context) {
	for _, s := range t.meter.Spent()[t.saving.spent:] {
		t.o.Accounts.ChargeCut(ctx, t.caller, accounts.SpentBy("responses", s))
		t.saving.spent++
	}
}

// dies makes the response that of a turn that failed or was cancelled.
func (t *turn) fail(err error) {
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
	if errors.Is(err, storage.ErrTooLarge) && t.req.Logprobs && !t.saving.withoutLogprobs {
		t.saving.withoutLogprobs = true
		err = t.saveAll(ctx)
	}
	return err
}

func (t *turn) saveAll(ctx context.Context) error {
	r := t.response
	if !t.saving.enabled {
		var also func(storage.Tx) error
		if r.answered() {
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
	for n := 0; again && n < persistAttempts; n++ {
		again, err = t.saveStored(ctx, t.draft(body))
	}
	return err
}

// persistAttempts is how often a turn is stored again whose last events have found
// that the store has lost some before them.
const persistAttempts = 3

// saveStored charges the turn and stores it. It says whether to try again: events
// that the store has lost are to be stored first.
func (t *turn) saveStored(ctx context.Context, draft *conversations.NewTurn) (again bool, err error) {
	r := t.response
	page, unlock, err := t.lastPage(ctx, t.saving.run, t.saving.withoutLogprobs)
	defer unlock()
	if err != nil {
		return false, err
	}
	_, err = t.o.Accounts.Charge(ctx, t.caller, t.use(), func(tx storage.Tx) error {
		if t.req.Background {
			if err := conversations.LastEvents(tx, r.Conversation, r.ID, page); err != nil {
				return err
			}
			if err := t.o.ended(tx, r.ID, r.Status, r.Incomplete != ""); err != nil {
				return err
			}
		}
		if r.answered() && !t.req.Background { // then it was done when it began
			if err := t.caller.Claim.Did(tx, r.ID); err != nil {
				return err
			}
		}
		return t.o.Conversations.Write(tx, draft)
	})
	return t.saving.run != nil && t.saving.run.rewind(err), err
}

// ended calls Ended for a turn in the background that ends with a status.
func (o *Options) ended(tx storage.Tx, id string, status Status, incomplete bool) error {
	if o.Ended == nil {
		return nil
	}
	kind := "response." + string(status)
	if status == Completed && incomplete {
		kind = "response.incomplete"
	}
	return o.Ended(tx, kind, id)
}

func (t *turn) draft(body json.RawMessage) *conversations.NewTurn {
	r := t.response
	d := &conversations.NewTurn{
		ID: r.ID, Parent: t.parent, NewConversation: t.newConversation, Input: t.input, Output: r.Output,
		Incomplete: r.Status != Completed, Started: t.saving.run != nil, Detached: t.req.Background, Body: body, CreatedAt: r.CreatedAt,
	}
	if t.req.Background {
		d.FirstEvent = firstPersisted
	}
	switch {
	case t.saving.withoutOutput:
		d.Output = nil
	case t.saving.withoutLogprobs:
		d.Output = conversations.WithoutLogprobs(d.Output)
	}
	return d
}

// show emits the first events, once the turn is stored as one that runs.
func (t *turn) show(ctx context.Context) error {
	if t.emitter.sequence > 0 {
		return nil
	}
	t.response.Answering = t.meter.Answering()
	if err := t.open(ctx); err != nil {
		return err
	}
	t.emitter.begin()
	return nil
}

// open stores the turn as one that runs, if it is one that others may look at
// while it does.
func (t *turn) open(ctx context.Context) error {
	if !t.saving.enabled || !t.announced {
		return nil
	}
	body, err := t.response.encodeBody()
	if err != nil {
		return err
	}
	if err := t.o.Conversations.Begin(ctx, t.caller, t.draft(body)); err != nil {
		return err
	}
	t.saving.run = t.running.add(t)
	return nil
}

func (t *turn) use() accounts.Use {
	u := t.meter.Usage()
	return accounts.Use{
		Endpoint:        "responses",
		Model:           cmp.Or(t.meter.Answering(), t.req.Model),
		Object:          t.response.ID,
		Kind:            accounts.Generation,
		InputTokens:     u.InputTokens,
		CachedTokens:    u.CachedTokens,
		OutputTokens:    u.OutputTokens,
		ReasoningTokens: u.ReasoningTokens,
	}
}
