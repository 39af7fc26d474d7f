// Package driver has the one way to ask what an implementation can do besides
// what it has to.
//
// What others implement for the service is a small interface: storage.Store,
// model.Backend, websearch.Client, files.Extractor. What the service uses is a
// type of its own around it (storage.DB, model.Models, files.Service), which can
// grow without breaking them. What only some can do is an interface of its own
// (storage.Snapshotter, model.Scorer), and [As] finds it, through everything that
// is put around the implementation.
package driver

// Wrapper is an implementation around another one of the same contract. All that
// the inner one can do besides the contract, the outer one can do, too, without
// a line for it.
type Wrapper interface {
	// Unwrap returns what is wrapped.
	Unwrap() any
}

// Asker is a [Wrapper] that changes what it wraps can do besides the contract.
type Asker interface {
	// As sets target, which points to an interface, and returns true where the
	// wrapper itself has to be used for that interface. It is asked instead of
	// looking at the wrapper's methods; where it returns false what is wrapped is
	// asked next.
	As(target any) bool
}

// As returns d as a T, or the first of what d wraps that is one. As with
// errors.As the outermost wins.
func As[T any](d any) (found T, ok bool) {
	for d != nil {
		if a, asks := d.(Asker); asks {
			if a.As(&found) {
				return found, true
			}
		} else if t, is := d.(T); is {
			return t, true
		}
		w, wraps := d.(Wrapper)
		if !wraps {
			break
		}
		d = w.Unwrap()
	}
	return found, false
}
