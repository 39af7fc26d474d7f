package ids

import (
	"regexp"
	"sync"
	"testing"
	"time"
)

func TestNewHasTheFormOfAnID(t *testing.T) {
	id := New("resp")
	if !regexp.MustCompile(`^resp_[0-9a-hjkmnp-tv-z]{26}$`).MatchString(id) {
		t.Errorf("got %q", id)
	}
}

func TestLaterIDsSortAfterEarlierOnes(t *testing.T) {
	before := New("x")
	for range 100_000 {
		id := New("x")
		if id <= before {
			t.Fatalf("%q was made after %q", id, before)
		}
		before = id
	}
}

func TestConcurrentIDsAreUnique(t *testing.T) {
	const workers, each = 8, 5000
	made := make([][]string, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for range each {
				made[w] = append(made[w], New("x"))
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, ids := range made {
		for _, id := range ids {
			if seen[id[:15]] {
				t.Fatalf("two IDs have the order of %q", id)
			}
			seen[id[:15]] = true
		}
	}
}

// TestAClockThatGoesBack keeps the order, and one that goes on is followed to a
// fraction of a millisecond.
func TestAClockThatGoesBack(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	c := Clock{Now: func() time.Time { return now }}
	before := ""
	for _, step := range []time.Duration{0, 0, time.Microsecond, -time.Hour, 0, time.Hour, 2 * time.Microsecond, time.Millisecond} {
		now = now.Add(step)
		id := c.New("x")
		if id <= before {
			t.Errorf("after %v: %q was made after %q", step, id, before)
		}
		before = id
	}
	other := Clock{Now: func() time.Time { return now.Add(100 * time.Nanosecond) }}
	if id := other.New("x"); id <= before {
		t.Errorf("%q was made a moment after %q", id, before)
	}
}

func TestBeforeStandsBetweenEarlierAndLaterIDs(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000)
	clock := &Clock{Now: func() time.Time { return at }}
	before := Before("x", at.Add(time.Millisecond))
	if earlier := clock.New("x"); earlier >= before {
		t.Errorf("%q is not before %q", earlier, before)
	}
	at = at.Add(time.Millisecond)
	if later := clock.New("x"); later <= before {
		t.Errorf("%q is not behind %q", later, before)
	}
}
