package responses

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/metadata"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
)

// MaxInput is how many items the input of a request may have.
const MaxInput = 10_000

// Settings are the fields that a request has in common with Chat Completions.
type Settings = generation.Settings

// Text returns an input of one message with a text from the user.
func Text(text string) []conversations.Item {
	return []conversations.Item{conversations.UserMessage(text)}
}

// Request asks for a turn. The fields are those of the spec's request table and
// mean what they mean there; nil pointers and zero values are omitted fields.
// The service neither changes a Request nor keeps it.
type Request struct {
	Settings // Format is text.format; Tools holds functions and, with Search set, web search

	// Input is 1 to [MaxInput] items without IDs, and references. A web search
	// that the caller sends back is taken for a reference to itself.
	Input []conversations.Item

	Instructions       string // for this turn alone, before the history
	PreviousResponseID string // continue from that response
	Conversation       string // or from what was written last to that conversation

	Store    *bool // whether the turn is kept; nil is true
	Metadata map[string]string

	// SearchType is what the caller called the web search tool, echoed in the
	// response; empty is [WebSearchPreview].
	SearchType string
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

// SearchTool is the web search tool as models see it.
func SearchTool() model.Tool {
	return model.Tool{
		Name:        searchName,
		Description: "Search the web. Use it for anything that may have changed recently or that you are not sure of.",
		Parameters:  searchParameters,
		Search:      true,
	}
}

const searchName = "web_search"

var searchParameters = json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"},` +
	`"minItems":1,"maxItems":5,"description":"What to search for: one to five queries, which run at once."}},` +
	`"required":["queries"],"additionalProperties":false}`)

// check returns an Invalid error for a request that breaks a rule of the
// interface, whatever the model and the state of the store, and otherwise the
// compiled schema of its format.
func (r *Request) check() (*schema.Schema, error) {
	if len(r.Input) == 0 {
		return nil, fault.Invalidf("input", "input is required.")
	}
	if len(r.Input) > MaxInput {
		return nil, fault.Invalidf("input", "input must have at most %d items.", MaxInput)
	}
	if r.PreviousResponseID != "" && r.Conversation != "" {
		return nil, fault.Invalidf("previous_response_id", "previous_response_id and conversation cannot be used together.")
	}
	if err := metadata.Check(r.Metadata); err != nil {
		return nil, err
	}
	return r.Settings.Check(names)
}

// stored reports whether the request wants its turn to be kept.
func (r *Request) stored() bool { return r.Store == nil || *r.Store }

// searches reports whether the request offers web search.
func (r *Request) searches() bool {
	for _, t := range r.Tools {
		if t.Search {
			return true
		}
	}
	return false
}

// checkCalls returns an Invalid error unless every function call of the history
// and the input has exactly one output, which follows it. Outputs are accepted
// for calls that wait for one: those of the turn that is continued from, since
// none that came before could be continued from without, and those that the
// caller sends back in the same input.
func checkCalls(history []conversations.Entry, input []conversations.Item) error {
	waiting := map[string]bool{}
	var order []string
	for _, e := range history {
		switch item := e.Item.(type) {
		case *conversations.FunctionCall:
			waiting[item.CallID] = true
			order = append(order, item.CallID)
		case *conversations.FunctionCallOutput:
			delete(waiting, item.CallID)
		}
	}
	for _, item := range input {
		switch item := item.(type) {
		case *conversations.FunctionCall:
			waiting[item.CallID] = true
			order = append(order, item.CallID)
		case *conversations.FunctionCallOutput:
			if !waiting[item.CallID] {
				return fault.Invalidf("input", "No function call is waiting for an output with the call_id %q: it is not one of the response that is continued from, or it has been answered.", item.CallID)
			}
			delete(waiting, item.CallID)
		}
	}
	for _, id := range order {
		if waiting[id] {
			return fault.Invalidf("input", "The function call with the call_id %q has no output; send one for every call of the response that is continued from.", id)
		}
	}
	return nil
}
