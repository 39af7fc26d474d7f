package responses

import (
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
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
	Truncated    int    // items that were left out of the prompt for its length
	Incomplete   string // why a completed turn is cut short: empty or [MaxOutputTokens]
	Output       []conversations.Item
	Usage        *model.Usage // nil until the turn has ended

	Echo Echo

	events int // number of the first of its last events; 0 where it is not known
}

// OutputText returns the text of all messages in the output together: what the
// SDKs of the OpenAI API call output_text. It is empty for a turn that only calls
// functions.
func (r *Response) OutputText() string {
	var b strings.Builder
	for _, item := range r.Output {
		if message, ok := item.(*conversations.Message); ok {
			for _, part := range message.Content {
				b.WriteString(part.Text)
			}
		}
	}
	return b.String()
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
	ShownTools         json.RawMessage   `json:"shown_tools,omitempty"`
	ShownToolChoice    json.RawMessage   `json:"shown_choice,omitempty"`
	ParallelToolCalls  *bool             `json:"parallel,omitempty"`
	ReasoningEffort    string            `json:"effort,omitempty"`
	Format             model.Format      `json:"format,omitzero"`
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
	Unstored           bool              `json:"-"` // a response that is stored says so
}

func (r *Request) echo(stored bool) Echo {
	return Echo{
		Model:              r.Model,
		Instructions:       r.Instructions,
		PreviousResponseID: r.PreviousResponseID,
		Metadata:           r.Metadata,
		Tools:              r.echoedTools(),
		SearchType:         r.SearchType,
		ToolChoice:         r.ToolChoice,
		ShownTools:         r.ShownTools,
		ShownToolChoice:    r.ShownToolChoice,
		ParallelToolCalls:  r.ParallelToolCalls,
		ReasoningEffort:    r.ReasoningEffort,
		Format:             r.Format,
		Temperature:        r.Temperature,
		TopP:               r.TopP,
		MaxOutputTokens:    r.MaxOutputTokens,
		MaxToolCalls:       r.MaxToolCalls,
		TopLogprobs:        r.TopLogprobs,
		PresencePenalty:    r.Sampling.PresencePenalty,
		FrequencyPenalty:   r.Sampling.FrequencyPenalty,
		PromptCacheKey:     r.Sampling.CacheKey,
		SafetyIdentifier:   r.SafetyIdentifier,
		Background:         r.Background,
		Truncation:         r.Truncation,
		Unstored:           !stored,
	}
}

// body is what is stored of a response beside its items.
type body struct {
	CreatedAt   int64       `json:"created"`
	CompletedAt int64       `json:"completed,omitempty"`
	Status      Status      `json:"status"`
	Error       *Error      `json:"error,omitempty"`
	Incomplete  string      `json:"incomplete,omitempty"`
	Usage       model.Usage `json:"usage,omitzero"`
	Events      int         `json:"events,omitempty"`
	Truncated   int         `json:"truncated,omitempty"`
	Echo        Echo        `json:"echo"`
}

func (r *Response) encodeBody() (json.RawMessage, error) {
	b := body{r.CreatedAt, r.CompletedAt, r.Status, r.Error, r.Incomplete, model.Usage{}, r.events, r.Truncated, r.Echo}
	if r.Usage != nil {
		b.Usage = *r.Usage
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
		CreatedAt: b.CreatedAt, CompletedAt: b.CompletedAt, Status: b.Status, Error: b.Error, Incomplete: b.Incomplete,
		Output: output, Usage: &b.Usage, Echo: b.Echo, Truncated: b.Truncated, events: b.Events,
	}
	if t.Running {
		r.Usage = nil
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
	b.Error = &Error{Code: CodeInterrupted, Message: "The server was stopped while it made the response."}
	return jsonout.Marshal(b)
}

// CodeInterrupted is the code of the error of a turn that the end of its process
// has ended.
const CodeInterrupted = "response_interrupted"

// echoedTools are the tools that the echo keeps: none where it keeps how they are
// shown.
func (r *Request) echoedTools() []model.Tool {
	if r.ShownTools != nil {
		return nil
	}
	return r.Tools
}
