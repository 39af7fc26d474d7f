package convert

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// ToKeptDecision returns a stored decision as it is answered.
func ToKeptDecision(k *decisions.Kept) wire.KeptDecision {
	said := ToDecision(&k.Response)
	w := wire.KeptDecision{ID: k.ID, Object: "decision", CreatedAt: k.CreatedAt, Model: k.Model, State: k.State, Images: k.Images,
		Answers: said.Answers, Usage: said.Usage, Labels: ToLabels(k.Labels), Metadata: k.Metadata, Questions: wire.Members[wire.DecisionQuestion]{}}
	for i := range k.Questions {
		q := &k.Questions[i]
		w.Questions = append(w.Questions, wire.Member[wire.DecisionQuestion]{Name: q.Name, Value: toQuestion(q)})
	}
	return w
}

// FromKeptDecision returns what an answer says.
func FromKeptDecision(w *wire.KeptDecision) (*decisions.Kept, error) {
	k := &decisions.Kept{ID: w.ID, CreatedAt: w.CreatedAt, State: w.State, Images: w.Images, Labels: FromLabels(w.Labels), Metadata: w.Metadata}
	for i := range w.Questions {
		q := fromQuestion(&w.Questions[i].Value)
		q.Name = w.Questions[i].Name
		k.Questions = append(k.Questions, q)
	}
	said, err := FromDecision(&wire.Decision{ID: w.ID, Model: w.Model, Answers: w.Answers, Usage: w.Usage}, k.Questions)
	if err != nil {
		return nil, err
	}
	k.Response = *said
	return k, nil
}

// FromLabels returns right answers.
func FromLabels(w wire.Members[json.RawMessage]) []decisions.Label {
	var labels []decisions.Label
	for i := range w {
		labels = append(labels, decisions.Label{Question: w[i].Name, Answer: w[i].Value})
	}
	return labels
}

// ToLabels returns right answers by the names of their questions.
func ToLabels(labels []decisions.Label) wire.Members[json.RawMessage] {
	w := wire.Members[json.RawMessage]{}
	for _, l := range labels {
		w = append(w, wire.Member[json.RawMessage]{Name: l.Question, Value: l.Answer})
	}
	return w
}
