package guard

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// prompt is what policies see of a request.
type prompt struct {
	messages []model.Message
	user     int // index of the last message of the user, -1 for none
}

func newPrompt(req *model.Request) prompt {
	p := prompt{messages: req.Messages, user: -1}
	for i, m := range slices.Backward(req.Messages) {
		if m.Role == model.User {
			p.user = i
			break
		}
	}
	return p
}

// state returns the state of a decision about the input, for policies that see as much:
// an object with the members system and user, and history, tools and files where they
// are seen. It is not closed, so that what is judged of the output can follow: both
// begin alike.
func (p prompt) state(sees []Sight) jsonout.Writer {
	var w jsonout.Writer
	w.Object()
	if system := p.system(); system != "" {
		w.Name("system").String(system)
	}
	user := ""
	if p.user >= 0 {
		user = textOf(p.messages[p.user].Parts)
	}
	w.Name("user").String(user)
	for _, sight := range sees {
		w.Name(string(sight)).Array()
		for i := range p.messages {
			p.see(&w, sight, i)
		}
		w.EndArray()
	}
	return w
}

func (p prompt) system() string {
	var texts []string
	for _, m := range p.messages {
		if m.Role == model.System {
			texts = append(texts, textOf(m.Parts))
		}
	}
	return strings.Join(texts, "\n\n")
}

// see writes what a sight shows of a message.
func (p prompt) see(w *jsonout.Writer, sight Sight, i int) {
	m := &p.messages[i]
	switch sight {
	case History:
		if text := textOf(m.Parts); text != "" && i != p.user && (m.Role == model.User || m.Role == model.Assistant) {
			w.Object()
			w.Name("role").String(string(m.Role))
			w.Name("content").String(text)
			w.EndObject()
		}
	case Tools:
		if m.Role == model.ToolRole {
			w.String(textOf(m.Parts))
		}
	case Files:
		for _, part := range m.Parts {
			if d, ok := part.(model.Document); ok {
				w.Object()
				w.Name("name").String(d.Name)
				w.Name("text").String(d.Text)
				w.EndObject()
			}
		}
	}
}

// textOf returns the text of parts, without documents and images.
func textOf(parts []model.Part) string {
	if len(parts) == 1 {
		text, _ := parts[0].(model.Text)
		return string(text)
	}
	var texts []string
	for _, part := range parts {
		if text, ok := part.(model.Text); ok {
			texts = append(texts, string(text))
		}
	}
	return strings.Join(texts, "\n")
}

// images are the pictures of the last message of the user.
func (p prompt) images() []decisions.Image {
	if p.user < 0 {
		return nil
	}
	var images []decisions.Image
	for _, part := range p.messages[p.user].Parts {
		if image, ok := part.(model.Image); ok {
			images = append(images, decisions.Image{MediaType: image.MediaType, Base64: base64.StdEncoding.EncodeToString(image.Data)})
		}
	}
	return images
}

// said is what is judged of an answer.
type said struct {
	reasoning string
	text      string
	calls     []model.ToolCall
}

func (s *said) empty() bool { return s.reasoning == "" && s.text == "" && len(s.calls) == 0 }

// write adds what an answer says to a state.
func (s *said) write(w *jsonout.Writer) {
	if s.reasoning != "" {
		w.Name("reasoning").String(s.reasoning)
	}
	w.Name("answer").String(s.text)
	if len(s.calls) == 0 {
		return
	}
	w.Name("calls").Array()
	for _, c := range s.calls {
		w.Object()
		w.Name("name").String(c.Name)
		w.Name("arguments").String(c.Arguments)
		w.EndObject()
	}
	w.EndArray()
}

// State returns what is judged of the input of a request: what a policy sees that has
// such sights.
func State(req *model.Request, sees []Sight) []byte {
	w := newPrompt(req).state(sees)
	w.EndObject()
	return w.Buf
}

// AnswerState is State with an answer to the request.
func AnswerState(req *model.Request, sees []Sight, text string, calls []model.ToolCall) []byte {
	w := newPrompt(req).state(sees)
	(&said{text: text, calls: calls}).write(&w)
	w.EndObject()
	return w.Buf
}
