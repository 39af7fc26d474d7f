package httpapi

import (
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// decodeResponseRequest reads the body of POST /v1/responses. Errors are
// recorded in root.
func decodeResponseRequest(root *jsonin.Node) *responses.Request {
	req := &responses.Request{
		Model:              root.Field("model").Text(),
		Temperature:        root.Field("temperature").Number(),
		TopP:               root.Field("top_p").Number(),
		MaxOutputTokens:    root.Field("max_output_tokens").Int(),
		ReasoningEffort:    optionalWord(root.Field("reasoning").Field("effort")),
		Format:             decodeFormat(root.Field("text").Field("format")),
		ParallelToolCalls:  root.Field("parallel_tool_calls").Bool(),
		Input:              decodeInput(root.Field("input")),
		Instructions:       root.Field("instructions").Text(),
		PreviousResponseID: optionalWord(root.Field("previous_response_id")),
		Conversation:       decodeConversationID(root.Field("conversation")),
		Store:              root.Field("store").Bool(),
		MaxToolCalls:       root.Field("max_tool_calls").Int(),
		Sampling:           decodeSampling(root),
		Logprobs:           includes(root.Field("include"), "message.output_text.logprobs"),
		EncryptedReasoning: includes(root.Field("include"), "reasoning.encrypted_content"),
		SearchSources:      includes(root.Field("include"), "web_search_call.action.sources"),
		TopLogprobs:        root.Field("top_logprobs").Int(),
		Truncation:         optionalWord(root.Field("truncation")),
		SafetyIdentifier:   root.Field("safety_identifier").Text(),
		Background:         root.Field("background").True(),
		Metadata:           root.Field("metadata").Metadata(),
	}
	decodeContextManagement(root.Field("context_management"), req)
	decodeResponseTools(root.Field("tools"), req)
	decodeToolChoice(root.Field("tool_choice"), req)
	refuseFields(root, responseFields)
	return req
}

// includes reports whether include has a name. Others that nothing here could add
// to a response are taken: clients always send them.
func includes(n *jsonin.Node, name string) bool {
	found := false
	for _, item := range n.Items(maxParts) {
		found = found || item.Text() == name
	}
	return found
}

// decodeConversationID reads an ID, which the OpenAI SDKs also send as an object.
func decodeConversationID(n *jsonin.Node) string {
	if n.IsObject() {
		return requiredWord(n.Field("id"))
	}
	return optionalWord(n)
}

// optionalWord reads an ID, or a word of a list, that may be left out. One that is
// empty is a mistake of the client's: taken for left out, it would lose the history
// or change the answer without a word.
func optionalWord(n *jsonin.Node) string {
	id := n.Text()
	if id == "" && n.IsText() {
		n.Fail("must not be empty")
	}
	return id
}

func requiredWord(n *jsonin.Node) string {
	if n.Absent() {
		n.Fail("is required")
	}
	return optionalWord(n)
}

func decodeFormat(n *jsonin.Node) model.Format {
	if n.Object().Absent() {
		return model.Format{}
	}
	return model.Format{
		Type:        model.FormatType(requiredWord(n.Field("type"))),
		Name:        n.Field("name").Text(),
		Description: n.Field("description").Text(),
		Schema:      n.Field("schema").Raw(),
		Strict:      n.Field("strict").True(),
	}
}

// decodeInput reads the input: a string, or an array of content parts, messages
// and other items. Content parts that follow each other are one message of the
// user's.
func decodeInput(n *jsonin.Node) []conversations.Item {
	if n.IsText() {
		return []conversations.Item{conversations.UserMessage(n.Text())}
	}
	if n.Absent() || !n.IsArray() {
		n.Fail("must be a string or an array")
		return nil
	}
	var items []conversations.Item
	var bare *conversations.Message // of the parts just read
	for _, item := range n.Items(responses.MaxInput) {
		kind := item.Field("type").Text()
		if !isPart(kind) {
			bare = nil
			if decoded := decodeItem(item, kind); decoded != nil {
				items = append(items, decoded)
			}
			continue
		}
		if bare == nil {
			bare = &conversations.Message{Role: model.User}
			items = append(items, bare)
		}
		bare.Content = appendPart(bare.Content, item, model.User)
	}
	if len(items) == 0 {
		n.Fail("must have at least one element")
	}
	return items
}

func isPart(kind string) bool {
	switch kind {
	case "input_text", "input_file", "input_image":
		return true
	}
	return false
}

// decodeItem reads an item. It returns nil for one that is accepted and not
// kept: reasoning that is not sealed.
func decodeItem(n *jsonin.Node, kind string) conversations.Item {
	switch kind {
	case "", "message":
		return decodeMessage(n)
	case "function_call":
		return &conversations.FunctionCall{
			CallID:    requiredWord(n.Field("call_id")),
			Namespace: n.Field("namespace").Text(),
			Name:      requiredWord(n.Field("name")),
			Arguments: requiredText(n.Field("arguments")),
		}
	case "custom_tool_call":
		return &conversations.FunctionCall{
			CallID:    requiredWord(n.Field("call_id")),
			Namespace: n.Field("namespace").Text(),
			Name:      requiredWord(n.Field("name")),
			Arguments: requiredText(n.Field("input")),
			Custom:    true,
		}
	case "function_call_output", "custom_tool_call_output":
		return decodeOutput(n, kind)
	case "web_search_call":
		return &conversations.WebSearch{ID: n.Field("id").Text()}
	case "compaction", "compaction_summary":
		return &conversations.Compaction{Sealed: requiredText(n.Field("encrypted_content"))}
	case "item_reference":
		return conversations.Reference{ID: requiredWord(n.Field("id"))}
	case "reasoning":
		if sealed := n.Field("encrypted_content").Text(); sealed != "" {
			return &conversations.Reasoning{ID: n.Field("id").Text(), Sealed: sealed}
		}
		return nil
	}
	n.Field("type").Fail("is %q, which is not accepted as input", kind)
	return nil
}

// decodeOutput reads what a call has come to: a string, or parts. Text parts are
// joined to one, unless files stand among them.
func decodeOutput(n *jsonin.Node, kind string) conversations.Item {
	o := &conversations.FunctionCallOutput{CallID: requiredWord(n.Field("call_id")), Custom: kind == "custom_tool_call_output"}
	output := n.Field("output")
	if !output.IsArray() {
		o.Output = requiredText(output)
		return o
	}
	var texts []string
	files := false
	for _, p := range output.Items(maxParts) {
		part := outputPart(p)
		files = files || part.Type == conversations.InputFile
		texts = append(texts, part.Text)
		o.Content = append(o.Content, part)
	}
	if !files {
		o.Output, o.Content = strings.Join(texts, "\n"), nil
	}
	return o
}

// imageLeftOut is what the model reads in place of an image in an output.
const imageLeftOut = "[An image was left out here: images are not read.]"

// outputPart reads a part of an output. A model that has asked for an image has
// to know that it does not get it.
func outputPart(n *jsonin.Node) conversations.Part {
	kind := requiredText(n.Field("type"))
	if kind == "input_image" {
		return conversations.Part{Type: conversations.InputText, Text: imageLeftOut}
	}
	parts := appendPart(nil, n, model.User)
	if len(parts) == 0 {
		return conversations.Part{} // the error is recorded
	}
	return parts[0]
}

func decodeMessage(n *jsonin.Node) conversations.Item {
	m := &conversations.Message{}
	switch role := requiredText(n.Field("role")); role {
	case "user", "assistant", "system":
		m.Role = model.Role(role)
	case "developer":
		m.Role = model.System
	default:
		n.Field("role").Fail("must be user, assistant, system or developer")
	}
	if m.Role == model.Assistant {
		m.Phase = decodePhase(n.Field("phase"))
	}
	content := n.Field("content")
	if content.IsText() {
		m.Content = []conversations.Part{{Type: textType(m.Role), Text: content.Text()}}
		return m
	}
	if !content.IsArray() {
		content.Fail("must be a string or an array of parts")
	}
	for _, p := range content.Items(maxParts) {
		m.Content = appendPart(m.Content, p, m.Role)
	}
	return m
}

// decodePhase reads the phase of a message that is sent back.
func decodePhase(n *jsonin.Node) string {
	phase := n.Text()
	switch phase {
	case "", conversations.Commentary, conversations.FinalAnswer:
	default:
		n.Fail("must be %q or %q", conversations.Commentary, conversations.FinalAnswer)
	}
	return phase
}

// textType is the type of the text parts in a message of a role.
func textType(role model.Role) conversations.PartType {
	if role == model.Assistant {
		return conversations.OutputText
	}
	return conversations.InputText
}

// appendPart reads a content part. Image parts are ignored, as the spec says.
func appendPart(parts []conversations.Part, n *jsonin.Node, role model.Role) []conversations.Part {
	switch kind := requiredText(n.Field("type")); kind {
	case "input_text", "output_text", "text":
		return append(parts, conversations.Part{Type: textType(role), Text: requiredText(n.Field("text"))})
	case "refusal":
		return append(parts, conversations.Part{Type: textType(role), Text: requiredText(n.Field("refusal"))})
	case "input_file":
		return append(parts, decodeFilePart(n, role))
	case "input_image":
		return parts
	default:
		n.Field("type").Fail("is %q, which is not accepted as content", kind)
		return parts
	}
}

// decodeFilePart reads a reference to an uploaded file, the only form that the
// spec accepts.
func decodeFilePart(n *jsonin.Node, role model.Role) conversations.Part {
	if role == model.Assistant {
		n.Field("type").Fail("is \"input_file\", which is not accepted in messages of the assistant")
	}
	for _, inline := range []string{"file_data", "file_url"} {
		if f := n.Field(inline); !f.Absent() {
			f.Fail("is not accepted: upload the file and send its file_id")
		}
	}
	id := n.Field("file_id")
	if id.Text() == "" {
		id.Fail("is required")
	}
	return conversations.Part{Type: conversations.InputFile, FileID: id.Text()}
}

// decodeContextManagement reads how a history that grows too long is dealt with.
func decodeContextManagement(n *jsonin.Node, req *responses.Request) {
	for _, m := range n.Items(1) {
		if kind := requiredText(m.Field("type")); kind != "compaction" {
			m.Field("type").Fail(`must be "compaction"`)
		}
		req.Compact = true
		if threshold := m.Field("compact_threshold").Int(); threshold != nil {
			if req.CompactThreshold = *threshold; *threshold < 1 {
				m.Field("compact_threshold").Fail("must be at least 1")
			}
		}
	}
}

// decodeCompaction reads the body of POST /v1/responses/compact. Errors are
// recorded in root.
func decodeCompaction(root *jsonin.Node) *responses.Request {
	req := &responses.Request{
		Model:              root.Field("model").Text(),
		Instructions:       root.Field("instructions").Text(),
		PreviousResponseID: optionalWord(root.Field("previous_response_id")),
		Conversation:       decodeConversationID(root.Field("conversation")),
	}
	input := root.Field("input")
	if !input.Absent() {
		req.Input = decodeInput(input)
	} else if req.PreviousResponseID == "" && req.Conversation == "" {
		input.Fail("is required without previous_response_id")
	}
	return req
}
