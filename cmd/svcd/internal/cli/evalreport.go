package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/seed-506d8e5d/svc/decisions/evaluation"
)

// evalReport is what an evaluation has found.
type evalReport struct {
	Rows      int
	Questions []evalSection
	Routes    []evalRoute // of -route
}

// evalSection is the part of a report about one question.
type evalSection struct {
	Name           string
	Cases, Refused int
	Heading        []string
	Lines          [][]string // the name of a metric and a cell for each column
	Columns        []evalColumn
}

// evalColumn is how one model did.
type evalColumn struct {
	Name string
	evaluation.Result
	Confusion [][]string // the right options down, the likeliest across, with a heading; nil where there are too many
	Errors    []evalError
}

// evalError is an answer that was wrong.
type evalError struct {
	Row           int // of those with a label, from 1
	Confidence    float64
	Answer, Right string
	State         string // its beginning
}

const (
	maxConfusion   = 20 // options of a question whose confusion is shown
	confidentWrong = 10 // errors that are shown
	stateBytes     = 120
)

// add evaluates a question.
func (r *evalReport) add(q *evalQuestion, columns []evalCases, refused int, rows []evalRow) {
	all := make([][]evaluation.Case, len(columns))
	s := evalSection{Name: q.name, Cases: len(columns[0].cases), Refused: refused, Heading: []string{""}}
	for i, c := range columns {
		all[i] = c.cases
		s.Heading = append(s.Heading, c.name)
	}
	if s.Cases > 0 {
		results, differences := evaluation.Compare(all)
		for _, d := range differences {
			s.Heading = append(s.Heading, columns[d.Than].name+" − "+columns[d.Model].name)
		}
		for i, name := range evaluation.Metrics {
			line := []string{name}
			for _, result := range results {
				line = append(line, shown(result.Metrics[i]))
			}
			for _, d := range differences {
				line = append(line, shown(d.Metrics[i]))
			}
			s.Lines = append(s.Lines, line)
		}
		for i, c := range columns {
			s.Columns = append(s.Columns, evalColumn{c.name, results[i], q.confusion(c.cases), q.errors(c, rows)})
		}
	}
	r.Questions = append(r.Questions, s)
}

// confusion returns the table of right options and answers.
func (q *evalQuestion) confusion(cases []evaluation.Case) [][]string {
	if len(q.options) > maxConfusion {
		return nil
	}
	table := [][]string{append([]string{"right, answered"}, q.options...)}
	for i, counts := range evaluation.Confusion(cases, len(q.options)) {
		line := []string{q.options[i]}
		for _, n := range counts {
			line = append(line, strconv.Itoa(n))
		}
		table = append(table, line)
	}
	return table
}

// errors returns the most confident wrong answers.
func (q *evalQuestion) errors(c evalCases, rows []evalRow) (list []evalError) {
	for _, i := range evaluation.Errors(c.cases, confidentWrong) {
		answer := c.cases[i].Row
		state := string(rows[c.rows[i]].state)
		list = append(list, evalError{
			Row: c.rows[i] + 1, Confidence: slices.Max(answer.P), Answer: q.options[likeliest(answer.P)], Right: q.options[answer.Right],
			State: strings.ToValidUTF8(state[:min(len(state), stateBytes)], ""),
		})
	}
	return list
}

func shown(v evaluation.Interval) string {
	if math.IsNaN(v.Value) {
		return "–"
	}
	return fmt.Sprintf("%.4g [%.4g, %.4g]", v.Value, v.Low, v.High)
}

// Title says what a section is about.
func (s evalSection) Title() string {
	title := fmt.Sprintf("%s: %d rows", s.Name, s.Cases)
	if s.Refused > 0 {
		title += fmt.Sprintf(", %d more that a model refused", s.Refused)
	}
	return title
}

// print writes the report as tables of text.
func (r *evalReport) print(out io.Writer) error {
	for _, s := range r.Questions {
		fmt.Fprintf(out, "%s\n", s.Title())
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, line := range append([][]string{s.Heading}, s.Lines...) {
			fmt.Fprintln(w, strings.Join(line, "\t"))
		}
		for _, c := range s.Columns {
			c.print(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for i := range r.Routes {
		if err := r.Routes[i].print(out); err != nil {
			return err
		}
	}
	return nil
}

// print writes what there is to say of one model beside its metrics.
func (c *evalColumn) print(w io.Writer) {
	fmt.Fprintf(w, "confidence, %s\trows\tmean\tright\n", c.Name)
	for _, b := range c.Bins {
		if b.Count > 0 {
			fmt.Fprintf(w, "%.1f–%.1f\t%d\t%.3f\t%.3f\n", b.From, b.To, b.Count, b.Mean, b.Right)
		}
	}
	for _, line := range c.Confusion {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	for i, e := range c.Errors {
		if i == 0 {
			fmt.Fprintln(w, "most confident errors\tconfidence\tanswer\tright\tstate")
		}
		fmt.Fprintf(w, "row %d\t%.3f\t%s\t%s\t%s\n", e.Row, e.Confidence, e.Answer, e.Right, e.State)
	}
}

//go:embed eval.html
var evalPage string

// pixels returns where in a diagram a share is.
func pixels(share float64) float64 { return math.Round(2000*share) / 10 }

// write writes the report as a page.
func (r *evalReport) write(name string) error {
	page, err := template.New("eval").Funcs(template.FuncMap{
		"ticks": func() []float64 { return []float64{0, 0.25, 0.5, 0.75, 1} },
		"x":     func(v float64) float64 { return pixels(v) },
		"y":     func(v float64) float64 { return pixels(1 - v) },
		"radius": func(count, all int) float64 {
			return 2 + 10*math.Sqrt(float64(count)/float64(all))
		},
	}).Parse(evalPage)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, r); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}
