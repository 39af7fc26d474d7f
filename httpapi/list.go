package httpapi

import (
	"net/url"
	"strconv"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
)

// pageParams reads the query parameters limit, order and after. desc is the
// order where none is asked for. The bounds of limit are the list's own.
func pageParams(q url.Values, desc bool) (page.Params, error) {
	p := page.Params{After: q.Get("after"), Desc: desc}
	if text := q.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil {
			return p, fault.Invalidf("limit", "limit must be an integer.")
		}
		if p.Limit = limit; limit == 0 {
			p.Limit = -1 // as invalid, where 0 would be the default
		}
	}
	switch q.Get("order") {
	case "":
	case "asc":
		p.Desc = false
	case "desc":
		p.Desc = true
	default:
		return p, fault.Invalidf("order", "order must be asc or desc.")
	}
	return p, nil
}
