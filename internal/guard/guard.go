// Package guard keeps a panic in code that others bring, such as a model backend
// or a search client, from ending the process where it runs in a goroutine of
// its own.
package guard

import (
	"fmt"
	"runtime/debug"
)

// Call runs f and returns its error, or where f panics an error that has the
// stack in its text.
func Call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
