package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// Decode reads the object n into the struct that v points to. A value that does
// not fit is recorded in the document as an error (see [jsonin.Node.Err]), and a
// member that the struct does not have as ignored ([jsonin.Node.Ignored]).
func Decode(n *jsonin.Node, v any) { readStruct(n, reflect.ValueOf(v).Elem()) }

// reader is implemented by types that read themselves: unions, and values that
// need more than their JSON type. It is called for a member that is there, f is
// the field that holds it.
type reader interface {
	readNode(n *jsonin.Node, f *field)
}

// checker is implemented by structs with rules that tags cannot express. check is
// called once the struct has been read, also where that failed.
type checker interface{ check(n *jsonin.Node) }

var (
	readerType  = reflect.TypeFor[reader]()
	checkerType = reflect.TypeFor[checker]()
	rawType     = reflect.TypeFor[json.RawMessage]()
)

// defaultMost is how many elements a list may have whose tag does not say.
const defaultMost = 1000

// readFunc reads a value that is there, and not null unless it is an element.
type readFunc func(n *jsonin.Node, v reflect.Value, f *field)

// shape describes a struct: its fields, and those of embedded structs.
type shape struct {
	fields []field
	names  []string
	byName map[string]int
	union  bool   // the member type says which of the fields there are
	absent string // what a missing type stands for
	checks bool
}

var shapes sync.Map // reflect.Type to *shape

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{byName: map[string]int{}, checks: reflect.PointerTo(t).Implements(checkerType)}
	for _, sf := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		f := newField(t, sf, name)
		s.byName[name] = len(s.fields)
		s.names = append(s.names, name)
		s.fields = append(s.fields, f)
		s.union = s.union || f.of != nil
		if name == "type" {
			s.absent = f.rules["default"]
		}
	}
	shapes.Store(t, s)
	return s
}

func readStruct(n *jsonin.Node, v reflect.Value) {
	s := shapeOf(v.Type())
	variant := ""
	if s.union {
		if variant = n.Field("type").Text(); variant == "" {
			variant = s.absent
		}
	}
	for m := range n.Fields() {
		i, ok := s.byName[m.Name()]
		switch {
		case !ok:
			m.Ignore(s.names)
		case s.fields[i].in(variant):
			s.fields[i].take(m, v)
		}
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.mandatory && f.in(variant) {
			f.demand(n)
		}
	}
	if s.checks {
		v.Addr().Interface().(checker).check(n)
	}
}

// take reads the member m into the field of the struct v.
func (f *field) take(m *jsonin.Node, v reflect.Value) {
	switch {
	case m.Absent():
	case f.refused != "" && !(f.open && m.Open()):
		m.Fail("%s", f.refused)
	case f.open && !m.Open():
	default:
		f.read(m, v.FieldByIndex(f.index), f)
	}
}

// demand records an error where a member is missing that must be there. Of an
// object that is missing its first mandatory member is named.
func (f *field) demand(n *jsonin.Node) {
	m := n.Field(f.name)
	if !m.Absent() || f.present && !m.Missing() {
		return
	}
	if t := bare(f.typ); t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(readerType) {
		readStruct(m, reflect.New(t).Elem())
	}
	m.Fail("is required")
}

func readerOf(t reflect.Type) readFunc {
	if reflect.PointerTo(t).Implements(readerType) {
		return func(n *jsonin.Node, v reflect.Value, f *field) { v.Addr().Interface().(reader).readNode(n, f) }
	}
	if t == rawType {
		return readRaw
	}
	switch t.Kind() {
	case reflect.Pointer:
		read := readerOf(t.Elem())
		return func(n *jsonin.Node, v reflect.Value, f *field) {
			v.Set(reflect.New(t.Elem()))
			read(n, v.Elem(), f)
		}
	case reflect.Struct:
		return func(n *jsonin.Node, v reflect.Value, _ *field) { readStruct(n, v) }
	case reflect.Slice:
		return readerOfSlice(t)
	case reflect.String:
		return readString
	case reflect.Bool:
		return func(n *jsonin.Node, v reflect.Value, _ *field) { v.SetBool(n.True()) }
	case reflect.Int, reflect.Int64:
		return func(n *jsonin.Node, v reflect.Value, _ *field) {
			if i := n.Int(); i != nil {
				v.SetInt(int64(*i))
			}
		}
	case reflect.Float64:
		return func(n *jsonin.Node, v reflect.Value, _ *field) {
			if x := n.Number(); x != nil {
				v.SetFloat(*x)
			}
		}
	}
	return nil // a type of answers alone; a test finds one in a request
}

func readString(n *jsonin.Node, v reflect.Value, f *field) {
	text := n.Text()
	switch {
	case f.notEmpty && text == "" && n.IsText():
		n.Fail("must not be empty")
	case f.constant != "" && text != f.constant:
		n.Fail("must be %q", f.constant)
	}
	v.SetString(text)
}

// readRaw keeps JSON as it is.
func readRaw(n *jsonin.Node, v reflect.Value, f *field) {
	if _, ok := f.rules["object"]; ok {
		n.Object()
	}
	if _, ok := f.rules["shared"]; ok {
		v.SetBytes(n.Shared())
		return
	}
	v.SetBytes(n.Raw())
}

func readerOfSlice(t reflect.Type) readFunc {
	read, texts := readerOf(t.Elem()), t.Elem().Kind() == reflect.String
	return func(n *jsonin.Node, v reflect.Value, f *field) {
		var items []*jsonin.Node
		if f.first > 0 {
			items = n.First(f.first)
		} else {
			items = n.Items(f.most)
		}
		list := reflect.MakeSlice(t, len(items), len(items))
		for i, item := range items {
			if texts && item.Absent() {
				item.Fail("is required")
			}
			read(item, list.Index(i), f)
		}
		v.Set(list)
	}
}
