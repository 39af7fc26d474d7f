package conversations

import (
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
)

// Write implements [Item]. A message has an ID and a status only where it is
// stored or being made.
func (m *Message) Write(w *jsonout.Writer) {
	begin(w, m.ID, "message", m.Status)
	w.Name("role").String(string(m.Role))
	if m.Phase != "" {
		w.Name("phase").String(m.Phase)
	}
	writeParts(w.Name("content"), m.Content)
	w.EndObject()
}

func writeParts(w *jsonout.Writer, parts []Part) {
	w.Array()
	for i := range parts {
		parts[i].Write(w)
	}
	w.EndArray()
}

// Write writes the part as JSON in the form of the interface. Annotations are always
// empty.
func (p *Part) Write(w *jsonout.Writer) {
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
}

// Write implements [Item].
func (c *FunctionCall) Write(w *jsonout.Writer) {
	kind, arguments := "function_call", "arguments"
	if c.Custom {
		kind, arguments = "custom_tool_call", "input"
	}
	begin(w, c.ID, kind, c.Status)
	w.Name("call_id").String(c.CallID)
	if c.Namespace != "" {
		w.Name("namespace").String(c.Namespace)
	}
	w.Name("name").String(c.Name)
	w.Name(arguments).String(c.Arguments)
	w.EndObject()
}

// Write implements [Item]: the output as the OpenAI API shows it among the input
// items of a response.
func (o *FunctionCallOutput) Write(w *jsonout.Writer) {
	kind := "function_call_output"
	if o.Custom {
		kind = "custom_tool_call_output"
	}
	begin(w, o.ID, kind, Completed)
	w.Name("call_id").String(o.CallID)
	w.Name("output")
	if o.Content == nil {
		w.String(o.Output)
	} else {
		writeParts(w, o.Content)
	}
	w.EndObject()
}

// Write implements [Item]: the search without what it found.
func (s *WebSearch) Write(w *jsonout.Writer) {
	begin(w, s.ID, "web_search_call", s.Status)
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
	w.EndObject()
	w.EndObject()
}

// Write implements [Item].
func (c *Compaction) Write(w *jsonout.Writer) {
	begin(w, c.ID, "compaction", "")
	w.Name("encrypted_content").String(c.Sealed)
	w.EndObject()
}

// Write implements [Item]: there is never a summary.
func (r *Reasoning) Write(w *jsonout.Writer) {
	begin(w, r.ID, "reasoning", "")
	w.Name("summary").Array()
	w.EndArray()
	w.Name("encrypted_content").String(r.Sealed)
	w.EndObject()
}

// Write implements [Item].
func (r Reference) Write(w *jsonout.Writer) {
	begin(w, r.ID, "item_reference", "")
	w.EndObject()
}

// begin writes what all items begin with.
func begin(w *jsonout.Writer, id, kind string, status Status) {
	w.Object()
	if id != "" {
		w.Name("id").String(id)
	}
	w.Name("type").String(kind)
	if status != "" {
		w.Name("status").String(string(status))
	}
}

// MarshalJSON returns what Write writes.
func (m *Message) MarshalJSON() ([]byte, error) { return jsonout.Encode(m), nil }

// MarshalJSON returns what Write writes.
func (c *FunctionCall) MarshalJSON() ([]byte, error) { return jsonout.Encode(c), nil }

// MarshalJSON returns what Write writes.
func (o *FunctionCallOutput) MarshalJSON() ([]byte, error) { return jsonout.Encode(o), nil }

// MarshalJSON returns what Write writes.
func (s *WebSearch) MarshalJSON() ([]byte, error) { return jsonout.Encode(s), nil }

// MarshalJSON returns what Write writes.
func (c *Compaction) MarshalJSON() ([]byte, error) { return jsonout.Encode(c), nil }

// MarshalJSON returns what Write writes.
func (r *Reasoning) MarshalJSON() ([]byte, error) { return jsonout.Encode(r), nil }

// MarshalJSON returns what Write writes.
func (r Reference) MarshalJSON() ([]byte, error) { return jsonout.Encode(r), nil }
