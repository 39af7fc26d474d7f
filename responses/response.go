package responses

import (
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
)

// Status is where a response stands.
type Status string

// The statuses of the spec.
const (
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Incomplete Status = "incomplete" // a policy blocked the output
	Cancelled  Status = "cancelled"  // the caller asked for that or went away
)

// MaxOutputTokens is the reason of a turn that was cut by the token limit.
const MaxOutputTokens = "max_output_tokens"

// ContentFilter is the reason of a turn whose output a policy blocked.
const ContentFilter = "content_filter"

// Response is a turn as the interface shows it: what was asked for and what
// came of it.
type Response struct {
	ID           string
	Conversation string
	CreatedAt    int64 // Unix seconds
	CompletedAt  int64 // Unix seconds, 0 until the turn has ended
	Status       Status
	Error        *Error               // of a turn that failed or was cancelled
	Truncated    int                  // items that were left out of the prompt for its length
	Incomplete   string               // why a turn is cut short: empty, [MaxOutputTokens], or [ContentFilter] of one that is Incomplete
	Input        []conversations.Item // of a response in a list; nil in any other
	Output       []conversations.Item
	Usage        *model.Usage // nil until the turn has ended

	Echo  Echo
	Trace accounts.Trace // its key from the beginning, the rest once the turn has ended

	Answering string // the model that answered last, where that of the Echo is a route; not of one that is read back

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

// answered reports whether the turn ran to its end.
func (r *Response) answered() bool { return r.Status == Completed || r.Status == Incomplete }

// Error says why a turn failed.
type Error struct {
	Code    string
	Message string

	Cause error // what happened, for logs; nil in a response that is read back
}

// Error returns the message, so that a failed response can be returned as an
// error.
func (e *Error) Error() string { return e.Message }

// Echo are the fields of the request that its response repeats. The tags are those
// of its record in the store.
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
	ReasoningSummary   string            `json:"summary,omitempty"`
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
		ReasoningSummary:   r.ReasoningSummary,
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

// CodeInterrupted is the code of the error of a turn that the end of its process
// has ended.
const CodeInterrupted = "response_interrupted"

// CodeEventsLost is the code of the error that stands for events of a turn which
// the store has lost.
const CodeEventsLost = "events_lost"

// echoedTools are the tools that the echo keeps: none where it keeps how they are
// shown.
func (r *Request) echoedTools() []model.Tool {
	if r.ShownTools != nil {
		return nil
	}
	return r.Tools
}
