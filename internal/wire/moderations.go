package wire

import (
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// ModerationRequest is the body of POST /v1/moderations.
type ModerationRequest struct {
	Model string           `json:"model,omitempty" doc:"A decision model; left out, or a name of OpenAI's such as omni-moderation-latest, the service's."`
	Input ModerationInputs `json:"input" api:"required" doc:"A text, several, or one input of several parts: texts and images as data URLs."`
}

// MaxModerations is how many texts a request may have moderated, and how many parts an
// input may have.
const MaxModerations = 32

// ModerationInputs are inputs: each has a result.
type ModerationInputs []ModerationInput

// ModerationInput is a text with images.
type ModerationInput struct {
	Text   *string // nil where there are images alone
	Images []DataURL
}

func (m *ModerationInputs) readNode(n *jsonin.Node, _ *field) {
	if !n.IsArray() {
		text := n.Text()
		*m = ModerationInputs{{Text: &text}}
		return
	}
	items := n.Items(MaxModerations)
	if len(items) == 0 {
		n.Fail("must not be empty")
		return
	}
	if items[0].IsText() {
		for _, item := range items {
			text := item.Text()
			*m = append(*m, ModerationInput{Text: &text})
		}
		return
	}
	var input ModerationInput
	for _, item := range items {
		input.add(item)
	}
	*m = ModerationInputs{input}
}

// add adds a part.
func (m *ModerationInput) add(n *jsonin.Node) {
	switch n.Field("type").Text() {
	case "text":
		text := n.Field("text").Text()
		if m.Text != nil {
			text = *m.Text + "\n" + text
		}
		m.Text = &text
	case "image_url":
		at := n.Field("image_url").Field("url")
		var image DataURL
		if text := at.Text(); !strings.HasPrefix(text, "data:") || image.parse(text) != nil {
			at.FailCode(fault.CodeInvalidImageURL, "must be a data URL with base64: this service does not fetch images")
		}
		m.Images = append(m.Images, image)
	default:
		n.Field("type").Fail(`must be "text" or "image_url"`)
	}
}

// MarshalJSON implements [json.Marshaler].
func (m ModerationInputs) MarshalJSON() ([]byte, error) {
	var w jsonout.Writer
	w.Array()
	for i := range m {
		if len(m) > 1 || len(m[i].Images) == 0 {
			w.String(*m[i].Text)
			continue
		}
		if m[i].Text != nil {
			w.Object()
			w.Name("type").String("text")
			w.Name("text").String(*m[i].Text)
			w.EndObject()
		}
		for _, image := range m[i].Images {
			data, err := json.Marshal(image)
			if err != nil {
				return nil, err
			}
			w.Object()
			w.Name("type").String("image_url")
			w.Name("image_url").Object()
			w.Name("url").Raw(data)
			w.EndObject()
			w.EndObject()
		}
	}
	w.EndArray()
	return w.Buf, nil
}

// Moderations is the answer to a [ModerationRequest].
type Moderations struct {
	ID      string             `json:"id"`
	Model   string             `json:"model"`
	Results []ModerationResult `json:"results" doc:"One for each text, or one for an input of parts."`
}

// ModerationResult says what an input is flagged for.
type ModerationResult struct {
	Flagged           bool                `json:"flagged"`
	Categories        map[string]bool     `json:"categories"`
	CategoryScores    map[string]float64  `json:"category_scores" doc:"Probabilities, calibrated where there is a calibration."`
	AppliedInputTypes map[string][]string `json:"category_applied_input_types" doc:"Which of text and image the score is about."`
}
