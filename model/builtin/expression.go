package builtin

import (
	"regexp"
	"sync"
)

// expression returns a regular expression, which is compiled when it is first used:
// a program that never asks this backend starts without that work.
type expression func() *regexp.Regexp

// newExpression returns an expression that panics where it is first used if the
// text of it is wrong.
func newExpression(expr string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
