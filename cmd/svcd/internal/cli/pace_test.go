package cli

import (
	"context"
	"errors"
	"testing"
)

// TestPace has a server that takes ten requests at once.
func TestPace(t *testing.T) {
	const takes = 10
	p := newPace(mostAtOnce)
	var most int
	for range 300 {
		var rounds []int
		for p.running < int(p.limit) {
			round, err := p.enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rounds = append(rounds, round)
		}
		most = max(most, len(rounds))
		for i, round := range rounds {
			p.leave(round, i >= takes)
		}
	}
	if most != takes+1 {
		t.Errorf("%d at once", most)
	}
	ctx, cancel := context.WithCancel(t.Context())
	for p.running < int(p.limit) {
		if _, err := p.enter(ctx); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if _, err := p.enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
