package conversations

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// Every turn reads and writes these records. Their JSON, that of the tags of their
// fields, is made and read without reflection.

// AppendJSON implements [jsonout.Appender]. The body is JSON already.
func (t turnRecord) AppendJSON(b []byte) []byte {
	w := jsonout.Over(slices.Grow(b, 256+48*len(t.History)+len(t.Body)))
	w.Object()
	w.Name("conversation").String(t.Conversation)
	if len(t.History) > 0 {
		t.History.write(w.Name("history"))
	}
	t.Items.write(w.Name("items"))
	if t.From != 0 {
		w.Name("from").Uint(t.From)
	}
	w.Name("inputs").Int(int64(t.Inputs))
	if t.Dead {
		w.Name("dead").Bool(true)
	}
	if t.Running {
		w.Name("running").Bool(true)
	}
	if w.Name("body"); t.Body == nil {
		w.Null()
	} else {
		w.Buf = append(w.Buf, t.Body...)
	}
	w.EndObject()
	return w.Buf
}

// ReadJSON implements [jsonout.Readable].
func (t *turnRecord) ReadJSON(in *jsonout.Reader) {
	in.Object(func(name string) {
		switch name {
		case "conversation":
			t.Conversation = strings.Clone(in.String()) // it is kept for longer than the rest
		case "history":
			t.History = readLineage(in)
		case "items":
			t.Items = readRange(in)
		case "from":
			t.From = in.Uint()
		case "inputs":
			t.Inputs = int(in.Int())
		case "dead":
			t.Dead = in.Bool()
		case "running":
			t.Running = in.Bool()
		case "body":
			t.Body = json.RawMessage(in.Raw())
		default:
			in.Fail()
		}
	})
}

// AppendJSON implements [jsonout.Appender].
func (h head) AppendJSON(b []byte) []byte {
	w := jsonout.Over(slices.Grow(b, 160+48*(len(h.Lineage)+len(h.Added))))
	w.Object()
	w.Name("next").Uint(h.Next)
	w.IntMember("branches", int64(h.Branches))
	w.StringMember("turn", h.Turn)
	if w.Name("lineage"); h.Lineage == nil {
		w.Null()
	} else {
		h.Lineage.write(&w)
	}
	if len(h.Added) > 0 {
		h.Added.write(w.Name("added"))
	}
	w.IntMember("at", h.At)
	w.EndObject()
	return w.Buf
}

// ReadJSON implements [jsonout.Readable].
func (h *head) ReadJSON(in *jsonout.Reader) {
	in.Object(func(name string) {
		switch name {
		case "next":
			h.Next = in.Uint()
		case "branches":
			h.Branches = int(in.Int())
		case "turn":
			h.Turn = in.String()
		case "lineage":
			h.Lineage = readLineage(in)
		case "added":
			h.Added = readLineage(in)
		case "at":
			h.At = in.Int()
		default:
			in.Fail()
		}
	})
}

// AppendJSON implements [jsonout.Appender].
func (r conversationRecord) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	w.Object()
	w.Name("created").Int(r.CreatedAt)
	if len(r.Metadata) > 0 {
		jsonout.Tags(w.Name("metadata"), r.Metadata)
	}
	if r.Removed != 0 {
		w.Name("removed").Uint(r.Removed)
	}
	w.EndObject()
	return w.Buf
}

// ReadJSON implements [jsonout.Readable].
func (r *conversationRecord) ReadJSON(in *jsonout.Reader) {
	in.Object(func(name string) {
		switch name {
		case "created":
			r.CreatedAt = in.Int()
		case "metadata":
			r.Metadata = map[string]string{}
			in.Object(func(name string) { r.Metadata[name] = in.String() })
		case "removed":
			r.Removed = in.Uint()
		default:
			in.Fail()
		}
	})
}

func (l Lineage) write(w *jsonout.Writer) {
	w.Array()
	for _, r := range l {
		r.write(w)
	}
	w.EndArray()
}

func readLineage(in *jsonout.Reader) Lineage {
	l := make(Lineage, 0, 1)
	in.Array(func() { l = append(l, readRange(in)) })
	return l
}

func (r Range) write(w *jsonout.Writer) {
	w.Array()
	w.Uint(r.First)
	w.Uint(r.End)
	w.EndArray()
}

func readRange(in *jsonout.Reader) Range {
	var pair [2]uint64
	n := 0
	in.Array(func() {
		if n == len(pair) {
			in.Fail()
			return
		}
		pair[n] = in.Uint()
		n++
	})
	if n != len(pair) {
		in.Fail()
	}
	return Range{pair[0], pair[1]}
}
