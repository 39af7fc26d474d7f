package decisions

import (
	"errors"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

const (
	// refusalTime is how long a model that does not answer with labels is not asked
	// again.
	refusalTime = time.Minute
	// refusalsInARow is how many decisions in a row it has to refuse. One state that
	// a model does not judge says nothing about the next.
	refusalsInARow = 3
)

// refusals remembers which models do not answer with labels. A decision that fails
// for that reason is not charged, so it must not be had at the operator's cost any
// number of times. Organizations are apart: one of them can make a model refuse.
type refusals struct {
	mu sync.Mutex
	by map[refuser]*refusal // guarded by mu
}

type refuser struct{ organization, model string }

type refusal struct {
	err   error
	row   int // decisions refused in a row
	until time.Time
}

// note remembers how a decision ended and reports whether the model refused it.
func (r *refusals) note(organization, modelID string, err error, now time.Time) bool {
	key := refuser{organization, modelID}
	_, refused := errors.AsType[*model.NoLabels](err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !refused {
		if err == nil {
			delete(r.by, key)
		}
		return false
	}
	if r.by == nil || len(r.by) >= maxPriors {
		r.by = map[refuser]*refusal{}
	}
	found := r.by[key]
	if found == nil {
		found = &refusal{}
		r.by[key] = found
	}
	found.err = err
	if found.row++; found.row >= refusalsInARow {
		found.until = now.Add(refusalTime)
	}
	return true
}

// check returns the error of a model that has lately refused.
func (r *refusals) check(organization, modelID string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.by[refuser{organization, modelID}]; found != nil && now.Before(found.until) {
		return found.err
	}
	return nil
}
