// Package model is the contract between the service and the language models
// behind it.
//
// A [Backend] is the driver interface, what others implement: it turns a [Request]
// into a stream of [Event] values. That is all a model has to do. What some can do
// besides is an interface of its own, which package driver finds through wrappers:
// scoring labels for Decisions ([Scorer], [Labeler]), deciding by itself
// ([Decider]), embedding ([Embedder]), counting tokens ([TokenCounter]) and saying
// which models there are ([Lister]). The service uses [Models] around a driver
// ([Use]), which can do all of it, or says what holds instead.
//
// Package modeltest states the rules of this contract as tests and has a
// scripted backend for the tests of everything above it.
package model

import (
	"context"
	"encoding/json"
	"iter"
)

// Backend is the driver interface: it generates text with one or more models.
// Methods may be called concurrently.
type Backend interface {
	// Generate answers a request as a stream of events that ends with one
	// [Finish], or with an error, after which nothing follows. The sequence is
	// single use and does no work before it is ranged over. It stops and
	// releases everything it holds when the consumer stops or ctx ends; in the
	// latter case the error is the context's, and before it comes the [Usage] of
	// what the model has done until then: an estimate where nobody has counted,
	// and never more than the whole answer would have had.
	//
	// Errors are *fault.Error values where the caller can act on them: Rejected
	// for a request that the model cannot take, RateLimited and Unavailable for
	// a model server that is busy, Upstream for one that failed. The backend
	// reads req until the sequence ends and does not change it.
	Generate(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Request is one generation: a prompt and how to answer it. The domain packages
// have validated it: tool names are unique, schemas compile, bounds hold.
type Request struct {
	Model    string // a model ID of [Models.List]
	Messages []Message

	// Continue says that the one message, a user's with one text, is to be continued
	// as it is, with no chat template around it. There are no tools and no format. A
	// backend that only knows conversations may answer the message instead.
	Continue bool

	// Memo belongs to requests that are made one after the other and begin alike:
	// every later request with the Memo has the first Same messages of this one, too.
	// Backends keep there what they have worked out about those. Nil keeps nothing.
	Memo *Memo
	Same int

	// Whole says that nobody looks at pieces of the answer: it may come all at
	// once, which costs much less.
	Whole bool

	// Tenant names whom the request is for: an opaque name, among whose kind a
	// backend shares what is scarce. No model sees it.
	Tenant string

	Tools             []Tool
	ToolChoice        ToolChoice
	SingleToolCall    bool // at most one tool call in the answer
	Format            Format
	MaxTokens         int      // cap on generated tokens, reasoning included; 0 is none
	Temperature, TopP *float64 // nil is the model's default
	Stop              []string // sequences that end the answer; they are not part of it
	ReasoningEffort   string   // one of [Efforts]; empty is the model's default
	Sampling          Sampling
	Guard             Guard // judges the request and its answer; nil: nobody does. Backends take no notice of it
	Logprobs          bool  // report [Logprobs]
	TopLogprobs       int   // likeliest tokens to report at each place, up to [MaxTopLogprobs]
	Reasoning         bool  // report [Reasoning]
}

// Efforts are the reasoning efforts of the interface, from none to most. Which
// of them a model takes is in its [Info].
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Role is who a message is from.
type Role string

// The roles of the interface.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the result of a tool call
)

// Message is one message of a prompt.
type Message struct {
	Role  Role
	Parts []Part // in order; empty in an assistant message that only calls tools

	ToolCalls  []ToolCall // of an assistant message
	Reasoning  string     // of an assistant message with calls: what led to them, as [Reasoning] said
	ToolCallID string     // of a tool message: the call that it answers
}

// TextMessage returns a message with one text part.
func TextMessage(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{Text(text)}}
}

// Part is a piece of a message's content: [Text], [Document] or [Image].
type Part interface{ part() }

// Text is plain text.
type Text string

// Document is a file that the model reads: its name, its extracted text, and a
// sentence about the text where there is something to say, such as that it is
// not all there. [Document.Quoted] is how it stands in a prompt.
type Document struct {
	Name string
	Text string
	Note string
}

// Image is a picture, in Decisions only. Width and Height are in pixels, read
// from the data; MediaType is image/png, image/jpeg or image/webp.
type Image struct {
	MediaType     string
	Data          []byte
	Width, Height int
}

func (Text) part()     {}
func (Document) part() {}
func (Image) part()    {}

// Tool is a function that the model may ask to have called.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema object; nil is a function without parameters
	Strict      bool            // arguments must satisfy Parameters exactly

	// Search marks the service's own web search, which takes
	// {"queries": ["…", …]}: a backend may know it from functions of the caller's.
	Search bool
}

// ToolMode says whether the model calls tools.
type ToolMode string

// The tool modes. The zero value is the same as [ToolAuto].
const (
	ToolAuto     ToolMode = "auto"     // the model decides
	ToolNone     ToolMode = "none"     // it must not
	ToolRequired ToolMode = "required" // it must call at least one
	ToolNamed    ToolMode = "named"    // it must call the one named
)

// ToolChoice is the mode and, for ToolNamed, the tool's name.
type ToolChoice struct {
	Mode ToolMode
	Name string
}

// ToolCall is a call that the model asked for.
type ToolCall struct {
	ID        string // as the backend or the caller gave it; opaque
	Name      string
	Arguments string // JSON text, as the model wrote it
}

// FormatType is the form the answer's text must have.
type FormatType string

// The formats. The zero value is the same as FormatText.
const (
	FormatText   FormatType = "text"
	FormatObject FormatType = "json_object"
	FormatSchema FormatType = "json_schema"
)

// Format constrains the text of an answer. Name, Description, Schema and Strict
// belong to FormatSchema.
type Format struct {
	Type        FormatType
	Name        string
	Description string
	Schema      json.RawMessage
	Strict      bool
}

// Event is a piece of an answer: [Started], [TextDelta], [Logprobs], [Reasoning],
// [ToolCallStart], [ToolCallDelta], [Usage] or [Finish]; and of a route besides
// [Answering] and [Spent].
type Event interface{ event() }

// Started says that the model has accepted the request and works on it. A
// backend whose model may think for long before the first text sends it, first
// and once, so that what refuses the request can be told from what fails later;
// others leave it out.
type Started struct{}

// TextDelta is the next piece of text; never empty. More says that another piece
// follows at once, for who sends pieces on and may send several together; a
// backend that does not know leaves it out.
type TextDelta struct {
	Text string
	More bool
}

// ToolCallStart begins a tool call. Calls come one after another: the deltas
// that follow belong to it until the next start, text or the finish.
type ToolCallStart struct {
	ID   string // never empty, unique within the answer
	Name string // never empty, the name of a tool of the request
}

// ToolCallDelta is the next piece of the arguments of the call begun last.
type ToolCallDelta struct{ Arguments string }

// Usage counts tokens. As an event it says what the model has counted so far;
// the last one before the end holds, also when the end is an error.
type Usage struct {
	InputTokens     int // the prompt, cached tokens included
	CachedTokens    int // of the prompt, those a prefix cache served; 0 where unknown
	OutputTokens    int // generated tokens, reasoning included
	ReasoningTokens int // of the output, those spent on reasoning; 0 where unknown
}

// Add returns the sum of two usages, for a turn that calls a model repeatedly.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:     u.InputTokens + v.InputTokens,
		CachedTokens:    u.CachedTokens + v.CachedTokens,
		OutputTokens:    u.OutputTokens + v.OutputTokens,
		ReasoningTokens: u.ReasoningTokens + v.ReasoningTokens,
	}
}

// Reasoning is what the model has thought since the event before it, in one
// piece, in front of the text or call that it led to. It is for the model alone:
// nobody is shown it, and [Message.Reasoning] gives it back. Only requests that ask
// for it have it, and a backend that cannot tell it leaves it out.
type Reasoning struct{ Text string }

// Finish ends an answer. Every answer has reported its [Usage] before it.
type Finish struct {
	Reason       FinishReason
	StopSequence string // the one of [Request.Stop] that ended it; empty where there was none, or nobody tells
}

// Guard judges a request before a model is called, and the answer before anybody sees
// it. It belongs to one operation. Package guard has one.
type Guard interface {
	// Input returns an error where the request is blocked, or could not be judged. It
	// judges nothing again that it has judged before.
	Input(ctx context.Context, req *Request) error

	// Output returns an answer with what is blocked left out: the last event is then a
	// [Finish] with the reason [ContentFilter], and nothing that was blocked was yielded.
	Output(ctx context.Context, req *Request, answer iter.Seq2[Event, error]) iter.Seq2[Event, error]
}

// FinishReason says why an answer ended.
type FinishReason string

// The finish reasons. No backend has the last one.
const (
	Stop      FinishReason = "stop"       // a natural end or a stop sequence
	Length    FinishReason = "length"     // MaxTokens or the context window was used up
	ToolCalls FinishReason = "tool_calls" // the model waits for the results of its calls

	ContentFilter FinishReason = "content_filter" // a [Guard] blocked the answer
)

// Answering says which model answers where that is not the one of the request: what
// follows is its answer, at its price. It comes once, before the answer.
type Answering struct{ Model string }

// Spent is what a model other than the one that answers has used for the request, to be
// charged at its price: an answer that was not accepted, or a decision about which
// model answers. It comes before the answer.
type Spent struct {
	Model    string
	Decision bool // the price is that of a decision
	Usage
}

func (Answering) event()     {}
func (Spent) event()         {}
func (Started) event()       {}
func (TextDelta) event()     {}
func (Reasoning) event()     {}
func (ToolCallStart) event() {}
func (ToolCallDelta) event() {}
func (Usage) event()         {}
func (Finish) event()        {}
