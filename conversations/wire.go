package conversations

import (
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
)

// AppendJSON implements [Item]. A message has an ID and a status only where it is
// stored or being made.
func (m *Message) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	begin(&w, m.ID, "message", m.Status)
	w.Name("role").String(string(m.Role))
	w.StringMember("phase", m.Phase)
	writeParts(w.Name("content"), m.Content)
	w.EndObject()
	return w.Buf
}

func writeParts(w *jsonout.Writer, parts []Part) {
	w.Array()
	for i := range parts {
		w.Value(&parts[i])
	}
	w.EndArray()
}

// AppendJSON appends the part as JSON in the form of the interface. Annotations are
// always empty.
func (p *Part) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	w.Object()
	w.Name("type").String(string(p.Type))
	switch p.Type {
	case InputFile:
		w.Name("file_id").String(p.FileID)
	case OutputText:
		w.Name("text").String(p.Text)
		w.Name("annotations").Array()
		w.EndArray()
		logprobs.Write(w.Name("logprobs"), p.Logprobs, true)
	default:
		w.Name("text").String(p.Text)
	}
	w.EndObject()
	return w.Buf
}

// AppendJSON implements [Item].
func (c *FunctionCall) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	kind, arguments := "function_call", "arguments"
	if c.Custom {
		kind, arguments = "custom_tool_call", "input"
	}
	begin(&w, c.ID, kind, c.Status)
	w.Name("call_id").String(c.CallID)
	w.StringMember("namespace", c.Namespace)
	w.Name("name").String(c.Name)
	w.Name(arguments).String(c.Arguments)
	w.EndObject()
	return w.Buf
}

// AppendJSON implements [Item]: the output as the OpenAI API shows it among the input
// items of a response.
func (o *FunctionCallOutput) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	kind := "function_call_output"
	if o.Custom {
		kind = "custom_tool_call_output"
	}
	begin(&w, o.ID, kind, Completed)
	w.Name("call_id").String(o.CallID)
	w.Name("output")
	if o.Content == nil {
		w.String(o.Output)
	} else {
		writeParts(&w, o.Content)
	}
	w.EndObject()
	return w.Buf
}

// AppendJSON implements [Item]: the search without what the pages say that it found.
func (s *WebSearch) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	begin(&w, s.ID, "web_search_call", s.Status)
	w.Name("action").Object()
	w.Name("type").String("search")
	w.Name("queries").Array()
	for _, q := range s.Queries {
		w.String(q)
	}
	w.EndArray()
	first := ""
	if len(s.Queries) > 0 {
		first = s.Queries[0]
	}
	w.Name("query").String(first)
	if s.Sources != nil {
		w.Name("sources").Array()
		for _, address := range s.Sources {
			w.Object()
			w.Name("type").String("url")
			w.Name("url").String(address)
			w.EndObject()
		}
		w.EndArray()
	}
	w.EndObject()
	w.EndObject()
	return w.Buf
}

// AppendJSON implements [Item].
func (c *Compaction) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	begin(&w, c.ID, "compaction", "")
	w.Name("encrypted_content").String(c.Sealed)
	w.EndObject()
	return w.Buf
}

// AppendJSON implements [Item]: there is never a summary.
func (r *Reasoning) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	begin(&w, r.ID, "reasoning", "")
	w.Name("summary").Array()
	w.EndArray()
	w.Name("encrypted_content").String(r.Sealed)
	w.EndObject()
	return w.Buf
}

// AppendJSON implements [Item].
func (r Reference) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	begin(&w, r.ID, "item_reference", "")
	w.EndObject()
	return w.Buf
}

// begin writes what all items begin with.
func begin(w *jsonout.Writer, id, kind string, status Status) {
	w.Object()
	w.StringMember("id", id)
	w.Name("type").String(kind)
	if status != "" {
		w.Name("status").String(string(status))
	}
}

// MarshalJSON returns what AppendJSON appends.
func (m *Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (c *FunctionCall) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (o *FunctionCallOutput) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (s *WebSearch) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (c *Compaction) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (r *Reasoning) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// MarshalJSON returns what AppendJSON appends.
func (r Reference) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }
