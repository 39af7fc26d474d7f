package httpapi

import (
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// createCompletion serves POST /v1/completions as in the OpenAI API.
func (a *API) createCompletion(c *call) error {
	root, err := c.modelBody(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	req, mode, err := decodeCompletion(root)
	if err != nil {
		return err
	}
	c.model = req.Model
	if mode.stream {
		chunks, err := a.service.StreamText(c.ctx(), c.caller, req)
		if err != nil {
			return err
		}
		return c.sendChunks(&chunkEncoder{usage: mode.includeUsage, text: true}, chunks)
	}
	completion, err := a.service.CompleteText(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens, c.outputTokens = completion.Usage.InputTokens, completion.Usage.OutputTokens
	return c.json(newTextCompletion(completion))
}

func decodeCompletion(root *jsonin.Node) (*chat.TextRequest, chatMode, error) {
	req := &chat.TextRequest{
		Model:       root.Field("model").Text(),
		Prompt:      promptText(root.Field("prompt")),
		Temperature: root.Field("temperature").Number(),
		TopP:        root.Field("top_p").Number(),
		MaxTokens:   root.Field("max_tokens").Int(),
		Stop:        stopSequences(root.Field("stop")),
		Sampling:    decodeSampling(root),
	}
	mode := decodeMode(root)
	onlyOne(root.Field("n"))
	onlyOne(root.Field("best_of"))
	if n := root.Field("echo"); n.True() {
		n.Fail("must not be true: put the prompt in front of the answer instead")
	}
	refuseFields(root, completionFields)
	return req, mode, root.Err()
}

// promptText decodes the one text of a prompt, which may be alone in a list.
func promptText(n *jsonin.Node) string {
	const rule = "must be one string: send a request for each text, and text instead of tokens, which mean something to one model alone"
	text := n
	if n.IsArray() {
		items := n.First(2)
		if len(items) != 1 {
			n.Fail(rule)
			return ""
		}
		text = items[0]
	}
	switch {
	case n.Absent():
		n.Fail("is required")
	case !text.IsText():
		n.Fail(rule)
	case text.Text() == "":
		n.Fail("must not be empty")
	}
	return text.Text()
}

// textCompletion is the answer to a prompt on the wire.
type textCompletion struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Created int64           `json:"created"`
	Model   string          `json:"model"`
	Choices [1]textChoice   `json:"choices"`
	Usage   chatUsageObject `json:"usage"`
}

type textChoice struct {
	Text         string             `json:"text"`
	Index        int                `json:"index"`
	Logprobs     *struct{}          `json:"logprobs"` // always null
	FinishReason model.FinishReason `json:"finish_reason"`
}

const textCompletionName = "text_completion"

func newTextCompletion(c *chat.Completion) textCompletion {
	return textCompletion{
		ID: c.ID, Object: textCompletionName, Created: c.Created, Model: c.Model,
		Choices: [1]textChoice{{Text: *c.Content, FinishReason: c.FinishReason}},
		Usage:   newChatUsage(c.Usage),
	}
}

// writeTextChoice writes a piece of a text that is continued.
func writeTextChoice(w *jsonout.Writer, c *chat.Chunk) {
	w.Object()
	w.Name("text").String(c.Text)
	w.Name("index").Int(0)
	w.Name("logprobs").Null()
	w.Name("finish_reason").OptionalString(string(c.FinishReason))
	w.EndObject()
}
