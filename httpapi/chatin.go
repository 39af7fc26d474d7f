package httpapi

import (
	"encoding/base64"
	"strings"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/model"
)

// chatCall is the body of a chat completion: the request, and how the answer is
// to be sent.
type chatCall struct {
	request chat.Request
	chatMode
}

// chatMode is how an answer is to be sent.
type chatMode struct {
	stream       bool
	includeUsage bool // a stream ends with a chunk that has the usage
}

func decodeMode(root *jsonin.Node) chatMode {
	m := chatMode{stream: root.Field("stream").True()}
	if o := root.Field("stream_options"); !o.Absent() {
		m.includeUsage = o.Field("include_usage").True()
		if !m.stream {
			o.Fail("may only be sent with stream")
		}
	}
	return m
}

// onlyOne refuses any number but 1.
func onlyOne(n *jsonin.Node) {
	if n.Absent() {
		return
	}
	if count := n.Int(); count != nil && *count != 1 {
		n.Fail("must be 1")
	}
}

// decodeChat reads the body of a chat completion. What concerns the shape is
// checked here; bounds and what belongs together are the request's own business.
func decodeChat(root *jsonin.Node) (*chatCall, error) {
	c := &chatCall{}
	r := &c.request
	r.Model = root.Field("model").Text()
	r.Messages = chatMessages(root.Field("messages"))
	r.Temperature = root.Field("temperature").Number()
	r.TopP = root.Field("top_p").Number()
	r.MaxTokens = chatMaxTokens(root)
	r.Stop = stopSequences(root.Field("stop"))
	r.ReasoningEffort = optionalWord(root.Field("reasoning_effort"))
	r.Format = nestedFormat(root.Field("response_format"))
	r.Tools = nestedTools(root.Field("tools"))
	nestedToolChoice(root.Field("tool_choice"), r)
	r.Sampling = decodeSampling(root)
	r.Logprobs = root.Field("logprobs").True()
	r.TopLogprobs = root.Field("top_logprobs").Int()
	refuseFields(root, chatFields)
	textOnly(root.Field("modalities"))
	r.ParallelToolCalls = root.Field("parallel_tool_calls").Bool()
	r.Store = root.Field("store").Bool()
	r.Metadata = root.Field("metadata").Metadata()

	onlyOne(root.Field("n"))
	c.chatMode = decodeMode(root)
	return c, root.Err()
}

// chatMaxTokens reads max_tokens and the name that SDKs have for it.
func chatMaxTokens(root *jsonin.Node) *int {
	most, other := root.Field("max_tokens").Int(), root.Field("max_completion_tokens").Int()
	if other == nil {
		return most
	}
	if most != nil && *most != *other {
		root.Field("max_completion_tokens").Fail("must be the same as max_tokens, or omitted")
	}
	if *other < 1 {
		root.Field("max_completion_tokens").Fail("must be at least 1")
	}
	return other
}

func stopSequences(n *jsonin.Node) []string {
	if n.IsText() {
		return []string{n.Text()}
	}
	if !n.Absent() && !n.IsArray() {
		n.Fail("must be a string or an array of strings")
		return nil
	}
	var stop []string
	for _, s := range n.Items(chat.MaxStops) {
		stop = append(stop, requiredText(s))
	}
	return stop
}

func chatMessages(n *jsonin.Node) []chat.Message {
	var messages []chat.Message
	for _, m := range n.Items(chat.MaxMessages) {
		messages = append(messages, chat.Message{
			Role:       model.Role(m.Field("role").Text()),
			Content:    chatContent(m.Field("content")),
			ToolCalls:  chatToolCalls(m.Field("tool_calls")),
			ToolCallID: m.Field("tool_call_id").Text(),
		})
	}
	return messages
}

func chatContent(n *jsonin.Node) []chat.Part {
	if n.Absent() {
		return nil
	}
	if n.IsText() {
		return []chat.Part{chat.Text(n.Text())}
	}
	if !n.IsArray() {
		n.Fail("must be a string or an array of parts")
		return nil
	}
	var parts []chat.Part
	for _, p := range n.Items(chat.MaxParts) {
		parts = append(parts, chatPart(p))
	}
	return parts
}

func chatPart(n *jsonin.Node) chat.Part {
	switch kind := requiredText(n.Field("type")); kind {
	case "text":
		return chat.Text(requiredText(n.Field("text")))
	case "file":
		return chatFile(n)
	default:
		n.Fail("is a part of the type %.64q; only text and file parts are accepted", kind)
		return nil
	}
}

// chatFile reads a file part, whose fields are in the part itself or, as in the
// OpenAI API, in its member file.
func chatFile(part *jsonin.Node) chat.File {
	n, nested := part, part.Field("file")
	if !nested.Absent() {
		n = nested.Object()
	}
	if url := n.Field("file_url"); !url.Absent() {
		url.Fail("is not accepted; send the file as file_data, or upload it and send its file_id")
	}
	f := chat.File{
		ID:       n.Field("file_id").Text(),
		Name:     n.Field("filename").Text(),
		MIMEType: n.Field("mime_type").Text(),
	}
	data := n.Field("file_data")
	if data.Absent() {
		return f
	}
	text := data.Text()
	if rest, ok := strings.CutPrefix(text, "data:"); ok && n == nested {
		mimeType, content, ok := strings.Cut(rest, ";base64,")
		if !ok {
			data.Fail("must be base64, or a data URL with base64")
		}
		if f.MIMEType == "" {
			f.MIMEType = mimeType
		}
		text = content
	}
	var err error
	if f.Data, err = base64.StdEncoding.DecodeString(text); err != nil {
		data.Fail("must be base64")
	}
	return f
}

func chatToolCalls(n *jsonin.Node) []model.ToolCall {
	var calls []model.ToolCall
	for _, c := range n.Items(generation.MaxTools) {
		function := functionOf(c)
		calls = append(calls, model.ToolCall{
			ID:        requiredText(c.Field("id")),
			Name:      requiredText(function.Field("name")),
			Arguments: requiredText(function.Field("arguments")),
		})
	}
	return calls
}

// functionOf returns the member function of an object whose type is function.
func functionOf(n *jsonin.Node) *jsonin.Node {
	if kind := n.Field("type"); requiredText(kind) != "function" {
		kind.Fail(`must be "function"`)
	}
	return n.Field("function")
}

func nestedTools(n *jsonin.Node) []model.Tool {
	var tools []model.Tool
	for _, t := range n.Items(generation.MaxTools) {
		tools = append(tools, decodeFunction(functionOf(t)))
	}
	return tools
}

func nestedToolChoice(n *jsonin.Node, r *chat.Request) {
	switch {
	case n.IsObject() && n.Field("type").Text() == "allowed_tools":
		nestedAllowed(n.Field("allowed_tools"), r)
	case n.IsObject():
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: requiredText(functionOf(n).Field("name"))}
	default:
		r.ToolChoice.Mode = model.ToolMode(optionalWord(n))
		if r.ToolChoice.Mode == model.ToolNamed {
			n.Fail("must be auto, required, none, or a function")
		}
	}
}

// nestedAllowed reads a choice that offers the model only some of the tools.
func nestedAllowed(n *jsonin.Node, r *chat.Request) {
	r.ToolChoice.Mode = allowedMode(n.Field("mode"))
	r.AllowedTools = []string{}
	for _, t := range n.Field("tools").Items(generation.MaxTools) {
		r.AllowedTools = append(r.AllowedTools, requiredText(functionOf(t).Field("name")))
	}
}

// textOnly refuses answers that are not text.
func textOnly(n *jsonin.Node) {
	for _, kind := range n.Items(maxParts) {
		if kind.Text() != "text" {
			kind.Fail(`must be "text": answers are text`)
		}
	}
}

func nestedFormat(n *jsonin.Node) model.Format {
	if n.Object().Absent() {
		return model.Format{}
	}
	f := model.Format{Type: model.FormatType(requiredWord(n.Field("type")))}
	if f.Type != model.FormatSchema {
		return f
	}
	s := n.Field("json_schema")
	f.Name = requiredText(s.Field("name"))
	f.Description = s.Field("description").Text()
	f.Schema = s.Field("schema").Raw()
	f.Strict = s.Field("strict").True()
	return f
}
