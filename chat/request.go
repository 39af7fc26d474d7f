package chat

import (
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/model"
)

// The bounds of a [Request] that the interface leaves open.
const (
	MaxMessages    = 10_000   // messages in a request
	MaxParts       = 1_000    // parts of a message
	MaxStops       = 16       // stop sequences
	MaxInlineBytes = 10 << 20 // bytes of all inline documents of a request together
	MaxChoices     = 8        // answers to a request
)

// Request asks for a completion. The fields are those of the spec's request
// table, and mean what they mean there; nil pointers and zero values are
// omitted fields. The service does not change a Request, nor keeps it after the
// call or the sequence has ended.
type Request struct {
	Model    string
	Messages []Message // 1 to [MaxMessages]

	Temperature     *float64 // 0 to 2
	TopP            *float64 // 0 to 1
	MaxTokens       *int     // at least 1; caps generated tokens, reasoning included
	Stop            []string // up to [MaxStops], none empty
	ReasoningEffort string   // one that the model takes; empty is its default

	Format            model.Format
	Tools             []model.Tool // up to 128; Search is not used
	ToolChoice        model.ToolChoice
	AllowedTools      []string // of Tools by name, those that the model is offered; nil is all
	ParallelToolCalls *bool    // false: at most one tool call; nil is true

	Sampling    model.Sampling
	N           int  // how many answers, up to [MaxChoices]; 0 is one
	Logprobs    bool // the answer has those of its tokens
	TopLogprobs *int // with Logprobs: 0 to 20, how many of the likeliest at each place

	Store    *bool // whether the completion is kept; nil is true
	Metadata map[string]string

	// Policies are names of policies that the request is to be judged by besides those
	// that hold anyway, and Moderate the stages that are moderated. The service of package svc makes Guard of
	// them, which does it, where it is nil.
	Policies []string
	Moderate string
	Guard    model.Guard

	// Dialect is the interface that the request came by. Reasoning has the model
	// tell what it has thought, and CountInput has the first chunk of a stream tell
	// the length of the prompt.
	Dialect               Dialect
	Reasoning, CountInput bool

	Calls CallForm
}

// CallForm says how callers see the calls of tools, where that is not as model.ToolCall
// has them. It changes nothing else.
type CallForm struct {
	Legacy bool     // as function_call, the form before there were tools
	Custom []string // the tools that are custom tools: their input is text
}

// Dialect is an interface whose requests are completions.
type Dialect string

// The dialects. The zero value is Chat Completions.
const (
	Completions Dialect = ""
	Messages    Dialect = "messages" // Anthropic's Messages

	legacyText Dialect = "completions" // a [TextRequest]
)

// Developer is the later name of the role system. Models see the role system.
const Developer model.Role = "developer"

// Message is one message of a request.
type Message struct {
	Role    model.Role // one of the roles of package model, or [Developer]
	Content []Part     // required but in an assistant message with tool calls

	ToolCalls  []model.ToolCall // of an assistant message
	Reasoning  string           // of an assistant message with calls: what the model has thought before them
	ToolCallID string           // of a tool message: the call that it answers
}

// Part is a piece of a message's content: [Text], [File] or [Image].
type Part interface{ part() }

// Text is plain text.
type Text string

// File is a document: an uploaded one by its ID alone, or an inline one.
type File struct {
	ID string // file_…; the other fields are zero

	Name     string // may be empty
	MIMEType string // may be empty where Name tells
	Data     []byte // not nil; may be empty
}

func (Text) part() {}
func (File) part() {}

// Image is a picture for a model that sees: image/png, image/jpeg or image/webp, within
// the limits of package internal/images. The error for another one is Invalid.
type Image struct {
	MediaType string
	Data      []byte
}

func (Image) part() {}

// Completion is the answer to a [Request].
type Completion struct {
	ID      string // chatcmpl_…
	Created int64  // Unix seconds
	Model   string

	Choice          // the first
	More   []Choice // those behind it, where the request wants several

	Answering string // the model that answered, where Model is a route; not of one that is read back

	Calls    CallForm // of the request
	Usage    model.Usage
	Metadata map[string]string // never nil
	Trace    accounts.Trace    // of a completion that is read back
}

// Choice is one answer.
type Choice struct {
	// Content is nil in an answer that only calls tools, and in one that was blocked,
	// which has a Refusal instead.
	Content      *string
	Refusal      string
	ToolCalls    []model.ToolCall
	Logprobs     []model.Logprob // of Content, where they were asked for
	FinishReason model.FinishReason
	StopSequence string // as in [Chunk]
	Thought      string // what the model has thought, where that was asked for
}

// Chunk is one piece of a completion in the making. The pieces of a stream put
// together are the completion, its metadata apart.
type Chunk struct {
	ID      string // the same in all chunks of a stream, as are Created and Model
	Created int64
	Model   string

	Answering string // as in [Completion]

	Choice   int             // the index of the choice that the chunk belongs to: one follows the other
	First    bool            // the first chunk of a choice, where the assistant's message begins
	Text     string          // the next piece of the text, may be empty
	More     bool            // another piece follows at once
	Thought  string          // what the model has thought since the chunk before, where that was asked for
	ToolCall *CallDelta      // the next piece of a tool call, or nil
	Logprobs []model.Logprob // of Text, where they were asked for

	// The last chunk of a choice alone has a finish reason, and the last of all the
	// usage; the first one has the InputTokens where the request has CountInput. What
	// the last one says was charged, and stored where the request wants that, before
	// it is sent.
	FinishReason model.FinishReason
	Next         bool   // with a FinishReason: another choice follows
	Refusal      string // a sentence for people, of an answer that was blocked
	StopSequence string // the one of the request that ended the answer, where the model server tells
	Usage        model.Usage
}

// CallDelta is a piece of a tool call. The first piece of each call has its ID
// and Name and no Arguments, the others have Arguments alone.
type CallDelta struct {
	Index     int // of the call in the completion, from 0
	ID        string
	Name      string
	Arguments string
}

// stored reports whether the request wants the completion kept.
func (r *Request) stored() bool { return r.Store == nil || *r.Store }
