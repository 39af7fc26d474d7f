package convert

import (
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/page"
)

// ToList returns a page as it is answered: each element as object makes it, with
// the ID that id finds in it.
func ToList[T, W any](p page.Page[T], object func(*T) W, id func(*W) string) wire.List[W] {
	l := wire.List[W]{Object: "list", Data: make([]W, len(p.Items)), HasMore: p.HasMore}
	for i := range p.Items {
		l.Data[i] = object(&p.Items[i])
	}
	if n := len(l.Data); n > 0 {
		first, last := id(&l.Data[0]), id(&l.Data[n-1])
		l.FirstID, l.LastID = &first, &last
	}
	return l
}
