package driver_test

import (
	"testing"

	"github.com/seed-506d8e5d/svc/driver"
)

type sizer interface{ Size() int }

type plain struct{}

type sized int

func (s sized) Size() int { return int(s) }

type wrapper struct{ inner any }

func (w wrapper) Unwrap() any { return w.inner }

// doubled is twice as large as what it wraps, where that has a size.
type doubled struct{ wrapper }

func (d doubled) Size() int {
	s, _ := driver.As[sizer](d.inner)
	return 2 * s.Size()
}

func (d doubled) As(target any) bool {
	t, ok := target.(*sizer)
	if !ok {
		return false
	}
	if _, ok = driver.As[sizer](d.inner); ok {
		*t = d
	}
	return ok
}

func TestAs(t *testing.T) {
	for name, tt := range map[string]struct {
		d    any
		want int // -1: no size
	}{
		"nil":                        {nil, -1},
		"without":                    {plain{}, -1},
		"itself":                     {sized(3), 3},
		"through wrappers":           {wrapper{wrapper{sized(3)}}, 3},
		"nothing inside":             {wrapper{wrapper{plain{}}}, -1},
		"a wrapper around nil":       {wrapper{}, -1},
		"changed on the way":         {wrapper{doubled{wrapper{wrapper{sized(3)}}}}, 6},
		"nothing there to change":    {wrapper{doubled{wrapper{plain{}}}}, -1},
		"the outermost of two wins":  {doubled{wrapper{doubled{wrapper{sized(3)}}}}, 12},
		"methods are not looked at":  {doubled{wrapper{wrapper{wrapper{}}}}, -1},
		"a wrapper of another thing": {wrapper{7}, -1},
	} {
		got := -1
		if s, ok := driver.As[sizer](tt.d); ok {
			got = s.Size()
		}
		if got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}
