package decisions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// The keys of calibrations in an organization's namespace:
//
//	k/c/{calibration}          a calibration
//	k/q/{model} {question}     the ID of the newest one, by the hash of the question
const (
	calibrationPrefix = "k/c/"
	questionPrefix    = "k/q/"
)

func calibrationKey(id string) []byte { return []byte(calibrationPrefix + id) }

func questionKey(model string, q *question) []byte {
	return []byte(questionPrefix + model + " " + q.hash())
}

// The codes of errors about calibrations.
const (
	CodeCalibrationNotFound = "calibration_not_found"
	CodeModelChanged        = "model_changed"
)

// MaxRows is how many rows a calibration is made of at most; the least is
// calibration.MinRows.
const MaxRows = 10_000

// NewCalibration is what a calibration is made of.
type NewCalibration struct {
	Model    string
	Question Question        // of any type but Labels; without images
	Asked    json.RawMessage // the question as it was asked, to be shown
	Rows     []LabelledRow
}

// LabelledRow is a state and the right answer: true or false, the name of an
// option, or the index of a level.
type LabelledRow struct{ State, Answer json.RawMessage }

// Calibration says what a model's probabilities mean for one question. What it is
// stored as stands in calibrationrecord.go.
type Calibration struct {
	ID          string // calib_…
	Model       string
	Asked       json.RawMessage // the question as it was asked
	Map         calibration.Map
	Rows        int                 // that it was made of
	Before      calibration.Metrics // of the model's own probabilities
	After       calibration.Metrics // of calibrated ones, of rows that the map was not fitted to
	Thresholds  []calibration.Threshold
	Reliability []calibration.Bin
	CreatedAt   int64 // Unix seconds
	Orders      int   // in how many orders the question was asked, 0 for one

	key      string // of the question
	canaries []canary
}

// canary is a state whose answer tells whether the model is still the same.
type canary struct {
	State string
	P     []float64
}

const (
	// keptCanaries are how many rows are kept to recognize the model by; it is asked
	// about them again after canaryTime, and has changed where a probability has
	// moved by more than canaryMoves.
	keptCanaries = 4
	canaryTime   = time.Hour
	canaryMoves  = 0.05
)

// checks says when models were last seen to be those of calibrations.
type checks struct {
	mu sync.Mutex
	at map[string]time.Time // by calibration; guarded by mu
}

// Calibrate asks a question about labelled states, learns from the answers what
// the model's probabilities mean, and keeps it for the organization: later
// answers to the same question carry calibrated probabilities. The rows are
// charged as decisions.
//
// Errors are those of [Service.Decide], and Denied for an organization with zero
// data retention, since some of the states are kept.
func (s *Service) Calibrate(ctx context.Context, c accounts.Caller, n *NewCalibration) (*Calibration, error) {
	info, err := s.decider(n.Model)
	if err != nil {
		return nil, err
	}
	q, err := parseQuestion("question", &n.Question)
	if err != nil {
		return nil, err
	}
	if q.kind == Labels || len(n.Question.Images) > 0 {
		return nil, invalid("question/type", "must be one of noul, choice, score, without images")
	}
	if len(n.Rows) < calibration.MinRows || len(n.Rows) > MaxRows {
		return nil, invalid("rows", "must have %d to %d rows", calibration.MinRows, MaxRows)
	}
	states, rights, err := labelled(&q, n.Rows)
	if err != nil {
		return nil, err
	}
	if err := c.Allow(info.ID); err != nil {
		return nil, err
	}
	if s.store == nil || c.ZeroDataRetention {
		return nil, &fault.Error{Kind: fault.Denied, Code: "zero_data_retention",
			Message: "A calibration keeps some of its rows, which an organization with zero data retention does not allow."}
	}
	if err := s.accounts.Afford(ctx, c); err != nil {
		return nil, err
	}
	running, done := s.accounts.Running(ctx, c)
	defer done()
	orders := max(info.Debias, 1)
	answers, tokens, err := s.askEach(running, c, info, orders, &q, states)
	if err != nil {
		s.accounts.ChargeCut(ctx, c, use(info, tokens))
		return nil, accounts.Cause(running, err)
	}
	made := newCalibration(n, info, &q, states, answers, rights)
	made.ID, made.CreatedAt, made.Orders = s.newID("calib"), s.now().Unix(), orders
	_, err = s.accounts.Charge(context.WithoutCancel(ctx), c, use(info, tokens), func(tx storage.Tx) error {
		return errors.Join(storage.SetJSON(tx, calibrationKey(made.ID), newCalibrationRecord(made)), storage.SetJSON(tx, []byte(made.key), made.ID),
			c.Claim.Did(tx, made.ID))
	})
	return made, err
}

// labelled validates rows.
func labelled(q *question, rows []LabelledRow) (states []string, rights []int, err error) {
	for i, row := range rows {
		path := "rows/" + strconv.Itoa(i)
		state, err := parseState(row.State)
		if err != nil {
			return nil, nil, invalid(path+"/state", "must be a string, an object or an array")
		}
		right, err := q.find(path+"/answer", row.Answer)
		if err != nil {
			return nil, nil, err
		}
		states, rights = append(states, state), append(rights, right)
	}
	return states, rights, nil
}

// askEach asks one question about each of several states and returns the
// probabilities and the tokens of them all, the tokens also with an error.
func (s *Service) askEach(ctx context.Context, c accounts.Caller, info model.Info, orders int, q *question, states []string) ([][]float64, int, error) {
	q.labels = s.models.Labels(ctx, info.ID, len(q.options))
	answers, plans := make([][]float64, len(states)), make([]*plan, len(states))
	own, leave := s.shares.join(c.Organization)
	defer leave()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.concurrency)
	for i, state := range states {
		group.Go(func() error {
			return background.Recover(func() error {
				p := parsed{state: state}
				plans[i] = newPlan(q, orders)
				base := model.ScoreRequest{Model: info.ID, Tenant: c.Organization, Instructions: instructions, State: p.prefix(), Memo: new(model.Memo)}
				if err := s.checkWindow(ctx, info, base, plans[i:i+1]); err != nil {
					return err
				}
				if err := s.run(ctx, own, &subject{base: base, state: raw(state)}, plans[i:i+1]); err != nil {
					return err
				}
				answers[i] = plans[i].result()
				return nil
			})
		})
	}
	err := group.Wait()
	tokens := 0
	for i, p := range plans {
		if p != nil {
			tokens += inputTokens(plans[i : i+1])
		}
	}
	return answers, tokens, err
}

// newCalibration learns from answers.
func newCalibration(n *NewCalibration, info model.Info, q *question, states []string, answers [][]float64, rights []int) *Calibration {
	rows := make([]calibration.Row, len(answers))
	made := &Calibration{Model: info.ID, Asked: n.Asked, Rows: len(rows), key: string(questionKey(info.ID, q))}
	for i := range rows {
		rows[i] = calibration.Row{P: answers[i], Right: rights[i]}
		if i < keptCanaries {
			made.canaries = append(made.canaries, canary{states[i], answers[i]})
		}
	}
	made.Before, _ = calibration.Measure(rows)
	var held [][]float64
	made.Map, held = calibration.Choose(rows)
	made.Thresholds = calibration.Thresholds(made.Map.ApplyAll(rows))
	for i := range rows {
		rows[i].P = held[i]
	}
	made.After, made.Reliability = calibration.Measure(rows)
	return made
}

// Calibration returns a calibration. The error is NotFound.
func (s *Service) Calibration(ctx context.Context, c accounts.Caller, id string) (found *Calibration, err error) {
	err = s.view(ctx, c, func(tx storage.Tx) error {
		found, err = readCalibration(tx, id)
		return err
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil, fault.Missing(CodeCalibrationNotFound, "calibration", id)
	}
	return found, err
}

// Calibrations returns a page of the organization's calibrations, 1 to 100.
func (s *Service) Calibrations(ctx context.Context, c accounts.Caller, p page.Params) (found page.Page[Calibration], err error) {
	if p, err = page.Within(p, 100, "calib"); err != nil {
		return found, err
	}
	var after []byte
	if p.After != "" {
		after = calibrationKey(p.After)
	}
	err = s.view(ctx, c, func(tx storage.Tx) error {
		var err error
		found, err = page.Read(tx, page.Range(p, []byte(calibrationPrefix), after), p.Limit, func(e storage.Entry) (Calibration, bool, error) {
			var record calibrationRecord
			err := json.Unmarshal(e.Value, &record)
			return *record.calibration(), true, err
		})
		return err
	})
	return found, err
}

// DeleteCalibration removes a calibration. The answers to its question are from
// then on as the model gives them, also where an older calibration exists. The
// error is NotFound.
func (s *Service) DeleteCalibration(ctx context.Context, c accounts.Caller, id string) error {
	if s.store == nil {
		return fault.Missing(CodeCalibrationNotFound, "calibration", id)
	}
	err := s.store.Update(ctx, c.Namespace(), func(tx storage.Tx) error {
		found, err := readCalibration(tx, id)
		if err != nil {
			return err
		}
		var newest string
		if err := storage.GetJSON(tx, []byte(found.key), &newest); err == nil && newest == id {
			if err := tx.Delete([]byte(found.key)); err != nil {
				return err
			}
		} else if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		return tx.Delete(calibrationKey(id))
	})
	if errors.Is(err, storage.ErrNotFound) {
		return fault.Missing(CodeCalibrationNotFound, "calibration", id)
	}
	return err
}

func (s *Service) view(ctx context.Context, c accounts.Caller, fn func(storage.Tx) error) error {
	if s.store == nil {
		return storage.ErrNotFound
	}
	return s.store.View(ctx, c.Namespace(), fn)
}

// calibrate bends the answers to questions that have a calibration. The model has
// to be the one that the calibration was made with: where it is not, the error is
// Conflict, since what the calibration says would not be true.
func (s *Service) calibrate(ctx context.Context, c accounts.Caller, info model.Info, req *Request, plans []*plan, found []*Calibration, resp *Response) error {
	for i, p := range plans {
		k := found[i]
		if k == nil {
			if req.AbstainAboveError > 0 {
				return invalid("abstain_above_error", "needs a calibration of the question %q", p.question.name)
			}
			continue
		}
		if err := s.recognize(ctx, c, info, p.question, k); err != nil {
			return err
		}
		raw := resp.Answers[i]
		bent := answer(p.question, k.Map.Apply(p.result()))
		bent.OrderVariation, bent.Calibration, bent.Raw = raw.OrderVariation, k.ID, &raw
		if req.AbstainAboveError > 0 {
			bent.Abstained = bent.Least() < k.least(req.AbstainAboveError)
		}
		resp.Answers[i] = bent
	}
	return nil
}

// calibrationsOf returns the calibration of each plan's question, nil for none.
// One says nothing of answers that are asked for otherwise: with examples, or in
// another number of orders.
func (s *Service) calibrationsOf(ctx context.Context, c accounts.Caller, info model.Info, req *Request, plans []*plan) ([]*Calibration, error) {
	found := make([]*Calibration, len(plans))
	if s.store == nil || len(req.Examples) > 0 {
		return found, nil
	}
	err := s.store.View(ctx, c.Namespace(), func(tx storage.Tx) error {
		if none, err := nothingBegins(tx, questionPrefix+info.ID+" "); none || err != nil {
			return err // most organizations have no calibrations, and need no hashes
		}
		for i, p := range plans {
			var id string
			err := storage.GetJSON(tx, questionKey(info.ID, p.question), &id)
			if err == nil {
				found[i], err = readCalibration(tx, id)
			}
			if errors.Is(err, storage.ErrNotFound) || err == nil && max(found[i].Orders, 1) != cmp.Or(req.Debias, info.Debias, 1) {
				found[i], err = nil, nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// nothingBegins reports whether no key begins with a prefix.
func nothingBegins(tx storage.Tx, prefix string) (bool, error) {
	for _, err := range tx.Scan(storage.Range{Start: []byte(prefix), End: []byte(prefix + "\xff"), KeysOnly: true, Limit: 1}) {
		return false, err
	}
	return true, nil
}

// recognize asks the model about rows of a calibration again, unless it was asked
// lately.
func (s *Service) recognize(ctx context.Context, c accounts.Caller, info model.Info, asked *question, k *Calibration) error {
	s.checks.mu.Lock()
	last, ok := s.checks.at[k.ID]
	s.checks.mu.Unlock()
	if now := s.now(); ok && now.Sub(last) < canaryTime {
		return nil
	}
	states := make([]string, len(k.canaries))
	for i, row := range k.canaries {
		states[i] = row.State
	}
	q := *asked
	answers, _, err := s.askEach(ctx, c, info, max(k.Orders, 1), &q, states)
	if err != nil {
		return err
	}
	for i, p := range answers {
		for j := range p {
			if len(k.canaries[i].P) != len(p) || math.Abs(p[j]-k.canaries[i].P[j]) > canaryMoves {
				return &fault.Error{Kind: fault.Conflict, Code: CodeModelChanged, Message: "The model " + info.ID +
					" answers otherwise than when the calibration " + k.ID + " was made. Make a new one or delete it."}
			}
		}
	}
	s.checks.mu.Lock()
	defer s.checks.mu.Unlock()
	if s.checks.at == nil || len(s.checks.at) > maxPriors {
		s.checks.at = map[string]time.Time{}
	}
	s.checks.at[k.ID] = s.now()
	return nil
}

// least returns the least confidence of answers of which no larger share than
// rate is wrong; more than 1 where the rows are too few to say.
func (k *Calibration) least(rate float64) float64 {
	confidence := math.Inf(1)
	for _, t := range k.Thresholds {
		if t.Error <= rate {
			confidence = t.Confidence // the errors rise
		}
	}
	return confidence
}
