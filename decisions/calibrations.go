package decisions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

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
//	k/r/{calibration}          the rows that it was made of
//	k/q/{model} {question}     the ID of the newest one, by the hash of the question
const (
	calibrationPrefix = "k/c/"
	rowsPrefix        = "k/r/"
	questionPrefix    = "k/q/"
)

func calibrationKey(id string) []byte { return []byte(calibrationPrefix + id) }

func rowsKey(id string) []byte { return []byte(rowsPrefix + id) }

func questionKey(model string, q *question) []byte {
	return []byte(questionPrefix + model + " " + q.hash())
}

// CodeCalibrationNotFound is the code of the error about a calibration that does not
// exist.
const CodeCalibrationNotFound = "calibration_not_found"

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

	// What it was made with, besides the model. Answers that are asked for or read
	// otherwise are not calibrated.
	Prompts  string   // the form of the prompts; empty: unknown
	Readings []string // those of its rows that the backend has told; see model.Scores

	key      string   // of the question
	readings []string // all of its rows; an empty one was not told
	canaries []canary
	rows     []calibration.Row // in the order given; nil in one that is read back

	// rawThresholds says that the confidence of the Thresholds is that of the model,
	// before calibration. Only calibrations of older versions have others.
	rawThresholds bool
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
	if s.store == nil || c.ZeroDataRetention {
		return nil, &fault.Error{Kind: fault.Denied, Code: fault.CodeZeroRetention,
			Message: "A calibration keeps some of its rows, which an organization with zero data retention does not allow."}
	}
	if err := s.admit(ctx, c, info); err != nil {
		return nil, err
	}
	running, done := s.accounts.Running(ctx, c)
	defer done()
	orders := max(info.Debias, 1)
	asked, err := s.askEach(running, c, info, orders, &q, states)
	if s.refusals.note(c.Organization, info.ID, err, s.now()) {
		return nil, err // which is not charged
	}
	if err != nil {
		s.accounts.ChargeCut(ctx, c, use(info, asked.tokens))
		return nil, accounts.Cause(running, err)
	}
	made := newCalibration(n, info, &q, states, asked, rights)
	made.ID, made.CreatedAt, made.Orders = s.newID("calib"), s.now().Unix(), orders
	_, err = s.accounts.Charge(context.WithoutCancel(ctx), c, use(info, asked.tokens), func(tx storage.Tx) error {
		if err := storage.SetJSON(tx, calibrationKey(made.ID), newCalibrationRecord(made)); err != nil {
			return err
		}
		if err := storage.SetJSON(tx, []byte(made.key), made.ID); err != nil {
			return err
		}
		if rows := encodeRows(made.rows); rows != nil {
			if err := tx.Set(rowsKey(made.ID), rows); err != nil {
				return err
			}
		}
		return c.Claim.Did(tx, made.ID)
	})
	return made, err
}

// labelled validates rows.
func labelled(q *question, rows []LabelledRow) (states []json.RawMessage, rights []int, err error) {
	for i, row := range rows {
		path := "rows/" + strconv.Itoa(i)
		if _, err := parseState(row.State); err != nil {
			return nil, nil, invalid(path+"/state", "must be a string, an object or an array")
		}
		right, err := q.find(path+"/answer", row.Answer)
		if err != nil {
			return nil, nil, err
		}
		states, rights = append(states, row.State), append(rights, right)
	}
	return states, rights, nil
}

// answers are those to one question about several states.
type answers struct {
	p        [][]float64
	readings []string // all that the model was read by
	tokens   int
}

// maxPrompts is how many bytes the prompts of a question about several states may
// have together, without the states.
const maxPrompts = 1 << 30

// askEach asks one question about each of several states. The tokens of the answers
// are set with an error, too.
func (s *Service) askEach(ctx context.Context, c accounts.Caller, info model.Info, orders int, q *question, states []json.RawMessage) (*answers, error) {
	all := &answers{p: make([][]float64, len(states))}
	first, err := s.plan(ctx, info, []question{*q}, orders)
	if err != nil {
		return all, err
	}
	size := 0
	for _, p := range allOf(first) {
		p.first.render = sync.OnceValues(p.first.render)
		text, _ := p.first.render()
		size += len(text)
	}
	if size > maxPrompts/len(states) {
		return all, invalid("question", "has %d bytes, which is too much for %d rows", size, len(states))
	}
	plans, spent := make([]*plan, len(states)), new(atomic.Int64)
	share, leave := s.shares.join(c.Organization)
	defer leave()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.concurrency)
	for i, state := range states {
		group.Go(func() error {
			return background.Recover(func() error {
				plans[i] = first[0].repeat()
				r := &run{service: s, caller: c, info: info, share: share, spent: spent,
					base: baseOf(info, c, &parsed{state: plainText(state)}), state: state}
				if err := s.checkWindow(ctx, info, r.base, plans[i:i+1]); err != nil {
					return err
				}
				if err := r.answer(ctx, plans[i:i+1]); err != nil {
					return err
				}
				all.p[i] = plans[i].result()
				return nil
			})
		})
	}
	err = group.Wait()
	for i, p := range plans {
		if p != nil {
			all.tokens += inputTokens(plans[i : i+1])
			all.readings = addReadings(all.readings, plans[i])
		}
	}
	return all, err
}

// newCalibration learns from answers.
func newCalibration(n *NewCalibration, info model.Info, q *question, states []json.RawMessage, asked *answers, rights []int) *Calibration {
	rows := make([]calibration.Row, len(asked.p))
	made := &Calibration{Model: info.ID, Asked: n.Asked, Rows: len(rows), rawThresholds: true,
		key: string(questionKey(info.ID, q)), Prompts: promptForm, Readings: told(asked.readings), readings: asked.readings}
	for i := range rows {
		rows[i] = calibration.Row{P: asked.p[i], Right: rights[i]}
		if i < keptCanaries {
			made.canaries = append(made.canaries, canary{State: string(states[i]), JSON: true, P: asked.p[i]})
		}
	}
	made.rows = slices.Clone(rows)
	made.Before, _ = calibration.Measure(rows)
	made.Thresholds = calibration.Thresholds(rows)
	var held [][]float64
	made.Map, held = calibration.Choose(rows)
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

// CalibrationRows returns what the model answered about the rows of a calibration, and
// the right answers: none for a calibration of an older version, and for one whose
// question has so many options that they are not kept. The error is NotFound.
func (s *Service) CalibrationRows(ctx context.Context, c accounts.Caller, id string) (rows []calibration.Row, err error) {
	err = s.view(ctx, c, func(tx storage.Tx) error {
		if _, err := readCalibration(tx, id); err != nil {
			return err
		}
		data, err := tx.Get(rowsKey(id))
		if err == nil {
			rows, err = decodeRows(data)
		} else if errors.Is(err, storage.ErrNotFound) {
			err = nil
		}
		return err
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil, fault.Missing(CodeCalibrationNotFound, "calibration", id)
	}
	return rows, err
}

// CalibrationOf returns the ID of the calibration that is applied to a model's answers
// to a question for the caller's organization, empty where there is none. The error is
// Invalid for what is no question.
func (s *Service) CalibrationOf(ctx context.Context, c accounts.Caller, modelID string, asked *Question) (id string, err error) {
	q, err := parseQuestion("question", asked)
	if err != nil {
		return "", err
	}
	err = s.view(ctx, c, func(tx storage.Tx) error { return storage.GetJSON(tx, questionKey(modelID, &q), &id) })
	if errors.Is(err, storage.ErrNotFound) {
		return "", nil
	}
	return id, err
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
		if err := tx.Delete(rowsKey(id)); err != nil {
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

// calibrate replaces the answers to questions that have a calibration by calibrated
// ones. A calibration that does not hold any more leaves them and marks them.
func (s *Service) calibrate(ctx context.Context, r *run, req *Request, plans []*plan, found []*Calibration, resp *Response) error {
	for i, p := range plans {
		k, raw := found[i], resp.Answers[i]
		if k == nil {
			if req.AbstainAboveError > 0 {
				return invalid("abstain_above_error", "needs a calibration of the question %q", p.question.name)
			}
			continue
		}
		holds, err := s.holds(ctx, r, p, k)
		if err != nil {
			return err
		}
		if !holds {
			resp.Answers[i].CalibrationStale = true
			resp.Answers[i].Abstained = req.AbstainAboveError > 0 // nothing is known of its error rate
			continue
		}
		calibrated := answer(p.question, k.Map.Apply(p.result()))
		calibrated.OrderVariation, calibrated.Calibration, calibrated.Raw = raw.OrderVariation, k.ID, &raw
		if req.AbstainAboveError > 0 {
			calibrated.Abstained = !k.keeps(req.AbstainAboveError, &calibrated)
		}
		resp.Answers[i] = calibrated
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
	if req.Calibrations != "" {
		c.Organization = req.Calibrations
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

// keeps reports whether of answers as confident as this one no larger share than
// rate is wrong.
func (k *Calibration) keeps(rate float64, calibrated *Answer) bool {
	confidence := calibrated.Least()
	if k.rawThresholds {
		confidence = calibrated.Raw.Least()
	}
	for _, t := range slices.Backward(k.Thresholds) { // the errors rise
		if t.Error <= rate {
			return t.Admits(confidence)
		}
	}
	return false
}
