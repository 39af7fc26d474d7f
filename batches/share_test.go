package batches_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// alike are lines that stay together in segments.
func alike(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = ask(fmt.Sprint(i), strings.Repeat("the same ", 100)+fmt.Sprint(i))
	}
	return lines
}

// slow answers after a second.
func slow(req *model.Request) modeltest.Answer {
	time.Sleep(time.Second)
	return echo(req)
}

// TestAnotherOrganizationDoesNotWait has one organization that keeps all workers busy
// for minutes: the batch of another one is done in seconds.
func TestAnotherOrganizationDoesNotWait(t *testing.T) {
	bubble(t, options{workers: 2}, func(t *testing.T, e *env) {
		is := is.New(t)
		e.script.Respond = slow
		large := e.create(chat, alike(256)...)
		time.Sleep(10 * time.Second)
		mine := e.key
		e.key = e.organization(accounts.Dollar).Secret
		began := time.Now()
		b := e.ended(e.create(chat, ask("one", "x"), ask("two", "y")))
		is.Equal(b["request_counts"], map[string]any{"total": 2.0, "completed": 2.0, "failed": 0.0})
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("two lines of another organization took %v", took)
		}
		e.key = mine
		began = time.Now()
		b = e.ended(large)
		is.Equal(b["request_counts"], map[string]any{"total": 256.0, "completed": 256.0, "failed": 0.0})
		if took := time.Since(began); took > 140*time.Second {
			t.Errorf("the rest took %v with two workers", took)
		}
		is.Equal(len(e.script.Requests()), 258) // no line ran twice
	})
}

// TestLinesOfAnOrganization holds the lines under way to the limits of organizations.
func TestLinesOfAnOrganization(t *testing.T) {
	for name, c := range map[string]struct {
		options    options
		concurrent int
		want       int
	}{
		"the workers":                    {options{workers: 4}, 0, 4},
		"the limit of all organizations": {options{workers: 4, perOrganization: 3}, 0, 3},
		"what the model's server takes":  {options{workers: 4, lines: 2}, 0, 2},
		"its own limit":                  {options{workers: 4, perOrganization: 3}, 2, 2},
		"its own limit is higher":        {options{workers: 4, perOrganization: 3}, 9, 3},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.options, func(t *testing.T, e *env) {
				is := is.New(t)
				e.script.Respond = slow
				k, err := e.service.Authenticate(t.Context(), e.key)
				is.NoErr(err)
				_, err = e.service.UpdateOrganization(t.Context(), k.Organization, accounts.OrganizationUpdate{ConcurrentRequests: &c.concurrent})
				is.NoErr(err)
				b := e.ended(e.create(chat, different(160)...))
				is.Equal(b["request_counts"], map[string]any{"total": 160.0, "completed": 160.0, "failed": 0.0})
				is.Equal(e.script.Peak(), c.want)
			})
		})
	}
}

// different are lines in segments of the least size.
func different(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = ask(fmt.Sprint(i), strings.Repeat(fmt.Sprint(i%10), 3000))
	}
	return lines
}

// TestASuspendedOrganization has its batch wait, without a line that fails, and go on
// when it is active again.
func TestASuspendedOrganization(t *testing.T) {
	bubble(t, options{workers: 2}, func(t *testing.T, e *env) {
		is := is.New(t)
		e.script.Respond = slow
		k, err := e.service.Authenticate(t.Context(), e.key)
		is.NoErr(err)
		set := func(status accounts.Status) {
			_, err = e.service.UpdateOrganization(t.Context(), k.Organization, accounts.OrganizationUpdate{Status: &status})
			is.NoErr(err)
		}
		id := e.create(chat, alike(64)...)
		time.Sleep(10 * time.Second)
		set(accounts.Suspended)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		ran := len(e.script.Requests())
		time.Sleep(time.Hour)
		is.Equal(len(e.script.Requests()), ran)
		set(accounts.Active)
		b := e.ended(id)
		is.Equal(b["status"], "completed")
		is.Equal(b["request_counts"], map[string]any{"total": 64.0, "completed": 64.0, "failed": 0.0})
	})
}

// TestARevokedKey ends its batch: what has run is in the output, and the rest says why
// it did not.
func TestARevokedKey(t *testing.T) {
	bubble(t, options{workers: 1}, func(t *testing.T, e *env) {
		is := is.New(t)
		e.script.Respond = slow
		mine := e.key
		caller, err := e.service.Authenticate(t.Context(), mine)
		is.NoErr(err)
		other, err := e.service.Parts().Accounts.CreateKey(t.Context(), accounts.NewKey{OrganizationID: caller.Organization})
		is.NoErr(err)
		e.key = other.Secret
		id := e.create(chat, alike(40)...)
		time.Sleep(10 * time.Second)
		is.NoErr(e.service.RevokeKey(t.Context(), other.ID))
		e.key = mine
		b := e.ended(id)
		is.Equal(b["status"], "failed")
		is.Equal(b["errors"].(map[string]any)["data"].([]any)[0].(map[string]any)["code"], "invalid_api_key")
		done := len(e.content(b["output_file_id"]))
		missing := e.content(b["error_file_id"])
		is.Equal(done+len(missing), 40)
		is.True(done >= 9)
		is.True(strings.Contains(missing[0], `"response":null,"error":{"code":"batch_failed",`))
		is.Equal(e.events, []string{"batch.failed " + id})
	})
}

// TestLinesThatAreAlikeRunOneAfterTheOther holds that of 1,000 lines about ten states,
// in order, no two about one state run at once, and that no other runs between them in
// the same place.
func TestLinesThatAreAlikeRunOneAfterTheOther(t *testing.T) {
	bubble(t, options{workers: 4}, func(t *testing.T, e *env) {
		is := is.New(t)
		var mu sync.Mutex
		running, changes, last := map[byte]bool{}, 0, map[byte]time.Time{}
		e.script.Respond = func(req *model.Request) modeltest.Answer {
			state := string(req.Messages[0].Parts[0].(model.Text))[0]
			mu.Lock()
			if running[state] {
				t.Errorf("two lines about state %c run at once", state)
			}
			running[state] = true
			if time.Since(last[state]) > 5*time.Second { // it has waited for others
				changes++
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			running[state], last[state] = false, time.Now()
			return said("yes")
		}
		var lines []string
		for i := range 1000 {
			lines = append(lines, ask(fmt.Sprint(i), strings.Repeat(string(rune('a'+i/100)), 500)+fmt.Sprint(" question ", i)))
		}
		b := e.ended(e.create(chat, lines...))
		is.Equal(b["request_counts"], map[string]any{"total": 1000.0, "completed": 1000.0, "failed": 0.0})
		is.Equal(changes, 10) // each state begins once
	})
}
