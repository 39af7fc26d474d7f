// Package guard keeps a panic in code that others bring, such as a model backend
// or a search client, from ending the process where it runs in a goroutine of
// its own.
package guard

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Call runs f and returns its error, or where f panics an error that has the
// stack in its text, and what [Describe] says.
func Call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %s\n%s", Describe(p), debug.Stack())
		}
	}()
	return f()
}

// Describe says in a log what a panic was: what the runtime found, or the type
// of any other value. The text of such a value may hold what a caller sent, and
// no log does; the stack says where to read the rest.
func Describe(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", p)
}
