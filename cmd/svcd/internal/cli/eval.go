package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/decisions/evaluation"
	"github.com/seed-506d8e5d/svc/model"
)

// maxEvalRows bounds the rows of an evaluation, which are all kept.
const maxEvalRows = 100_000

// evalCommands are the commands that say how good decisions are.
func evalCommands() []command {
	return []command{{
		words: "eval", args: "LABELLED", access: uses, help: "say how well models answer questions about the labelled rows of a CSV or JSONL file",
		prepare: func(flags *flag.FlagSet) action {
			e := &evaluating{}
			flags.StringVar(&e.models, "models", model.DefaultDecider, "`IDs` of the models, with commas between them")
			flags.StringVar(&e.questionsFile, "questions", "", "`file` with the object questions of a request; the right answers are in columns NAME.label")
			flags.StringVar(&e.column, "state", "state", "`column` that is judged; where the rows have no column state, the row without its labels is")
			flags.StringVar(&e.page, "out", "eval.html", "`file` to write the page to")
			flags.StringVar(&e.route, "route", "", "`name` of a yes/no question that judges the answers of a cheap model: shows how a cascade would do by it. NAME.label says whether the cheap model is right, NAME.strong.label whether the strong one is (it is where nothing is said)")
			flags.Float64Var(&e.price, "price", 0.20, "`dollars` for a million tokens of input")
			flags.BoolVar(&e.flips, "flips", true, "ask about each row again with the options reversed, to see which answers that changes")
			flags.StringVar(&e.kept, "answers", "", "`file` to keep the answers in, so that a run that broke off goes on where it was")
			flags.IntVar(&e.atOnce, "at-once", mostAtOnce, "how `many` rows are asked about at once at most; fewer where the server does not take so many")
			flags.BoolVar(&e.batch, "batch", false, "ask in batches, which run when nobody else needs the models and say nothing of latency; a run that was interrupted finds its batches again")
			return e.run
		},
	}}
}

// evaluating is one evaluation.
type evaluating struct {
	deciding
	models, page, kept string
	route              string // the question of a cascade; empty: none
	price              float64
	flips              bool

	asked []evalQuestion
	runs  []*batchRun // whose files the server keeps until the report is written
}

// evalQuestion is what is evaluated: the answers to a question, or of one that
// holds labels whether one of them does.
type evalQuestion struct {
	name    string // of the question, and behind a dot of the label
	of      string // the question
	kind    string
	options []string // as labels and answers name them; of a noul, and of a label, true and false
	label   string   // of a question that holds labels
}

// evalRow is a row and the index of the right option of each question, -1 where
// it has no label.
type evalRow struct {
	state  json.RawMessage
	labels []int

	strongWrong bool // the strong model of the cascade is wrong
}

// evalAnswer is a model's answer about a row: the probabilities of each question's
// options, those without the calibration, null where there is none, and those with
// the options reversed. OK is false where the model refused the row.
type evalAnswer struct {
	OK       bool        `json:"ok"`
	P        [][]float64 `json:"p,omitempty"`
	Raw      [][]float64 `json:"raw,omitempty"`
	Reversed [][]float64 `json:"reversed,omitempty"`
	Tokens   int         `json:"tokens"`
	Latency  float64     `json:"latency"` // in seconds; 0: nobody measured it
}

func (e *evaluating) run(ctx context.Context, s *session, args []string) error {
	e.session = s
	s.server.HTTP = manyClient
	if e.questionsFile == "" || e.atOnce < 1 {
		return errors.New("-questions is required, and -at-once is at least 1")
	}
	reversed, err := e.readQuestions()
	if err != nil {
		return fmt.Errorf("%s: %w", e.questionsFile, err)
	}
	if err := e.checkRoute(); err != nil {
		return err
	}
	rows, err := e.readRows(ctx, args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	models := strings.Split(e.models, ",")
	answers := make([][]evalAnswer, len(models))
	keep, err := openKeeper(e.kept, e.questions, rows, e.flips)
	if err != nil {
		return err
	}
	defer keep.close()
	e.pace = newPace(e.atOnce)
	for i, id := range models {
		models[i] = strings.TrimSpace(id)
		e.model = models[i]
		ask := e.askAll
		if e.batch {
			ask = e.askInBatches
		}
		if answers[i], err = ask(ctx, rows, reversed, keep); err != nil {
			return fmt.Errorf("%s: %w", e.model, err)
		}
	}
	report := evalReport{Rows: len(rows)}
	for i := range e.asked {
		found, refused := e.cases(i, models, rows, answers)
		report.add(&e.asked[i], found, refused, rows)
		if e.route != "" && e.asked[i].name == e.route {
			report.addRoutes(found, rows)
		}
	}
	if err := report.print(e.Stdout); err != nil {
		return err
	}
	if err := report.write(e.page); err != nil {
		return err
	}
	for _, b := range e.runs {
		if err := b.done(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readQuestions reads the questions and returns them with their options reversed,
// nil where that changes nothing.
func (e *evaluating) readQuestions() (reversed json.RawMessage, err error) {
	if e.questions, err = os.ReadFile(e.questionsFile); err != nil {
		return nil, err
	}
	var all []string
	changes := false
	err = eachMember(e.questions, func(name string, raw json.RawMessage) error {
		turned, changed, err := e.readQuestion(name, raw)
		all, changes = append(all, member(name, turned)), changes || changed
		return err
	})
	if err != nil || !changes || !e.flips {
		return nil, err
	}
	return json.RawMessage("{" + strings.Join(all, ",") + "}"), nil
}

// readQuestion reads a question and returns it with its options reversed, and whether
// they are other than before.
func (e *evaluating) readQuestion(name string, raw json.RawMessage) (turned json.RawMessage, changed bool, err error) {
	var members map[string]json.RawMessage
	q := evalQuestion{name: name, of: name}
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(members["type"], &q.kind); err != nil {
		return nil, false, fmt.Errorf("the question %s has no type", name)
	}
	var criteria []string // as they are in JSON
	var around [2]string
	switch q.kind {
	case "noul":
		q.options = []string{"true", "false"}
		e.asked = append(e.asked, q)
		return raw, false, nil
	case "labels": // one after the other: they do not exclude each other
		return raw, false, eachMember(members["criteria"], func(label string, _ json.RawMessage) error {
			e.asked = append(e.asked, evalQuestion{name: name + "." + label, of: name, kind: q.kind, options: []string{"true", "false"}, label: label})
			return nil
		})
	case "choice":
		around = [2]string{"{", "}"}
		err = eachMember(members["criteria"], func(option string, value json.RawMessage) error {
			key, err := json.Marshal(option)
			q.options, criteria = append(q.options, option), append(criteria, string(key)+":"+string(value))
			return err
		})
	case "score":
		around = [2]string{"[", "]"}
		var levels []json.RawMessage
		err = json.Unmarshal(members["criteria"], &levels)
		for i, level := range levels {
			q.options, criteria = append(q.options, strconv.Itoa(i)), append(criteria, string(level))
		}
	default:
		err = fmt.Errorf("the question %s is of the type %s; evaluated are choice, score, noul and labels", name, q.kind)
	}
	if err != nil {
		return nil, false, err
	}
	slices.Reverse(criteria)
	members["criteria"] = json.RawMessage(around[0] + strings.Join(criteria, ",") + around[1])
	e.asked = append(e.asked, q)
	turned, err = json.Marshal(members)
	return turned, true, err
}

// member is a member of an object.
func member(name string, value json.RawMessage) string {
	key, _ := json.Marshal(name) // text always can be
	return string(key) + ":" + string(value)
}

// readRows reads the rows that have a label.
func (e *evaluating) readRows(ctx context.Context, name string) ([]evalRow, error) {
	in, err := openFile(name, e.column)
	if err != nil {
		return nil, err
	}
	defer in.close()
	var rows []evalRow
	for number := 1; ; number++ {
		r, err := in.next(ctx)
		if err == io.EOF && len(rows) == 0 {
			return nil, errors.New("no row has a label; the right answers are in columns NAME.label")
		}
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if number > maxEvalRows {
			return nil, fmt.Errorf("there are more than %d rows", maxEvalRows)
		}
		row, labelled, err := e.labels(r)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", number, err)
		}
		if labelled {
			rows = append(rows, row)
		}
	}
}

// labels finds the labels of a row. What is judged never has them.
func (e *evaluating) labels(r *row) (found evalRow, labelled bool, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.object, &members); err != nil {
		return found, false, err
	}
	found.state, found.strongWrong = r.state, e.strongIsWrong(members)
	for i := range e.asked {
		q := &e.asked[i]
		right, err := q.right(members[q.of+".label"])
		if err != nil {
			return found, false, err
		}
		labelled = labelled || right >= 0
		found.labels = append(found.labels, right)
	}
	return found, labelled, err
}

// right returns the index of the option that a label names, -1 where there is none.
// The labels of a question that holds several are a list, or stand between bars.
func (q *evalQuestion) right(value json.RawMessage) (int, error) {
	text := cell(value)
	if value == nil || text == "null" || text == "" && q.kind != "labels" {
		return -1, nil
	}
	if q.kind == "labels" {
		if slices.Contains(strings.Split(text, "|"), q.label) {
			return 0, nil
		}
		return 1, nil
	}
	if q.kind == "noul" {
		text = strings.ToLower(text)
	}
	right := slices.Index(q.options, text)
	if right < 0 {
		return 0, fmt.Errorf("%s.label is %q and none of %s", q.of, text, strings.Join(q.options, ", "))
	}
	return right, nil
}

// askAll asks a model about all rows that it has not answered before, as many at
// once as the server takes.
func (e *evaluating) askAll(ctx context.Context, rows []evalRow, reversed json.RawMessage, keep *keeper) ([]evalAnswer, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	answers := make([]evalAnswer, len(rows))
	done := keep.known(e.model, answers)
	progress := e.steps("rows by "+e.model, len(done), len(rows))
	defer progress.end()
	places := make(chan struct{}, e.atOnce)
	var counting sync.Mutex
	var working sync.WaitGroup
	for i := range rows {
		if done[i] {
			continue
		}
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		working.Go(func() {
			defer func() { <-places }()
			a, err := e.askOne(ctx, rows[i].state, reversed)
			if err == nil {
				err = keep.add(e.model, i, a)
			}
			if err != nil {
				fail(err)
				return
			}
			counting.Lock()
			defer counting.Unlock()
			answers[i] = a
			progress.step()
		})
	}
	working.Wait()
	return answers, context.Cause(ctx)
}

func (e *evaluating) askOne(ctx context.Context, state, reversed json.RawMessage) (evalAnswer, error) {
	one, err := e.ask(ctx, e.questions, state)
	switch {
	case err != nil:
		return evalAnswer{}, err
	case one.refused || reversed == nil:
		return e.answer(one, nil)
	}
	other, err := e.ask(ctx, reversed, state)
	if err != nil {
		return evalAnswer{}, err
	}
	return e.answer(one, &other)
}

// answer returns what was answered about a row, and with the options reversed, nil
// where that was not asked.
func (e *evaluating) answer(one answered, other *answered) (a evalAnswer, err error) {
	if one.refused || other != nil && other.refused {
		return a, nil
	}
	a = evalAnswer{OK: true, Tokens: one.tokens, Latency: one.took.Seconds()}
	if a.P, a.Raw, err = e.probabilities(one.answers, false); err != nil || other == nil {
		return a, err
	}
	a.Reversed, _, err = e.probabilities(other.answers, true)
	return a, err
}

// evalNumbers are the probabilities of an answer.
type evalNumbers struct {
	Noul          *float64
	Probabilities map[string]float64
}

// probabilities reads those of each question's options, in the order of
// evalQuestion.options, and those without the calibration. The levels of a scale that
// was asked reversed are counted from its other end.
func (e *evaluating) probabilities(answers json.RawMessage, reversed bool) (found, raw [][]float64, err error) {
	var all map[string]struct {
		evalNumbers
		Raw *evalNumbers
	}
	if err := json.Unmarshal(answers, &all); err != nil {
		return nil, nil, fmt.Errorf("the server's answers: %w", err)
	}
	found = make([][]float64, len(e.asked))
	for i, q := range e.asked {
		a := all[q.of]
		if found[i], err = q.read(a.evalNumbers, reversed); err != nil {
			return nil, nil, err
		}
		if a.Raw == nil {
			continue
		}
		if raw == nil {
			raw = make([][]float64, len(e.asked))
		}
		if raw[i], err = q.read(*a.Raw, reversed); err != nil {
			return nil, nil, err
		}
	}
	return found, raw, nil
}

// read returns the probabilities of a question's options.
func (q *evalQuestion) read(a evalNumbers, reversed bool) (p []float64, err error) {
	if a.Noul != nil && q.kind == "noul" {
		return []float64{*a.Noul, 1 - *a.Noul}, nil
	}
	options := q.options
	if q.kind == "labels" {
		options = []string{q.label}
	}
	for _, option := range options {
		value, ok := a.Probabilities[option]
		if !ok {
			return nil, fmt.Errorf("the server's answer to %s has no probability of %s", q.of, option)
		}
		p = append(p, value)
	}
	switch {
	case q.kind == "labels":
		p = append(p, 1-p[0])
	case reversed && q.kind == "score":
		slices.Reverse(p)
	}
	return p, nil
}

// evalCases are the answers of a column of the report, a model or what it answers
// without its calibration, to one question.
type evalCases struct {
	name  string
	cases []evaluation.Case
	rows  []int // that the cases are about
}

// cases returns what models answered to a question about the rows that have a
// label and that every model took.
func (e *evaluating) cases(at int, models []string, rows []evalRow, answers [][]evalAnswer) (found []evalCases, refused int) {
	q := &e.asked[at]
	var taken []int
	for i, row := range rows {
		switch {
		case row.labels[at] < 0:
		case slices.ContainsFunc(answers, func(of []evalAnswer) bool { return !of[i].OK }):
			refused++
		default:
			taken = append(taken, i)
		}
	}
	for m, name := range models {
		calibrated := evalCases{name: name, rows: taken}
		raw := evalCases{name: name + ", raw", rows: taken}
		for _, i := range taken {
			a := &answers[m][i]
			c := evaluation.Case{Row: calibration.Row{P: a.P[at], Right: rows[i].labels[at]}, Flipped: math.NaN(), Cost: float64(a.Tokens) * e.price / 1e6, Latency: a.Latency}
			if a.Latency == 0 {
				c.Latency = math.NaN()
			}
			if a.Reversed != nil && q.label == "" && q.kind != "noul" {
				c.Flipped = 0
				if likeliest(a.P[at]) != likeliest(a.Reversed[at]) {
					c.Flipped = 1
				}
			}
			calibrated.cases = append(calibrated.cases, c)
			if at < len(a.Raw) && a.Raw[at] != nil {
				c.Row.P = a.Raw[at]
				raw.cases = append(raw.cases, c)
			}
		}
		if len(raw.cases) == len(taken) && len(taken) > 0 { // else the calibration came or went meanwhile
			found = append(found, raw)
		}
		found = append(found, calibrated)
	}
	return found, refused
}

func likeliest(p []float64) int { return slices.Index(p, slices.Max(p)) }
