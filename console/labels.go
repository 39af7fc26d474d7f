package console

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// maxUnsure is how many stored decisions are looked at for those that the model was
// least sure of.
const maxUnsure = 1000

// The choices of the field labels.
const (
	labelsMissing = "missing" // decisions without a label of the question, the least sure first
	labelsSet     = "set"     // decisions with a label
)

// labelFilter says which stored decisions to show. It is the query of the pages.
type labelFilter struct {
	Question, Model, Labels string
	After                   string // ID behind which to look, the newest first
}

func (v *request) labelFilter() labelFilter {
	f := v.r.FormValue
	return labelFilter{strings.TrimSpace(f("question")), strings.TrimSpace(f("model")), f("labels"), f("after")}
}

// query is the filter in an address, with further values by their names in turn.
func (f labelFilter) query(more ...string) string {
	values := url.Values{}
	for i, pair := 0, append([]string{"question", f.Question, "model", f.Model, "labels", f.Labels, "after", f.After}, more...); i < len(pair); i += 2 {
		if pair[i+1] != "" {
			values.Set(pair[i], pair[i+1])
		}
	}
	return "?" + values.Encode()
}

// labelLine is a stored decision in the list.
type labelLine struct {
	decisions.Kept
	Text    string // how its state begins
	Answers []labelAnswer
}

// labelAnswer is an answer in a word, and its label.
type labelAnswer struct {
	Name, Verdict, Label string
	Confidence           float64
}

// labelsView is the page of stored decisions.
type labelsView struct {
	Token  string
	Filter labelFilter
	Items  []labelLine
	Next   string // the query of the next page's link
	Noted  string
	Start  string // the query of the page that labels one after the other; empty without a question

	Preview     *decisions.Preview // nil without a question
	Options     []labelCount
	Calibration *decisions.Calibration
}

// labelCount is how often an option is the right one.
type labelCount struct {
	Name  string
	Count int
}

// labelsPage lists stored decisions, and says what the labels of a question are good
// for.
func (c *Console) labelsPage(v *request) error {
	view := labelsView{Token: v.session.Token, Filter: v.labelFilter()}
	var err error
	if view.Filter.Labels == labelsMissing {
		err = c.unsurePage(v, &view)
	} else {
		err = c.newestPage(v, &view)
	}
	if err == nil && view.Filter.Question != "" {
		err = c.preview(v, &view)
	}
	if err != nil {
		return err
	}
	return v.render("labels", "Stored decisions", view)
}

// newestPage fills the view with stored decisions, the newest first.
func (c *Console) newestPage(v *request, view *labelsView) error {
	f := decisions.Filter{Question: view.Filter.Question, Model: view.Filter.Model}
	if labeled := true; view.Filter.Labels == labelsSet {
		f.Labeled = &labeled
	}
	found, err := c.service.StoredDecisions(v.ctx(), v.caller, f, newest(v.r))
	if err != nil {
		return err
	}
	for i := range found.Items {
		view.Items = append(view.Items, lineOf(&found.Items[i], ""))
		view.Filter.After = found.Items[i].ID
	}
	if found.HasMore {
		view.Next = view.Filter.query()
	}
	view.Filter.After = ""
	return nil
}

// unsurePage fills the view with stored decisions without a label, the least sure
// first.
func (c *Console) unsurePage(v *request, view *labelsView) error {
	found, err := c.unsure(v, view.Filter)
	if err != nil {
		return err
	}
	for i := range found.items[:min(len(found.items), pageSize)] {
		view.Items = append(view.Items, lineOf(found.items[i].Kept, view.Filter.Question))
	}
	if view.Filter.Question != "" && len(found.items) > 0 {
		view.Start = view.Filter.query()
	}
	if found.next != "" {
		view.Noted = "Of the decisions, " + strconv.Itoa(maxUnsure) + " were looked at. The link below looks at older ones."
		older := view.Filter
		older.After = found.next
		view.Next = older.query()
	}
	return nil
}

// unsureOne is a decision without a label and how sure the model was.
type unsureOne struct {
	*decisions.Kept
	confidence float64
}

// unsure are decisions without a label, the least sure first.
type unsure struct {
	items []unsureOne
	next  string // ID behind which there may be more; empty for none
}

// unsure returns the decisions without a label of the question, or without any where
// there is none, among the newest that the filter has.
func (c *Console) unsure(v *request, f labelFilter) (found unsure, err error) {
	filter := decisions.Filter{Question: f.Question, Model: f.Model}
	if labeled := false; f.Question == "" {
		filter.Labeled = &labeled
	}
	p := svc.Page{Limit: decisions.MaxPage, After: f.After, Desc: true}
	for looked := 0; looked < maxUnsure; looked += p.Limit {
		list, err := c.service.StoredDecisions(v.ctx(), v.caller, filter, p)
		if err != nil {
			return found, err
		}
		for i := range list.Items {
			k := &list.Items[i]
			p.After = k.ID
			if confidence, ok := unlabelled(k, f.Question); ok {
				found.items = append(found.items, unsureOne{k, confidence})
			}
		}
		if !list.HasMore {
			p.After = ""
			break
		}
	}
	found.next = p.After
	slices.SortFunc(found.items, func(a, b unsureOne) int {
		return cmp.Or(cmp.Compare(a.confidence, b.confidence), strings.Compare(a.ID, b.ID))
	})
	return found, nil
}

// unlabelled reports whether a decision has no label of the question and could have
// one, and how sure the model was of the answer. Without a question it is about all
// that the decision has.
func unlabelled(k *decisions.Kept, question string) (confidence float64, ok bool) {
	confidence = 1
	for i := range k.Answers {
		a := &k.Answers[i]
		if a.Type != decisions.Labels && (question == "" || a.Name == question && labelOf(k, question) == nil) {
			confidence, ok = min(confidence, a.Least()), true
		}
	}
	return confidence, ok
}

// labelOf returns a decision's label of a question, nil for none.
func labelOf(k *decisions.Kept, question string) json.RawMessage {
	for _, l := range k.Labels {
		if l.Question == question {
			return l.Answer
		}
	}
	return nil
}

// lineOf shows a decision, and of its answers the one to a question, or all.
func lineOf(k *decisions.Kept, question string) labelLine {
	_, text := stateOf(k.State)
	line := labelLine{Kept: *k, Text: clip(160, text)}
	for i := range k.Answers {
		if question == "" || k.Answers[i].Name == question {
			shown := viewOf(k.Answers[i], nil)
			answer := labelAnswer{Name: shown.Name, Verdict: shown.Verdict, Confidence: shown.Confidence}
			for _, o := range optionsOf(k, i) {
				if o.Label {
					answer.Label = o.Name
				}
			}
			line.Answers = append(line.Answers, answer)
		}
	}
	return line
}

// preview fills the view with what the labels of its question are good for.
func (c *Console) preview(v *request, view *labelsView) (err error) {
	if view.Preview, err = c.service.PreviewCalibration(v.ctx(), v.caller, view.Filter.Model, view.Filter.Question); err != nil {
		return err
	}
	p := view.Preview
	if p.Rows == 0 {
		return nil
	}
	for i, name := range optionNames(&p.Question) {
		view.Options = append(view.Options, labelCount{name, p.Counts[i]})
	}
	list, err := c.service.Calibrations(v.ctx(), v.caller, svc.Page{Limit: 100, Desc: true})
	for i := range list.Items {
		if k := &list.Items[i]; k.Model == p.Model && string(jsonout.Plain(k.Asked)) == string(jsonout.Plain(p.Asked)) {
			view.Calibration = k
			break
		}
	}
	return err
}

// optionNames returns the names of the options of a question that was answered.
func optionNames(q *decisions.Question) []string {
	switch q.Type {
	case decisions.Noul:
		return []string{"yes", "no"}
	case decisions.Score:
		var levels []string
		_ = json.Unmarshal(q.Criteria, &levels) // it was valid
		return levels
	}
	var names []string
	all, _ := members(q.Criteria) // and so was this
	for _, m := range all {
		names = append(names, m.name)
	}
	return names
}

// labelView is the page that labels one decision.
type labelView struct {
	Token     string
	Filter    labelFilter
	Decision  *decisions.Kept
	State     string
	Cut       bool
	Questions []labelQuestion
	Left      int    // decisions without a label, this one included; 0: this one is looked at alone
	Skip      string // where the decision stands among the unsure, to go on behind it
	SkipQuery string
	ListQuery string
	From      string // behind which place this one was looked for
}

// labelQuestion is a question of the decision with its options as buttons.
type labelQuestion struct {
	Name, Asked string
	Options     []labelOption
	Labelled    bool
}

// labelOption is an option of a question.
type labelOption struct {
	Key         string // that chooses it
	Answer      string // as a label
	Name        string
	Probability float64
	Label       bool // it is the decision's label
}

// nextLabelPage shows the decision that the model was least sure of, behind those that
// were skipped.
func (c *Console) nextLabelPage(v *request) error {
	f := v.labelFilter()
	f.Labels = labelsMissing
	if f.Question == "" {
		return &fault.Error{Kind: fault.Invalid, Message: "Name a question first."}
	}
	found, err := c.unsure(v, f)
	if err != nil {
		return err
	}
	from := v.r.FormValue("skip")
	items := found.items
	if at := slices.IndexFunc(items, func(one unsureOne) bool { return one.behind(from) }); at >= 0 {
		items = items[at:]
	} else {
		items = nil
	}
	if len(items) == 0 {
		return v.redirect("/labels" + f.query())
	}
	view := c.viewLabel(v, items[0].Kept, f.Question)
	view.Filter, view.Left, view.Skip, view.From = f, len(items), items[0].place(), from
	view.SkipQuery, view.ListQuery = f.query("skip", view.Skip), f.query()
	for i := range view.Questions[0].Options {
		if i < 9 {
			view.Questions[0].Options[i].Key = strconv.Itoa(i + 1)
		}
	}
	return v.render("label", "Label: "+f.Question, view)
}

// place is where a decision stands among the unsure, and behind reports whether it
// stands behind a place. All stand behind the empty one.
func (o unsureOne) place() string {
	return strconv.FormatFloat(o.confidence, 'g', -1, 64) + " " + o.ID
}

func (o unsureOne) behind(place string) bool {
	number, id, _ := strings.Cut(place, " ")
	confidence, err := strconv.ParseFloat(number, 64)
	return err != nil || cmp.Or(cmp.Compare(o.confidence, confidence), strings.Compare(o.ID, id)) > 0
}

// labelPage shows a decision with all of its questions.
func (c *Console) labelPage(v *request) error {
	k, err := c.service.StoredDecision(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.render("label", "Label a decision", c.viewLabel(v, k, ""))
}

// viewLabel shows a decision with a question of it, or with all where it is empty.
func (c *Console) viewLabel(v *request, k *decisions.Kept, question string) labelView {
	view := labelView{Token: v.session.Token, Decision: k}
	_, text := stateOf(k.State)
	view.State = clip(maxShown, text)
	view.Cut = len(view.State) < len(text)
	for i := range k.Questions {
		q := &k.Questions[i]
		if question == "" || q.Name == question {
			view.Questions = append(view.Questions, labelQuestion{q.Name, q.Instructions, optionsOf(k, i), labelOf(k, q.Name) != nil})
		}
	}
	return view
}

// optionsOf returns the options that a label of an answer may name; none for a
// question that takes no labels.
func optionsOf(k *decisions.Kept, i int) []labelOption {
	a := &k.Answers[i]
	if a.Type == decisions.Labels {
		return nil
	}
	label := string(jsonout.Plain(labelOf(k, a.Name)))
	p := []float64{a.Noul, 1 - a.Noul}
	if a.Type != decisions.Noul {
		p = p[:0]
		for _, o := range a.Outcomes {
			p = append(p, o.Probability)
		}
	}
	var options []labelOption
	for j, name := range optionNames(&k.Questions[i]) {
		answer := string(marshal(name))
		switch a.Type {
		case decisions.Noul:
			answer = strconv.FormatBool(j == 0)
		case decisions.Score:
			answer = strconv.Itoa(j)
		}
		options = append(options, labelOption{Answer: answer, Name: name, Probability: p[j], Label: answer == label})
	}
	return options
}

// setLabel labels a decision and leads to the next one, or back to it.
func (c *Console) setLabel(v *request) error {
	id, form := v.r.PathValue("id"), v.r.PostForm
	answer := json.RawMessage(cmp.Or(form.Get("answer"), "null"))
	if !json.Valid(answer) {
		return &fault.Error{Kind: fault.Invalid, Message: "The answer is none of the question's."}
	}
	name := form.Get("name")
	if _, err := c.service.LabelDecision(v.ctx(), v.caller, id, []decisions.Label{{Question: name, Answer: answer}}); err != nil {
		return err
	}
	if form.Get("question") != "" {
		return v.redirect("/labels/next" + v.labelFilter().query("skip", form.Get("skip")))
	}
	return v.redirect("/labels/" + url.PathEscape(id))
}

// calibrateFromLabels makes a calibration of the labels of a question.
func (c *Console) calibrateFromLabels(v *request) error {
	f := v.labelFilter()
	n, err := c.service.LabelledDecisions(v.ctx(), v.caller, f.Question)
	if err != nil {
		return err
	}
	n.Model = v.r.PostForm.Get("of")
	if _, err := c.service.Calibrate(v.ctx(), v.caller, n); err != nil {
		return err
	}
	return v.redirect("/labels" + f.query())
}
