package client

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/wire"
)

const responsesPath = "/v1/responses"

// CreateResponse makes a turn and returns its response. The error of one that
// failed in the middle is a *[responses.TurnError].
func (c *Client) CreateResponse(ctx context.Context, _ Caller, req *responses.Request) (*responses.Response, error) {
	var w wireResponse
	if err := c.call(ctx, "POST", responsesPath, responseBody(req, false), &w); err != nil {
		return nil, err
	}
	r := w.response()
	if r.Status == responses.Failed || r.Status == responses.Cancelled {
		return nil, &responses.TurnError{Response: r}
	}
	return r, nil
}

// StreamResponse makes a turn and yields its events.
func (c *Client) StreamResponse(ctx context.Context, _ Caller, req *responses.Request) (iter.Seq2[responses.Event, error], error) {
	resp, err := c.stream(ctx, "POST", responsesPath, responseBody(req, true))
	if err != nil {
		return nil, err
	}
	return responseEvents(ctx, resp), nil
}

// Response returns a stored response. The error is NotFound.
func (c *Client) Response(ctx context.Context, _ Caller, id string) (*responses.Response, error) {
	var w wireResponse
	if err := c.call(ctx, "GET", under(responsesPath, id), nil, &w); err != nil {
		return nil, err
	}
	return w.response(), nil
}

// ReplayResponse yields the events of a stored response again, those behind the
// one with a number, -1 for all.
func (c *Client) ReplayResponse(ctx context.Context, _ Caller, id string, after int) (iter.Seq2[responses.Event, error], error) {
	path := under(responsesPath, id) + "?stream=true"
	if after >= 0 {
		path += "&starting_after=" + strconv.Itoa(after)
	}
	resp, err := c.stream(ctx, "GET", path, nil)
	if err != nil {
		return nil, err
	}
	return responseEvents(ctx, resp), nil
}

// CancelResponse cancels a response, and returns it.
func (c *Client) CancelResponse(ctx context.Context, _ Caller, id string) (*responses.Response, error) {
	var w wireResponse
	if err := c.call(ctx, "POST", under(responsesPath, id, "cancel"), object{}, &w); err != nil {
		return nil, err
	}
	return w.response(), nil
}

// DeleteResponse removes a stored response.
func (c *Client) DeleteResponse(ctx context.Context, _ Caller, id string) error {
	return c.call(ctx, "DELETE", under(responsesPath, id), nil, nil)
}

// ResponseInput returns a page of the input items of a stored response.
func (c *Client) ResponseInput(ctx context.Context, _ Caller, id string, p Page) (List[conversations.Item], error) {
	return list(ctx, c, under(responsesPath, id, "input_items"), p, wireItem.item)
}

// CountResponseInput returns how many input tokens a request has.
func (c *Client) CountResponseInput(ctx context.Context, _ Caller, req *responses.Request) (int, error) {
	var count struct {
		InputTokens int `json:"input_tokens"`
	}
	err := c.call(ctx, "POST", responsesPath+"/input_tokens", responseBody(req, false), &count)
	return count.InputTokens, err
}

// CompactResponse has the model summarize a history: what the request continues
// from, and its input. Nothing is stored.
func (c *Client) CompactResponse(ctx context.Context, _ Caller, req *responses.Request) (*responses.Compacted, error) {
	var w struct {
		ID        string
		CreatedAt int64 `json:"created_at"`
		Output    []wireItem
		Usage     wireUsage
	}
	body := object{"model": req.Model}
	if len(req.Input) > 0 {
		body["input"] = newItems(req.Input)
	}
	set(body, "instructions", req.Instructions)
	set(body, "previous_response_id", req.PreviousResponseID)
	set(body, "conversation", req.Conversation)
	if err := c.call(ctx, "POST", responsesPath+"/compact", body, &w); err != nil {
		return nil, err
	}
	return &responses.Compacted{
		ID: w.ID, CreatedAt: w.CreatedAt, Output: items(w.Output),
		Usage: model.Usage{InputTokens: w.Usage.Input, OutputTokens: w.Usage.Output, CachedTokens: w.Usage.Details.Cached},
	}, nil
}

func responseBody(r *responses.Request, stream bool) object {
	o := object{"model": r.Model, "input": newItems(r.Input)}
	set(o, "stream", stream)
	set(o, "instructions", r.Instructions)
	set(o, "previous_response_id", r.PreviousResponseID)
	set(o, "conversation", r.Conversation)
	set(o, "temperature", r.Temperature)
	set(o, "top_p", r.TopP)
	set(o, "max_output_tokens", r.MaxOutputTokens)
	set(o, "parallel_tool_calls", r.ParallelToolCalls)
	set(o, "max_tool_calls", r.MaxToolCalls)
	set(o, "top_logprobs", r.TopLogprobs)
	set(o, "safety_identifier", r.SafetyIdentifier)
	set(o, "store", r.Store)
	set(o, "background", r.Background)
	set(o, "truncation", r.Truncation)
	if r.Compact {
		m := object{"type": "compaction"}
		set(m, "compact_threshold", r.CompactThreshold)
		o["context_management"] = []object{m}
	}
	setShared(o, r.Metadata, &r.Sampling)
	if r.ReasoningEffort != "" {
		o["reasoning"] = object{"effort": r.ReasoningEffort}
	}
	var include []string
	if r.Logprobs {
		include = append(include, "message.output_text.logprobs")
	}
	if r.EncryptedReasoning {
		include = append(include, "reasoning.encrypted_content")
	}
	if r.SearchSources {
		include = append(include, "web_search_call.action.sources")
	}
	if include != nil {
		o["include"] = include
	}
	if f := formatFields(&r.Format); f != nil {
		o["text"] = object{"format": f}
	}
	var tools []any
	for i := range r.Tools {
		if r.Tools[i].Search {
			tools = append(tools, object{"type": responses.WebSearchPreview})
			continue
		}
		f := functionFields(&r.Tools[i])
		f["type"] = "function"
		tools = append(tools, f)
	}
	if r.ShownTools != nil {
		o["tools"] = r.ShownTools
	} else if tools != nil {
		o["tools"] = tools
	}
	choice := toolChoice(r.ToolChoice, func(name string) object { return object{"type": "function", "name": name} })
	if r.ShownToolChoice != nil {
		choice = r.ShownToolChoice
	}
	if choice != nil {
		o["tool_choice"] = choice
	}
	return o
}

// setShared sets the fields that Responses and Chat have alike.
func setShared(o object, metadata map[string]string, s *model.Sampling) {
	if metadata != nil {
		o["metadata"] = metadata
	}
	set(o, "seed", s.Seed)
	set(o, "presence_penalty", s.PresencePenalty)
	set(o, "frequency_penalty", s.FrequencyPenalty)
	set(o, "repetition_penalty", s.RepetitionPenalty)
	set(o, "min_p", s.MinP)
	set(o, "top_k", s.TopK)
	set(o, "prompt_cache_key", s.CacheKey)
	if s.LogitBias != nil {
		o["logit_bias"] = s.LogitBias
	}
	if s.ChatTemplateKwargs != nil {
		o["chat_template_kwargs"] = s.ChatTemplateKwargs
	}
}

// functionFields are those of a function, without its type.
func functionFields(t *model.Tool) object {
	o := object{"name": t.Name, "strict": t.Strict}
	set(o, "description", t.Description)
	if t.Parameters != nil {
		o["parameters"] = t.Parameters
	}
	return o
}

// formatFields are those of a format, nil for plain text.
func formatFields(f *model.Format) object {
	if f.Type == "" || f.Type == model.FormatText {
		return nil
	}
	o := object{"type": f.Type}
	if f.Type == model.FormatSchema {
		o["name"], o["strict"], o["schema"] = f.Name, f.Strict, f.Schema
		set(o, "description", f.Description)
	}
	return o
}

func toolChoice(c model.ToolChoice, named func(string) object) any {
	switch c.Mode {
	case "":
		return nil
	case model.ToolNamed:
		return named(c.Name)
	}
	return c.Mode
}

type wireUsage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

type wireResponse struct {
	ID           string
	CreatedAt    int64 `json:"created_at"`
	CompletedAt  int64 `json:"completed_at"`
	Status       responses.Status
	Conversation *struct{ ID string }
	Error        *responses.Error
	Incomplete   *struct{ Reason string } `json:"incomplete_details"`
	Output       []wireItem
	Usage        *wireUsage

	Model              string
	Instructions       string
	PreviousResponseID string `json:"previous_response_id"`
	Metadata           map[string]string
	Temperature        *float64
	TopP               *float64 `json:"top_p"`
	MaxOutputTokens    *int     `json:"max_output_tokens"`
	Parallel           *bool    `json:"parallel_tool_calls"`
	Tools              json.RawMessage
	ToolChoice         json.RawMessage `json:"tool_choice"`
	Store              *bool
	Background         bool
	Truncated          int `json:"truncated_items"`
}

func (w *wireResponse) response() *responses.Response {
	r := &responses.Response{
		ID: w.ID, CreatedAt: w.CreatedAt, CompletedAt: w.CompletedAt, Status: w.Status, Output: items(w.Output), Error: w.Error,
		Truncated: w.Truncated,
		Echo: responses.Echo{
			Model: w.Model, Instructions: w.Instructions, PreviousResponseID: w.PreviousResponseID, Metadata: w.Metadata,
			Temperature: w.Temperature, TopP: w.TopP, MaxOutputTokens: w.MaxOutputTokens, ParallelToolCalls: w.Parallel,
			ShownTools: w.Tools, ShownToolChoice: w.ToolChoice, Unstored: w.Store != nil && !*w.Store,
			Background: w.Background,
		},
	}
	if w.Conversation != nil {
		r.Conversation = w.Conversation.ID
	}
	if w.Incomplete != nil {
		r.Incomplete = w.Incomplete.Reason
	}
	if w.Usage != nil {
		r.Usage = &model.Usage{InputTokens: w.Usage.Input, OutputTokens: w.Usage.Output, CachedTokens: w.Usage.Details.Cached}
	}
	if r.Status == responses.Failed || r.Status == responses.Cancelled {
		if r.Error == nil {
			r.Error = &responses.Error{}
		}
		kind := fault.Upstream
		if r.Status == responses.Cancelled {
			kind = fault.Canceled
		}
		r.Error.Cause = &fault.Error{Kind: kind, Code: r.Error.Code, Message: r.Error.Message}
	}
	return r
}

type wireEvent struct {
	Type        responses.EventType
	Sequence    int    `json:"sequence_number"`
	OutputIndex int    `json:"output_index"`
	ItemID      string `json:"item_id"`
	Item        *wireItem
	Part        *wirePart
	Delta       string
	Text        string
	Arguments   string
	Input       string
	Name        string
	Logprobs    []wireLogprob
	Response    *wireResponse
	Error       *wire.ErrorObject
}

func (w *wireEvent) event() responses.Event {
	e := responses.Event{
		Type: w.Type, Sequence: w.Sequence, OutputIndex: w.OutputIndex, ItemID: w.ItemID, Name: w.Name,
		Text: w.Delta + w.Text + w.Arguments + w.Input, Logprobs: tokens(w.Logprobs), // an event has one of them
	}
	if w.Item != nil {
		e.Item = w.Item.item()
	}
	if w.Part != nil {
		part := w.Part.part()
		e.Part = &part
	}
	if w.Response != nil {
		e.Response = w.Response.response()
	}
	if w.Error != nil && w.Type == responses.EventError {
		e.Error = faultOf(w.Error, 502)
	}
	return e
}

// responseEvents yields the events of a stream. One that breaks off ends with an
// error.
func responseEvents(ctx context.Context, stream *events) iter.Seq2[responses.Event, error] {
	return func(yield func(responses.Event, error) bool) {
		defer stream.close()
		for data, err := range stream.all() {
			var w wireEvent
			if err == nil {
				err = json.Unmarshal(data, &w)
			}
			if err != nil {
				yield(responses.Event{}, failed(ctx, err))
				return
			}
			e := w.event()
			if !yield(e, nil) || e.Type == responses.EventCompleted {
				return
			}
			if e.Type == responses.EventFailed && e.Response != nil {
				yield(responses.Event{}, &responses.TurnError{Response: e.Response})
				return
			}
		}
		yield(responses.Event{}, failed(ctx, errBroken))
	}
}
