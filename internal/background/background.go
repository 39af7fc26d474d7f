// Package background has what goroutines need that work beside requests: a loop
// with an interval, a pause that a context ends, and a call that turns a panic into
// an error.
package background

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// Every calls do at an interval, and whenever wake has a value, until ctx ends. A
// nil wake never has one. It blocks. A call of do is not interrupted.
func Every(ctx context.Context, interval time.Duration, wake <-chan struct{}, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
		do()
	}
}

// Sleep waits for d, or until ctx ends. It reports whether ctx goes on.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Recover runs f and returns its error, or where f panics an error with the stack
// and what [DescribePanic] says. It keeps a panic in code that embedders bring,
// such as a model backend, from ending the process.
func Recover(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %s\n%s", DescribePanic(p), debug.Stack())
		}
	}()
	return f()
}

// DescribePanic returns the text of a runtime error, and the type of any other
// value: its text may hold what a caller sent, which no log may have.
func DescribePanic(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", p)
}
