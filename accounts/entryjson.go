package accounts

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// An entry is written with every call, and read and written once more when it is
// folded: its JSON, that of the tags of its fields, is made without reflection.

// entrySize is room for the JSON of nearly every entry, in bytes.
const entrySize = 384

// AppendJSON implements [jsonout.Appender].
func (r *entryRecord) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	w.Object()
	w.Name("type").String(string(r.Type))
	w.Name("amount").String(FormatDollars(r.Amount))
	w.StringMember("key", r.Key)
	if r.Use != (useRecord{}) {
		r.Use.write(w.Name("use"))
	}
	w.Name("created_at").Int(r.CreatedAt)
	w.StringMember("by", r.By)
	w.StringMember("lane", r.Lane)
	if r.Number != 0 {
		w.Name("number").Uint(r.Number)
	}
	w.EndObject()
	return w.Buf
}

func (u *useRecord) write(w *jsonout.Writer) {
	w.Object()
	w.Name("endpoint").String(u.Endpoint)
	w.Name("model").String(u.Model)
	w.StringMember("object", u.Object)
	w.IntMember("kind", int64(u.Kind))
	w.Name("input_tokens").Int(int64(u.InputTokens))
	w.IntMember("cached_tokens", int64(u.CachedTokens))
	w.IntMember("output_tokens", int64(u.OutputTokens))
	w.IntMember("reasoning_tokens", int64(u.ReasoningTokens))
	w.EndObject()
}

// readEntry reads an entry. Its strings are its own.
func readEntry(data []byte) (entryRecord, error) {
	r := jsonout.Read(string(data))
	if e, ok := parseEntry(&r); ok {
		return e, nil
	}
	var e entryRecord
	err := json.Unmarshal(data, &e)
	return e, err
}

// parseEntry reads an entry as it is written, and reports whether it is.
func parseEntry(r *jsonout.Reader) (e entryRecord, ok bool) {
	r.Object(func(name string) {
		switch name {
		case "type":
			e.Type = EntryType(r.String())
		case "amount":
			amount, err := ParseDollars(r.String())
			if e.Amount = amount; err != nil {
				r.Fail()
			}
		case "key":
			e.Key = r.String()
		case "use":
			e.Use.read(r)
		case "created_at":
			e.CreatedAt = r.Int()
		case "by":
			e.By = r.String()
		case "lane":
			e.Lane = r.String()
		case "number":
			e.Number = r.Uint()
		default:
			r.Fail()
		}
	})
	return e, r.End()
}

func (u *useRecord) read(r *jsonout.Reader) {
	r.Object(func(name string) {
		switch name {
		case "endpoint":
			u.Endpoint = r.String()
		case "model":
			u.Model = r.String()
		case "object":
			u.Object = r.String()
		case "kind":
			n := r.Uint()
			if u.Kind = Kind(n); uint64(u.Kind) != n {
				r.Fail()
			}
		case "input_tokens":
			u.InputTokens = int(r.Int())
		case "cached_tokens":
			u.CachedTokens = int(r.Int())
		case "output_tokens":
			u.OutputTokens = int(r.Int())
		case "reasoning_tokens":
			u.ReasoningTokens = int(r.Int())
		default:
			r.Fail()
		}
	})
}
