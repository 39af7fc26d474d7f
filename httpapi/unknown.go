package httpapi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// ignoredHeader names the members of a request that nothing here knows.
const ignoredHeader = "Svc-Ignored-Fields"

// unknownFields is the member of a request that says what becomes of members that
// nothing here knows: "ignore" or "refuse".
const unknownFields = "unknown_fields"

// decode reads a body that has been parsed. Members that are not known are named in
// a header of the answer, or refused where the request, its key or its organization
// says so.
func (c *call) decode(root *jsonin.Node, v any) error {
	wire.Decode(root, v)
	wish := root.Field(unknownFields)
	switch wish.Text() {
	case "", "ignore", "refuse":
	default:
		wish.Fail(`must be "ignore" or "refuse"`)
	}
	if err := root.Err(); err != nil {
		return err
	}
	unknown := slices.DeleteFunc(root.Ignored(), func(u jsonin.Unknown) bool { return u.Path == unknownFields })
	if len(unknown) == 0 {
		return nil
	}
	if wish.Text() == "refuse" || wish.Absent() && c.caller.RefuseUnknown {
		return refusal(&unknown[0])
	}
	c.ignored(unknown)
	return nil
}

// adminRequest reads a JSON body of the administration, where members that are not
// known are refused.
func (c *call) adminRequest(v any) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	wire.Decode(root, v)
	if unknown := root.Ignored(); root.Err() == nil && len(unknown) > 0 {
		return refusal(&unknown[0])
	}
	return root.Err()
}

// refusal is the error for a member that is not known.
func refusal(u *jsonin.Unknown) error {
	const most = 64 // bytes of a name in a message
	path := clipTo(u.Path, most)
	if similar := closest(u.Name, u.Known); similar != "" {
		return fault.Invalidf(path, "%s is not a field; did you mean %s?", path, similar)
	}
	return fault.Invalidf(path, "%s is not a field; there are %s.", path, strings.Join(u.Known, ", "))
}

// closest returns the name that a mistyped one is most like, empty where it is like
// none.
func closest(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, other := range names {
		if d := distance(name, other); d < least || strings.HasPrefix(other, name+"_") && best == "" {
			best, least = other, min(d, least)
		}
	}
	return best
}

// distance returns how many bytes have to be inserted, removed or replaced to make
// one text of another. Of long texts it looks at the first 64 bytes.
func distance(a, b string) int {
	const most = 64
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// ignored names members that were ignored in the header of the answer. What a client
// wrote there is quoted where it is more than letters, digits and what paths are
// made of.
func (c *call) ignored(unknown []jsonin.Unknown) {
	const most = 128 // bytes of a path
	paths := make([]string, len(unknown))
	for i := range unknown {
		path := clipTo(unknown[i].Path, most)
		if strings.ContainsFunc(path, func(r rune) bool { return !pathRune(r) }) {
			path = strconv.QuoteToASCII(path)
		}
		paths[i] = path
	}
	c.ignore(paths...)
}

// ignore names parts of the request that have no effect in the header of the answer.
func (c *call) ignore(paths ...string) {
	c.unknown += len(paths)
	if before := c.w.Header().Get(ignoredHeader); before != "" {
		paths = append([]string{before}, paths...)
	}
	c.w.Header().Set(ignoredHeader, strings.Join(paths, ", "))
}

func pathRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.[]/", r)
}

// clipTo returns at most n bytes of a text.
func clipTo(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "..."
}
