package svc_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// keeper is a service on a clock of its own.
type keeper struct {
	*testing.T
	*svc.Service
	store storage.Store
	now   time.Time
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{T: t, store: memstore.New(), now: time.Now()}
	service, err := svc.New(t.Context(), svc.Options{Store: k.store, Now: func() time.Time { return k.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close(); k.store.Close() })
	k.Service = service
	return k
}

// organization makes an organization with a key and one stored object of each
// kind.
func (k *keeper) organization(r accounts.Retention) (svc.Caller, string) {
	k.Helper()
	o, err := k.CreateOrganization(k.Context(), accounts.NewOrganization{Name: "some", Credits: accounts.Dollar, Retention: r})
	if err != nil {
		k.Fatal(err)
	}
	key, err := k.CreateKey(k.Context(), accounts.NewKey{OrganizationID: o.ID})
	if err != nil {
		k.Fatal(err)
	}
	caller, err := k.Authenticate(k.Context(), key.Secret)
	if err != nil {
		k.Fatal(err)
	}
	k.fill(caller)
	return caller, key.Secret
}

func (k *keeper) fill(caller svc.Caller) {
	k.Helper()
	_, err := k.CreateResponse(k.Context(), caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Hello")})
	yes := true
	_, chatErr := k.CompleteChat(k.Context(), caller, &chat.Request{Model: model.DefaultGenerator, Store: &yes,
		Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text("Hello")}}}})
	_, fileErr := k.UploadFile(k.Context(), caller, files.Upload{Filename: "a.txt", MIMEType: "text/plain", Purpose: files.Purpose, Content: strings.NewReader("Hello")})
	_, decideErr := k.Decide(k.Context(), caller, &decisions.Request{Model: model.DefaultDecider, State: decisions.State("Hello"), Store: &yes,
		Questions: []decisions.Question{decisions.NewNoul("q", "Is it?")}})
	if err := errors.Join(err, chatErr, fileErr, decideErr); err != nil {
		k.Fatal(err)
	}
}

// counts are how many completions, responses, conversations, files and decisions a caller has.
func (k *keeper) counts(caller svc.Caller) [5]int {
	k.Helper()
	ctx := k.Context()
	c, err1 := k.ChatCompletions(ctx, caller, chat.Filter{}, svc.Page{})
	r, err2 := k.Responses(ctx, caller, svc.Page{})
	v, err3 := k.Conversations(ctx, caller, svc.Page{})
	f, err4 := k.Files(ctx, caller, "", svc.Page{})
	d, err5 := k.StoredDecisions(ctx, caller, decisions.Filter{}, svc.Page{})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		k.Fatal(err)
	}
	return [5]int{len(c.Items), len(r.Items), len(v.Items), len(f.Items), len(d.Items)}
}

// TestRetention holds that what is older than an organization keeps it goes, and
// nothing else does.
func TestRetention(t *testing.T) {
	k := newKeeper(t)
	forever, _ := k.organization(accounts.Retention{})
	days, _ := k.organization(accounts.Retention{Completions: 1, Responses: 2, Conversations: 3, Files: 4, Decisions: 1})
	for day, want := range [][5]int{{1, 1, 1, 1, 1}, {0, 1, 1, 1, 0}, {0, 0, 1, 1, 0}, {0, 0, 0, 1, 0}, {}} {
		k.Sweep(t.Context())
		if got := k.counts(days); got != want {
			t.Errorf("after %d days there are %d, want %d", day, got, want)
		}
		k.now = k.now.Add(24*time.Hour + time.Second)
	}
	if got, want := k.counts(forever), [5]int{1, 1, 1, 1, 1}; got != want {
		t.Errorf("the organization that keeps everything has %d, want %d", got, want)
	}
}

// TestRetentionIsKeptByItself holds that the service does it, nobody else.
func TestRetentionIsKeptByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{T: t, store: memstore.New()}
		service, err := svc.New(t.Context(), svc.Options{Store: k.store})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { service.Close(); k.store.Close() }()
		k.Service = service
		caller, _ := k.organization(accounts.Retention{Completions: 1, Responses: 2, Conversations: 3, Files: 4, Decisions: 1})
		for day, want := range [][5]int{{1, 1, 1, 1, 1}, {0, 1, 1, 1, 0}, {0, 0, 1, 1, 0}, {0, 0, 0, 1, 0}, {}} {
			time.Sleep(time.Hour) // over the next sweep
			if got := k.counts(caller); got != want {
				t.Errorf("after %d days there are %d, want %d", day, got, want)
			}
			time.Sleep(23 * time.Hour)
		}
	})
}

// TestAConversationThatGoesOnIsKept holds that its days count from what was said
// last.
func TestAConversationThatGoesOnIsKept(t *testing.T) {
	k := newKeeper(t)
	caller, _ := k.organization(accounts.Retention{Conversations: 10})
	found, err := k.Conversations(t.Context(), caller, svc.Page{})
	if err != nil {
		t.Fatal(err)
	}
	k.now = k.now.Add(9 * 24 * time.Hour)
	if _, err := k.CreateResponse(t.Context(), caller, &responses.Request{
		Model: model.DefaultGenerator, Conversation: found.Items[0].ID, Input: responses.Text("And again"),
	}); err != nil {
		t.Fatal(err)
	}
	k.now = k.now.Add(2 * 24 * time.Hour)
	if k.Sweep(t.Context()); k.counts(caller)[2] != 1 {
		t.Error("a conversation of two days ago is gone")
	}
	k.now = k.now.Add(9 * 24 * time.Hour)
	if k.Sweep(t.Context()); k.counts(caller)[2] != 0 {
		t.Error("a conversation of eleven days ago is there")
	}
}

// TestDeleteOrganization holds that nothing is left of one, and everything of the
// others.
func TestDeleteOrganization(t *testing.T) {
	k := newKeeper(t)
	other, _ := k.organization(accounts.Retention{})
	caller, secret := k.organization(accounts.Retention{})
	if err := k.DeleteOrganization(t.Context(), caller.Organization); err != nil {
		t.Fatal(err)
	}
	if n := k.left(caller); n != 0 {
		t.Errorf("%d keys are left in the store", n)
	}
	if _, err := k.Authenticate(t.Context(), secret); fault.From(err).Kind != fault.Unauthenticated {
		t.Errorf("its key: %v", err)
	}
	if err := k.DeleteOrganization(t.Context(), caller.Organization); fault.From(err).Kind != fault.NotFound {
		t.Errorf("deleting it again: %v", err)
	}
	if got, want := k.counts(other), [5]int{1, 1, 1, 1, 1}; got != want {
		t.Errorf("the other organization has %d, want %d", got, want)
	}
	// What a request that ran beside the deletion writes afterwards goes, too.
	if _, err := k.UploadFile(t.Context(), caller, files.Upload{Filename: "late.txt", MIMEType: "text/plain", Purpose: files.Purpose, Content: strings.NewReader("Late")}); err != nil {
		t.Fatal(err)
	}
	if k.Sweep(t.Context()); k.left(caller) != 0 {
		t.Errorf("%d keys are left in the store after a late request", k.left(caller))
	}
	if _, err := k.CreateOrganization(t.Context(), accounts.NewOrganization{ID: caller.Organization, Name: "again"}); fault.From(err).Kind != fault.Conflict {
		t.Errorf("the same ID at once: %v", err)
	}
	k.now = k.now.Add(25 * time.Hour)
	k.Sweep(t.Context())
	if _, err := k.CreateOrganization(t.Context(), accounts.NewOrganization{ID: caller.Organization, Name: "again"}); err != nil {
		t.Errorf("the same ID a day later: %v", err)
	}
}

// left counts what the store has in a caller's namespace.
func (k *keeper) left(caller svc.Caller) (n int) {
	k.Helper()
	err := k.store.View(context.Background(), caller.Namespace(), func(tx storage.Tx) error {
		n = 0
		for _, err := range tx.Scan(storage.Range{KeysOnly: true}) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		k.Fatal(err)
	}
	return n
}

// counting is a store that counts write transactions.
type counting struct {
	storage.Store
	updates atomic.Int64
}

func (c *counting) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	c.updates.Add(1)
	return c.Store.Update(ctx, ns, fn)
}

// TestExpiredResponsesAreDeletedTogether sweeps a hundred responses in a few
// transactions.
func TestExpiredResponsesAreDeletedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{Store: memstore.New()}
		service, err := svc.New(t.Context(), svc.Options{Store: store, Backend: modeltest.New(slices.Repeat([]modeltest.Answer{modeltest.Text("Yes.")}, 100)...)})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		defer service.Close()
		o, err := service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "some", Credits: accounts.Dollar, Retention: accounts.Retention{Responses: 1}})
		if err != nil {
			t.Fatal(err)
		}
		caller, err := service.CallerFor(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := service.CreateResponse(t.Context(), caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Hello")}); err != nil {
				t.Fatal(err)
			}
		}
		before := store.updates.Load()
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		swept := store.updates.Load() - before
		left, err := service.Responses(t.Context(), caller, svc.Page{})
		if err != nil || len(left.Items) != 0 {
			t.Fatalf("%d responses are left, %v", len(left.Items), err)
		}
		if swept > 20 {
			t.Errorf("%d write transactions", swept)
		}
	})
}
