package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/decisions/evaluation"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// The bounds of an evaluation.
const (
	maxEvaluated = 500 // rows
	maxErrors    = 10  // that are shown
)

// evaluateView is the form of an evaluation, and its result.
type evaluateView struct {
	Token    string
	Models   []model.Info
	Question questionForm
	Sides    [2]side // the second is empty where nothing is compared
	Wrong    string
	Result   *evaluated
}

// side is a model with a wording of the question.
type side struct{ Model, Instructions string }

// evaluated is the result of an evaluation.
type evaluated struct {
	Rows, Left int // rows that count, and those that a model did not answer
	Names      []string
	Metrics    []metricLine
	Options    []string
	Sides      []evaluatedSide
}

// metricLine is a metric of both sides.
type metricLine struct {
	Name       string
	Values     []string
	Difference string
	Certain    bool // the difference is not chance
}

// evaluatedSide is how one side does.
type evaluatedSide struct {
	Name        string
	Reliability reliability
	Confusion   []confusionLine
	Errors      []errorLine
	Thresholds  []calibration.Threshold
}

// confusionLine is how rows with a right answer were answered.
type confusionLine struct {
	Right  string
	Counts []confusionCell
}

type confusionCell struct {
	Count int
	Right bool
}

// errorLine is an answer that is wrong.
type errorLine struct {
	Asked, Said, Right string
	Confidence         float64
}

func (c *Console) evaluatePage(v *request) error {
	view := evaluateView{Question: questionForm{Name: "answer", Type: string(decisions.Noul)}}
	if text := v.r.FormValue("request"); text != "" {
		form, err := formOf([]byte(text))
		if err != nil {
			return err
		}
		if len(form.Questions) > 0 {
			view.Question, view.Sides[0].Model = form.Questions[0], form.Model
		}
	}
	view.Sides[0].Instructions = view.Question.Instructions
	return c.showEvaluate(v, view)
}

func (c *Console) showEvaluate(v *request, view evaluateView) error {
	view.Token = v.session.Token
	models, err := c.service.Models(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	for _, info := range models {
		if info.Decides {
			view.Models = append(view.Models, info)
		}
	}
	return v.render("evaluate", "Evaluate", view)
}

// evaluate asks one question about rows whose answers are known, once or in two ways.
func (c *Console) evaluate(v *request) error {
	_, file, err := v.rowsForm()
	if err != nil && !fault.Is(err, fault.Invalid) {
		return err
	}
	f := v.r.PostForm
	view := evaluateView{Question: questionForm{
		Name: cmp.Or(f.Get("name"), "answer"), Type: f.Get("type"), Instructions: f.Get("instructions"), Criteria: strings.ReplaceAll(f.Get("criteria"), "\r\n", "\n"),
	}}
	view.Sides[0] = side{f.Get("model"), f.Get("instructions")}
	view.Sides[1] = side{f.Get("other_model"), f.Get("other_instructions")}
	if err == nil {
		view.Result, err = c.compare(v, &view, file)
	}
	if err != nil {
		if v.ctx().Err() != nil {
			return errGone
		}
		view.Wrong = v.reason(err)
	}
	return c.showEvaluate(v, view)
}

// request is the question as one side asks it.
func (s side) request(q questionForm, first side) (*decisions.Request, error) {
	q.Instructions = cmp.Or(s.Instructions, first.Instructions)
	form := decideForm{Model: cmp.Or(s.Model, first.Model), Kind: stateText, State: "of the rows", Questions: []questionForm{q}}
	return form.request()
}

// compare judges the rows with each side.
func (c *Console) compare(v *request, view *evaluateView, file rowsFile) (*evaluated, error) {
	if len(file.Rows) > maxEvaluated {
		return nil, badRows("An evaluation has at most %d rows.", maxEvaluated)
	}
	sides := view.Sides[:1]
	if view.Sides[1] != (side{}) {
		sides = view.Sides[:]
	}
	result := &evaluated{}
	answers := make([][]*decisions.Answer, len(sides))
	took := make([]float64, len(sides))
	for i, s := range sides {
		req, err := s.request(view.Question, sides[0])
		if err != nil {
			return nil, err
		}
		result.Names = append(result.Names, cmp.Or(s.Model, sides[0].Model))
		began := time.Now()
		answers[i] = make([]*decisions.Answer, len(file.Rows))
		var last error
		err = c.judge(v, req, file.Rows, func(at int, r *decisions.Response, failed error) error {
			if last = failed; failed == nil {
				answers[i][at] = &r.Answers[0]
			}
			return nil
		})
		if err != nil {
			return nil, cmp.Or(last, err)
		}
		if !slices.ContainsFunc(answers[i], func(a *decisions.Answer) bool { return a != nil }) {
			return nil, cmp.Or(last, badRows("There are no rows."))
		}
		took[i] = time.Since(began).Seconds() / float64(len(file.Rows))
	}
	if len(sides) == 2 && result.Names[0] == result.Names[1] {
		result.Names = []string{"first wording", "second wording"}
	}
	return result, result.measure(file, answers, took)
}

// probabilities are those of the answers to a question, with their names.
func probabilities(a *decisions.Answer) (p []float64, names []string) {
	if a.Type == decisions.Noul {
		return []float64{a.Noul, 1 - a.Noul}, []string{"yes", "no"}
	}
	for _, o := range a.Outcomes {
		p, names = append(p, o.Probability), append(names, o.Name)
	}
	return p, names
}

// rightOf returns the index of the option that a cell of a file names, -1 for none.
func rightOf(names []string, typ decisions.Type, text string) int {
	text = strings.TrimSpace(text)
	if typ == decisions.Noul {
		switch strings.ToLower(text) {
		case "yes", "true", "1":
			return 0
		case "no", "false", "0":
			return 1
		}
		return -1
	}
	return slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, text) })
}

// measure computes the result of answers by side and row.
func (e *evaluated) measure(file rowsFile, answers [][]*decisions.Answer, took []float64) error {
	cases := make([][]evaluation.Case, len(answers))
	var kept []int
	for at := range file.Rows {
		if slices.ContainsFunc(answers, func(of []*decisions.Answer) bool { return of[at] == nil }) {
			e.Left++
			continue
		}
		for i := range answers {
			p, names := probabilities(answers[i][at])
			right := rightOf(names, answers[i][at].Type, file.Rows[at].Answer)
			if right < 0 {
				return badRows("Row %d has no right answer: its column answer, label or right must be one of %s.", at+1, clip(200, strings.Join(names, ", ")))
			}
			e.Options = names
			cases[i] = append(cases[i], evaluation.Case{Row: calibration.Row{P: p, Right: right}, Flipped: math.NaN(), Cost: math.NaN(), Latency: took[i]})
		}
		kept = append(kept, at)
	}
	if e.Rows = len(kept); e.Rows == 0 {
		return badRows("No row was answered.")
	}
	results, differences := evaluation.Compare(cases)
	for m, name := range evaluation.Metrics {
		if math.IsNaN(results[0].Metrics[m].Value) {
			continue
		}
		line := metricLine{Name: name}
		for i := range results {
			line.Values = append(line.Values, intervalText(results[i].Metrics[m]))
		}
		if len(differences) > 0 {
			d := differences[0].Metrics[m]
			line.Difference, line.Certain = intervalText(d), d.Low > 0 || d.High < 0
		}
		e.Metrics = append(e.Metrics, line)
	}
	for i := range cases {
		e.Sides = append(e.Sides, e.sideOf(e.Names[i], cases[i], results[i], file, kept))
	}
	return nil
}

func intervalText(i evaluation.Interval) string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", i.Value, i.Low, i.High)
}

// maxConfusion is how many options a table of confusion has.
const maxConfusion = 20

func (e *evaluated) sideOf(name string, cases []evaluation.Case, r evaluation.Result, file rowsFile, kept []int) evaluatedSide {
	rows := make([]calibration.Row, len(cases))
	for i, c := range cases {
		rows[i] = c.Row
	}
	s := evaluatedSide{Name: name, Reliability: newReliability(r.Bins), Thresholds: calibration.Thresholds(rows)}
	if len(e.Options) <= maxConfusion {
		for right, counts := range evaluation.Confusion(cases, len(e.Options)) {
			line := confusionLine{Right: e.Options[right]}
			for said, n := range counts {
				line.Counts = append(line.Counts, confusionCell{n, said == right})
			}
			s.Confusion = append(s.Confusion, line)
		}
	}
	for _, at := range evaluation.Errors(cases, maxErrors) {
		p := cases[at].Row.P
		said := slices.Index(p, slices.Max(p))
		s.Errors = append(s.Errors, errorLine{
			Asked: clip(maxLine, stateLine(file.Rows[kept[at]].State)), Said: e.Options[said], Right: e.Options[cases[at].Row.Right], Confidence: p[said],
		})
	}
	return s
}
