package decisions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/page"
)

// maxLabeled is how many bytes the states of the rows of [Service.Labeled] may have
// together.
const maxLabeled = 256 << 20

// Labeled returns the question of that name as it was asked in the newest labelled
// decision, and a row for each decision whose label of it is set: the newest first, up
// to [MaxRows]. Decisions that asked it with another type or other criteria are left
// out, and those with images. The error is Unprocessable where there are fewer rows
// than a calibration needs.
func (s *Service) Labeled(ctx context.Context, c accounts.Caller, name string) (*NewCalibration, error) {
	n := &NewCalibration{}
	err := s.eachLabeled(ctx, c, name, func(k *Kept, at int, label json.RawMessage) {
		if len(n.Rows) == 0 {
			n.Question, n.Asked = k.Questions[at], askedAs(&k.Questions[at])
		}
		n.Rows = append(n.Rows, LabelledRow{State: k.State, Answer: label})
	})
	if err != nil {
		return nil, err
	}
	if len(n.Rows) < calibration.MinRows {
		return nil, unprocessable("question", "%d stored decisions have a label of the question %.128q, but a calibration takes at least %d; label more of them.",
			len(n.Rows), name, calibration.MinRows)
	}
	return n, nil
}

// Preview says what a calibration from labels would be made of, and what it would
// guarantee as far as stored answers tell.
type Preview struct {
	Model    string   // that the answers are of
	Question Question // as it was asked in the newest labelled decision
	Asked    json.RawMessage
	Rows     int   // that the calibration would be made of
	Missing  int   // rows that a calibration needs besides
	Counts   []int // rows by their right options, in order
	Known    int   // rows that have a stored answer of the model

	// Of the answers that are known; zero where there are none.
	Metrics    calibration.Metrics
	Thresholds []calibration.Threshold
}

// Preview returns the preview of a calibration of the question of that name, without
// asking a model. An empty model is that of the newest labelled decision. Rows is 0
// where there are no labels.
func (s *Service) Preview(ctx context.Context, c accounts.Caller, model, name string) (*Preview, error) {
	v := &Preview{Model: model}
	var asked question
	var rows []calibration.Row
	var failed error
	err := s.eachLabeled(ctx, c, name, func(k *Kept, at int, label json.RawMessage) {
		if failed != nil {
			return
		}
		if v.Rows == 0 {
			if asked, failed = parseQuestion("question", &k.Questions[at]); failed != nil {
				return
			}
			v.Question = k.Questions[at]
			v.Asked, v.Counts = askedAs(&k.Questions[at]), make([]int, len(k.Answers[at].probabilities()))
			if model == "" {
				v.Model = k.Model
			}
		}
		var right int
		if right, failed = asked.find("label", label); failed != nil {
			return
		}
		v.Rows++
		v.Counts[right]++
		if k.Model == v.Model {
			answer := &k.Answers[at]
			if answer.Raw != nil {
				answer = answer.Raw
			}
			rows = append(rows, calibration.Row{P: answer.probabilities(), Right: right})
		}
	})
	if err := cmp.Or(err, failed); err != nil {
		return nil, err
	}
	v.Missing = max(calibration.MinRows-v.Rows, 0)
	if v.Known = len(rows); v.Known > 0 {
		v.Metrics, _ = calibration.Measure(rows)
		v.Thresholds = calibration.Thresholds(rows)
	}
	return v, nil
}

// eachLabeled calls take with each decision whose label of the question is set, as
// [Service.Labeled] has them, with the place of the question and the label.
func (s *Service) eachLabeled(ctx context.Context, c accounts.Caller, name string, take func(k *Kept, at int, label json.RawMessage)) error {
	var asked *Question
	yes, rows, size := true, 0, 0
	for p := (page.Params{Limit: MaxPage, Desc: true}); ; {
		found, err := s.List(ctx, c, Filter{Question: name, Labeled: &yes}, p)
		if err != nil {
			return err
		}
		for i := range found.Items {
			k := &found.Items[i]
			p.After = k.ID
			label := slices.IndexFunc(k.Labels, func(l Label) bool { return l.Question == name })
			if label < 0 || k.Images > 0 {
				continue
			}
			at := slices.IndexFunc(k.Questions, func(q Question) bool { return q.Name == name })
			if asked == nil {
				asked = &k.Questions[at]
			}
			if q := &k.Questions[at]; q.Type != asked.Type || !bytes.Equal(jsonout.Plain(q.Criteria), jsonout.Plain(asked.Criteria)) {
				continue
			}
			take(k, at, k.Labels[label].Answer)
			size += len(k.State)
			if rows++; rows == MaxRows {
				return nil
			}
		}
		if !found.HasMore || size >= maxLabeled {
			return nil
		}
	}
}

// askedAs returns a question as a request of the interface asks it.
func askedAs(q *Question) json.RawMessage {
	var w jsonout.Writer
	w.Object()
	w.Name("type").String(string(q.Type))
	if q.Instructions != "" {
		w.Name("instructions").String(q.Instructions)
	}
	if len(q.Criteria) > 0 {
		w.Name("criteria").Raw(q.Criteria)
	}
	w.EndObject()
	return w.Buf
}
