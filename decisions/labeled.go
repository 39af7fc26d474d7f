package decisions

import (
	"bytes"
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
	yes, size := true, 0
	for p := (page.Params{Limit: MaxPage, Desc: true}); ; {
		found, err := s.List(ctx, c, Filter{Question: name, Labeled: &yes}, p)
		if err != nil {
			return nil, err
		}
		for i := range found.Items {
			size += n.addLabeled(&found.Items[i], name)
			p.After = found.Items[i].ID
		}
		if !found.HasMore || len(n.Rows) >= MaxRows || size >= maxLabeled {
			break
		}
	}
	n.Rows = n.Rows[:min(len(n.Rows), MaxRows)]
	if len(n.Rows) < calibration.MinRows {
		return nil, unprocessable("question", "%d stored decisions have a label of the question %.128q, but a calibration takes at least %d; label more of them.",
			len(n.Rows), name, calibration.MinRows)
	}
	return n, nil
}

// addLabeled adds a row for a decision that has a label of the question, and returns
// the size of its state.
func (n *NewCalibration) addLabeled(k *Kept, name string) int {
	label := slices.IndexFunc(k.Labels, func(l Label) bool { return l.Question == name })
	if label < 0 || k.Images > 0 {
		return 0
	}
	q := k.Questions[slices.IndexFunc(k.Questions, func(q Question) bool { return q.Name == name })]
	if len(n.Rows) == 0 {
		n.Question, n.Asked = q, askedAs(&q)
	}
	if q.Type != n.Question.Type || !bytes.Equal(jsonout.Plain(q.Criteria), jsonout.Plain(n.Question.Criteria)) {
		return 0
	}
	n.Rows = append(n.Rows, LabelledRow{State: k.State, Answer: k.Labels[label].Answer})
	return len(k.State)
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
