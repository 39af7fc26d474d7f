//go:build linux && !race

package files

import (
	"errors"
	"strings"
	"testing"
)

// TestAProcessThatEatsMemory meets its bound. The race detector has none.
func TestAProcessThatEatsMemory(t *testing.T) {
	_, err := child("child-eats").Extract(t.Context(), strings.NewReader("x"), 1, PDF)
	u, _ := errors.AsType[*Unreadable](err)
	if u == nil || u.Reason != TooLarge {
		t.Errorf("got %v, want the reason %s", err, TooLarge)
	}
}

// TestAProcessIsTheFirstToGo looks at what the kernel makes of it where memory
// runs out.
func TestAProcessIsTheFirstToGo(t *testing.T) {
	_, err := child("child-tells").Extract(t.Context(), strings.NewReader("x"), 1, PDF)
	if err == nil || !strings.Contains(err.Error(), "oom_score_adj is 1000") {
		t.Errorf("got %v", err)
	}
}
