package responses

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/metadata"
	"github.com/seed-506d8e5d/svc/model"
)

// Status is where a response stands.
type Status string

// The statuses of the spec.
const (
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled" // the caller went away
)

// MaxOutputTokens is the reason of a turn that was cut by the token limit.
const MaxOutputTokens = "max_output_tokens"

// Response is a turn as the interface shows it: what was asked for and what
// came of it.
type Response struct {
	ID           string
	Conversation string
	CreatedAt    int64 // Unix seconds
	CompletedAt  int64 // Unix seconds, 0 until the turn has ended
	Status       Status
	Error        *Error // of a turn that failed or was cancelled
	Incomplete   string // why a completed turn is cut short: empty or [MaxOutputTokens]
	Output       []conversations.Item
	Usage        *model.Usage // nil until the turn has ended

	Echo Echo
}

// Error says why a turn failed.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`

	Cause error `json:"-"` // what happened, for logs; nil in a response that is read back
}

// Error returns the message, so that a failed response can be returned as an
// error.
func (e *Error) Error() string { return e.Message }

// Echo are the fields of the request that its response repeats, in the form in
// which they are stored.
type Echo struct {
	Model              string            `json:"model"`
	Instructions       string            `json:"instructions,omitempty"`
	PreviousResponseID string            `json:"previous,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
	Tools              []model.Tool      `json:"tools,omitempty"`
	SearchType         string            `json:"search,omitempty"`
	ToolChoice         model.ToolChoice  `json:"tool_choice,omitzero"`
	ParallelToolCalls  *bool             `json:"parallel,omitempty"`
	ReasoningEffort    string            `json:"effort,omitempty"`
	Format             model.Format      `json:"format,omitzero"`
	Temperature        *float64          `json:"temperature,omitempty"`
	TopP               *float64          `json:"top_p,omitempty"`
	MaxOutputTokens    *int              `json:"max_output,omitempty"`
	Unstored           bool              `json:"-"` // a response that is stored says so
}

func (r *Request) echo(stored bool) Echo {
	return Echo{
		Model:              r.Model,
		Instructions:       r.Instructions,
		PreviousResponseID: r.PreviousResponseID,
		Metadata:           r.Metadata,
		Tools:              r.Tools,
		SearchType:         r.SearchType,
		ToolChoice:         r.ToolChoice,
		ParallelToolCalls:  r.ParallelToolCalls,
		ReasoningEffort:    r.ReasoningEffort,
		Format:             r.Format,
		Temperature:        r.Temperature,
		TopP:               r.TopP,
		MaxOutputTokens:    r.MaxTokens,
		Unstored:           !stored,
	}
}

// body is what is stored of a response beside its items.
type body struct {
	CreatedAt   int64       `json:"created"`
	CompletedAt int64       `json:"completed"`
	Status      Status      `json:"status"`
	Error       *Error      `json:"error,omitempty"`
	Incomplete  string      `json:"incomplete,omitempty"`
	Usage       model.Usage `json:"usage"`
	Echo        Echo        `json:"echo"`
}

func (r *Response) encodeBody() (json.RawMessage, error) {
	return jsonout.Marshal(body{r.CreatedAt, r.CompletedAt, r.Status, r.Error, r.Incomplete, *r.Usage, r.Echo})
}

// newResponse returns the response of a stored turn.
func newResponse(t conversations.Turn, output []conversations.Item) (*Response, error) {
	var b body
	if err := json.Unmarshal(t.Body, &b); err != nil {
		return nil, err
	}
	return &Response{
		ID: t.ID, Conversation: t.Conversation,
		CreatedAt: b.CreatedAt, CompletedAt: b.CompletedAt, Status: b.Status, Error: b.Error, Incomplete: b.Incomplete,
		Output: output, Usage: &b.Usage, Echo: b.Echo,
	}, nil
}

// MarshalJSON writes the response object of the spec, with the fields that the
// OpenAI API and the Open Responses schema require beside it.
func (r *Response) MarshalJSON() ([]byte, error) {
	e := &r.Echo
	w := wire{
		ID: r.ID, Object: "response", CreatedAt: r.CreatedAt, CompletedAt: orNull(r.CompletedAt), Status: r.Status,
		Conversation: conversationRef{r.Conversation}, Error: r.Error,
		Instructions: orNull(e.Instructions), MaxOutputTokens: e.MaxOutputTokens, Metadata: metadata.OrEmpty(e.Metadata),
		Model: e.Model, Output: r.Output, ParallelToolCalls: e.ParallelToolCalls == nil || *e.ParallelToolCalls,
		PreviousResponseID: orNull(e.PreviousResponseID), ServiceTier: "default", Store: !e.Unstored,
		Temperature: orOne(e.Temperature), Text: wireText{newWireFormat(e.Format)}, ToolChoice: wireToolChoice(e.ToolChoice, e.SearchType),
		Tools: wireTools(e), TopP: orOne(e.TopP), Truncation: "disabled",
	}
	if w.Output == nil {
		w.Output = []conversations.Item{}
	}
	if r.Incomplete != "" {
		w.IncompleteDetails = &incompleteDetails{r.Incomplete}
	}
	if e.ReasoningEffort != "" {
		w.Reasoning = &wireReasoning{Effort: e.ReasoningEffort}
	}
	if r.Usage != nil {
		w.Usage = newWireUsage(*r.Usage)
	}
	return jsonout.Marshal(&w)
}

// wire is the response object, field by field. Pointers are null on the wire
// where they are nil.
type wire struct {
	ID                 string               `json:"id"`
	Object             string               `json:"object"`
	CreatedAt          int64                `json:"created_at"`
	CompletedAt        *int64               `json:"completed_at"`
	Status             Status               `json:"status"`
	Background         bool                 `json:"background"`
	Conversation       conversationRef      `json:"conversation"`
	Error              *Error               `json:"error"`
	IncompleteDetails  *incompleteDetails   `json:"incomplete_details"`
	Instructions       *string              `json:"instructions"`
	MaxOutputTokens    *int                 `json:"max_output_tokens"`
	MaxToolCalls       *int                 `json:"max_tool_calls"`
	Metadata           map[string]string    `json:"metadata"`
	Model              string               `json:"model"`
	Output             []conversations.Item `json:"output"`
	ParallelToolCalls  bool                 `json:"parallel_tool_calls"`
	PresencePenalty    float64              `json:"presence_penalty"`
	FrequencyPenalty   float64              `json:"frequency_penalty"`
	PreviousResponseID *string              `json:"previous_response_id"`
	PromptCacheKey     *string              `json:"prompt_cache_key"`
	Reasoning          *wireReasoning       `json:"reasoning"`
	SafetyIdentifier   *string              `json:"safety_identifier"`
	ServiceTier        string               `json:"service_tier"`
	Store              bool                 `json:"store"`
	Temperature        float64              `json:"temperature"`
	Text               wireText             `json:"text"`
	ToolChoice         any                  `json:"tool_choice"`
	Tools              []any                `json:"tools"`
	TopLogprobs        int                  `json:"top_logprobs"`
	TopP               float64              `json:"top_p"`
	Truncation         string               `json:"truncation"`
	Usage              *wireUsage           `json:"usage"`
}

type conversationRef struct {
	ID string `json:"id"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type wireReasoning struct {
	Effort  string  `json:"effort"`
	Summary *string `json:"summary"`
}

type wireText struct {
	Format any `json:"format"`
}

type wireUsage struct {
	InputTokens        int `json:"input_tokens"`
	InputTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens        int `json:"output_tokens"`
	OutputTokensDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

// newWireUsage writes usage by the spec: reasoning_tokens are always 0, and
// counted as output.
func newWireUsage(u model.Usage) *wireUsage {
	w := &wireUsage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, TotalTokens: u.InputTokens + u.OutputTokens}
	w.InputTokensDetails.CachedTokens = u.CachedTokens
	return w
}

func newWireFormat(f model.Format) any {
	if f.Type != model.FormatSchema {
		return struct {
			Type model.FormatType `json:"type"`
		}{orElse(f.Type, model.FormatText)}
	}
	return struct {
		Type        model.FormatType `json:"type"`
		Name        string           `json:"name"`
		Description *string          `json:"description"`
		Strict      bool             `json:"strict"`
		Schema      json.RawMessage  `json:"schema"`
	}{f.Type, f.Name, orNull(f.Description), f.Strict, f.Schema}
}

func wireTools(e *Echo) []any {
	tools := []any{}
	for _, t := range e.Tools {
		if t.Search {
			tools = append(tools, struct {
				Type string `json:"type"`
			}{orElse(e.SearchType, WebSearchPreview)})
			continue
		}
		tools = append(tools, struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description *string         `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      bool            `json:"strict"`
		}{"function", t.Name, orNull(t.Description), t.Parameters, t.Strict})
	}
	return tools
}

func wireToolChoice(c model.ToolChoice, searchType string) any {
	if c.Mode != model.ToolNamed {
		return orElse(c.Mode, model.ToolAuto)
	}
	if c.Name == searchName && searchType != "" {
		return map[string]string{"type": searchType}
	}
	return map[string]string{"type": "function", "name": c.Name}
}

// orNull returns nil for the zero value, which is null on the wire.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// orOne returns the sampling parameter that holds where none is given.
func orOne(v *float64) float64 {
	if v == nil {
		return 1
	}
	return *v
}
