package responses

import (
	"cmp"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// MarshalJSON returns what AppendJSON appends.
func (r *Response) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// AppendJSON appends the response object of the spec to a buffer, with the fields
// that the OpenAI API and the Open Responses schema require beside it.
func (r *Response) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	r.write(&w)
	return w.Buf
}

func (r *Response) write(w *jsonout.Writer) {
	e := &r.Echo
	w.Object()
	w.Name("id").String(r.ID)
	w.Name("object").String("response")
	w.Name("created_at").Int(r.CreatedAt)
	w.Name("completed_at").OptionalInt(r.CompletedAt)
	w.Name("status").String(string(r.Status))
	w.Name("background").Bool(e.Background)
	w.Name("conversation").Object()
	w.Name("id").String(r.Conversation)
	w.EndObject()
	r.writeEnd(w)
	w.Name("instructions").OptionalString(e.Instructions)
	writeOptionalInt(w.Name("max_output_tokens"), e.MaxOutputTokens)
	writeOptionalInt(w.Name("max_tool_calls"), e.MaxToolCalls)
	jsonout.Tags(w.Name("metadata"), e.Metadata)
	w.Name("model").String(e.Model)
	w.Name("output").Array()
	for _, item := range r.Output {
		w.Value(item)
	}
	w.EndArray()
	w.Name("parallel_tool_calls").Bool(e.ParallelToolCalls == nil || *e.ParallelToolCalls)
	writeOr(w.Name("presence_penalty"), e.PresencePenalty, 0)
	writeOr(w.Name("frequency_penalty"), e.FrequencyPenalty, 0)
	w.Name("previous_response_id").OptionalString(e.PreviousResponseID)
	w.Name("prompt_cache_key").OptionalString(e.PromptCacheKey)
	writeReasoning(w.Name("reasoning"), e.ReasoningEffort)
	w.Name("safety_identifier").OptionalString(e.SafetyIdentifier)
	w.Name("service_tier").String("default")
	w.Name("store").Bool(!e.Unstored)
	writeOr(w.Name("temperature"), e.Temperature, 1)
	w.Name("text").Object()
	writeFormat(w.Name("format"), e.Format)
	w.EndObject()
	writeToolChoice(w.Name("tool_choice"), e)
	writeTools(w.Name("tools"), e)
	w.Name("top_logprobs").Int(int64(orZero(e.TopLogprobs)))
	writeOr(w.Name("top_p"), e.TopP, 1)
	w.Name("truncation").String(cmp.Or(e.Truncation, TruncationDisabled))
	if r.Truncated > 0 {
		w.Name("truncated_items").Int(int64(r.Truncated))
	}
	writeUsage(w.Name("usage"), r.Usage)
	w.EndObject()
}

// writeEnd writes how the turn ended, where it did not simply complete.
func (r *Response) writeEnd(w *jsonout.Writer) {
	w.Name("error")
	if r.Error == nil {
		w.Null()
	} else {
		w.Object()
		w.Name("code").String(r.Error.Code)
		w.Name("message").String(r.Error.Message)
		w.EndObject()
	}
	w.Name("incomplete_details")
	if r.Incomplete == "" {
		w.Null()
		return
	}
	w.Object()
	w.Name("reason").String(r.Incomplete)
	w.EndObject()
}

func writeReasoning(w *jsonout.Writer, effort string) {
	if effort == "" {
		w.Null()
		return
	}
	w.Object()
	w.Name("effort").String(effort)
	w.Name("summary").Null()
	w.EndObject()
}

func writeFormat(w *jsonout.Writer, f model.Format) {
	w.Object()
	w.Name("type").String(string(cmp.Or(f.Type, model.FormatText)))
	if f.Type == model.FormatSchema {
		w.Name("name").String(f.Name)
		w.Name("description").OptionalString(f.Description)
		w.Name("strict").Bool(f.Strict)
		w.Name("schema").Raw(f.Schema)
	}
	w.EndObject()
}

func writeTools(w *jsonout.Writer, e *Echo) {
	if e.ShownTools != nil {
		w.Raw(e.ShownTools)
		return
	}
	w.Array()
	for i := range e.Tools {
		writeTool(w, &e.Tools[i], e.SearchType)
	}
	w.EndArray()
}

// AppendFunction appends a function to a buffer, as a response shows it.
func AppendFunction(b []byte, t *model.Tool) []byte {
	w := jsonout.Over(b)
	writeTool(&w, t, "")
	return w.Buf
}

// writeTool writes a function, or web search under the name that the caller has
// for it.
func writeTool(w *jsonout.Writer, t *model.Tool, searchType string) {
	w.Object()
	if t.Search {
		w.Name("type").String(cmp.Or(searchType, WebSearchPreview))
		w.EndObject()
		return
	}
	w.Name("type").String("function")
	w.Name("name").String(t.Name)
	w.Name("description").OptionalString(t.Description)
	w.Name("parameters").Raw(t.Parameters)
	w.Name("strict").Bool(t.Strict)
	w.EndObject()
}

func writeToolChoice(w *jsonout.Writer, e *Echo) {
	if e.ShownToolChoice != nil {
		w.Raw(e.ShownToolChoice)
		return
	}
	c := e.ToolChoice
	if c.Mode != model.ToolNamed {
		w.String(string(cmp.Or(c.Mode, model.ToolAuto)))
		return
	}
	w.Object()
	if c.Name == searchName && e.SearchType != "" {
		w.Name("type").String(e.SearchType)
	} else {
		w.Name("type").String("function")
		w.Name("name").String(c.Name)
	}
	w.EndObject()
}

// writeUsage writes usage by the spec: reasoning_tokens are always 0, and
// counted as output.
func writeUsage(w *jsonout.Writer, u *model.Usage) {
	if u == nil {
		w.Null()
		return
	}
	w.Object()
	w.Name("input_tokens").Int(int64(u.InputTokens))
	w.Name("input_tokens_details").Object()
	w.Name("cached_tokens").Int(int64(u.CachedTokens))
	w.Name("cache_write_tokens").Int(0)
	w.EndObject()
	w.Name("output_tokens").Int(int64(u.OutputTokens))
	w.Name("output_tokens_details").Object()
	w.Name("reasoning_tokens").Int(0)
	w.EndObject()
	w.Name("total_tokens").Int(int64(u.InputTokens + u.OutputTokens))
	w.EndObject()
}

func writeOptionalInt(w *jsonout.Writer, n *int) {
	if n == nil {
		w.Null()
		return
	}
	w.Int(int64(*n))
}

// writeOr writes a sampling parameter, or the one that holds where none is given.
func writeOr(w *jsonout.Writer, v *float64, otherwise int64) {
	if v == nil {
		w.Int(otherwise)
		return
	}
	w.Float(*v)
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
