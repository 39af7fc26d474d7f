// Package jsonin reads JSON that somebody else wrote: the bodies that clients
// send and the configuration that operators write.
//
// [Parse] refuses what is not exactly one JSON value (see [Check]) and returns
// its root [Node]. A decoder then asks nodes for what it expects to find:
//
//	root, err := jsonin.Parse(body, jsonin.Dots)
//	req.Model = root.Field("model").Text()
//	req.MaxTokens = root.Field("max_tokens").Int()
//	return root.Err()
//
// The first value of another type is remembered, with the path to it, and
// returned by [Node.Err] in the end, so that a decoder reads like the shape it
// decodes. Members that nobody asks for are ignored. null is the same as an
// absent member.
package jsonin

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/seed-506d8e5d/svc/fault"
)

// MaxMembers is how many members an object may have whose members are read.
const MaxMembers = 10_000

// MaxValues is how many elements and members of a document may be read: each takes
// some hundred bytes, where its text may have two.
const MaxValues = 500_000

// PathStyle is how the path to a value is written in errors.
type PathStyle uint8

// The styles of the interface's two error shapes.
const (
	Dots    PathStyle = iota // messages[0].content
	Slashes                  // questions/urgent/criteria
)

// Node is a value somewhere in a document, or the absence of one. Its methods
// may be called on any node; asked for another type than it has they record the
// error and return the zero value. Nodes of one document must not be used
// concurrently.
type Node struct {
	doc    *document
	parent *Node
	name   string // as a member
	raw    string // the JSON text of the value, empty where it is missing
	fields []Node // of an object, once read
	index  int32  // as an element; -1 for a member
	read   bool
}

// first returns the first byte of the value, which says of what type it is: n for
// null, 0 where it is missing.
func (n *Node) first() byte {
	if n.raw == "" {
		return 0
	}
	return n.raw[0]
}

// document is what the nodes of one document share.
type document struct {
	style   PathStyle
	err     error
	spare   []Node // for members that are not there: a decoder asks for many
	unknown []Unknown
	values  int  // elements and members that were read
	open    bool // see [Node.Open]
}

// SetOpen says that the document is read by the open interface.
func (n *Node) SetOpen() { n.doc.open = true }

// Open reports whether the document is read by the open interface: whether decoders take
// what the strict one refuses.
func (n *Node) Open() bool { return n.doc.open }

// take reports whether the members or elements of n may be read, that many.
func (d *document) take(n *Node, count int) bool {
	if d.values += count; d.values > MaxValues {
		n.Fail("must have fewer values: a request may have at most %d in all", MaxValues)
		return false
	}
	return true
}

// Parse checks data and returns its root, or an Invalid error. The nodes and what
// is read from them refer to data, which must not be changed any more: a body is
// held in memory once.
func Parse(data []byte, style PathStyle) (*Node, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	text := strings.TrimSpace(unsafe.String(unsafe.SliceData(data), len(data)))
	return &Node{doc: &document{style: style}, index: -1, raw: text}, nil
}

// Err returns the first error recorded in the document that n belongs to.
func (n *Node) Err() error { return n.doc.err }

// Fail records an Invalid error about n, unless one was recorded before. The
// format is what follows the path: "must be a string".
func (n *Node) Fail(format string, args ...any) {
	if n.doc.err != nil {
		return
	}
	path, separator := n.Path(), " "
	if n.doc.style == Slashes {
		separator = ": "
	}
	subject := path
	if path == "" {
		subject, separator = "The request body", " "
	}
	e := fault.Invalidf(path, format, args...)
	e.Message = subject + separator + e.Message
	if n.doc.style == Dots {
		e.Message += "."
	}
	n.doc.err = e
}

// FailCode is [Node.Fail] with another code than that of an invalid request.
func (n *Node) FailCode(code, format string, args ...any) {
	if n.doc.err != nil {
		return
	}
	n.Fail(format, args...)
	n.doc.err.(*fault.Error).Code = code
}

// Path returns the path from the root, which is empty for the root itself.
func (n *Node) Path() string {
	if n.parent == nil {
		return ""
	}
	above := n.parent.Path()
	switch {
	case n.doc.style == Slashes && n.index >= 0:
		return join(above, "/", strconv.Itoa(int(n.index)))
	case n.doc.style == Slashes:
		return join(above, "/", n.name)
	case n.index >= 0:
		return above + "[" + strconv.Itoa(int(n.index)) + "]"
	}
	return join(above, ".", n.name)
}

func join(above, separator, name string) string {
	if above == "" {
		return name
	}
	return above + separator + name
}

// Name returns the name that n has as a member of an object.
func (n *Node) Name() string { return n.name }

// Absent reports whether there is no value: the member is missing or null.
func (n *Node) Absent() bool { return n.raw == "" || n.raw[0] == 'n' }

// Missing reports whether the member is missing; null is not.
func (n *Node) Missing() bool { return n.raw == "" }

// IsText, IsObject and IsArray report the type of the value.
func (n *Node) IsText() bool   { return n.first() == '"' }
func (n *Node) IsObject() bool { return n.first() == '{' }
func (n *Node) IsArray() bool  { return n.first() == '[' }

func (n *Node) isNumber() bool { return n.first() == '-' || n.first() >= '0' && n.first() <= '9' }
func (n *Node) isBool() bool   { return n.first() == 't' || n.first() == 'f' }

// Raw returns the JSON text of the value, nil where it is absent. The bytes are
// the caller's.
func (n *Node) Raw() json.RawMessage {
	if n.Absent() {
		return nil
	}
	return json.RawMessage(n.raw)
}

// Shared is Raw without a copy: the bytes are part of the document, all of which
// is kept with them, and must not be changed.
func (n *Node) Shared() json.RawMessage {
	if n.Absent() {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(n.raw), len(n.raw))
}

// Object returns n and records an error unless it is an object or absent.
func (n *Node) Object() *Node {
	if !n.Absent() && !n.IsObject() {
		n.Fail("must be an object")
	}
	return n
}

// Field returns the member with the name, which may be absent. It records an
// error where n is something other than an object.
func (n *Node) Field(name string) *Node {
	n.Object()
	members := n.members()
	for i := range members {
		if members[i].name == name {
			return &members[i]
		}
	}
	return n.missing(name)
}

// missing returns a member that is not there.
func (n *Node) missing(name string) *Node {
	const atOnce = 16
	d := n.doc
	if len(d.spare) == 0 {
		d.spare = make([]Node, atOnce)
	}
	m := &d.spare[0]
	d.spare = d.spare[1:]
	*m = Node{doc: d, parent: n, name: name, index: -1}
	return m
}

// Fields yields the members of an object in their order.
func (n *Node) Fields() iter.Seq[*Node] {
	n.Object()
	return func(yield func(*Node) bool) {
		members := n.members()
		for i := range members {
			if !yield(&members[i]) {
				return
			}
		}
	}
}

func (n *Node) members() []Node {
	if n.read || !n.IsObject() {
		return n.fields
	}
	n.read = true
	w := walker{text: n.raw}
	count := 0
	for w.next() {
		w.skip()
		w.next()
		w.skip()
		if count++; count > MaxMembers {
			n.Fail("must have at most %d members", MaxMembers)
			break
		}
	}
	if count = min(count, MaxMembers); !n.doc.take(n, count) {
		return nil
	}
	n.fields = make([]Node, 0, count)
	w = walker{text: n.raw}
	for len(n.fields) < cap(n.fields) && w.next() {
		name := unquote(w.skip())
		w.next()
		n.fields = append(n.fields, Node{doc: n.doc, parent: n, name: name, index: -1, raw: w.skip()})
	}
	return n.fields
}

// Items returns the elements of an array, and records an error where n is
// something else, or has more elements than most. Absent is empty.
func (n *Node) Items(most int) []*Node {
	items := n.First(most + 1)
	if len(items) > most {
		n.Fail("must have at most %d elements", most)
		return nil
	}
	return items
}

// First returns the first elements of an array, at most most of them, and
// records an error where n is something else. Absent is empty. It is for rules
// about the number of elements that have a message of their own.
func (n *Node) First(most int) []*Node {
	if n.Absent() {
		return nil
	}
	if !n.IsArray() {
		n.Fail("must be an array")
		return nil
	}
	count := 0
	for w := (walker{text: n.raw}); count < most && w.next(); count++ {
		w.skip()
	}
	if !n.doc.take(n, count) {
		return nil
	}
	elements, items := make([]Node, count), make([]*Node, count)
	w := walker{text: n.raw}
	for i := range elements {
		w.next()
		elements[i] = Node{doc: n.doc, parent: n, index: int32(i), raw: w.skip()}
		items[i] = &elements[i]
	}
	return items
}

// Text returns a string. Escapes that name half a surrogate pair become U+FFFD.
func (n *Node) Text() string {
	if n.Absent() {
		return ""
	}
	if !n.IsText() {
		n.Fail("must be a string")
		return ""
	}
	return unquote(n.raw)
}

// Bool returns a boolean, or nil where it is absent.
func (n *Node) Bool() *bool {
	if n.Absent() {
		return nil
	}
	if !n.isBool() {
		n.Fail("must be a boolean")
		return nil
	}
	b := n.first() == 't'
	return &b
}

// True returns a boolean; absent is false.
func (n *Node) True() bool {
	b := n.Bool()
	return b != nil && *b
}

// Number returns a finite number, or nil where it is absent.
func (n *Node) Number() *float64 {
	if n.Absent() {
		return nil
	}
	f, err := strconv.ParseFloat(n.raw, 64)
	if !n.isNumber() || err != nil || math.IsInf(f, 0) {
		n.Fail("must be a number")
		return nil
	}
	return &f
}

// Int returns a whole number, or nil where it is absent. 2.0 and 2e3 are whole.
func (n *Node) Int() *int {
	if n.Absent() {
		return nil
	}
	const most = 1 << 53 // beyond it a float does not tell neighbours apart
	f, err := strconv.ParseFloat(n.raw, 64)
	if !n.isNumber() || err != nil || f != math.Trunc(f) || math.Abs(f) > most {
		n.Fail("must be an integer")
		return nil
	}
	i := int(f)
	return &i
}

// Metadata returns string tags by the spec's metadata rules: numbers and
// booleans are written as strings, anything else is an error. The map is never
// nil.
func (n *Node) Metadata() map[string]string {
	tags := map[string]string{}
	for f := range n.Fields() {
		switch {
		case f.IsText():
			tags[f.name] = f.Text()
		case f.isNumber(), f.isBool():
			tags[f.name] = f.raw
		default:
			f.Fail("must be a string")
		}
	}
	return tags
}

// Unknown is a member that a decoder does not know, and the names that it knows in
// its place.
type Unknown struct {
	Path  string
	Name  string
	Known []string
}

// maxUnknown is how many unknown members of a document are remembered.
const maxUnknown = 16

// Ignore notes that a decoder ignores n, because it is none of the members that it
// knows.
func (n *Node) Ignore(known []string) {
	if len(n.doc.unknown) < maxUnknown {
		n.doc.unknown = append(n.doc.unknown, Unknown{n.Path(), n.name, known})
	}
}

// Ignored returns the first unknown members of the document that n belongs to.
func (n *Node) Ignored() []Unknown { return n.doc.unknown }
