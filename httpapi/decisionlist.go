package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// The limits of POST /v1/decisions beyond those of package decisions.
const (
	maxListQuestions = 400
	maxInputItems    = 1000
	maxInputParts    = 1000
)

// createDecisions serves POST /v1/decisions, OpenAI's Decisions API: the same
// decision as POST /v1/systemone with its questions in a list.
func (a *API) createDecisions(c *call) error {
	root, err := c.modelBody(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	list := decisionList{root: root}
	req := list.decode()
	if err := root.Err(); err != nil {
		return err
	}
	resp, err := a.decision(c, req)
	if err != nil {
		return list.fault(err)
	}
	return c.json(convert.ToDecisionList(resp, list.questions))
}

// decisionList decodes the body of POST /v1/decisions.
type decisionList struct {
	root      *jsonin.Node
	questions []convert.ListQuestion
	images    []*jsonin.Node            // the parts of req.Images, in its order
	places    map[string][]*jsonin.Node // those of a question's images, by its name in req
}

func (l *decisionList) decode() *decisions.Request {
	req := &decisions.Request{Model: l.root.Field("model").Text(), MaxQuestions: maxListQuestions}
	if req.Model == "" {
		l.root.Field("model").Fail("is required")
	}
	req.State = l.input(req, l.root.Field("input"))
	decodeWays(req, l.root)
	if examples := l.root.Field("examples"); !examples.Absent() {
		examples.Fail("is taken by /v1/systemone alone")
	}
	questions := l.root.Field("questions").First(maxListQuestions + 1)
	if len(questions) < 1 || len(questions) > maxListQuestions {
		l.root.Field("questions").Fail("must have 1 to %d questions", maxListQuestions)
		return req
	}
	l.places = map[string][]*jsonin.Node{}
	for i, q := range questions {
		req.Questions = append(req.Questions, l.question(strconv.Itoa(i), q))
	}
	return req
}

// input returns the state that the input is, and adds its images to the request.
func (l *decisionList) input(req *decisions.Request, input *jsonin.Node) []byte {
	switch {
	case input.IsText():
		return input.Raw()
	case input.Absent():
		input.Fail("is required")
		return nil
	case !input.IsArray():
		input.Fail("must be a string or an array")
		return nil
	}
	var w jsonout.Writer
	w.Array()
	calls := map[string]bool{}
	items := input.Items(maxInputItems)
	for _, item := range items {
		l.item(&w, item, req, calls)
	}
	w.EndArray()
	if len(items) == 0 {
		input.Fail("must not be empty")
	}
	return w.Buf
}

// item writes an item as the model reads it. calls are the IDs of the calls
// before it, with the kind of their outputs.
func (l *decisionList) item(w *jsonout.Writer, item *jsonin.Node, req *decisions.Request, calls map[string]bool) {
	kind := item.Field("type").Text()
	id := item.Field("call_id")
	w.Object()
	defer w.EndObject()
	switch kind {
	case "", "message":
		role := item.Field("role")
		switch role.Text() {
		case "user", "developer", "system", "assistant":
		default:
			role.Fail("must be one of user, developer, system, assistant")
		}
		w.Name("role").String(role.Text())
		w.Name("content")
		req.Images = append(req.Images, l.content(w, item.Field("content"), role.Text() == "assistant", &l.images)...)
	case "function_call", "custom_tool_call":
		calls[kind+"_output "+id.Text()] = true
		if id.Text() == "" {
			id.Fail("is required")
		}
		w.Name("type").String(kind)
		w.Name("name").String(item.Field("name").Text())
		payload := "arguments"
		if kind == "custom_tool_call" {
			payload = "input"
		}
		w.Name(payload).String(item.Field(payload).Text())
	case "function_call_output", "custom_tool_call_output":
		if !calls[kind+" "+id.Text()] {
			id.Fail("must be that of a call before it")
		}
		w.Name("type").String(kind)
		w.Name("output")
		req.Images = append(req.Images, l.content(w, item.Field("output"), false, &l.images)...)
	default:
		item.Field("type").Fail("must be one of message, function_call, function_call_output, custom_tool_call, custom_tool_call_output")
	}
}

// content writes the content of a message or an output, and returns its images,
// whose parts it adds to places.
func (l *decisionList) content(w *jsonout.Writer, content *jsonin.Node, assistant bool, places *[]*jsonin.Node) []decisions.Image {
	if content.IsText() {
		w.String(content.Text())
		return nil
	}
	if content.Absent() {
		content.Fail("is required")
	}
	var images []decisions.Image
	w.Array()
	for _, part := range content.Items(maxInputParts) {
		kind := part.Field("type")
		switch {
		case kind.Text() == "input_text" && !assistant, kind.Text() == "output_text" && assistant:
			w.String(part.Field("text").Text())
		case kind.Text() == "refusal" && assistant:
			w.String(part.Field("refusal").Text())
		case kind.Text() == "input_json" && !assistant:
			w.Raw(l.data(part))
		case kind.Text() == "input_image" && !assistant:
			images = append(images, l.image(part))
			*places = append(*places, part)
			w.String(fmt.Sprintf("[image %d]", len(*places)))
		case assistant:
			kind.Fail("must be one of output_text, refusal")
		default:
			kind.Fail("must be one of input_text, input_image, input_json")
		}
	}
	w.EndArray()
	return images
}

// data returns the data of a JSON part.
func (l *decisionList) data(part *jsonin.Node) []byte {
	data := part.Field("data")
	switch {
	case data.IsArray():
		for _, element := range data.Items(jsonin.MaxMembers) {
			element.Object()
		}
	case !data.IsObject():
		data.Fail("must be an object or an array of objects")
	}
	return data.Raw()
}

// image reads an image part. The service fetches nothing for its callers.
func (l *decisionList) image(part *jsonin.Node) decisions.Image {
	url := part.Field("image_url")
	rest, ok := strings.CutPrefix(url.Text(), "data:")
	if !ok {
		url.Fail("must be a data URL: this service does not fetch images")
	}
	mediaType, data, ok := strings.Cut(rest, ";base64,")
	if !ok {
		url.Fail("must be a data URL with base64")
	}
	return decisions.Image{MediaType: mediaType, Base64: data}
}

// question decodes a question, which goes under a name that is its place.
func (l *decisionList) question(name string, q *jsonin.Node) decisions.Question {
	known := convert.ListQuestion{Kind: q.Field("type").Text()}
	if given := q.Field("name"); !given.Absent() {
		text := given.Text()
		known.Name = &text
	}
	asked := decisions.Question{Name: name}
	asked.Instructions, asked.Images = l.instructions(name, q.Field("instructions"))
	var criteria jsonout.Writer
	switch known.Kind {
	case "predicate":
		asked.Type = decisions.Noul
	case "choice":
		asked.Type = decisions.Choice
		known.Values = choices(&criteria, q.Field("choices"))
	case "score":
		asked.Type = decisions.Score
		known.Labels = levels(&criteria, q.Field("levels"))
	default:
		q.Field("type").Fail("must be one of predicate, choice, score")
	}
	asked.Criteria = criteria.Buf
	l.questions = append(l.questions, known)
	return asked
}

// instructions returns what a question asks, and its images.
func (l *decisionList) instructions(name string, n *jsonin.Node) (string, []decisions.Image) {
	if n.IsText() {
		return n.Text(), nil
	}
	if n.Absent() {
		n.Fail("is required")
		return "", nil
	}
	var texts []string
	var images []decisions.Image
	for _, part := range n.Items(maxInputParts) {
		switch kind := part.Field("type"); kind.Text() {
		case "input_text":
			texts = append(texts, part.Field("text").Text())
		case "input_json":
			l.data(part)
			texts = append(texts, string(jsonout.Plain(part.Field("data").Raw())))
		case "input_image":
			images = append(images, l.image(part))
			l.places[name] = append(l.places[name], part)
		default:
			kind.Fail("must be one of input_text, input_image, input_json")
		}
	}
	return strings.Join(texts, "\n"), images
}

// choices writes the options of a choice as criteria and returns their values.
// The model reads a string as it is and a boolean as its JSON, or a string with
// quotes where an option of each kind would read the same.
func choices(w *jsonout.Writer, n *jsonin.Node) []json.RawMessage {
	items := n.First(decisions.MaxOptions + 1)
	if len(items) < decisions.MinOptions || len(items) > decisions.MaxOptions {
		n.Fail("must have %d to %d choices", decisions.MinOptions, decisions.MaxOptions)
		return nil
	}
	booleans := map[string]bool{}
	for _, item := range items {
		if value := item.Field("value"); !value.IsText() && value.Bool() != nil {
			booleans[string(value.Raw())] = true
		}
	}
	var values []json.RawMessage
	seen := map[string]bool{}
	w.Object()
	for _, item := range items {
		value := item.Field("value")
		name := string(value.Raw())
		switch {
		case value.Absent():
			value.Fail("is required")
		case value.IsText() && !booleans[value.Text()]:
			name = value.Text()
		}
		if seen[name] {
			value.Fail("is used twice")
		}
		seen[name] = true
		values = append(values, jsonout.Plain(value.Raw()))
		if text := item.Field("description"); text.Absent() {
			w.Name(name).Null()
		} else {
			w.Name(name).String(text.Text())
		}
	}
	w.EndObject()
	return values
}

// levels writes the levels of a score as criteria and returns their labels.
func levels(w *jsonout.Writer, n *jsonin.Node) []string {
	items := n.First(decisions.MaxLevels + 1)
	if len(items) < decisions.MinLevels || len(items) > decisions.MaxLevels {
		n.Fail("must have %d to %d levels", decisions.MinLevels, decisions.MaxLevels)
		return nil
	}
	var labels []string
	w.Array()
	for _, item := range items {
		label := item.Field("label")
		if label.Absent() {
			label.Fail("is required")
		}
		labels = append(labels, label.Text())
		text := label.Text()
		if description := item.Field("description").Text(); description != "" {
			text += ": " + description
		}
		w.String(text)
	}
	w.EndArray()
	return labels
}

// fault returns an error with the path that the request has where the decision
// has another: in the lists of images.
func (l *decisionList) fault(err error) error {
	e := fault.From(err)
	list, index, ok := cutLast(e.Param, "/")
	at, notNumber := strconv.Atoi(index)
	if e.Kind != fault.Invalid || !ok || notNumber != nil {
		return err
	}
	parts := l.images
	if name, ok := strings.CutPrefix(list, "questions/"); ok {
		parts = l.places[strings.TrimSuffix(name, "/images")]
	}
	if at >= len(parts) {
		return err
	}
	path := parts[at].Field("image_url").Path()
	return fault.Invalidf(path, "%s: %s.", path, strings.TrimPrefix(e.Message, e.Param+": "))
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
