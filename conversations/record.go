package conversations

import (
	"slices"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// A history is written and read item by item, again and again: its records are
// encoded and decoded without reflection, as the tags of [record] say.

// encode returns the record as it is stored. Log-probabilities are rare, and left
// to reflection.
func (r *record) encode() ([]byte, error) {
	for i := range r.Parts {
		if r.Parts[i].Logprobs != nil {
			return jsonout.Marshal(r)
		}
	}
	w := jsonout.Writer{Buf: make([]byte, 0, r.size())}
	r.write(&w)
	return w.Buf, nil
}

// size is about how many bytes a record takes, escapes aside.
func (r *record) size() int {
	size := 160 + len(r.CallID) + len(r.Name) + len(r.Space) + len(r.Text) + len(r.Sealed) + len(r.Thought.Text)
	for i := range r.Parts {
		p := &r.Parts[i]
		size += 40 + len(p.Text) + len(p.File) + 64*len(p.Logprobs)
	}
	for _, text := range slices.Concat(r.Queries, r.Sources) {
		size += 3 + len(text)
	}
	return size + size/16
}

func (r *record) write(w *jsonout.Writer) {
	text := func(name, value string) {
		w.StringMember(name, value)
	}
	flag := func(name string, value bool) {
		if value {
			w.Name(name).Bool(true)
		}
	}
	w.Object()
	w.Name("k").String(r.Kind)
	w.Name("id").String(r.ID)
	text("turn", r.Turn)
	text("status", string(r.Status))
	text("role", string(r.Role))
	text("phase", r.Phase)
	if len(r.Parts) > 0 {
		w.Name("parts").Array()
		for i := range r.Parts {
			r.Parts[i].write(w)
		}
		w.EndArray()
	}
	text("call", r.CallID)
	text("of", r.Call)
	text("name", r.Name)
	text("ns", r.Space)
	flag("listed", r.Listed)
	flag("custom", r.Custom)
	text("text", r.Text)
	if len(r.Queries) > 0 {
		writeTexts(w, "queries", r.Queries)
	}
	if r.Sources != nil {
		writeTexts(w, "sources", r.Sources)
	}
	text("sealed", r.Sealed)
	if r.Thought != (thoughtRecord{}) {
		w.Name("thought").Object()
		w.Name("model").String(r.Thought.Model)
		w.Name("text").String(r.Thought.Text)
		w.EndObject()
	}
	w.EndObject()
}

func writeTexts(w *jsonout.Writer, name string, texts []string) {
	w.Name(name).Array()
	for _, text := range texts {
		w.String(text)
	}
	w.EndArray()
}

func (p *recordPart) write(w *jsonout.Writer) {
	w.Object()
	w.Name("y").String(string(p.Type))
	w.StringMember("t", p.Text)
	w.StringMember("f", p.File)
	w.EndObject()
}

// read reports whether it could read a record. One with something that is rare is
// left to encoding/json.
func (r *record) read(data []byte) bool {
	in := jsonout.Read(string(data))
	texts := [...]*string{&r.Kind, &r.ID, &r.Turn, (*string)(&r.Status), (*string)(&r.Role), &r.Phase, &r.CallID, &r.Call, &r.Name, &r.Space, &r.Text, &r.Sealed}
	in.Object(func(name string) {
		for i, known := range recordTexts {
			if name == known {
				*texts[i] = in.String()
				return
			}
		}
		switch name {
		case "parts":
			r.Parts = make([]recordPart, 0, 1)
			in.Array(func() { r.Parts = append(r.Parts, readPart(&in)) })
		case "listed":
			r.Listed = in.Bool()
		case "custom":
			r.Custom = in.Bool()
		case "queries":
			in.Array(func() { r.Queries = append(r.Queries, in.String()) })
		case "sources":
			r.Sources = []string{}
			in.Array(func() { r.Sources = append(r.Sources, in.String()) })
		case "thought":
			in.Object(func(name string) {
				switch name {
				case "model":
					r.Thought.Model = in.String()
				case "text":
					r.Thought.Text = in.String()
				default:
					in.Fail()
				}
			})
		default:
			in.Fail()
		}
	})
	return in.End()
}

// recordTexts are the names of what a record has as a string.
var recordTexts = [...]string{"k", "id", "turn", "status", "role", "phase", "call", "of", "name", "ns", "text", "sealed"}

func readPart(in *jsonout.Reader) (p recordPart) {
	in.Object(func(name string) {
		switch name {
		case "y":
			p.Type = PartType(in.String())
		case "t":
			p.Text = in.String()
		case "f":
			p.File = in.String()
		default: // log-probabilities
			in.Fail()
		}
	})
	return p
}
