package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/seed-506d8e5d/svc/decisions/evaluation"
)

// evalReport is what an evaluation has found.
type evalReport struct {
	Models    []string
	Rows      int
	Questions []evalSection

	price float64 // dollars for a million tokens of input
}

// evalSection is the part of a report about one question.
type evalSection struct {
	Name           string
	Cases, Refused int
	Heading        []string
	Lines          [][]string // the name of a metric and a cell for each column
	Results        []evaluation.Result
}

// add evaluates a question.
func (r *evalReport) add(q *evalQuestion, at int, rows []evalRow, answers [][]evalAnswer) {
	all, refused := cases(at, q, r.price, rows, answers)
	s := evalSection{Name: q.name, Cases: len(all[0]), Refused: refused, Heading: append([]string{""}, r.Models...)}
	if s.Cases > 0 {
		var differences []evaluation.Difference
		s.Results, differences = evaluation.Compare(all)
		for _, d := range differences {
			s.Heading = append(s.Heading, r.Models[d.Than]+" − "+r.Models[d.Model])
		}
		for i, name := range evaluation.Metrics {
			line := []string{name}
			for _, result := range s.Results {
				line = append(line, shown(result.Metrics[i]))
			}
			for _, d := range differences {
				line = append(line, shown(d.Metrics[i]))
			}
			s.Lines = append(s.Lines, line)
		}
	}
	r.Questions = append(r.Questions, s)
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
		for i, result := range s.Results {
			fmt.Fprintf(w, "confidence, %s\trows\tmean\tright\n", r.Models[i])
			for _, b := range result.Bins {
				if b.Count > 0 {
					fmt.Fprintf(w, "%.1f–%.1f\t%d\t%.3f\t%.3f\n", b.From, b.To, b.Count, b.Mean, b.Right)
				}
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

//go:embed eval.html
var evalPage string

// pixels returns where in a diagram a share is.
func pixels(share float64) float64 { return math.Round(2000*share) / 10 }

// write writes the report as a page.
func (r *evalReport) write(name string) error {
	page, err := template.New("eval").Funcs(template.FuncMap{
		"x": func(v float64) float64 { return pixels(v) },
		"y": func(v float64) float64 { return pixels(1 - v) },
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
