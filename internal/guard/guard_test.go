package guard

import (
	"errors"
	"strings"
	"testing"
)

func TestCall(t *testing.T) {
	failure := errors.New("failed")
	if err := Call(func() error { return failure }); err != failure {
		t.Errorf("got %v, want %v", err, failure)
	}
	err := Call(func() error { panic("lost") })
	if err == nil || !strings.HasPrefix(err.Error(), "panic: lost\n") {
		t.Errorf("got %v, want the panic", err)
	}
}
