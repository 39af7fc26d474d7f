// Package messages translates Anthropic's Messages interface to Chat Completions and
// back: its requests are chat requests, its answers completions. [Decode] reads a
// request, [Message] writes a whole answer, and [Encoder] the events of a stream.
// What serves the routes is in httpapi.
package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

const (
	// billingHeader begins a text block of the system prompt that clients address to
	// Anthropic's accounting. It changes with every version of the client, which would
	// make a model server's prefix cache useless.
	billingHeader = "x-anthropic-billing-header:"

	// imageLeftOut is what the model reads in place of an image.
	imageLeftOut = "[An image was left out here: images are not read.]"

	// failedTool precedes the result of a tool that failed.
	failedTool = "The tool failed:"

	// formatName is the name of the schema of an answer, which model servers want.
	formatName = "output"
)

// Request is a request and what it takes to say where in it something is wrong.
type Request struct {
	Chat   *chat.Request
	Stream bool

	origins []messageOrigin // of the chat messages
}

// messageOrigin is where a chat message and its parts come from.
type messageOrigin struct {
	at    origin
	parts []origin
}

// origin is a place in a request: a message, a block of it, and a block of a tool's
// result. An index of -1 is none; the message -1 is the system prompt.
type origin struct{ message, block, inner int32 }

func (o origin) String() string {
	if o.message < 0 {
		return "system"
	}
	path := fmt.Sprintf("messages[%d]", o.message)
	for _, i := range []int32{o.block, o.inner} {
		if i >= 0 {
			path += fmt.Sprintf(".content[%d]", i)
		}
	}
	return path
}

// in returns the place of a block, or of a block of a result.
func (o origin) in(i int) origin {
	if o.block < 0 {
		return origin{o.message, int32(i), -1}
	}
	return origin{o.message, o.block, int32(i)}
}

// Opener returns the thought that was sealed as a signature, and the model that had
// it. The error is Invalid for anything else.
type Opener func(signature string) (modelID, thought string, err error)

// Decode returns what the body of a request asks of a model, which is shown images where
// they are read. open opens the signatures of thoughts.
func Decode(w *wire.MessagesRequest, info model.Info, images bool, open Opener) (*Request, error) {
	d := decoder{modelID: info.ID, images: images, open: open}
	if err := d.system(w.System); err != nil {
		return nil, err
	}
	for i := range w.Messages {
		if err := d.message(&w.Messages[i], i); err != nil {
			return nil, err
		}
	}
	if err := d.answered(); err != nil {
		return nil, err
	}
	for i, s := range w.StopSequences {
		if s == "" {
			return nil, fault.Invalidf(fmt.Sprintf("stop_sequences[%d]", i), "stop_sequences[%d] must not be empty.", i)
		}
	}
	r := &chat.Request{
		Model:           w.Model,
		Messages:        d.messages,
		Temperature:     w.Temperature,
		TopP:            w.TopP,
		MaxTokens:       w.MaxTokens,
		Stop:            w.StopSequences,
		ReasoningEffort: effort(w, info),
		Format:          format(w),
		Sampling:        model.Sampling{TopK: w.TopK},
		Store:           new(bool),
		Dialect:         chat.Messages,
		Reasoning:       w.Thinking != nil && w.Thinking.Type != "disabled",
		CountInput:      true,
		Policies:        w.Policies,
	}
	tools(w, r)
	return &Request{Chat: r, Stream: w.Stream != nil && *w.Stream, origins: d.origins}, nil
}

// effort returns the reasoning effort that a model takes for the one of the request:
// the highest up to that, or its lowest.
func effort(w *wire.MessagesRequest, info model.Info) string {
	if w.Thinking != nil && w.Thinking.Type == "disabled" {
		if slices.Contains(info.ReasoningEfforts, "none") {
			return "none"
		}
		return ""
	}
	if w.OutputConfig == nil || w.OutputConfig.Effort == "" {
		return ""
	}
	asked := slices.Index(model.Efforts, w.OutputConfig.Effort)
	found := ""
	for i, e := range model.Efforts {
		if e != "none" && info.TakesEffort(e) && (i <= asked || found == "") {
			found = e
		}
	}
	return found
}

func format(w *wire.MessagesRequest) model.Format {
	f := w.OutputFormat
	if w.OutputConfig != nil && w.OutputConfig.Format != nil {
		f = w.OutputConfig.Format
	}
	if f == nil {
		return model.Format{}
	}
	return model.Format{Type: model.FormatSchema, Name: formatName, Schema: f.Schema, Strict: true}
}

// tools sets the tools of a request, and which of them the model may call.
func tools(w *wire.MessagesRequest, r *chat.Request) {
	for i := range w.Tools {
		t := &w.Tools[i]
		r.Tools = append(r.Tools, model.Tool{Name: t.Name, Description: t.Description, Parameters: t.InputSchema, Strict: t.Strict})
	}
	c := w.ToolChoice
	if c == nil {
		return
	}
	switch c.Type {
	case "any":
		r.ToolChoice.Mode = model.ToolRequired
	case "none":
		r.ToolChoice.Mode = model.ToolNone
	case "tool":
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: c.Name}
	}
	if c.DisableParallelToolUse != nil && *c.DisableParallelToolUse {
		r.ParallelToolCalls = new(bool)
	}
}

// chatPath matches the path of a chat message or part at the beginning of a text.
var chatPath = regexp.MustCompile(`^messages\[(\d+)\](?:\.content\[(\d+)\])?`)

// Located returns err with the place in the request that a place in the chat request
// stands for.
func (r *Request) Located(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	param := r.located(e.Param)
	if param == e.Param {
		return err
	}
	clone := *e
	clone.Message = strings.Replace(e.Message, e.Param, param, 1)
	clone.Param = param
	return &clone
}

func (r *Request) located(path string) string {
	found := chatPath.FindStringSubmatch(path)
	if found == nil {
		return path
	}
	i, err := strconv.Atoi(found[1])
	if err != nil || i >= len(r.origins) {
		return path
	}
	at := r.origins[i].at
	if k, err := strconv.Atoi(found[2]); err == nil && k < len(r.origins[i].parts) {
		at = r.origins[i].parts[k]
	}
	return at.String() + path[len(found[0]):]
}

// decoder makes chat messages of blocks.
type decoder struct {
	modelID  string
	images   bool // are read
	open     Opener
	messages []chat.Message
	origins  []messageOrigin

	calls []openCall // calls that have no result yet
}

// openCall is a call whose result has to follow.
type openCall struct {
	id string
	at origin
}

func (d *decoder) add(m chat.Message, at origin) {
	d.messages = append(d.messages, m)
	d.origins = append(d.origins, messageOrigin{at: at})
}

// room makes room for n more parts of the message added last.
func (d *decoder) room(n int) {
	last := len(d.messages) - 1
	d.messages[last].Content = slices.Grow(d.messages[last].Content, n)
	d.origins[last].parts = slices.Grow(d.origins[last].parts, n)
}

// part adds a part to the message added last.
func (d *decoder) part(p chat.Part, at origin) {
	n := len(d.messages) - 1
	d.messages[n].Content = append(d.messages[n].Content, p)
	d.origins[n].parts = append(d.origins[n].parts, at)
}

// system adds the system prompt.
func (d *decoder) system(w *wire.TextOr[[]wire.Block]) error {
	if w == nil {
		return nil
	}
	return d.systemMessage(w, origin{-1, -1, -1})
}

// systemMessage adds a message of the role system, unless it is empty.
func (d *decoder) systemMessage(w *wire.TextOr[[]wire.Block], at origin) error {
	texts := []string{}
	if w.Text != nil {
		texts = append(texts, *w.Text)
	}
	for i := range w.Value {
		b := &w.Value[i]
		if b.Type != "text" {
			path := fmt.Sprintf("system[%d].type", i)
			if at.message >= 0 {
				path = at.in(i).String() + ".type"
			}
			return fault.Invalidf(path, "%s must be \"text\".", path)
		}
		texts = append(texts, *b.Text)
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return t == "" || strings.HasPrefix(t, billingHeader) })
	if len(texts) == 0 {
		return nil
	}
	d.add(chat.Message{Role: model.System}, at)
	for _, t := range texts {
		d.part(chat.Text(t), at)
	}
	return nil
}

func (d *decoder) message(w *wire.MessagesInput, i int) error {
	at := origin{int32(i), -1, -1}
	switch w.Role {
	case "system":
		return d.systemMessage(w.Content, at)
	case "assistant":
		if err := d.answered(); err != nil {
			return err
		}
		return d.assistant(w.Content, at)
	}
	return d.user(w.Content, at)
}

// assistant adds an answer of the model.
func (d *decoder) assistant(w *wire.TextOr[[]wire.Block], from origin) error {
	d.add(chat.Message{Role: model.Assistant}, from)
	if w.Text != nil {
		d.part(chat.Text(*w.Text), from)
		return nil
	}
	d.room(len(w.Value))
	for i := range w.Value {
		b, at := &w.Value[i], from.in(i)
		switch m := &d.messages[len(d.messages)-1]; b.Type {
		case "text":
			d.part(chat.Text(*b.Text), at)
		case "thinking", "redacted_thinking":
			if err := d.thought(m, b, at); err != nil {
				return err
			}
		case "tool_use":
			m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: b.ID, Name: b.Name, Arguments: compact(b.Input)})
			d.calls = append(d.calls, openCall{b.ID, at})
		}
	}
	m := &d.messages[len(d.messages)-1]
	if len(m.ToolCalls) == 0 {
		m.Reasoning = "" // models are given back only what has led to calls
	}
	if len(m.Content) == 0 && len(m.ToolCalls) == 0 {
		d.messages, d.origins = d.messages[:len(d.messages)-1], d.origins[:len(d.origins)-1]
	}
	return nil
}

// thought gives a message what the model has thought before it. Thoughts of other
// models are left out.
func (d *decoder) thought(m *chat.Message, b *wire.Block, at origin) error {
	sealed, field := b.Signature, ".signature"
	if b.Type == "redacted_thinking" {
		sealed, field = b.Data, ".data"
	}
	by, text, err := d.open(*sealed)
	if fault.Is(err, fault.Invalid) {
		return fault.Invalidf(at.String()+field, "%s%s is not what this service has returned to the organization.", at, field)
	}
	if err == nil && by == d.modelID {
		m.Reasoning += text
	}
	return err
}

// user adds the results of tools, a message each, and what the user says behind
// them. Messages of the user that follow each other are one.
func (d *decoder) user(w *wire.TextOr[[]wire.Block], from origin) error {
	for i := range w.Value {
		if b := &w.Value[i]; b.Type == "tool_result" {
			if err := d.result(b, from.in(i)); err != nil {
				return err
			}
		}
	}
	if err := d.answered(); err != nil {
		return err
	}
	if n := len(d.messages); n == 0 || d.messages[n-1].Role != model.User {
		if w.Text == nil && !slices.ContainsFunc(w.Value, func(b wire.Block) bool { return b.Type != "tool_result" }) && len(w.Value) > 0 {
			return nil
		}
		d.add(chat.Message{Role: model.User}, from)
	}
	if w.Text != nil {
		d.part(chat.Text(*w.Text), from)
	}
	d.room(len(w.Value))
	for i := range w.Value {
		b, at := &w.Value[i], from.in(i)
		switch b.Type {
		case "tool_result":
		case "text":
			d.part(chat.Text(*b.Text), at)
		case "search_result":
			d.part(searchResult(&b.BlockDocument, resultText(b.Content)), at)
		default:
			if err := d.document(b.Type, &b.BlockDocument, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// result adds the result of a tool.
func (d *decoder) result(b *wire.Block, from origin) error {
	i := slices.IndexFunc(d.calls, func(c openCall) bool { return c.id == b.ToolUseID })
	if i < 0 {
		return fault.Invalidf(from.String()+".tool_use_id", "%s.tool_use_id is %.64q, which is no tool_use of the message before it, or one that has a result.", from, b.ToolUseID)
	}
	d.calls = slices.Delete(d.calls, i, i+1)
	d.add(chat.Message{Role: model.ToolRole, ToolCallID: b.ToolUseID}, from)
	if b.IsError != nil && *b.IsError {
		d.part(chat.Text(failedTool), from)
	}
	if c := b.Content; c != nil {
		if c.Text != nil {
			d.part(chat.Text(*c.Text), from)
		}
		for k := range c.Value {
			p, at := &c.Value[k], from.in(k)
			switch p.Type {
			case "text":
				d.part(chat.Text(*p.Text), at)
			case "tool_reference":
			case "search_result":
				d.part(searchResult(&p.BlockDocument, wire.JoinTexts(p.Content)), at)
			default:
				if err := d.document(p.Type, &p.BlockDocument, at); err != nil {
					return err
				}
			}
		}
	}
	if m := &d.messages[len(d.messages)-1]; len(m.Content) == 0 {
		d.part(chat.Text(""), from)
	}
	return nil
}

// answered returns an error unless every call has its result.
func (d *decoder) answered() error {
	if len(d.calls) == 0 {
		return nil
	}
	c := d.calls[0]
	return fault.Invalidf(c.at.String(), "%s is the tool_use %.64q, which no tool_result in the message after it answers.", c.at, c.id)
}

// document adds a document or an image, or what stands for an image where none are read.
func (d *decoder) document(kind string, b *wire.BlockDocument, at origin) error {
	s := &b.Source.Value
	switch {
	case kind == "image" && !d.images:
		d.part(chat.Text(imageLeftOut), at)
		return nil
	case kind == "image" && s.Type != "base64":
		path := at.String() + ".source.type"
		return fault.Invalidf(path, "%s must be \"base64\" for an image: uploaded files are documents.", path)
	case kind == "image":
		d.part(chat.Image{MediaType: s.MediaType, Data: s.Bytes()}, at)
		return nil
	}
	if b.Context != "" {
		d.part(chat.Text(b.Context), at)
	}
	if s.Type == "file" {
		d.part(chat.File{ID: s.FileID}, at)
		return nil
	}
	f := chat.File{Name: b.Title, MIMEType: s.MediaType, Data: s.Bytes()}
	if s.Type == "content" || f.MIMEType == "" {
		f.MIMEType = "text/plain"
	}
	d.part(f, at)
	return nil
}

// searchResult is a document that a search of the client has found.
func searchResult(b *wire.BlockDocument, text string) chat.File {
	name := b.Title
	if b.Source != nil && b.Source.Text != nil {
		name = strings.TrimSpace(name + " (" + *b.Source.Text + ")")
	}
	return chat.File{Name: name, MIMEType: "text/plain", Data: []byte(text)}
}

// resultText returns the text of the blocks of a search result.
func resultText(t *wire.TextOr[[]wire.ResultBlock]) string {
	if t == nil {
		return ""
	}
	if t.Text != nil {
		return *t.Text
	}
	var texts []string
	for i := range t.Value {
		if b := &t.Value[i]; b.Text != nil {
			texts = append(texts, *b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// compact returns arguments as the model wrote them, or nearly so.
func compact(input json.RawMessage) string {
	if len(input) == 0 {
		return "{}"
	}
	return string(input)
}
