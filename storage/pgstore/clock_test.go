package pgstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// server is the clock of a database server, that takes its time to answer.
type server struct {
	ahead         time.Duration // of the bubble's clock
	before, after time.Duration // that the question and the answer are on their way
	err           error
}

func (s *server) time() time.Time { return time.Now().Add(s.ahead) }

func (s *server) ask(context.Context) (time.Time, error) {
	time.Sleep(s.before)
	now := s.time()
	time.Sleep(s.after)
	return now, s.err
}

// machine returns a clock that is wrong, and gains.
func machine(wrong time.Duration, gains time.Duration) func() time.Time {
	began := time.Now()
	return func() time.Time {
		gone := time.Since(began)
		return began.Add(wrong + gone + gains*time.Duration(gone/time.Second))
	}
}

// TestClocksOfMachinesThatDiffer has three machines whose clocks are hours apart and
// do not go alike, and a server with one of its own.
func TestClocksOfMachinesThatDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{ahead: 26 * 365 * 24 * time.Hour}
		clocks := []*clock{
			{machine: machine(time.Hour, 100*time.Microsecond)},
			{machine: machine(-time.Hour, -100*time.Microsecond)},
			{machine: time.Now},
		}
		check := func(when string, width time.Duration) {
			t.Helper()
			for i, c := range clocks {
				least, most := c.bounds()
				if now := s.time(); now.Before(least) || now.After(most) || most.Sub(least) > width {
					t.Errorf("%s: %d takes it for %v to %v", when, i, least.Sub(now), most.Sub(now))
				}
			}
		}
		// in turn, each makes an ID, commits it at once, and says so
		order := func(when string) {
			t.Helper()
			var last time.Time
			for i := range 9 {
				c := clocks[i%len(clocks)]
				_, made := c.bounds()
				if i > 0 && !made.After(last) {
					t.Errorf("%s: %d is %v before the one before", when, i, last.Sub(made))
				}
				c.wait(t.Context(), made)
				last = made
				time.Sleep(time.Nanosecond)
			}
		}
		ask := func(times int) {
			for range times {
				for _, c := range clocks {
					if err := c.ask(t.Context(), s.ask); err != nil && s.err == nil {
						t.Fatal(err)
					}
				}
				time.Sleep(askEvery)
			}
		}
		s.before, s.after = 200*time.Millisecond, time.Millisecond
		ask(1)
		check("at first", 210*time.Millisecond)
		s.before, s.after = time.Millisecond, 200*time.Millisecond
		order("at first")
		ask(1)
		check("with an answer that was slow the other way", 5*time.Millisecond)
		s.before, s.after = 0, time.Millisecond
		ask(60)
		check("after a minute", 2*time.Millisecond)
		order("after a minute")
		s.before, s.after = time.Second, time.Second
		ask(10)
		check("with slow answers", 40*time.Millisecond)
		order("with slow answers")
		s.err = errors.New("no time")
		ask(10)
		check("without answers", 80*time.Millisecond)
		order("without answers")
		s.err, s.before, s.after = nil, 0, time.Millisecond
		s.ahead -= 5 * time.Second
		ask(1)
		check("after another server has taken over", 2*time.Millisecond)
		order("after another server has taken over")
	})
}
