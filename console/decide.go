package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// The ways to give a state.
const (
	stateText = "text"
	stateJSON = "json"
	stateFile = "file"
)

// decideForm is the form of the playground for decisions, as it was filled in.
type decideForm struct {
	Token     string
	Models    []model.Info
	Model     string
	Kind      string // stateText, stateJSON or stateFile
	State     string // a text, JSON, or the ID of a file
	Questions []questionForm
	CanAdd    bool

	Answers  []answerView
	Tokens   int
	Wrong    string // why there are no answers
	Snippets []snippet
	Request  string // the request as JSON, to be remembered; empty where there was none
	Took     int64  // milliseconds
	Again    string // the questions as a request, for rows of a file
}

// FileID is the ID of the file that is the state as it stands in a path; empty
// where the state is none.
func (f decideForm) FileID() string {
	if f.Kind != stateFile || !strings.HasPrefix(f.State, "file_") {
		return ""
	}
	return url.PathEscape(f.State)
}

// questionForm is one question as it was filled in. Criteria has a line for each
// option or level: a name and, behind a colon, its description.
type questionForm struct {
	Number       int
	Name         string
	Type         string
	Instructions string
	Criteria     string
}

// answerView is an answer as bars.
type answerView struct {
	Name, Type string
	Asked      string // of a stored decision: the question's instructions
	Verdict    string // the answer in a word
	Confidence float64
	Bars       []bar
}

// bar is one possible answer.
type bar struct {
	Name, Description string
	Probability       float64
	Chosen            bool
}

// firstDecision fills the form of a new visitor: the first judgment is a click
// away.
func firstDecision() decideForm {
	return decideForm{
		Kind:  stateText,
		State: "I was charged twice for my subscription this month, and nobody answers my mails.",
		Questions: []questionForm{
			{Name: "team", Type: string(decisions.Choice), Instructions: "Which team should handle this?",
				Criteria: "billing: Charges, invoices and refunds\ntechnical: Errors and outages\nsales: Questions before buying"},
			{Name: "charged", Type: string(decisions.Noul), Instructions: "Was the customer charged twice?"},
			{Name: "urgency", Type: string(decisions.Score), Instructions: "How urgent is it?", Criteria: "It can wait\nThis week\nNobody answers and the customer was charged twice"},
		},
	}
}

func (c *Console) decidePage(v *request) error {
	form := firstDecision()
	if text := v.r.FormValue("request"); text != "" {
		loaded, err := formOf([]byte(text))
		if err != nil {
			return err
		}
		form = loaded
	}
	return c.showDecide(v, form)
}

// showDecide completes the form and shows it: the whole page, or for the script
// the form alone.
func (c *Console) showDecide(v *request, form decideForm) error {
	form.Token = v.session.Token
	models, err := c.service.Models(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	for _, info := range models {
		if info.Decides {
			form.Models = append(form.Models, info)
		}
	}
	if form.Model == "" && len(form.Models) > 0 {
		form.Model = form.Models[0].ID
	}
	for i := range form.Questions {
		form.Questions[i].Number = i
	}
	form.CanAdd = len(form.Questions) < decisions.MaxQuestions
	form.Again = string(requestJSON(form.questions()))
	if v.fragmentAsked() {
		return v.fragment("decide", "form", form)
	}
	return v.render("decide", "Decide", form)
}

// decide reads the form and does what its button says: add or remove a question,
// or ask.
func (c *Console) decide(v *request) error {
	form := readDecideForm(v.r.PostForm)
	switch {
	case v.r.PostForm.Has("add"):
		form.Questions = append(form.Questions, questionForm{Type: string(decisions.Noul), Name: fmt.Sprintf("question %d", len(form.Questions)+1)})
	case v.r.PostForm.Has("remove"):
		if i, err := strconv.Atoi(v.r.PostForm.Get("remove")); err == nil && i >= 0 && i < len(form.Questions) {
			form.Questions = slices.Delete(form.Questions, i, i+1)
		}
	default:
		c.ask(v, &form)
	}
	return c.showDecide(v, form)
}

// ask puts the answers, or why there are none, into the form.
func (c *Console) ask(v *request, form *decideForm) {
	req, err := form.request()
	if err == nil {
		body := requestJSON(req)
		form.Snippets = snippets(v.origin(), "/v1/systemone", body)
		form.Request = string(body)
		_, err = c.service.Admit(v.caller)
	}
	var judgment *decisions.Response
	began := c.opts.Now()
	if err == nil {
		judgment, err = c.service.Decide(v.ctx(), v.caller, req)
	}
	if err != nil {
		form.Wrong = v.reason(err)
		return
	}
	form.Tokens, form.Took = judgment.Usage.InputTokens, c.opts.Now().Sub(began).Milliseconds()
	for _, a := range judgment.Answers {
		form.Answers = append(form.Answers, viewOf(a, form.describe(a.Name)))
	}
}

// describe returns the descriptions of a question's options by name.
func (f *decideForm) describe(question string) map[string]string {
	descriptions := make(map[string]string)
	for _, q := range f.Questions {
		if q.Name != question {
			continue
		}
		for i, line := range lines(q.Criteria) {
			name, text, _ := strings.Cut(line, ":")
			descriptions[strings.TrimSpace(name)] = strings.TrimSpace(text)
			descriptions[strconv.Itoa(i)] = line
		}
	}
	return descriptions
}

func viewOf(a decisions.Answer, descriptions map[string]string) answerView {
	view := answerView{Name: a.Name, Type: string(a.Type), Confidence: a.Confidence}
	switch a.Type {
	case decisions.Noul:
		view.Verdict, view.Confidence = "yes", a.Noul
		if a.Noul < 0.5 {
			view.Verdict, view.Confidence = "no", 1-a.Noul
		}
		view.Bars = []bar{
			{Name: "yes", Description: descriptions["true"], Probability: a.Noul, Chosen: a.Noul >= 0.5},
			{Name: "no", Description: descriptions["false"], Probability: 1 - a.Noul, Chosen: a.Noul < 0.5},
		}
		return view
	case decisions.Score:
		view.Verdict = strconv.FormatFloat(a.Score, 'f', 2, 64)
	default:
		view.Verdict = a.Choice
	}
	for _, o := range a.Outcomes {
		view.Bars = append(view.Bars, bar{
			Name: o.Name, Description: descriptions[o.Name], Probability: o.Probability, Chosen: o.Probability == a.Confidence,
		})
	}
	return view
}

func readDecideForm(f url.Values) decideForm {
	form := decideForm{Model: f.Get("model"), Kind: f.Get("kind"), State: f.Get("state")}
	if form.Kind == stateFile {
		form.State = f.Get("file")
	}
	at := func(field string, i int) string {
		if values := f[field]; i < len(values) {
			return values[i]
		}
		return ""
	}
	for i, name := range f["name"] {
		if i == decisions.MaxQuestions {
			break
		}
		form.Questions = append(form.Questions, questionForm{
			Name: name, Type: at("type", i), Instructions: at("instructions", i),
			Criteria: strings.ReplaceAll(at("criteria", i), "\r\n", "\n"),
		})
	}
	return form
}

// missing says what has to be filled in before anything can be decided, empty
// where nothing is missing. The service takes an empty text as a state, and a
// question by its name alone; in a form that is an oversight.
func (f *decideForm) missing() string {
	if strings.TrimSpace(f.State) == "" {
		if f.Kind == stateFile {
			return "There is nothing to decide about yet: upload a file or give the ID of one."
		}
		return "There is nothing to decide about yet: fill in the state."
	}
	if len(f.Questions) == 0 {
		return "Nothing is asked yet: add a question."
	}
	for _, q := range f.Questions {
		if strings.TrimSpace(q.Instructions) == "" && strings.TrimSpace(q.Criteria) == "" {
			return fmt.Sprintf("The question %q asks nothing yet: fill in what is asked.", q.Name)
		}
	}
	return ""
}

// request is what the form asks for. The error is Invalid for what is missing and
// for a state that is no JSON where JSON was chosen; everything else is for the
// service to refuse.
func (f *decideForm) request() (*decisions.Request, error) {
	if missing := f.missing(); missing != "" {
		return nil, &fault.Error{Kind: fault.Invalid, Message: missing}
	}
	req := &decisions.Request{Model: f.Model}
	switch f.Kind {
	case stateJSON:
		if !json.Valid([]byte(f.State)) {
			return nil, &fault.Error{Kind: fault.Invalid, Message: "The state is not JSON."}
		}
		req.State = json.RawMessage(f.State)
	case stateFile:
		req.State = marshal(map[string]string{"file_id": f.State})
	default:
		req.State = marshal(strings.ReplaceAll(f.State, "\r\n", "\n"))
	}
	req.Questions = f.questions().Questions
	return req, nil
}

// questions is a request with the questions of the form alone.
func (f *decideForm) questions() *decisions.Request {
	req := &decisions.Request{Model: f.Model, State: marshal("")}
	for _, q := range f.Questions {
		req.Questions = append(req.Questions, decisions.Question{
			Name: q.Name, Type: decisions.Type(q.Type), Instructions: q.Instructions, Criteria: q.criteria(),
		})
	}
	return req
}

// criteria are the lines of the form as JSON in the shape of the question's type.
func (q *questionForm) criteria() json.RawMessage {
	all := lines(q.Criteria)
	if q.Type == string(decisions.Score) {
		return marshal(append([]string{}, all...))
	}
	if len(all) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, line := range all {
		name, text, described := strings.Cut(line, ":")
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(marshal(strings.TrimSpace(name)))
		b.WriteByte(':')
		if described {
			b.Write(marshal(strings.TrimSpace(text)))
		} else {
			b.WriteString("null")
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

// lines are the lines of a text that have something on them.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// requestJSON is a request as a client writes it, questions in their order.
func requestJSON(req *decisions.Request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":%s,"state":%s,"questions":{`, marshal(req.Model), req.State)
	for i, q := range req.Questions {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `%s:{"type":%s,"instructions":%s`, marshal(q.Name), marshal(q.Type), marshal(q.Instructions))
		if q.Criteria != nil {
			fmt.Fprintf(&b, `,"criteria":%s`, q.Criteria)
		}
		b.WriteByte('}')
	}
	b.WriteString("}}")
	return b.Bytes()
}

// formOf fills the form from a request that the browser remembered.
func formOf(body []byte) (decideForm, error) {
	wrong := &fault.Error{Kind: fault.Invalid, Message: "That is not a request that this form can show."}
	var req struct {
		Model     string          `json:"model"`
		State     json.RawMessage `json:"state"`
		Questions json.RawMessage `json:"questions"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return decideForm{}, wrong
	}
	form := decideForm{Model: req.Model}
	form.Kind, form.State = stateOf(req.State)
	questions, err := members(req.Questions)
	if err != nil {
		return decideForm{}, wrong
	}
	for _, m := range questions {
		var q struct {
			Type         string          `json:"type"`
			Instructions string          `json:"instructions"`
			Criteria     json.RawMessage `json:"criteria"`
		}
		if err := json.Unmarshal(m.value, &q); err != nil {
			return decideForm{}, wrong
		}
		criteria, err := criteriaLines(q.Criteria)
		if err != nil {
			return decideForm{}, wrong
		}
		form.Questions = append(form.Questions, questionForm{Name: m.name, Type: q.Type, Instructions: q.Instructions, Criteria: criteria})
	}
	return form, nil
}

// stateOf says how a state is given in the form.
func stateOf(state json.RawMessage) (kind, text string) {
	if json.Unmarshal(state, &text) == nil {
		return stateText, text
	}
	var file map[string]string
	if json.Unmarshal(state, &file) == nil && len(file) == 1 && file["file_id"] != "" {
		return stateFile, file["file_id"]
	}
	return stateJSON, string(state)
}

// criteriaLines is the inverse of questionForm.criteria.
func criteriaLines(criteria json.RawMessage) (string, error) {
	var levels []string
	if len(criteria) == 0 || string(criteria) == "null" {
		return "", nil
	}
	if json.Unmarshal(criteria, &levels) == nil {
		return strings.Join(levels, "\n"), nil
	}
	options, err := members(criteria)
	if err != nil {
		return "", err
	}
	var all []string
	for _, o := range options {
		var text *string
		if err := json.Unmarshal(o.value, &text); err != nil {
			return "", err
		}
		if text == nil {
			all = append(all, o.name)
		} else {
			all = append(all, o.name+": "+*text)
		}
	}
	return strings.Join(all, "\n"), nil
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of an object in their order.
func members(object json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("console: no JSON object: %w", err)
	}
	var all []member
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: token.(string)} // a name is always a string
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// marshal returns the JSON of a value that has one, without escapes for HTML.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings, and slices and maps of them
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
