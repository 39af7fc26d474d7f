package console

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/matryer/is"
)

// TestWrongKeysAreCountedByKeyAndAddress has somebody try key after key: who shares
// a proxy with them is not slowed down.
func TestWrongKeysAreCountedByKeyAndAddress(t *testing.T) {
	is := is.New(t)
	now := time.Unix(1_700_000_000, 0)
	f := failures{now: func() time.Time { return now }}
	visitor := func(address, forwarded string) *request {
		r := httptest.NewRequest("POST", "/console/signin", nil)
		r.RemoteAddr = address
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		return &request{r: r}
	}
	const guess, right = "sk-svc-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "sk-svc-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	balanced, direct := visitor("10.0.0.1:1", "203.0.113.9"), visitor("198.51.100.7:1", "")
	for range freeFailures {
		f.add(balanced.countedBy(guess))
	}
	is.True(f.delay(balanced.countedBy(guess)) > 0)
	is.True(f.delay(direct.countedBy(guess)) > 0) // whoever tries such keys
	is.Equal(f.delay(balanced.countedBy(right)), time.Duration(0))
	is.Equal(f.delay(direct.countedBy(right)), time.Duration(0))
	for range freeFailures {
		f.add(direct.countedBy(guess))
	}
	is.True(f.delay(direct.countedBy(right)) > 0)
	is.Equal(f.delay(visitor("198.51.100.8:1", "").countedBy(right)), time.Duration(0))
	now = now.Add(forgetFailure + time.Second)
	is.Equal(f.delay(direct.countedBy(guess)), time.Duration(0))
}
