package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// maxListQuestions is how many questions a list has at most.
const maxListQuestions = 400

// DecisionListRequest is the body of POST /v1/decisions, OpenAI's Decisions API: the
// same decision as that of POST /v1/systemone with its questions in a list.
type DecisionListRequest struct {
	Model     string                 `json:"model" api:"required"`
	Input     TextOr[[]DecisionItem] `json:"input" api:"required" must:"a string or an array" doc:"What is judged: a text, or messages and calls of tools with their outputs."`
	Questions []ListQuestion         `json:"questions" api:"needed,first=401,least=1"`
	DecisionWays

	Examples           Ignored `json:"examples,omitzero" refused:"is taken by /v1/systemone alone"`
	PromptCacheKey     Ignored `json:"prompt_cache_key,omitzero" harmless:"prompts are cached without"`
	PromptCacheOptions Ignored `json:"prompt_cache_options,omitzero" harmless:"prompts are cached without"`
	SafetyIdentifier   Ignored `json:"safety_identifier,omitzero" harmless:"it names the user for OpenAI's checks of misuse"`
}

func (r *DecisionListRequest) check(n *jsonin.Node) {
	if r.Model == "" {
		n.Field("model").Fail("is required")
	}
	if input := n.Field("input"); input.IsArray() {
		items, calls := input.Items(defaultMost), map[string]bool{} // by the kinds of their outputs and their IDs
		if len(items) == 0 {
			input.Fail("must not be empty")
		}
		for i := range min(len(items), len(r.Input.Value)) {
			r.Input.Value[i].follows(items[i], calls)
		}
	}
	r.DecisionWays.check(n)
	if len(r.Questions) < 1 || len(r.Questions) > maxListQuestions {
		n.Field("questions").Fail("must have 1 to %d questions", maxListQuestions)
	}
}

// DecisionItem is an item of what is judged.
type DecisionItem struct {
	Type      string                  `json:"type,omitempty" api:"default=message,enum=message|function_call|function_call_output|custom_tool_call|custom_tool_call_output"`
	Role      string                  `json:"role,omitempty" of:"message" api:"needed,enum=user|developer|system|assistant"`
	Content   *TextOr[[]DecisionPart] `json:"content,omitempty" of:"message" api:"required" must:"an array"`
	CallID    string                  `json:"call_id,omitempty" of:"function_call function_call_output custom_tool_call custom_tool_call_output" api:"needed" doc:"An output has that of a call before it."`
	Name      string                  `json:"name,omitempty" of:"function_call custom_tool_call"`
	Arguments string                  `json:"arguments,omitempty" of:"function_call"`
	Input     string                  `json:"input,omitempty" of:"custom_tool_call"`
	Output    *TextOr[[]DecisionPart] `json:"output,omitempty" of:"function_call_output custom_tool_call_output" api:"required" must:"an array"`

	ID        Ignored `json:"id,omitzero" harmless:"nothing refers to it"`
	Status    Ignored `json:"status,omitzero" harmless:"the model reads what there is"`
	Phase     Ignored `json:"phase,omitzero" harmless:"the model reads what there is"`
	Namespace Ignored `json:"namespace,omitzero" harmless:"the model reads the name"`
}

// Kind is the type of an item; nothing is a message.
func (i *DecisionItem) Kind() string {
	if i.Type == "" {
		return "message"
	}
	return i.Type
}

// follows checks an item and that an output follows its call, which it notes.
func (i *DecisionItem) follows(n *jsonin.Node, calls map[string]bool) {
	switch kind := i.Kind(); kind {
	case "message":
		if !slices.Contains([]string{"user", "developer", "system", "assistant"}, i.Role) {
			n.Field("role").Fail("must be one of user, developer, system, assistant")
		}
		checkParts(n.Field("content"), i.Content, i.Role == "assistant")
	case "function_call", "custom_tool_call":
		calls[kind+"_output "+i.CallID] = true
		if i.CallID == "" {
			n.Field("call_id").Fail("is required")
		}
	case "function_call_output", "custom_tool_call_output":
		if !calls[kind+" "+i.CallID] {
			n.Field("call_id").Fail("must be that of a call before it")
		}
		checkParts(n.Field("output"), i.Output, false)
	default:
		n.Field("type").Fail("must be one of message, function_call, function_call_output, custom_tool_call, custom_tool_call_output")
	}
}

// DecisionPart is a part of a message, an output or instructions.
type DecisionPart struct {
	Type     string          `json:"type" api:"needed,enum=input_text|input_image|input_json|output_text|refusal"`
	Text     string          `json:"text,omitempty" of:"input_text output_text"`
	Refusal  string          `json:"refusal,omitempty" of:"refusal"`
	Data     json.RawMessage `json:"data,omitempty" of:"input_json" doc:"An object or an array of objects."`
	ImageURL *ImageData      `json:"image_url,omitempty" of:"input_image" doc:"A data URL: this service does not fetch images."`

	Detail      Ignored `json:"detail,omitzero" harmless:"images are read as they are"`
	Breakpoint  Ignored `json:"prompt_cache_breakpoint,omitzero" harmless:"prompts are cached without"`
	Annotations Ignored `json:"annotations,omitzero" harmless:"the model reads the text"`
	Logprobs    Ignored `json:"logprobs,omitzero" harmless:"the model reads the text"`
}

func (p *DecisionPart) check(n *jsonin.Node) {
	switch p.Type {
	case "input_json":
		data := n.Field("data")
		switch {
		case data.IsArray():
			for _, element := range data.Items(jsonin.MaxMembers) {
				element.Object()
			}
		case !data.IsObject():
			data.Fail("must be an object or an array of objects")
		}
	case "input_image":
		if p.ImageURL == nil {
			n.Field("image_url").Fail("must be a data URL: this service does not fetch images")
		}
	}
}

// checkParts holds parts to what their place takes: of the assistant what it has said,
// elsewhere input.
func checkParts(n *jsonin.Node, content *TextOr[[]DecisionPart], assistant bool) {
	if content == nil || content.Text != nil {
		return
	}
	taken := []string{"input_text", "input_image", "input_json"}
	if assistant {
		taken = []string{"output_text", "refusal"}
	}
	for i, part := range n.Items(defaultMost) {
		if i < len(content.Value) && !slices.Contains(taken, content.Value[i].Type) {
			part.Field("type").Fail("must be one of %s", strings.Join(taken, ", "))
		}
	}
}

// ImageData is an image in a data URL.
type ImageData struct {
	MediaType, Base64 string
	Path              string // of the URL in the request
}

func (d *ImageData) readNode(n *jsonin.Node, _ *field) {
	d.Path = n.Path()
	rest, ok := strings.CutPrefix(n.Text(), "data:")
	if !ok {
		n.Fail("must be a data URL: this service does not fetch images")
	}
	if d.MediaType, d.Base64, ok = strings.Cut(rest, ";base64,"); !ok {
		n.Fail("must be a data URL with base64")
	}
}

// ImageURL is an image of a prompt, in a data URL.
type ImageURL DataURL

func (u *ImageURL) readNode(n *jsonin.Node, _ *field) {
	if n.Absent() || !n.Open() {
		return // the strict interface reads no images
	}
	text := n.Text()
	switch err := (*DataURL)(u).parse(text); {
	case !strings.HasPrefix(text, "data:"):
		n.FailCode(fault.CodeInvalidImageURL, "must be a data URL: this service does not fetch images")
	case err != nil:
		n.FailCode(fault.CodeInvalidImageURL, "must be a data URL with base64")
	}
}

// UnmarshalJSON implements [json.Unmarshaler].
func (u *ImageURL) UnmarshalJSON(data []byte) error { return (*DataURL)(u).UnmarshalJSON(data) }

// MarshalJSON implements [json.Marshaler].
func (u ImageURL) MarshalJSON() ([]byte, error) { return DataURL(u).MarshalJSON() }

// ListQuestion is a question of a list.
type ListQuestion struct {
	Type         string                  `json:"type" api:"needed,enum=predicate|choice|score"`
	Name         *string                 `json:"name,omitempty"`
	Instructions *TextOr[[]DecisionPart] `json:"instructions" api:"required" must:"an array"`
	Choices      []ListChoice            `json:"choices,omitempty" of:"choice" api:"first=256,least=2"`
	Levels       []ListLevel             `json:"levels,omitempty" of:"score" api:"first=11,least=2"`
}

func (q *ListQuestion) check(n *jsonin.Node) {
	checkParts(n.Field("instructions"), q.Instructions, false)
	switch q.Type {
	case "predicate":
	case "choice":
		if len(q.Choices) < 2 || len(q.Choices) > 255 {
			n.Field("choices").Fail("must have 2 to 255 choices")
		}
		names := OptionNames(q.Choices)
		for i, choice := range n.Field("choices").First(len(names)) {
			if value := choice.Field("value"); !value.Absent() && slices.Contains(names[:i], names[i]) {
				value.Fail("is used twice")
			}
		}
	case "score":
		if len(q.Levels) < 2 || len(q.Levels) > 10 {
			n.Field("levels").Fail("must have 2 to 10 levels")
		}
	default:
		n.Field("type").Fail("must be one of predicate, choice, score")
	}
}

// ListChoice is an option.
type ListChoice struct {
	Value       ChoiceValue `json:"value" api:"required" doc:"A string or a boolean."`
	Description *string     `json:"description,omitempty"`
}

// ChoiceValue is a string or a boolean, as JSON.
type ChoiceValue json.RawMessage

func (v *ChoiceValue) readNode(n *jsonin.Node, _ *field) {
	if !n.IsText() {
		n.Bool()
	}
	*v = ChoiceValue(n.Raw())
}

// Text returns a string.
func (v ChoiceValue) Text() (text string, ok bool) {
	ok = len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &text) == nil
	return text, ok
}

// OptionNames returns what the model reads of options: a string as it is and a boolean
// as its JSON, or a string with quotes where an option of each kind would read the same.
func OptionNames(choices []ListChoice) []string {
	booleans := map[string]bool{}
	for i := range choices {
		if _, ok := choices[i].Value.Text(); !ok {
			booleans[string(choices[i].Value)] = true
		}
	}
	names := make([]string, len(choices))
	for i := range choices {
		names[i] = string(choices[i].Value)
		if text, ok := choices[i].Value.Text(); ok && !booleans[text] {
			names[i] = text
		}
	}
	return names
}

// ListLevel is a level of a scale.
type ListLevel struct {
	Label       string `json:"label" api:"required"`
	Description string `json:"description,omitempty"`
}
