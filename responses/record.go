package responses

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// body is what is stored of a response beside its items.
type body struct {
	CreatedAt   int64        `json:"created"`
	CompletedAt int64        `json:"completed,omitempty"`
	Status      Status       `json:"status"`
	Error       *errorRecord `json:"error,omitempty"`
	Incomplete  string       `json:"incomplete,omitempty"`
	Usage       usageRecord  `json:"usage,omitzero"`
	Events      int          `json:"events,omitempty"`
	Truncated   int          `json:"truncated,omitempty"`
	Echo        echoRecord   `json:"echo"`
}

type errorRecord struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type usageRecord struct {
	InputTokens     int `json:"InputTokens"`
	CachedTokens    int `json:"CachedTokens"`
	OutputTokens    int `json:"OutputTokens"`
	ReasoningTokens int `json:"ReasoningTokens"`
}

// echoRecord is how an [Echo] is stored; that of a response which is not is in no
// store.
type echoRecord struct {
	Model              string            `json:"model"`
	Instructions       string            `json:"instructions,omitempty"`
	PreviousResponseID string            `json:"previous,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
	Tools              []toolRecord      `json:"tools,omitempty"`
	SearchType         string            `json:"search,omitempty"`
	ToolChoice         choiceRecord      `json:"tool_choice,omitzero"`
	ShownTools         json.RawMessage   `json:"shown_tools,omitempty"`
	ShownToolChoice    json.RawMessage   `json:"shown_choice,omitempty"`
	ParallelToolCalls  *bool             `json:"parallel,omitempty"`
	ReasoningEffort    string            `json:"effort,omitempty"`
	Format             formatRecord      `json:"format,omitzero"`
	Temperature        *float64          `json:"temperature,omitempty"`
	TopP               *float64          `json:"top_p,omitempty"`
	MaxOutputTokens    *int              `json:"max_output,omitempty"`
	MaxToolCalls       *int              `json:"max_calls,omitempty"`
	TopLogprobs        *int              `json:"top_logprobs,omitempty"`
	PresencePenalty    *float64          `json:"presence,omitempty"`
	FrequencyPenalty   *float64          `json:"frequency,omitempty"`
	PromptCacheKey     string            `json:"cache_key,omitempty"`
	SafetyIdentifier   string            `json:"safety,omitempty"`
	Background         bool              `json:"background,omitempty"`
	Truncation         string            `json:"truncation,omitempty"`
}

type toolRecord struct {
	Name        string          `json:"Name"`
	Description string          `json:"Description"`
	Parameters  json.RawMessage `json:"Parameters"`
	Strict      bool            `json:"Strict"`
	Search      bool            `json:"Search"`
}

type choiceRecord struct {
	Mode model.ToolMode `json:"Mode"`
	Name string         `json:"Name"`
}

type formatRecord struct {
	Type        model.FormatType `json:"Type"`
	Name        string           `json:"Name"`
	Description string           `json:"Description"`
	Schema      json.RawMessage  `json:"Schema"`
	Strict      bool             `json:"Strict"`
}

func newEchoRecord(e *Echo) echoRecord {
	r := echoRecord{
		Model:              e.Model,
		Instructions:       e.Instructions,
		PreviousResponseID: e.PreviousResponseID,
		Metadata:           e.Metadata,
		SearchType:         e.SearchType,
		ToolChoice:         choiceRecord(e.ToolChoice),
		ShownTools:         e.ShownTools,
		ShownToolChoice:    e.ShownToolChoice,
		ParallelToolCalls:  e.ParallelToolCalls,
		ReasoningEffort:    e.ReasoningEffort,
		Format:             formatRecord(e.Format),
		Temperature:        e.Temperature,
		TopP:               e.TopP,
		MaxOutputTokens:    e.MaxOutputTokens,
		MaxToolCalls:       e.MaxToolCalls,
		TopLogprobs:        e.TopLogprobs,
		PresencePenalty:    e.PresencePenalty,
		FrequencyPenalty:   e.FrequencyPenalty,
		PromptCacheKey:     e.PromptCacheKey,
		SafetyIdentifier:   e.SafetyIdentifier,
		Background:         e.Background,
		Truncation:         e.Truncation,
	}
	for _, t := range e.Tools {
		r.Tools = append(r.Tools, toolRecord(t))
	}
	return r
}

func (r *echoRecord) echo() Echo {
	e := Echo{
		Model:              r.Model,
		Instructions:       r.Instructions,
		PreviousResponseID: r.PreviousResponseID,
		Metadata:           r.Metadata,
		SearchType:         r.SearchType,
		ToolChoice:         model.ToolChoice(r.ToolChoice),
		ShownTools:         r.ShownTools,
		ShownToolChoice:    r.ShownToolChoice,
		ParallelToolCalls:  r.ParallelToolCalls,
		ReasoningEffort:    r.ReasoningEffort,
		Format:             model.Format(r.Format),
		Temperature:        r.Temperature,
		TopP:               r.TopP,
		MaxOutputTokens:    r.MaxOutputTokens,
		MaxToolCalls:       r.MaxToolCalls,
		TopLogprobs:        r.TopLogprobs,
		PresencePenalty:    r.PresencePenalty,
		FrequencyPenalty:   r.FrequencyPenalty,
		PromptCacheKey:     r.PromptCacheKey,
		SafetyIdentifier:   r.SafetyIdentifier,
		Background:         r.Background,
		Truncation:         r.Truncation,
	}
	for _, t := range r.Tools {
		e.Tools = append(e.Tools, model.Tool(t))
	}
	return e
}

func (r *Response) encodeBody() (json.RawMessage, error) {
	b := body{
		CreatedAt: r.CreatedAt, CompletedAt: r.CompletedAt, Status: r.Status, Incomplete: r.Incomplete,
		Events: r.events, Truncated: r.Truncated, Echo: newEchoRecord(&r.Echo),
	}
	if r.Error != nil {
		b.Error = &errorRecord{r.Error.Code, r.Error.Message}
	}
	if r.Usage != nil {
		b.Usage = usageRecord(*r.Usage)
	}
	return jsonout.Marshal(b)
}

// newResponse returns the response of a stored turn.
func newResponse(t conversations.Turn, output []conversations.Item) (*Response, error) {
	var b body
	if err := json.Unmarshal(t.Body, &b); err != nil {
		return nil, err
	}
	r := &Response{
		ID: t.ID, Conversation: t.Conversation,
		CreatedAt: b.CreatedAt, CompletedAt: b.CompletedAt, Status: b.Status, Incomplete: b.Incomplete,
		Output: output, Echo: b.Echo.echo(), Truncated: b.Truncated, events: b.Events,
	}
	if b.Error != nil {
		r.Error = &Error{Code: b.Error.Code, Message: b.Error.Message}
	}
	if !t.Running {
		usage := model.Usage(b.Usage)
		r.Usage = &usage
	}
	return r, nil
}

// interrupted returns the body of a turn whose process has ended before it, from
// the one that it was begun with.
func (s *Service) interrupted(data json.RawMessage) (json.RawMessage, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, err
	}
	b.Status, b.CompletedAt = Failed, s.o.Now().Unix()
	b.Error = &errorRecord{CodeInterrupted, "The server was stopped while it made the response."}
	return jsonout.Marshal(b)
}
