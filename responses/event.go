package responses

import (
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// EventType names an event of a response's stream.
type EventType string

// The events of the spec's section Events, and those that clients of the OpenAI
// API need beside them to follow a message.
const (
	EventCreated           EventType = "response.created"
	EventInProgress        EventType = "response.in_progress"
	EventItemAdded         EventType = "response.output_item.added"
	EventItemDone          EventType = "response.output_item.done"
	EventPartAdded         EventType = "response.content_part.added"
	EventPartDone          EventType = "response.content_part.done"
	EventTextDelta         EventType = "response.output_text.delta"
	EventTextDone          EventType = "response.output_text.done"
	EventArgumentsDelta    EventType = "response.function_call_arguments.delta"
	EventArgumentsDone     EventType = "response.function_call_arguments.done"
	EventInputDelta        EventType = "response.custom_tool_call_input.delta"
	EventInputDone         EventType = "response.custom_tool_call_input.done"
	EventMCPArgumentsDelta EventType = "response.mcp_call_arguments.delta"
	EventMCPArgumentsDone  EventType = "response.mcp_call_arguments.done"
	EventSummaryPartAdded  EventType = "response.reasoning_summary_part.added"
	EventSummaryPartDone   EventType = "response.reasoning_summary_part.done"
	EventSummaryDelta      EventType = "response.reasoning_summary_text.delta"
	EventSummaryDone       EventType = "response.reasoning_summary_text.done"
	EventSearchProgress    EventType = "response.web_search_call.in_progress"
	EventSearching         EventType = "response.web_search_call.searching"
	EventSearchDone        EventType = "response.web_search_call.completed"
	EventListProgress      EventType = "response.mcp_list_tools.in_progress"
	EventListDone          EventType = "response.mcp_list_tools.completed"
	EventListFailed        EventType = "response.mcp_list_tools.failed"
	EventMCPProgress       EventType = "response.mcp_call.in_progress"
	EventMCPDone           EventType = "response.mcp_call.completed"
	EventMCPFailed         EventType = "response.mcp_call.failed"
	EventFilesProgress     EventType = "response.file_search_call.in_progress"
	EventFilesSearching    EventType = "response.file_search_call.searching"
	EventFilesDone         EventType = "response.file_search_call.completed"
	EventCited             EventType = "response.output_text.annotation.added"
	EventCompleted         EventType = "response.completed"
	EventFailed            EventType = "response.failed"
	EventIncomplete        EventType = "response.incomplete"
	EventError             EventType = "error"
)

// Last reports whether an event of that type is the last one of its stream.
func (t EventType) Last() bool {
	return t == EventCompleted || t == EventIncomplete || t == EventFailed
}

// Event is one event of a stream. Which fields beside Type and Sequence it has
// depends on the type. Events are the consumer's to keep and not to change.
type Event struct {
	Type     EventType
	Sequence int  // from 0, without gaps
	More     bool // the next event follows at once: one write may carry both

	OutputIndex int                 // of every event about an item: its place in the output
	ItemID      string              // of every event about a part of an item
	Item        conversations.Item  // of item events
	Part        *conversations.Part // of part events
	Text        string              // of text, argument and input events: the delta or the whole
	Name        string              // of EventArgumentsDone: the function's
	Logprobs    []model.Logprob     // of text events: the tokens of Text, where they were asked for

	Citation *conversations.Citation // of EventCited
	Cited    int                     // of EventCited: the place of the citation among those of the part

	Response *Response    // of created, in_progress, completed, incomplete and failed
	Error    *fault.Error // of EventError
}
