package console

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
)

// calibrationLine is a calibration in the list.
type calibrationLine struct {
	decisions.Calibration
	Question string
}

// questionText is how a question begins that is stored as it was asked.
func questionText(asked json.RawMessage) string {
	var q struct {
		Instructions string          `json:"instructions"`
		Criteria     json.RawMessage `json:"criteria"`
	}
	if json.Unmarshal(asked, &q) != nil {
		return string(asked)
	}
	return cmp.Or(q.Instructions, string(q.Criteria))
}

func (c *Console) calibrationsPage(v *request) error {
	p := newest(v.r)
	found, err := c.service.Calibrations(v.ctx(), v.caller, p)
	if err != nil {
		return err
	}
	view := list[calibrationLine]{Token: v.session.Token}
	for _, one := range found.Items {
		view.Items = append(view.Items, calibrationLine{one, questionText(one.Asked)})
	}
	if n := len(found.Items); n > 0 {
		view.Next = nextPage(found.HasMore, found.Items[n-1].ID, "")
	}
	return v.render("calibrations", "Calibrations", view)
}

// calibrationView is a calibration with what it changes.
type calibrationView struct {
	Token       string
	Calibration *decisions.Calibration
	Question    string
	Measures    []measure
	Reliability reliability
}

// measure is a number before and after a calibration.
type measure struct {
	Name, About   string
	Before, After string
	Better        bool
}

func measures(before, after calibration.Metrics) []measure {
	number := func(x float64) string { return fmt.Sprintf("%.3f", x) }
	share := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	return []measure{
		{"Accuracy", "answers that are right", share(before.Accuracy), share(after.Accuracy), after.Accuracy > before.Accuracy},
		{"Calibration error", "how far confidence is from being right", share(before.ECE), share(after.ECE), after.ECE < before.ECE},
		{"Brier score", "squared distance to the right answer", number(before.Brier), number(after.Brier), after.Brier < before.Brier},
		{"Log loss", "surprise at the right answer", number(before.NLL), number(after.NLL), after.NLL < before.NLL},
		{"AUROC", "how well confidence tells right from wrong", number(before.AUROC), number(after.AUROC), after.AUROC > before.AUROC},
	}
}

// reliability is a drawing of how often answers of a confidence are right.
type reliability struct {
	Bars  []reliabilityBar
	Label string
}

// reliabilityBar is a part of the range of confidence, in units of the drawing, whose
// width and height are 100.
type reliabilityBar struct {
	X, Width, Y, Height float64
	MeanX, MeanY        float64 // where an honest model would be
	Title               string
}

// newReliability draws bins.
func newReliability(all []calibration.Bin) reliability {
	r := reliability{Label: "How often answers are right, by their confidence:"}
	for _, b := range all {
		if b.Count == 0 {
			continue
		}
		title := fmt.Sprintf("%.0f to %.0f %%: %.0f %% of %d are right", 100*b.From, 100*b.To, 100*b.Right, b.Count)
		r.Bars = append(r.Bars, reliabilityBar{
			X: 100*b.From + 0.8, Width: 100*(b.To-b.From) - 1.6, Y: 100 - 100*b.Right, Height: max(100*b.Right, 0.5), MeanX: 100 * b.Mean, MeanY: 100 - 100*b.Mean, Title: title,
		})
		r.Label += " " + title + ";"
	}
	return r
}

func (c *Console) calibrationPage(v *request) error {
	one, err := c.service.Calibration(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.render("calibration", "Calibration", calibrationView{
		Token: v.session.Token, Calibration: one, Question: questionText(one.Asked), Measures: measures(one.Before, one.After), Reliability: newReliability(one.Reliability),
	})
}

func (c *Console) deleteCalibration(v *request) error {
	if err := c.service.DeleteCalibration(v.ctx(), v.caller, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/calibrations")
}
