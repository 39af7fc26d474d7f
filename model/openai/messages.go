package openai

import (
	"encoding/base64"
	"errors"
	"slices"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// encode returns the JSON of the request. A long history is nearly all of it, so
// that messages are written without reflection and into a buffer of their size,
// and those of before stay there where they are known: the JSON is valid until the
// next request with the same past is encoded.
func (w *wireRequest) encode() ([]byte, error) {
	p := w.past
	if p == nil {
		p = &past{}
	}
	out := jsonout.Writer{Buf: p.begin(w)}
	if w.messages == nil {
		out.Object()
	} else {
		w.writeMessages(&out, p)
	}
	err := w.writeOthers(&out)
	out.EndObject()
	p.keep(out.Buf)
	return p.buf, err
}

// writeMessages writes the messages behind those that are known.
func (w *wireRequest) writeMessages(out *jsonout.Writer, p *past) {
	messages := w.messages[p.messages:]
	if w.begun != nil {
		out.Buf = append(out.Buf, w.begun...)
		out.AddString(partText(messages[0].Parts[0]))
		out.EndString()
		out.EndObject()
		messages = messages[1:]
	}
	for i := range messages {
		if w.message(out, &messages[i]); p.messages < w.same {
			p.messages, p.end = p.messages+1, len(out.Buf)
		}
	}
	out.EndArray()
}

// writeOthers writes what is not messages as the tags of the fields say, which
// encoding/json does for what few requests have.
func (w *wireRequest) writeOthers(out *jsonout.Writer) error {
	out.Name("model").String(w.Model)
	if w.Prompt != nil {
		out.Name("prompt").String(*w.Prompt)
	}
	err := errors.Join(
		member(out, "tools", w.Tools, len(w.Tools) > 0),
		member(out, "tool_choice", w.ToolChoice, w.ToolChoice != nil),
		member(out, "parallel_tool_calls", w.ParallelToolCalls, w.ParallelToolCalls != nil),
		member(out, "response_format", w.ResponseFormat, w.ResponseFormat != nil))
	out.IntMember("max_tokens", int64(w.MaxTokens))
	out.IntMember("max_completion_tokens", int64(w.MaxCompletionTokens))
	float(out, "temperature", w.Temperature)
	float(out, "top_p", w.TopP)
	err = errors.Join(err, member(out, "stop", w.Stop, len(w.Stop) > 0))
	out.StringMember("reasoning_effort", w.ReasoningEffort)
	flag(out, "stream", w.Stream)
	if w.StreamOptions != nil {
		out.Name("stream_options").Object()
		out.Name("include_usage").Bool(w.StreamOptions.IncludeUsage)
		out.EndObject()
	}
	flag(out, "logprobs", w.Logprobs)
	out.IntMember("top_logprobs", int64(w.TopLogprobs))

	err = errors.Join(err, member(out, "seed", w.Seed, w.Seed != nil))
	float(out, "presence_penalty", w.PresencePenalty)
	float(out, "frequency_penalty", w.FrequencyPenalty)
	float(out, "repetition_penalty", w.RepetitionPenalty)
	float(out, "min_p", w.MinP)
	err = errors.Join(err,
		member(out, "top_k", w.TopK, w.TopK != nil),
		member(out, "logit_bias", w.LogitBias, len(w.LogitBias) > 0))
	out.StringMember("prompt_cache_key", w.CacheKey)

	err = errors.Join(err, member(out, "samplers", w.Samplers, w.Samplers != nil))
	flag(out, "post_sampling_probs", w.PostSamplingProbs)
	err = errors.Join(err,
		member(out, "id_slot", w.Slot, w.Slot != nil),
		member(out, "logprob_token_ids", w.LogprobTokenIDs, len(w.LogprobTokenIDs) > 0))
	flag(out, "return_tokens_as_token_ids", w.ReturnTokenIDs)
	err = errors.Join(err, member(out, "allowed_token_ids", w.AllowedTokenIDs, len(w.AllowedTokenIDs) > 0))
	flag(out, "return_prompt_token_ids", w.ReturnPromptIDs)

	return errors.Join(err,
		member(out, "chat_template_kwargs", w.ChatTemplateKwargs, w.ChatTemplateKwargs != nil),
		member(out, "continue_final_message", w.ContinueFinal, w.ContinueFinal != nil),
		member(out, "add_generation_prompt", w.AddGenerationPrompt, w.AddGenerationPrompt != nil))
}

// member writes a member that there may be, whatever it is.
func member[T any](out *jsonout.Writer, name string, value T, there bool) error {
	if !there {
		return nil
	}
	data, err := jsonout.Marshal(value)
	out.Name(name)
	out.Buf = append(out.Buf, data...)
	return err
}

// float and flag write a member that is left out where it is nil or false.
func float(out *jsonout.Writer, name string, f *float64) {
	if f != nil {
		out.Name(name).Float(*f)
	}
}

func flag(out *jsonout.Writer, name string, set bool) {
	if set {
		out.Name(name).Bool(true)
	}
}

// past is the JSON of the requests that have a Memo in common.
type past struct {
	memo                 *model.Memo
	separator, reasoning string // as in [wireRequest]
	buf                  []byte // of the request that was encoded last
	messages             int    // how many of its first messages all have in common
	end                  int    // where those end in buf
}

// pastOf returns what is kept in a Memo.
func pastOf(memo *model.Memo) *past {
	type key struct{}
	return memo.Once(key{}, func() any { return &past{memo: memo} }).(*past)
}

// begin returns what a request with messages begins with, in a buffer that has room
// for the others and for what requests have besides.
func (p *past) begin(w *wireRequest) []byte {
	const (
		begin = `{"messages":[`
		rest  = 512 // bytes of nearly all requests
	)
	if p.separator != w.separator || p.reasoning != w.reasoning {
		p.separator, p.reasoning, p.messages, p.end = w.separator, w.reasoning, 0, 0
	}
	size := p.end + len(begin) + len(w.begun) + messagesSize(w.messages[p.messages:]) + rest
	known := p.buf[:p.end]
	if size > cap(p.buf) {
		if p.end > 0 {
			size += size / 4 // it is of a conversation, which goes on
		}
		known = append(make([]byte, 0, size), known...)
	}
	if p.messages == 0 && w.messages != nil {
		known = append(known[:0], begin...)
	}
	return known
}

// keep keeps the buffer, with what has been encoded.
func (p *past) keep(buf []byte) {
	p.memo.Hold(cap(buf) - cap(p.buf))
	p.buf = buf
}

// release gives up the buffer.
func (p *past) release() {
	p.memo.Hold(-cap(p.buf))
	*p = past{memo: p.memo}
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
	out.StringMember("tool_call_id", m.ToolCallID)
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
