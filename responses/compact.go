package responses

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/model"
)

// summaryBegins is what a compaction begins with as models read it.
const summaryBegins = "What was said before, in summary:\n\n"

// summarize is what a model is told to do.
const summarize = "Summarize everything above, for yourself: you will go on from the summary alone. Keep what was asked for, what was decided " +
	"and done, facts, names, numbers and identifiers, the state of the work, and what is to be done next. Answer with nothing but the summary."

// Shares of the context window.
const (
	compactAt    = 4 // of 5 parts: where a prompt is compacted, if the request does not say
	summaryShare = 4 // a summary has at most one part of so many
	quotedShare  = 8 // so have the user's last messages, which are quoted behind it
	bytesToToken = 4
)

// Compacted is what a history has been compacted to.
type Compacted struct {
	ID        string
	CreatedAt int64                // Unix seconds
	Output    []conversations.Item // the user's last messages, then one compaction
	Usage     model.Usage
}

// Compact has the model summarize a history: what the request continues from, and
// its input, which may be empty. Nothing is stored; the caller sends the output
// back in the place of the history. Errors are those of [Service.Create].
func (s *Service) Compact(ctx context.Context, caller accounts.Caller, req *Request) (*Compacted, error) {
	compacting := *req
	store := false
	compacting.compacting, compacting.Compact, compacting.Store = true, true, &store
	t, err := s.check(ctx, caller, &compacting)
	if err == nil {
		err = t.prepare(ctx)
	}
	if err != nil {
		return nil, err
	}
	running, done := s.o.Accounts.Running(ctx, caller)
	defer done()
	entries := t.entries()
	summary, err := t.summary(running, entries)
	if err != nil {
		t.settle(ctx)
		return nil, accounts.Cause(running, err)
	}
	item, err := t.sealed(ctx, summary)
	if err != nil {
		t.settle(ctx)
		return nil, err
	}
	c := &Compacted{ID: t.response.ID, CreatedAt: t.response.CreatedAt, Usage: t.meter.Usage()}
	for _, m := range t.lastSaid(entries) {
		c.Output = append(c.Output, m)
	}
	c.Output = append(c.Output, item)
	_, err = s.o.Accounts.Charge(context.WithoutCancel(ctx), caller, t.use(), caller.Claim.Doing())
	return c, err
}

// compact puts a compaction before the turn's answer, if its prompt is over the
// threshold.
func (t *turn) compact(ctx context.Context) error {
	if !t.req.Compact {
		return nil
	}
	threshold := t.req.CompactThreshold
	if threshold == 0 {
		threshold = t.info.Window() * compactAt / 5
	}
	n, err := t.models.CountTokens(ctx, t.request())
	if err != nil {
		return err
	}
	entries := t.entries()
	kept := behindCompaction(entries)
	if n <= threshold && t.models.CheckWindow(ctx, t.info, t.request()) == nil || kept == len(entries) {
		return t.models.CheckWindow(ctx, t.info, t.request())
	}
	if err := t.show(ctx); err != nil {
		return err
	}
	summary, err := t.summary(ctx, entries)
	if err != nil {
		return err
	}
	item, err := t.sealed(ctx, summary)
	if err != nil {
		return err
	}
	t.emitter.add(item, item)
	t.emitter.done(item, false)
	t.plan.compaction, t.plan.behind = item, kept
	return t.models.CheckWindow(ctx, t.info, t.request())
}

// behindCompaction returns how many entries of a prompt stay behind a compaction
// that is made now: from the last message of the user on, and with the calls
// whose outputs are among them.
func behindCompaction(entries []conversations.Entry) int {
	last := 0
	for i, e := range entries {
		if m, ok := e.Item.(*conversations.Message); ok && m.Role == model.User {
			last = i
		}
	}
	cut := 0
	for _, place := range cuts(entries) {
		if place <= last {
			cut = place
		}
	}
	return len(entries) - cut
}

// summary has the model summarize entries, of which the oldest are left out where
// they are too many for it, and quotes the user's last messages behind that.
func (t *turn) summary(ctx context.Context, entries []conversations.Entry) (string, error) {
	request := func(cut int) *model.Request {
		kept := append(instructionsOf(entries[:cut]), entries[cut:]...)
		messages := buildMessages(t.req.Instructions, ofTask(kept, ""), t.documents.Get)
		return &model.Request{
			Model: t.settings.Model, Messages: append(messages, model.TextMessage(model.User, summarize)),
			MaxTokens: max(1, t.info.Window()/summaryShare), Tenant: model.Tenant(t.caller.Organization, t.caller.Background),
		}
	}
	cut, err := t.shortest(ctx, append([]int{0}, cuts(entries)...), request)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for event, err := range generation.Stream(ctx, t.models, request(cut), nil, &t.meter) {
		if err != nil {
			return "", err
		}
		if text, ok := event.(model.TextDelta); ok {
			b.WriteString(text.Text)
		}
	}
	for i, m := range t.lastSaid(entries) {
		if i == 0 {
			b.WriteString("\n\nWhat the user said last, word for word:")
		}
		for _, p := range m.Content {
			b.WriteString("\n\n" + p.Text)
		}
	}
	return b.String(), nil
}

// lastSaid returns the last messages of the user, as many as may be quoted.
func (t *turn) lastSaid(entries []conversations.Entry) (messages []*conversations.Message) {
	left := t.info.Window() / quotedShare * bytesToToken
	for _, e := range slices.Backward(entries) {
		m, ok := e.Item.(*conversations.Message)
		if !ok || m.Role != model.User {
			continue
		}
		for _, p := range m.Content {
			left -= len(p.Text)
		}
		if left < 0 {
			break
		}
		messages = append(messages, m)
	}
	slices.Reverse(messages)
	return messages
}

// sealed returns a compaction with a summary.
func (t *turn) sealed(ctx context.Context, summary string) (*conversations.Compaction, error) {
	sealed, err := t.o.Conversations.SealSummary(context.WithoutCancel(ctx), t.caller, summary)
	return &conversations.Compaction{ID: t.o.NewID("cmp"), Sealed: sealed, Summary: summary}, err
}
