package convert

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// DecisionList is a request of POST /v1/decisions: the decision that it asks for, and
// what its answer and its errors need.
type DecisionList struct {
	Request   *decisions.Request
	questions []listQuestion
	images    []string            // the paths of the request's images, in its order
	places    map[string][]string // those of a question's images, by its name in the decision
}

// listQuestion is what the answer to a question needs of it.
type listQuestion struct {
	kind   string
	name   *string
	values []json.RawMessage // of a choice's options, as they were given
	labels []string          // of a score's levels
}

// FromDecisionList returns what is asked. Each question goes under a name that is its
// place.
func FromDecisionList(w *wire.DecisionListRequest) (*DecisionList, error) {
	l := &DecisionList{places: map[string][]string{}, Request: &decisions.Request{
		Model: w.Model, MaxQuestions: max(len(w.Questions), 1), Debias: value(w.Debias), AbstainAboveError: value(w.AbstainAboveError),
		Store: w.Store, Metadata: w.Metadata}}
	var err error
	if w.Input.Text != nil {
		l.Request.State, err = jsonout.Marshal(*w.Input.Text)
	} else {
		l.Request.State = l.state(w.Input.Value)
	}
	for i := range w.Questions {
		l.ask(strconv.Itoa(i), &w.Questions[i])
	}
	l.nameKept()
	return l, err
}

// nameKept names the questions of a stored decision: as the request does, or by their
// place where it does not or a name is not distinct.
func (l *DecisionList) nameKept() {
	used := map[string]bool{}
	for i := range l.questions {
		if name := value(l.questions[i].name); name != "" && !used[name] && utf8.RuneCountInString(name) <= decisions.MaxQuestionName {
			l.Request.Questions[i].KeptName, used[name] = name, true
		}
	}
	for i := range l.Request.Questions {
		q := &l.Request.Questions[i]
		for name := q.Name; q.KeptName == ""; name += "_" {
			if !used[name] {
				q.KeptName, used[name] = name, true
			}
		}
	}
}

// state returns items as the model reads them.
func (l *DecisionList) state(items []wire.DecisionItem) []byte {
	var w jsonout.Writer
	w.Array()
	for i := range items {
		item := &items[i]
		w.Object()
		switch kind := item.Kind(); kind {
		case "message":
			w.Name("role").String(item.Role)
			l.content(w.Name("content"), item.Content)
		case "function_call":
			w.Name("type").String(kind)
			w.Name("name").String(item.Name)
			w.Name("arguments").String(item.Arguments)
		case "custom_tool_call":
			w.Name("type").String(kind)
			w.Name("name").String(item.Name)
			w.Name("input").String(item.Input)
		default:
			w.Name("type").String(kind)
			l.content(w.Name("output"), item.Output)
		}
		w.EndObject()
	}
	w.EndArray()
	return w.Buf
}

// content writes the content of a message or an output, and adds its images to the
// request.
func (l *DecisionList) content(w *jsonout.Writer, content *wire.TextOr[[]wire.DecisionPart]) {
	if content.Text != nil {
		w.String(*content.Text)
		return
	}
	w.Array()
	for i := range content.Value {
		switch part := &content.Value[i]; part.Type {
		case "input_json":
			w.Raw(part.Data)
		case "input_image":
			l.Request.Images = append(l.Request.Images, fromImageData(part.ImageURL))
			l.images = append(l.images, part.ImageURL.Path)
			w.String(fmt.Sprintf("[image %d]", len(l.images)))
		case "refusal":
			w.String(part.Refusal)
		default:
			w.String(part.Text)
		}
	}
	w.EndArray()
}

func fromImageData(w *wire.ImageData) decisions.Image {
	return decisions.Image{MediaType: w.MediaType, Base64: w.Base64}
}

// ask adds a question.
func (l *DecisionList) ask(name string, q *wire.ListQuestion) {
	known := listQuestion{kind: q.Type, name: q.Name}
	asked := decisions.Question{Name: name, Type: decisions.Type(q.Type)}
	asked.Instructions, asked.Images = l.instructions(name, q.Instructions)
	var criteria jsonout.Writer
	switch q.Type {
	case "predicate":
		asked.Type = decisions.Noul
	case "choice":
		criteria.Object()
		for i, option := range wire.OptionNames(q.Choices) {
			known.values = append(known.values, jsonout.Plain(json.RawMessage(q.Choices[i].Value)))
			if text := q.Choices[i].Description; text == nil {
				criteria.Name(option).Null()
			} else {
				criteria.Name(option).String(*text)
			}
		}
		criteria.EndObject()
	case "score":
		criteria.Array()
		for i := range q.Levels {
			level := &q.Levels[i]
			text := level.Label
			if level.Description != "" {
				text += ": " + level.Description
			}
			criteria.String(text)
			known.labels = append(known.labels, level.Label)
		}
		criteria.EndArray()
	}
	asked.Criteria = criteria.Buf
	l.questions = append(l.questions, known)
	l.Request.Questions = append(l.Request.Questions, asked)
}

// instructions returns what a question asks, and its images.
func (l *DecisionList) instructions(name string, w *wire.TextOr[[]wire.DecisionPart]) (string, []decisions.Image) {
	if w.Text != nil {
		return *w.Text, nil
	}
	var texts []string
	var images []decisions.Image
	for i := range w.Value {
		switch part := &w.Value[i]; part.Type {
		case "input_json":
			texts = append(texts, string(jsonout.Plain(part.Data)))
		case "input_image":
			images = append(images, fromImageData(part.ImageURL))
			l.places[name] = append(l.places[name], part.ImageURL.Path)
		default:
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n"), images
}

// Fault returns an error with the path that the request has where the decision has
// another: in the lists of images.
func (l *DecisionList) Fault(err error) error {
	e := fault.From(err)
	at := strings.LastIndex(e.Param, "/")
	if e.Kind != fault.Invalid || at < 0 {
		return err
	}
	index, notNumber := strconv.Atoi(e.Param[at+1:])
	paths := l.images
	if name, ok := strings.CutPrefix(e.Param[:at], "questions/"); ok {
		paths = l.places[strings.TrimSuffix(name, "/images")]
	}
	if notNumber != nil || index >= len(paths) {
		return err
	}
	return fault.Invalidf(paths[index], "%s: %s.", paths[index], strings.TrimPrefix(e.Message, e.Param+": "))
}

// Answer returns the answers as they are answered.
func (l *DecisionList) Answer(r *decisions.Response) wire.DecisionList {
	w := wire.DecisionList{ID: r.ID, Model: r.Model, Answers: make([]wire.ListAnswer, len(r.Answers)), Usage: wire.DecisionListUsage{
		InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens, TotalTokens: r.Usage.InputTokens + r.Usage.OutputTokens}}
	for i := range r.Answers {
		q := &l.questions[i]
		w.Answers[i] = wire.ListAnswer{Type: q.kind, Name: q.name, ListNumbers: q.numbers(&r.Answers[i]), AnswerNotes: toNotes(r, &r.Answers[i], q.numbers)}
	}
	return w
}

func (q *listQuestion) numbers(a *decisions.Answer) (w wire.ListNumbers) {
	switch a.Type {
	case decisions.Noul:
		w.Probability = &a.Noul
		return w
	case decisions.Choice:
		w.Choice, w.Confidence = q.values[a.Best()], &a.Confidence
	case decisions.Score:
		w.Score, w.Confidence = &a.Score, &a.Confidence
	}
	w.Probabilities = make([]wire.OptionProbability, len(a.Outcomes))
	for i := range a.Outcomes {
		p := &w.Probabilities[i]
		if p.Probability = a.Outcomes[i].Probability; a.Type == decisions.Choice {
			p.Value = q.values[i]
		} else {
			p.Label, p.Value = &q.labels[i], strconv.AppendInt(nil, int64(i), 10)
		}
	}
	return w
}
