package responses

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
)

// MaxInput is how many items the input of a request may have, MaxInlineBytes how many
// bytes its inline files together.
const (
	MaxInput       = 5_000
	MaxInlineBytes = 10 << 20
)

// Text returns an input of one message with a text from the user.
func Text(text string) []conversations.Item {
	return []conversations.Item{conversations.UserMessage(text)}
}

// Request asks for a turn. The fields are those of the spec's request table and
// mean what they mean there; nil pointers and zero values are omitted fields.
// The service neither changes a Request nor keeps it after the call or the
// sequence has ended.
type Request struct {
	Model string

	// Input is 1 to [MaxInput] items without IDs, and references. A web search
	// that the caller sends back is taken for a reference to itself.
	Input []conversations.Item

	Instructions       string // for this turn alone, before the history
	PreviousResponseID string // continue from that response
	Conversation       string // or from what was written last to that conversation

	Temperature     *float64 // 0 to 2
	TopP            *float64 // 0 to 1
	MaxOutputTokens *int     // at least 1; caps what the whole turn generates, reasoning included
	ReasoningEffort string   // reasoning.effort: one that the model takes; empty is its default

	// ReasoningSummary has the output show what the model has thought, in items
	// [conversations.Reasoning]. Whatever it says, that is all of it; empty shows
	// nothing.
	ReasoningSummary string

	Format            model.Format // text.format
	Tools             []model.Tool // functions, [SearchTool], and [FileSearchTool] with FileSearch
	FileSearch        *FileSearch  // what the search in files looks at; nil: there is none
	ToolChoice        model.ToolChoice
	AllowedTools      []string // of Tools by name, those that the model is offered in this turn; nil is all
	ParallelToolCalls *bool    // false: at most one tool call at a time; nil is true

	MaxToolCalls *int // at least 1; caps the searches and the calls of MCP servers' tools of the turn

	MCP        []MCPTool   // servers whose tools the model is offered, at most [MaxMCPServers]
	MCPChoice  *MCPChoice  // in place of ToolChoice: one of these tools must be called
	AllowedMCP []MCPChoice // beside AllowedTools, which is not nil: those that the model is offered

	Sampling    model.Sampling
	Logprobs    bool // the output has those of its tokens
	TopLogprobs *int // 0 to 20: with Logprobs, how many of the likeliest at each place

	EncryptedReasoning bool // the output has [conversations.Reasoning] items
	SearchSources      bool // searches of the output have their Sources
	SearchResults      bool // searches in files show their passages

	SafetyIdentifier string // echoed
	Compact          bool   // context_management: what goes before is compacted at a threshold
	CompactThreshold int    // in tokens of the prompt; 0 is four fifths of the context window
	Truncation       string // [TruncationAuto] or [TruncationDisabled]; empty is that

	Store *bool // whether the turn is kept; nil is true
	// Background has the turn made to its end whether or not anybody waits for it.
	// It must be stored.
	Background bool
	Metadata   map[string]string

	// Policies are names of policies that the turn is to be judged by besides those that
	// hold anyway, and Moderate the stages that are moderated. The service of package svc
	// makes Guard of them, which does it, where it is nil.
	Policies []string
	Moderate string
	Guard    model.Guard

	compacting bool // the history is to be compacted, and nothing else

	// SearchType is what the caller called the web search tool, echoed in the
	// response; empty is [WebSearchPreview].
	SearchType string

	// ToolAliases says what the caller calls tools, by their name in Tools. A tool that
	// is not in it is a function that everybody calls the same.
	ToolAliases map[string]ToolAlias

	// ShownTools and ShownToolChoice are how the response shows the tools and the
	// choice, as JSON, where that is not how Tools and ToolChoice are: the caller
	// has sent tools that models are offered otherwise, or not at all.
	ShownTools, ShownToolChoice json.RawMessage
}

// The names of the web search tool.
const (
	WebSearchPreview = "web_search_preview"
	WebSearch        = "web_search"
)

// names are what this interface calls the common settings.
var names = generation.Names{
	MaxTokens:  "max_output_tokens",
	Effort:     "reasoning.effort",
	FormatType: "text.format.type",
	Format:     "text.format",
}

// settings returns what a request has in common with those of Chat Completions.
func (r *Request) settings() generation.Settings {
	return generation.Settings{
		Model:             r.Model,
		Temperature:       r.Temperature,
		TopP:              r.TopP,
		MaxTokens:         r.MaxOutputTokens,
		ReasoningEffort:   r.ReasoningEffort,
		Format:            r.Format,
		Tools:             r.Tools,
		ToolChoice:        r.ToolChoice,
		AllowedTools:      r.AllowedTools,
		ParallelToolCalls: r.ParallelToolCalls,
		Sampling:          r.Sampling,
		Logprobs:          r.Logprobs,
		TopLogprobs:       r.TopLogprobs,
	}
}

// check returns an Invalid error for a request that breaks a rule of the
// interface, whatever the model and the state of the store, and otherwise the
// compiled schema of its format.
func (r *Request) check(settings *generation.Settings) (*schema.Schema, error) {
	if len(r.Input) == 0 && !r.compacting {
		return nil, fault.Invalidf("input", "input is required.")
	}
	if len(r.Input) > MaxInput {
		return nil, fault.Invalidf("input", "input must have at most %d items.", MaxInput)
	}
	if r.PreviousResponseID != "" && r.Conversation != "" {
		return nil, fault.Invalidf("previous_response_id", "previous_response_id and conversation cannot be used together.")
	}
	if r.MaxToolCalls != nil && *r.MaxToolCalls < 1 {
		return nil, fault.Invalidf("max_tool_calls", "max_tool_calls must be at least 1.")
	}
	if r.CompactThreshold < 0 {
		return nil, fault.Invalidf("context_management", "context_management.compact_threshold must be at least 1.")
	}
	switch r.Truncation {
	case "", TruncationAuto, TruncationDisabled:
	default:
		return nil, fault.Invalidf("truncation", "truncation must be %q or %q.", TruncationAuto, TruncationDisabled)
	}
	if r.Background && !r.stored() {
		return nil, fault.Invalidf("background", "background needs store: a response that is not stored cannot be read later.")
	}
	if err := generation.CheckMetadata(r.Metadata); err != nil {
		return nil, err
	}
	return settings.Check(names)
}

// stored reports whether the request wants its turn to be kept.
func (r *Request) stored() bool { return r.Store == nil || *r.Store }

// matchCalls returns the input with each output of a function call tied to its
// call, or an Invalid error unless every call of the history and the input has
// exactly one output, which follows it. Outputs are accepted for calls that wait
// for one: those of the turn that is continued from, since none that came before
// could be continued from without, and those that the caller sends back in the
// same input. A call of the history that the caller sends back beside it is left
// out; with again, so is what the history has of answered calls: clients that
// continue a conversation send all of a task each time.
func matchCalls(history []conversations.Entry, input []conversations.Item, dedup bool) ([]conversations.Item, error) {
	if dedup {
		input = dropResent(history, input)
	}
	var w waiting
	var past answered
	for _, e := range history {
		switch item := e.Item.(type) {
		case *conversations.FunctionCall:
			w.add(item)
		case *conversations.FunctionCallOutput:
			if call := w.answer(item.CallID); dedup && call != nil {
				past.add(call, item)
			}
		}
	}
	known := maps.Clone(w.calls)
	matched := make([]conversations.Item, 0, len(input))
	for _, item := range input {
		switch given := item.(type) {
		case *conversations.FunctionCall:
			if known[given.CallID] != nil || past.hasCall(given) {
				continue // sent back although the history has it
			}
			if !w.add(given) {
				return nil, fault.Invalidf("input", "The call_id %.128q stands for two function calls that wait for an output.", given.CallID)
			}
		case *conversations.FunctionCallOutput:
			call := w.answer(given.CallID)
			if call == nil && past.hasOutput(given) {
				continue
			}
			if call == nil {
				return nil, fault.Invalidf("input", "No function call is waiting for an output with the call_id %.128q: it is not one of the response that is continued from, or it has been answered.", given.CallID)
			}
			output := *given
			output.Call = call.ID
			item = &output
		}
		matched = append(matched, item)
	}
	if call := w.first(); call != nil {
		return nil, fault.Invalidf("input", "The function call with the call_id %.128q has no output; send one for every call of the response that is continued from.", call.CallID)
	}
	return matched, nil
}

// answered are the calls of a history that have an output, by call ID. The zero
// value has none.
type answered map[string]answeredCall

type answeredCall struct {
	call   *conversations.FunctionCall
	output *conversations.FunctionCallOutput
}

func (a *answered) add(call *conversations.FunctionCall, output *conversations.FunctionCallOutput) {
	if *a == nil {
		*a = answered{}
	}
	(*a)[call.CallID] = answeredCall{call, output}
}

// hasCall reports whether a call is one of them.
func (a answered) hasCall(c *conversations.FunctionCall) bool {
	past, ok := a[c.CallID]
	return ok && past.call.Name == c.Name && past.call.Arguments == c.Arguments
}

// hasOutput reports whether an output is that of one of them.
func (a answered) hasOutput(o *conversations.FunctionCallOutput) bool {
	past, ok := a[o.CallID]
	return ok && past.output.Same(o)
}

// markCommentary gives the assistant's messages that a call or a search follows
// at once the phase that they had in the answer they come from, which many
// clients drop. So the model reads the history that a client keeps as it reads
// ours: both as one message.
func markCommentary(input []conversations.Item) {
	for i := 1; i < len(input); i++ {
		m, ok := input[i-1].(*conversations.Message)
		if !ok || m.Role != model.Assistant || m.Phase != "" {
			continue
		}
		switch input[i].(type) {
		case *conversations.FunctionCall, *conversations.WebSearch, *conversations.FileSearch, *conversations.MCPCall, *conversations.MCPApprovalRequest:
			m.Phase = conversations.Commentary
		}
	}
}

// waiting are the function calls that wait for an output. The zero value has
// none.
type waiting struct {
	calls map[string]*conversations.FunctionCall // by call ID
	order []*conversations.FunctionCall          // with those that wait no more
}

// add adds a call, and reports whether its ID is not that of another one. A call
// that the token limit cut waits for nothing.
func (w *waiting) add(call *conversations.FunctionCall) bool {
	if call.Status == conversations.Incomplete {
		return true
	}
	if w.calls[call.CallID] != nil {
		return false
	}
	if w.calls == nil {
		w.calls = map[string]*conversations.FunctionCall{}
	}
	w.calls[call.CallID] = call
	w.order = append(w.order, call)
	return true
}

// answer removes the call with an ID and returns it, or nil.
func (w *waiting) answer(callID string) *conversations.FunctionCall {
	call := w.calls[callID]
	delete(w.calls, callID)
	return call
}

// first returns the call that has waited longest, or nil.
func (w *waiting) first() *conversations.FunctionCall {
	i := slices.IndexFunc(w.order, func(c *conversations.FunctionCall) bool { return w.calls[c.CallID] != nil })
	if i < 0 {
		return nil
	}
	return w.order[i]
}
