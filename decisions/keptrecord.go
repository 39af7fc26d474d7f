package decisions

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/internal/generation"
)

// keptRecord is what is stored of a Kept; its ID is in the key.
type keptRecord struct {
	CreatedAt   int64                      `json:"created_at"`
	Model       string                     `json:"model"`
	State       json.RawMessage            `json:"state"`
	Images      int                        `json:"images,omitempty"`
	Questions   []questionRecord           `json:"questions"`
	Answers     []answerRecord             `json:"answers"` // in the order of the questions
	InputTokens int                        `json:"input_tokens"`
	Labels      map[string]json.RawMessage `json:"labels,omitempty"` // by question
	Metadata    map[string]string          `json:"metadata,omitempty"`
	Ordered     bool                       `json:"ordered,omitempty"`
	Abstains    bool                       `json:"abstains,omitempty"`
	Trace       accounts.Trace             `json:"trace,omitzero"`
}

type questionRecord struct {
	Name         string          `json:"name"`
	Type         Type            `json:"type"`
	Instructions string          `json:"instructions,omitempty"`
	Criteria     json.RawMessage `json:"criteria,omitempty"`
}

// answerRecord has the probabilities of a question's options in order, calibrated
// where there is a calibration. All else of an Answer follows from them.
type answerRecord struct {
	P           []float64 `json:"p"`
	Raw         []float64 `json:"raw,omitempty"` // with a calibration: before it
	Calibration string    `json:"calibration,omitempty"`
	Stale       bool      `json:"stale,omitempty"`
	Abstained   bool      `json:"abstained,omitempty"`
	Variation   float64   `json:"variation,omitempty"`
}

func newKeptRecord(req *Request, p *parsed, resp *Response) keptRecord {
	r := keptRecord{Model: resp.Model, State: p.raw, Images: len(req.Images), InputTokens: resp.Usage.InputTokens,
		Metadata: req.Metadata, Ordered: resp.Ordered, Abstains: resp.Abstains}
	for i := range req.Questions {
		q, a := &req.Questions[i], &resp.Answers[i]
		r.Images += len(q.Images)
		r.Questions = append(r.Questions, questionRecord{cmp.Or(q.KeptName, q.Name), q.Type, q.Instructions, q.Criteria})
		kept := answerRecord{P: a.probabilities(), Calibration: a.Calibration, Stale: a.CalibrationStale, Abstained: a.Abstained, Variation: a.OrderVariation}
		if a.Raw != nil {
			kept.Raw = a.Raw.probabilities()
		}
		r.Answers = append(r.Answers, kept)
	}
	return r
}

// probabilities returns those of the answers that the question may have.
func (a *Answer) probabilities() []float64 {
	if a.Type == Noul {
		return []float64{a.Noul, 1 - a.Noul}
	}
	p := make([]float64, len(a.Outcomes))
	for i := range p {
		p[i] = a.Outcomes[i].Probability
	}
	return p
}

func (r *questionRecord) question() Question {
	return Question{Name: r.Name, Type: r.Type, Instructions: r.Instructions, Criteria: r.Criteria}
}

func (r *questionRecord) parse() (question, error) {
	asked := r.question()
	return parseQuestion("questions/"+r.Name, &asked)
}

// kept returns the decision with an ID.
func (r *keptRecord) kept(id string) (*Kept, error) {
	k := &Kept{ID: id, CreatedAt: r.CreatedAt, State: r.State, Images: r.Images, Metadata: generation.MetadataOrEmpty(r.Metadata), Trace: r.Trace,
		Response: Response{ID: id, Model: r.Model, Ordered: r.Ordered, Abstains: r.Abstains, Usage: Usage{InputTokens: r.InputTokens}}}
	for i := range r.Questions {
		q, err := r.Questions[i].parse()
		if err != nil || len(r.Answers) != len(r.Questions) {
			return nil, fmt.Errorf("decisions: record of %s: %w", id, err)
		}
		k.Questions = append(k.Questions, r.Questions[i].question())
		k.Answers = append(k.Answers, r.Answers[i].answer(&q))
		if label, ok := r.Labels[q.name]; ok {
			k.Labels = append(k.Labels, Label{q.name, label})
		}
	}
	return k, nil
}

func (r *answerRecord) answer(q *question) Answer {
	a := answer(q, r.P)
	a.Calibration, a.CalibrationStale, a.Abstained, a.OrderVariation = r.Calibration, r.Stale, r.Abstained, r.Variation
	if r.Raw != nil {
		raw := answer(q, r.Raw)
		raw.OrderVariation, a.Raw = r.Variation, &raw
	}
	return a
}
