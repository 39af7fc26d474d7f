package wire

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// Ignored is a field that is taken and has no effect, or that is refused: its tags
// harmless and refused say why.
type Ignored struct{}

func (*Ignored) readNode(*jsonin.Node, *field) {}

// field is a field of a struct as its tags describe it.
type field struct {
	name  string
	index []int
	typ   reflect.Type
	tag   reflect.StructTag
	rules map[string]string // of the tag api
	read  readFunc
	each  readFunc // of what a generic type is made of

	mandatory bool // required or present
	present   bool // must be there and may be null
	notEmpty  bool // a string that is there has at least one byte
	constant  string
	most      int      // elements of a list: more are an error
	first     int      // elements of a list that are read: more are for the domain to refuse; 0 is all
	of        []string // types of a union that have the field; nil is all
	refused   string   // why; empty for a field that is not refused
	open      bool     // the open interface alone reads it; the strict one refuses or ignores it
}

// newField reads the tags of a field of the struct t:
//
//	json      its name
//	api       rules, separated by commas. Checked here: required (there and not
//	          null), present (there), notempty, const=X, most=N (elements), first=N
//	          (elements that are read), object, shared (JSON that stays part of the body,
//	          which is held with it), open (read by the open interface; the strict one
//	          does what refused or harmless says). Only described in openapi.json, and
//	          checked by the service: needed (as required), min, max, above, least
//	          (elements), enum=a|b, ids
//	must      what a value of a wrong type is told to be
//	of        in a union: the types that have the field
//	doc       its description
//	harmless  why it is taken and ignored
//	refused   why it is refused
func newField(t reflect.Type, sf reflect.StructField, name string) field {
	f := field{
		name: name, index: sf.Index, typ: sf.Type, tag: sf.Tag, rules: rulesOf(sf.Tag.Get("api")),
		refused: sf.Tag.Get("refused"), read: readerOf(sf.Type), of: variants(t, sf), most: defaultMost,
	}
	if g, ok := reflect.Zero(bare(sf.Type)).Interface().(generic); ok {
		f.each = readerOf(g.element())
	}
	_, required := f.rules["required"]
	_, f.present = f.rules["present"]
	_, f.notEmpty = f.rules["notempty"]
	_, f.open = f.rules["open"]
	f.mandatory, f.constant = required || f.present, f.rules["const"]
	if n, err := strconv.Atoi(f.rules["most"]); err == nil {
		f.most = n
	}
	f.first, _ = strconv.Atoi(f.rules["first"])
	return f
}

// generic is implemented by types that are made of another one.
type generic interface{ element() reflect.Type }

// bare returns what a pointer points to, and other types themselves.
func bare(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func rulesOf(tag string) map[string]string {
	rules := map[string]string{}
	for rule := range strings.SplitSeq(tag, ",") {
		if name, value, _ := strings.Cut(rule, "="); name != "" {
			rules[name] = value
		}
	}
	return rules
}

// variants returns the types of a union that have a field: by its own tag, or by
// that of the embedded struct that it is in.
func variants(t reflect.Type, sf reflect.StructField) []string {
	for depth := len(sf.Index); depth > 0; depth-- {
		if of, ok := t.FieldByIndex(sf.Index[:depth]).Tag.Lookup("of"); ok {
			return strings.Fields(of)
		}
	}
	return nil
}

// in reports whether a member of a union has the field.
func (f *field) in(variant string) bool { return f.of == nil || slices.Contains(f.of, variant) }

// Use is what becomes of a field of a request.
type Use string

// The uses.
const (
	Honoured Use = "honoured" // it means what it means in OpenAI's API
	Harmless Use = "harmless" // it is taken, and the answer is the same without it
	Refused  Use = "refused"  // it would make another answer, which is not to be had here: a 400
)

// Field says what becomes of a field, and why where it is not honoured. For a
// refused one that is what its 400 says behind the field's name.
type Field struct {
	Use Use
	Why string
}

// Fields returns what becomes of each field of a request.
func Fields(request any) map[string]Field {
	fields := map[string]Field{}
	for _, f := range shapeOf(reflect.TypeOf(request)).fields {
		switch why := f.tag.Get("harmless"); {
		case f.refused != "":
			fields[f.name] = Field{Refused, f.refused}
		case why != "":
			fields[f.name] = Field{Harmless, why}
		default:
			fields[f.name] = Field{Use: Honoured}
		}
	}
	return fields
}
