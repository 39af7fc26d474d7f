package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// TextOr is a string, or a value of another type in its place: a list or an
// object.
type TextOr[T any] struct {
	Text  *string
	Value T // where Text is nil
}

// Text returns a TextOr that is a string.
func Text[T any](text string) TextOr[T] { return TextOr[T]{Text: &text} }

func (TextOr[T]) element() reflect.Type { return reflect.TypeFor[T]() }

func (t *TextOr[T]) readNode(n *jsonin.Node, f *field) {
	v := reflect.ValueOf(&t.Value).Elem()
	switch {
	case n.IsArray() && v.Kind() == reflect.Slice, n.IsObject() && v.Kind() == reflect.Struct:
		f.each(n, v, f)
	case !n.IsText() && f.tag.Get("must") != "":
		n.Fail("must be %s", f.tag.Get("must"))
	default:
		t.Text = new(string)
		readString(n, reflect.ValueOf(t.Text).Elem(), f)
	}
}

// MarshalJSON implements [json.Marshaler].
func (t TextOr[T]) MarshalJSON() ([]byte, error) {
	if t.Text != nil {
		return jsonout.Marshal(*t.Text)
	}
	return jsonout.Marshal(t.Value)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *TextOr[T]) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &t.Text)
	}
	return json.Unmarshal(data, &t.Value)
}

// Members is an object whose members have an order that counts and names that the
// caller chose.
type Members[T any] []Member[T]

// Member is one of [Members].
type Member[T any] struct {
	Name  string
	Value T
}

func (Members[T]) element() reflect.Type { return reflect.TypeFor[T]() }

func (m *Members[T]) readNode(n *jsonin.Node, f *field) {
	for member := range n.Fields() {
		if f.first > 0 && len(*m) == f.first {
			return
		}
		one := Member[T]{Name: member.Name()}
		f.each(member, reflect.ValueOf(&one.Value).Elem(), f)
		*m = append(*m, one)
	}
}

// MarshalJSON implements [json.Marshaler].
func (m Members[T]) MarshalJSON() ([]byte, error) {
	var w jsonout.Writer
	w.Object()
	for i := range m {
		if x, ok := any(m[i].Value).(float64); ok {
			w.Name(m[i].Name).Float(x)
			continue
		}
		value, err := jsonout.Marshal(m[i].Value)
		if err != nil {
			return nil, err
		}
		w.Name(m[i].Name).Raw(value)
	}
	w.EndObject()
	return w.Buf, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Members[T]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		one := Member[T]{Name: fmt.Sprint(name)}
		if err := d.Decode(&one.Value); err != nil {
			return err
		}
		*m = append(*m, one)
	}
	return nil
}

// Tags is metadata: strings by name. In a request numbers and booleans are taken
// for their texts.
type Tags map[string]string

func (t *Tags) readNode(n *jsonin.Node, _ *field) { *t = n.Metadata() }
