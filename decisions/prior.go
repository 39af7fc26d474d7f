package decisions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// prior is what a model answers to a question whatever the state: the mean of
// the log-probabilities over states. Nil is unknown.
type prior struct{ mean []float64 }

// without returns log-probabilities less the prior's.
func (p *prior) without(logs []float64) []float64 {
	if p == nil {
		return logs
	}
	for i := range logs {
		logs[i] -= p.mean[i]
	}
	return logs
}

const (
	// leastStates is how many states a prior is made of at least.
	leastStates = 8
	// maxPriors is how many questions priors are kept of; then all are forgotten.
	maxPriors = 10_000
)

// priors are the answers of models to the last states by organization, model and
// question, in memory.
type priors struct {
	mu   sync.Mutex
	last map[string][][]float64 // log-probabilities; guarded by mu
}

// take notes the answers of plans and gives the plans the priors from before. A
// question that has a calibration needs none: that was made of answers as they are,
// and knows of any liking.
func (p *priors) take(organization string, info model.Info, plans []*plan, calibrated []*Calibration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, plan := range plans {
		if plan.parts != nil || calibrated[i] != nil {
			continue // whether a label holds has no alternatives to prefer
		}
		key := organization + " " + info.ID + " " + plan.question.hash()
		before := p.last[key]
		logs := make([]float64, len(plan.question.options))
		for i, x := range plan.result() {
			logs[i] = logOf(x)
		}
		if len(before) >= min(leastStates, info.PriorStates) {
			plan.prior = meanOf(before)
		}
		if p.last == nil || len(p.last) >= maxPriors && before == nil {
			p.last = map[string][][]float64{}
		}
		before = append(before, logs)
		p.last[key] = before[max(0, len(before)-info.PriorStates):]
	}
}

func meanOf(rows [][]float64) *prior {
	mean := make([]float64, len(rows[0]))
	for _, row := range rows {
		for i, x := range row {
			mean[i] += x / float64(len(rows))
		}
	}
	return &prior{mean}
}

// hash returns a name of what a question asks, whatever it is called and however
// its JSON is spelled.
func (q *question) hash() string {
	h := sha256.New()
	e := json.NewEncoder(h) // a hash takes everything
	e.Encode([]string{string(q.kind), q.instructions})
	for _, o := range q.options {
		description := ""
		if o.description != nil {
			description = string(jsonout.Plain(o.description))
		}
		e.Encode([]string{o.name, description})
	}
	return hex.EncodeToString(h.Sum(nil))
}
