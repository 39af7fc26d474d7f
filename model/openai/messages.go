package openai

import (
	"encoding/base64"
	"slices"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// encode returns the JSON of the request. A long history is nearly all of it, so
// that messages are written without reflection and into a buffer of their size.
func (w *wireRequest) encode() ([]byte, error) {
	rest, err := encode(w)
	if err != nil || w.messages == nil {
		return rest, err
	}
	const begin = `{"messages":`
	out := jsonout.Writer{Buf: append(make([]byte, 0, len(begin)+len(w.begun)+messagesSize(w.messages)+len(rest)), begin...)}
	out.Array()
	messages := w.messages
	if w.begun != nil {
		out.Buf = append(out.Buf, w.begun...)
		out.AddString(partText(messages[0].Parts[0]))
		out.EndString()
		out.EndObject()
		messages = messages[1:]
	}
	for i := range messages {
		w.message(&out, &messages[i])
	}
	out.EndArray()
	return append(append(out.Buf, ','), rest[1:]...), nil // the rest has a model at the least
}

// messagesSize is about how many bytes messages take: more than they do where
// little in them is escaped.
func messagesSize(messages []model.Message) int {
	size := 0
	for i := range messages {
		m := &messages[i]
		size += len(`{"role":"assistant","content":"","reasoning_content":""},`) + len(m.Reasoning)
		for _, part := range m.Parts {
			switch p := part.(type) {
			case model.Text:
				size += len(p) + len(p)/32
			case model.Document:
				size += len(p.Text) + len(p.Text)/16 + len(p.Name) + 100
			case model.Image:
				size += base64.StdEncoding.EncodedLen(len(p.Data)) + 100
			}
		}
		for _, call := range m.ToolCalls {
			size += len(call.ID) + len(call.Name) + len(call.Arguments)*5/4 + 80
		}
	}
	return size
}

// message writes one message.
func (w *wireRequest) message(out *jsonout.Writer, m *model.Message) {
	out.Object()
	out.Name("role").String(string(m.Role))
	parts := m.Parts
	if w.reasoning == thinkOpen && m.Reasoning != "" {
		parts = slices.Insert(slices.Clone(parts), 0, model.Part(model.Text(thinkOpen+m.Reasoning+thinkClose)))
	}
	w.content(out.Name("content"), parts)
	if len(m.ToolCalls) > 0 {
		out.Name("tool_calls").Array()
		for i := range m.ToolCalls {
			writeCall(out, &m.ToolCalls[i])
		}
		out.EndArray()
	}
	if m.ToolCallID != "" {
		out.Name("tool_call_id").String(m.ToolCallID)
	}
	if w.reasoning != "" && w.reasoning != thinkOpen && m.Reasoning != "" {
		out.Name(w.reasoning).String(m.Reasoning)
	}
	out.EndObject()
}

func writeCall(out *jsonout.Writer, call *model.ToolCall) {
	out.Object()
	out.Name("id").String(call.ID)
	out.Name("type").String("function")
	out.Name("function").Object()
	out.Name("name").String(call.Name)
	out.Name("arguments").String(call.Arguments)
	out.EndObject()
	out.EndObject()
}

// content writes the content of a message. It is one string where there is no
// image: chat templates and servers differ in how they join text parts.
func (w *wireRequest) content(out *jsonout.Writer, parts []model.Part) {
	if slices.ContainsFunc(parts, isImage) {
		out.Array()
		for _, part := range parts {
			contentPart(out, part)
		}
		out.EndArray()
		return
	}
	out.BeginString()
	for i, part := range parts {
		if i > 0 {
			out.AddString(w.separator)
		}
		out.AddString(partText(part))
	}
	out.EndString()
}

func contentPart(out *jsonout.Writer, part model.Part) {
	out.Object()
	if image, ok := part.(model.Image); ok {
		out.Name("type").String("image_url")
		out.Name("image_url").Object()
		out.Name("url").BeginString()
		out.AddString("data:" + image.MediaType + ";base64,")
		out.Buf = base64.StdEncoding.AppendEncode(out.Buf, image.Data)
		out.EndString()
		out.EndObject()
	} else {
		out.Name("type").String("text")
		out.Name("text").String(partText(part))
	}
	out.EndObject()
}
