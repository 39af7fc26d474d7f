package wire

import "github.com/seed-506d8e5d/svc/internal/jsonin"

// CompletionRequest is the body of POST /v1/completions.
type CompletionRequest struct {
	Model  string `json:"model" api:"needed"`
	Prompt Prompt `json:"prompt" api:"required" doc:"The text to continue, which the model sees as it is."`
	Streaming
	Sampling
	MaxTokens *int              `json:"max_tokens,omitempty" api:"min=1" doc:"16 where it is left out."`
	Stop      *TextOr[[]string] `json:"stop,omitempty" api:"most=16" must:"a string or an array of strings"`
	N         *int              `json:"n,omitempty" api:"only=1"`
	BestOf    *int              `json:"best_of,omitempty" api:"only=1"`
	Echo      *bool             `json:"echo,omitempty" api:"only=false"`

	User               Ignored `json:"user,omitzero" harmless:"it names the user for OpenAI's checks of misuse"`
	Suffix             Ignored `json:"suffix,omitzero" refused:"is not supported: few models fill gaps, and each in its own form; put it into the prompt as the model wants it"`
	Logprobs           Ignored `json:"logprobs,omitzero" refused:"is not supported: POST /v1/chat/completions has log-probabilities"`
	ChatTemplateKwargs Ignored `json:"chat_template_kwargs,omitzero" refused:"is not supported: there is no template around a prompt"`
}

// TextCompletionObject is the object of a [TextCompletion].
const TextCompletionObject = "text_completion"

// onePrompt is what a prompt must be. Tokens mean something to one model alone.
const onePrompt = "must be one string: send a request for each text, and text instead of tokens, which mean something to one model alone"

func (r *CompletionRequest) check(n *jsonin.Node) {
	r.Streaming.check(n)
	onlyOne(n.Field("n"))
	onlyOne(n.Field("best_of"))
	if r.Echo != nil && *r.Echo {
		n.Field("echo").Fail("must not be true: put the prompt in front of the answer instead")
	}
}

// Prompt is one text, which may be alone in a list.
type Prompt string

func (p *Prompt) readNode(n *jsonin.Node, _ *field) {
	text := n
	if n.IsArray() {
		items := n.First(2)
		if len(items) != 1 {
			n.Fail(onePrompt)
			return
		}
		text = items[0]
	}
	switch {
	case !text.IsText():
		n.Fail(onePrompt)
	case text.Text() == "":
		n.Fail("must not be empty")
	}
	*p = Prompt(text.Text())
}
