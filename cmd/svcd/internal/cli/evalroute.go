package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/seed-506d8e5d/svc/decisions/evaluation"
)

// strongSuffix ends the column that says whether the strong model of a cascade is right
// about a row, behind the name of the question that judges the cheap one.
const strongSuffix = ".strong" + labelSuffix

// evalRoute is what a cascade would do by the judgments of one model.
type evalRoute struct {
	Name              string
	Curve, Guaranteed []evaluation.RoutePoint
}

// checkRoute returns an error where the question of -route is none that judges answers.
func (e *evaluating) checkRoute() error {
	if e.route == "" || slices.ContainsFunc(e.asked, func(q evalQuestion) bool { return q.name == e.route && q.kind == "noul" }) {
		return nil
	}
	return fmt.Errorf("-route %s is no question of the type noul in %s", e.route, e.questionsFile)
}

// strongIsWrong reports whether a row says that the strong model is wrong about it.
func (e *evaluating) strongIsWrong(members map[string]json.RawMessage) bool {
	return e.route != "" && strings.EqualFold(cell(members[e.route+strongSuffix]), "false")
}

// addRoutes adds the curves of a cascade by the answers to its question.
func (r *evalReport) addRoutes(columns []evalCases, rows []evalRow) {
	for _, c := range columns {
		if len(c.cases) == 0 {
			continue
		}
		table := make([]evaluation.Routed, len(c.cases))
		for i, one := range c.cases {
			table[i] = evaluation.Routed{Score: one.Row.P[0], Cheap: one.Row.Right == 0, Strong: !rows[c.rows[i]].strongWrong}
		}
		route := evalRoute{Name: c.name}
		route.Curve, route.Guaranteed = evaluation.RouteCurve(table)
		r.Routes = append(r.Routes, route)
	}
}

// print writes the curve as a table.
func (r *evalRoute) print(out io.Writer) error {
	fmt.Fprintf(out, "cascade by %s\n", r.Name)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "to the strong model\taccuracy\trandom mixing\tthreshold\tguaranteed")
	for _, p := range r.Curve {
		fmt.Fprintf(w, "%.3f\t%.3f\t%.3f\t%s\t\n", p.Strong, p.Accuracy, p.Random, p.From())
	}
	for _, p := range r.Guaranteed {
		fmt.Fprintf(w, "%.3f\t%.3f\t%.3f\t%s\terror %g\n", p.Strong, p.Accuracy, p.Random, p.From(), p.Error)
	}
	return w.Flush()
}
