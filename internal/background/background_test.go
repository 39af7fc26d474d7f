package background

import (
	"errors"
	"strings"
	"testing"
)

func TestCall(t *testing.T) {
	failure := errors.New("failed")
	if err := Recover(func() error { return failure }); err != failure {
		t.Errorf("got %v, want %v", err, failure)
	}
	err := Recover(func() error { panic("a prompt") })
	if err == nil || !strings.HasPrefix(err.Error(), "panic: a value of type string\n") || strings.Contains(err.Error(), "a prompt") {
		t.Errorf("got %v, want the panic without its text", err)
	}
}

func TestDescribeARuntimeError(t *testing.T) {
	err := Recover(func() error {
		var none []int
		return errors.New(string(rune(none[len(none)])))
	})
	if err == nil || !strings.HasPrefix(err.Error(), "panic: runtime error: index out of range [0] with length 0\n") {
		t.Errorf("got %v, want what the runtime found", err)
	}
}
