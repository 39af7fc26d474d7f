// Package repeat does things again and again, in the goroutine of whoever waits for
// the end of that.
package repeat

import (
	"context"
	"time"
)

// Every does something at an interval, and whenever wake has a value, until ctx
// ends. A nil wake never has one. What it does is not interrupted: it is given the
// context to heed it, or ends it to be done no more.
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

// Pause waits between two attempts, and reports whether there is to be another: ctx
// goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
