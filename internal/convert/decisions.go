package convert

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// FromDecisionRequest returns what is asked. Questions keep their order, as options do
// in the criteria, which package decisions reads.
func FromDecisionRequest(w *wire.DecisionRequest) *decisions.Request {
	req := &decisions.Request{Model: w.Model, State: w.State, Debias: value(w.Debias), AbstainAboveError: value(w.AbstainAboveError), Store: w.Store, Metadata: w.Metadata}
	for i := range w.Questions {
		q := fromQuestion(&w.Questions[i].Value)
		q.Name = w.Questions[i].Name
		req.Questions = append(req.Questions, q)
	}
	for i := range w.Images {
		req.Images = append(req.Images, decisions.Image(w.Images[i]))
	}
	for i := range w.Examples {
		e := decisions.Example{State: w.Examples[i].State}
		for _, a := range w.Examples[i].Answers {
			e.Answers = append(e.Answers, decisions.ExampleAnswer{Question: a.Name, Value: a.Value})
		}
		req.Examples = append(req.Examples, e)
	}
	return req
}

func fromQuestion(w *wire.DecisionQuestion) decisions.Question {
	return decisions.Question{Type: decisions.Type(w.Type), Instructions: string(w.Instructions), Criteria: w.Criteria}
}

// ToDecisionRequest returns the body that asks. The error is Invalid: what the
// interface does not have.
func ToDecisionRequest(req *decisions.Request) (*wire.DecisionRequest, error) {
	w := &wire.DecisionRequest{Model: req.Model, State: req.State, Questions: wire.Members[wire.DecisionQuestion]{},
		DecisionWays: wire.DecisionWays{Debias: optional(req.Debias), AbstainAboveError: optional(req.AbstainAboveError), Store: req.Store, Metadata: req.Metadata}}
	for i := range req.Questions {
		q := &req.Questions[i]
		if q.Images != nil {
			return nil, fault.Invalidf("questions", "Images of a question cannot be sent: make them images of the request.")
		}
		if q.Criteria != nil && !json.Valid(q.Criteria) {
			return nil, fault.Invalidf("questions", "The criteria of %q are no JSON.", q.Name)
		}
		w.Questions = append(w.Questions, wire.Member[wire.DecisionQuestion]{Name: q.Name, Value: toQuestion(q)})
	}
	for i := range req.Images {
		w.Images = append(w.Images, wire.DecisionImage(req.Images[i]))
	}
	for i := range req.Examples {
		e := wire.DecisionExample{State: req.Examples[i].State, Answers: wire.Members[json.RawMessage]{}}
		for _, a := range req.Examples[i].Answers {
			e.Answers = append(e.Answers, wire.Member[json.RawMessage]{Name: a.Question, Value: a.Value})
		}
		w.Examples = append(w.Examples, e)
	}
	return w, nil
}

func toQuestion(q *decisions.Question) wire.DecisionQuestion {
	return wire.DecisionQuestion{Type: string(q.Type), Instructions: wire.Instructions(q.Instructions), Criteria: q.Criteria}
}

// ToDecision returns answers as they are answered by the names of their questions.
func ToDecision(r *decisions.Response) wire.Decision {
	w := wire.Decision{ID: r.ID, Model: r.Model, Answers: make(wire.Members[wire.DecisionAnswer], len(r.Answers)),
		Usage: wire.DecisionUsage{InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens}}
	for i := range r.Answers {
		a := &r.Answers[i]
		w.Answers[i] = wire.Member[wire.DecisionAnswer]{Name: a.Name, Value: wire.DecisionAnswer{
			Type: string(a.Type), DecisionNumbers: toNumbers(a), AnswerNotes: toNotes(r, a, toNumbers)}}
	}
	return w
}

// toNotes returns what is said of an answer besides its numbers.
func toNotes[Numbers any](r *decisions.Response, a *decisions.Answer, numbers func(*decisions.Answer) Numbers) wire.AnswerNotes[Numbers] {
	w := wire.AnswerNotes[Numbers]{Calibration: a.Calibration, CalibrationStale: a.CalibrationStale}
	if r.Ordered {
		w.OrderVariation = &a.OrderVariation
	}
	if r.Abstains {
		w.Abstained = &a.Abstained
	}
	if a.Calibration != "" {
		raw := numbers(a.Raw)
		w.Raw = &raw
	}
	return w
}

// labelHolds is the probability from which an option of a question of labels is one of
// its labels.
const labelHolds = 0.5

func toNumbers(a *decisions.Answer) (w wire.DecisionNumbers) {
	switch a.Type {
	case decisions.Noul:
		w.Noul = &a.Noul
		return w
	case decisions.Choice:
		w.Choice, w.Confidence = &a.Choice, &a.Confidence
	case decisions.Score:
		w.Score, w.Confidence = &a.Score, &a.Confidence
		for i := range a.Outcomes {
			w.Legend = append(w.Legend, wire.Member[json.RawMessage]{Name: a.Outcomes[i].Name, Value: a.Outcomes[i].Level})
		}
	case decisions.Labels:
		w.Labels = []string{}
		for i := range a.Outcomes {
			if a.Outcomes[i].Probability >= labelHolds {
				w.Labels = append(w.Labels, a.Outcomes[i].Name)
			}
		}
	}
	w.Probabilities = make(wire.Members[float64], len(a.Outcomes))
	for i := range a.Outcomes {
		w.Probabilities[i] = wire.Member[float64]{Name: a.Outcomes[i].Name, Value: a.Outcomes[i].Probability}
	}
	return w
}

// FromDecision returns what an answer says, with the answers in the order of the
// questions.
func FromDecision(w *wire.Decision, questions []decisions.Question) (*decisions.Response, error) {
	r := &decisions.Response{ID: w.ID, Model: w.Model, Usage: decisions.Usage{InputTokens: w.Usage.InputTokens, OutputTokens: w.Usage.OutputTokens}}
	for i := range questions {
		name := questions[i].Name
		at := slices.IndexFunc(w.Answers, func(m wire.Member[wire.DecisionAnswer]) bool { return m.Name == name })
		if at < 0 {
			return nil, fault.Upstreamf(nil, "The server did not answer the question %q.", name)
		}
		answer := &w.Answers[at].Value
		a := fromNumbers(name, decisions.Type(answer.Type), &answer.DecisionNumbers)
		a.OrderVariation, a.Calibration, a.CalibrationStale, a.Abstained = value(answer.OrderVariation), answer.Calibration, answer.CalibrationStale, isTrue(answer.Abstained)
		if answer.Raw != nil {
			raw := fromNumbers(name, a.Type, answer.Raw)
			raw.OrderVariation, a.Raw = a.OrderVariation, &raw
		}
		r.Answers = append(r.Answers, a)
		r.Ordered, r.Abstains = r.Ordered || answer.OrderVariation != nil, r.Abstains || answer.Abstained != nil
	}
	return r, nil
}

func fromNumbers(name string, kind decisions.Type, w *wire.DecisionNumbers) decisions.Answer {
	a := decisions.Answer{Name: name, Type: kind, Noul: value(w.Noul), Choice: value(w.Choice), Score: value(w.Score), Confidence: value(w.Confidence)}
	for i, p := range w.Probabilities {
		o := decisions.Outcome{Name: p.Name, Probability: p.Value}
		if i < len(w.Legend) && string(w.Legend[i].Value) != "null" {
			o.Level = w.Legend[i].Value
		}
		a.Outcomes = append(a.Outcomes, o)
	}
	return a
}

// FromRerankRequest returns a ranking's decision: a yes/no question per document about
// the query, which they share.
func FromRerankRequest(w *wire.RerankRequest) (*decisions.Request, error) {
	query, err := jsonout.Marshal(w.Query)
	req := &decisions.Request{Model: w.Model, State: query, MaxQuestions: max(len(w.Documents), 1), Store: new(false)}
	for i := range w.Documents {
		req.Questions = append(req.Questions, decisions.Question{Name: strconv.Itoa(i), Type: decisions.Noul,
			Instructions: "The state is a search query. Is this document relevant to it?\n" + model.Quote(w.Documents[i].Text)})
	}
	return req, err
}

// ToRanking returns the documents of a request by their relevance.
func ToRanking(r *decisions.Response, req *wire.RerankRequest) (wire.Ranking, error) {
	w := wire.Ranking{Model: r.Model, Results: make([]wire.RankedDocument, len(r.Answers)),
		Usage: wire.RankingUsage{InputTokens: r.Usage.InputTokens, TotalTokens: r.Usage.InputTokens}}
	for i := range r.Answers {
		w.Results[i] = wire.RankedDocument{Index: i, Relevance: r.Answers[i].Noul}
		if d := &req.Documents[i]; req.ReturnDocuments && d.Object != nil {
			w.Results[i].Document = d.Object
		} else if req.ReturnDocuments {
			var err error
			if w.Results[i].Document, err = jsonout.Marshal(map[string]string{"text": d.Text}); err != nil {
				return w, err
			}
		}
	}
	slices.SortStableFunc(w.Results, func(a, b wire.RankedDocument) int { return cmp.Compare(b.Relevance, a.Relevance) })
	if req.TopN != nil {
		w.Results = w.Results[:min(len(w.Results), *req.TopN)]
	}
	return w, nil
}

// FromCalibrationRequest returns the calibration that is to be made, without the rows
// of a file.
func FromCalibrationRequest(w *wire.CalibrationRequest) *decisions.NewCalibration {
	n := &decisions.NewCalibration{Model: w.Model, Question: fromQuestion(&w.Question.DecisionQuestion), Asked: w.Question.Sent}
	for i := range w.Rows {
		n.Rows = append(n.Rows, decisions.LabelledRow(w.Rows[i]))
	}
	return n
}

// ToCalibrationRequest returns the body that makes a calibration.
func ToCalibrationRequest(n *decisions.NewCalibration) *wire.CalibrationRequest {
	w := &wire.CalibrationRequest{Model: n.Model, Question: wire.CalibratedQuestion{DecisionQuestion: toQuestion(&n.Question)}}
	for i := range n.Rows {
		w.Rows = append(w.Rows, wire.LabelledRow(n.Rows[i]))
	}
	return w
}

// metrics are the metrics of a calibration, by their names in an answer.
func metrics(m *calibration.Metrics) map[string]*float64 {
	return map[string]*float64{"ece": &m.ECE, "brier": &m.Brier, "nll": &m.NLL, "accuracy": &m.Accuracy, "chance_corrected": &m.OverGuess, "auroc": &m.AUROC}
}

// ToCalibration returns a calibration as it is answered.
func ToCalibration(k *decisions.Calibration) wire.Calibration {
	w := wire.Calibration{
		ID: k.ID, Object: "calibration", Model: k.Model, Question: k.Asked, Method: string(k.Map.Method), Rows: k.Rows, Metrics: map[string]wire.MetricPair{},
		Thresholds:  mapped(k.Thresholds, func(t *calibration.Threshold) wire.Threshold { return wire.Threshold(*t) }),
		Reliability: mapped(k.Reliability, func(b *calibration.Bin) wire.ReliabilityBin { return wire.ReliabilityBin(*b) }),
		CreatedAt:   k.CreatedAt, Prompts: k.Prompts, Readings: k.Readings,
	}
	after := metrics(&k.After)
	for name, before := range metrics(&k.Before) {
		w.Metrics[name] = wire.MetricPair{Raw: *before, Calibrated: *after[name]}
	}
	return w
}

// FromCalibration returns what an answer says: of the map its method alone.
func FromCalibration(w *wire.Calibration) decisions.Calibration {
	k := decisions.Calibration{
		ID: w.ID, Model: w.Model, Asked: w.Question, Map: calibration.Map{Method: calibration.Method(w.Method)}, Rows: w.Rows,
		Thresholds:  mapped(w.Thresholds, func(t *wire.Threshold) calibration.Threshold { return calibration.Threshold(*t) }),
		Reliability: mapped(w.Reliability, func(b *wire.ReliabilityBin) calibration.Bin { return calibration.Bin(*b) }),
		CreatedAt:   w.CreatedAt, Prompts: w.Prompts, Readings: w.Readings,
	}
	after := metrics(&k.After)
	for name, before := range metrics(&k.Before) {
		*before, *after[name] = w.Metrics[name].Raw, w.Metrics[name].Calibrated
	}
	return k
}
