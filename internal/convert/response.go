package convert

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// ToResponse returns a response as it is answered, with the fields that the OpenAI
// API and the Open Responses schema require beside those of the spec.
func ToResponse(r *responses.Response) *wire.Response {
	e := &r.Echo
	w := &wire.Response{
		ID: r.ID, Object: "response", CreatedAt: r.CreatedAt, CompletedAt: optional(r.CompletedAt), Status: string(r.Status),
		Background: e.Background, Conversation: wire.ConversationRef{ID: r.Conversation}, Instructions: optional(e.Instructions),
		MaxOutputTokens: e.MaxOutputTokens, MaxToolCalls: e.MaxToolCalls, Metadata: tags(e.Metadata), Model: e.Model, Output: ToItems(r.Output),
		ParallelToolCalls: e.ParallelToolCalls == nil || *e.ParallelToolCalls,
		PresencePenalty:   value(e.PresencePenalty), FrequencyPenalty: value(e.FrequencyPenalty),
		PreviousResponseID: optional(e.PreviousResponseID), PromptCacheKey: optional(e.PromptCacheKey), SafetyIdentifier: optional(e.SafetyIdentifier),
		ServiceTier: "default", Store: !e.Unstored, Temperature: valueOr(e.Temperature, 1), Text: wire.ShownText{Format: toShownFormat(&e.Format)},
		ToolChoice: toShownToolChoice(e), Tools: toShownTools(e), TopLogprobs: value(e.TopLogprobs), TopP: valueOr(e.TopP, 1),
		Truncation: cmp.Or(e.Truncation, responses.TruncationDisabled), TruncatedItems: r.Truncated,
	}
	if r.Error != nil {
		w.Error = &wire.ResponseError{Code: r.Error.Code, Message: r.Error.Message}
	}
	if r.Incomplete != "" {
		w.IncompleteDetails = &wire.IncompleteDetails{Reason: r.Incomplete}
	}
	if e.ReasoningEffort != "" {
		w.Reasoning = &wire.ShownReasoning{Effort: e.ReasoningEffort, Summary: optional(e.ReasoningSummary)}
	}
	if r.Usage != nil {
		usage := toResponseUsage(r.Usage)
		w.Usage = &usage
	}
	return w
}

// FromResponse returns what an answer says. Of fields that the server fills in
// where the request has none, it has what the server says.
func FromResponse(w *wire.Response) *responses.Response {
	r := &responses.Response{
		ID: w.ID, Conversation: w.Conversation.ID, CreatedAt: w.CreatedAt, CompletedAt: value(w.CompletedAt), Status: responses.Status(w.Status),
		Truncated: w.TruncatedItems, Output: FromItems(w.Output),
		Echo: responses.Echo{
			Model: w.Model, Instructions: value(w.Instructions), PreviousResponseID: value(w.PreviousResponseID), Metadata: w.Metadata,
			ParallelToolCalls: &w.ParallelToolCalls, Format: fromShownFormat(&w.Text.Format), Temperature: &w.Temperature, TopP: &w.TopP,
			MaxOutputTokens: w.MaxOutputTokens, MaxToolCalls: w.MaxToolCalls, TopLogprobs: &w.TopLogprobs,
			PresencePenalty: &w.PresencePenalty, FrequencyPenalty: &w.FrequencyPenalty,
			PromptCacheKey: value(w.PromptCacheKey), SafetyIdentifier: value(w.SafetyIdentifier), Background: w.Background,
			Truncation: w.Truncation, Unstored: !w.Store,
		},
	}
	fromShownTools(w, &r.Echo)
	if w.Error != nil {
		r.Error = &responses.Error{Code: w.Error.Code, Message: w.Error.Message}
	}
	if w.IncompleteDetails != nil {
		r.Incomplete = w.IncompleteDetails.Reason
	}
	if w.Reasoning != nil {
		r.Echo.ReasoningEffort, r.Echo.ReasoningSummary = w.Reasoning.Effort, value(w.Reasoning.Summary)
	}
	if w.Usage != nil {
		r.Usage = fromResponseUsage(w.Usage)
	}
	return r
}

func valueOr(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}

// toResponseUsage returns usage by the spec: reasoning_tokens are always 0, and
// counted as output.
func toResponseUsage(u *model.Usage) wire.ResponseUsage {
	return wire.ResponseUsage{
		InputTokens: u.InputTokens, InputDetails: wire.InputDetails{CachedTokens: u.CachedTokens},
		OutputTokens: u.OutputTokens, TotalTokens: u.InputTokens + u.OutputTokens,
	}
}

func fromResponseUsage(w *wire.ResponseUsage) *model.Usage {
	return &model.Usage{InputTokens: w.InputTokens, CachedTokens: w.InputDetails.CachedTokens, OutputTokens: w.OutputTokens}
}

func toShownFormat(f *model.Format) wire.ShownFormat {
	w := wire.ShownFormat{Type: string(cmp.Or(f.Type, model.FormatText))}
	if f.Type == model.FormatSchema {
		description := optional(f.Description)
		w.Name, w.Description, w.Strict, w.Schema = &f.Name, &description, &f.Strict, f.Schema
	}
	return w
}

func fromShownFormat(w *wire.ShownFormat) model.Format {
	return model.Format{Type: model.FormatType(w.Type), Name: value(w.Name), Description: value(value(w.Description)), Schema: w.Schema, Strict: value(w.Strict)}
}

func toShownTools(e *responses.Echo) []json.RawMessage {
	list := []json.RawMessage{}
	if e.ShownTools != nil {
		_ = json.Unmarshal(e.ShownTools, &list) // a list, as it was taken
		return list
	}
	for i := range e.Tools {
		if e.Tools[i].Search {
			list = append(list, toJSON(wire.ToolFields{Type: searchType(e.SearchType)}))
		} else {
			list = append(list, shownFunction(&e.Tools[i]))
		}
	}
	return list
}

// shownFunction returns a function as a response shows it.
func shownFunction(t *model.Tool) json.RawMessage {
	return toJSON(wire.ShownFunction{Type: "function", Name: t.Name, Description: optional(t.Description), Parameters: t.Parameters, Strict: t.Strict})
}

// toJSON returns a value of ours as JSON.
func toJSON(v any) json.RawMessage {
	data, err := jsonout.Marshal(v)
	if err != nil {
		panic(err) // a type of ours that cannot be encoded is a defect
	}
	return data
}

func toShownToolChoice(e *responses.Echo) json.RawMessage {
	c := e.ToolChoice
	switch {
	case e.ShownToolChoice != nil:
		return e.ShownToolChoice
	case c.Mode != model.ToolNamed:
		return toJSON(cmp.Or(c.Mode, model.ToolAuto))
	case c.Name == responses.SearchTool().Name && e.SearchType != "":
		return toJSON(wire.ToolFields{Type: e.SearchType})
	}
	return toJSON(wire.ToolFields{Type: "function", Name: c.Name})
}

// fromShownTools reads the tools that a response shows, and the choice among them:
// as Tools and ToolChoice where they are functions and searches alone.
func fromShownTools(w *wire.Response, e *responses.Echo) {
	for _, data := range w.Tools {
		var f wire.ShownFunction
		if json.Unmarshal(data, &f) != nil {
			continue
		}
		switch wire.KindOfTool(f.Type) {
		case wire.SearchTool:
			e.SearchType = f.Type
			e.Tools = append(e.Tools, responses.SearchTool())
			if len(data) == len(toJSON(wire.ToolFields{Type: f.Type})) {
				continue
			}
		case wire.FunctionTool:
			e.Tools = append(e.Tools, model.Tool{Name: f.Name, Description: value(f.Description), Parameters: given(f.Parameters), Strict: f.Strict})
			continue
		}
		e.ShownTools, e.Tools = toJSON(w.Tools), nil
		break
	}
	var choice wire.TextOr[wire.ResponseToolChoice]
	if json.Unmarshal(w.ToolChoice, &choice) != nil {
		return
	}
	switch c := choice.Value; {
	case choice.Text != nil:
		e.ToolChoice.Mode = model.ToolMode(*choice.Text)
	case c.Type == "function" && c.Namespace == "":
		e.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: c.Name}
	case wire.KindOfTool(c.Type) == wire.SearchTool:
		e.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: responses.SearchTool().Name}
	default:
		e.ShownToolChoice = w.ToolChoice
	}
}

// given returns JSON that is not null.
func given(data json.RawMessage) json.RawMessage {
	if string(data) == "null" {
		return nil
	}
	return data
}

// rawTools are tools that are sent as they are shown.
func rawTools(shown json.RawMessage) []wire.ResponseTool {
	var list []json.RawMessage
	_ = json.Unmarshal(shown, &list) // a list, as it was taken
	return mapped(list, func(data *json.RawMessage) wire.ResponseTool { return wire.ResponseTool{Sent: *data} })
}

// rawToolChoice is a choice that is sent as it is shown.
func rawToolChoice(shown json.RawMessage) *wire.TextOr[wire.ResponseToolChoice] {
	return &wire.TextOr[wire.ResponseToolChoice]{Value: wire.ResponseToolChoice{Sent: shown}}
}

// ToCompacted returns a compacted history as it is answered.
func ToCompacted(c *responses.Compacted) wire.Compacted {
	return wire.Compacted{ID: c.ID, Object: "response.compaction", CreatedAt: c.CreatedAt, Output: ToItems(c.Output), Usage: toResponseUsage(&c.Usage)}
}

// FromCompacted returns what an answer says.
func FromCompacted(w *wire.Compacted) *responses.Compacted {
	return &responses.Compacted{ID: w.ID, CreatedAt: w.CreatedAt, Output: FromItems(w.Output), Usage: *fromResponseUsage(&w.Usage)}
}

// ToResponseEvent returns an event as it is sent, but for the error of an
// [responses.EventError], which is in failure.
func ToResponseEvent(e *responses.Event, failure func(*fault.Error) *wire.EventError) *wire.ResponseEvent {
	w := &wire.ResponseEvent{Type: string(e.Type), SequenceNumber: e.Sequence}
	if e.ItemID != "" {
		w.ItemID, w.OutputIndex = e.ItemID, &e.OutputIndex
	}
	switch e.Type {
	case responses.EventTextDelta:
		w.ContentIndex, w.Delta, w.Logprobs = new(int), &e.Text, ToLogprobs(e.Logprobs, false)
	case responses.EventTextDone:
		w.ContentIndex, w.Text, w.Logprobs = new(int), &e.Text, ToLogprobs(e.Logprobs, false)
	case responses.EventPartAdded, responses.EventPartDone:
		part := toPart(e.Part)
		w.ContentIndex, w.Part = new(int), &part
	case responses.EventSummaryDelta:
		w.SummaryIndex, w.Delta = new(int), &e.Text
	case responses.EventSummaryDone:
		w.SummaryIndex, w.Text = new(int), &e.Text
	case responses.EventSummaryPartAdded, responses.EventSummaryPartDone:
		part := toPart(e.Part)
		w.SummaryIndex, w.Part = new(int), &part
	case responses.EventArgumentsDelta, responses.EventInputDelta, responses.EventMCPArgumentsDelta:
		w.Delta = &e.Text
	case responses.EventMCPArgumentsDone:
		w.Arguments = &e.Text
	case responses.EventListProgress, responses.EventListDone, responses.EventListFailed, responses.EventMCPProgress, responses.EventMCPDone, responses.EventMCPFailed:
	case responses.EventInputDone:
		w.Input = &e.Text
	case responses.EventArgumentsDone:
		w.Name, w.Arguments = &e.Name, &e.Text
	case responses.EventItemAdded, responses.EventItemDone:
		item := ToItem(e.Item)
		w.OutputIndex, w.Item = &e.OutputIndex, &item
	case responses.EventFilesProgress, responses.EventFilesSearching, responses.EventFilesDone:
	case responses.EventCited:
		citation := toAnnotation(e.Citation)
		w.ContentIndex, w.AnnotationIndex, w.Annotation = new(int), &e.Cited, &citation
	case responses.EventSearchProgress, responses.EventSearching, responses.EventSearchDone:
		w.SearchStatus = strings.TrimPrefix(w.Type, "response.web_search_call.")
	case responses.EventError:
		w.EventError = failure(e.Error)
	default:
		w.Response = ToResponse(e.Response)
	}
	return w
}

// FromResponseEvent returns the event that was sent, but for its error, which
// failure reads.
func FromResponseEvent(w *wire.ResponseEvent, failure func(*wire.ErrorObject) *fault.Error) responses.Event {
	e := responses.Event{
		Type: responses.EventType(w.Type), Sequence: w.SequenceNumber, OutputIndex: value(w.OutputIndex), ItemID: w.ItemID, Name: value(w.Name),
		Text:     value(w.Delta) + value(w.Text) + value(w.Arguments) + value(w.Input), // an event has one of them
		Logprobs: FromLogprobs(w.Logprobs),
	}
	if w.Item != nil {
		e.Item = FromItem(w.Item)
	}
	if w.Annotation != nil {
		citation := fromAnnotation(w.Annotation)
		e.Citation, e.Cited = &citation, value(w.AnnotationIndex)
	}
	if w.Part != nil {
		part := fromPart(w.Part)
		e.Part = &part
	}
	if w.Response != nil {
		e.Response = FromResponse(w.Response)
	}
	if w.EventError != nil && e.Type == responses.EventError {
		e.Error = failure(&w.EventError.Error)
	}
	return e
}
