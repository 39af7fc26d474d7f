package decisions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// promptForm identifies the form of the prompts that this version makes: it changes
// with their wording, and calibrations made with other prompts do not hold.
var promptForm = func() string {
	h := sha256.New()
	h.Write([]byte(instructions))
	h.Write([]byte((&parsed{state: "state"}).prefix()[0].(model.Text)))
	descriptions := [2]json.RawMessage{[]byte(`"one"`), []byte(`"two"`)}
	for _, kind := range []Type{Noul, Choice, Score} {
		q := &question{kind: kind, instructions: "instructions", options: yesOrNo(), labels: model.Letters}
		for i := range q.options {
			q.options[i].description = descriptions[i]
		}
		text, _ := ask(q)
		h.Write([]byte(text))
		text, _ = askGroups(q, [][]option{q.options[:1], q.options[1:]})
		h.Write([]byte(text))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}()

// canary is a state that a calibration was made from. The model's answer to it tells
// whether the model is still the same.
type canary struct {
	State string
	JSON  bool // State is JSON; in calibrations of older versions it is a text
	P     []float64
}

const (
	// keptCanaries is how many rows of a calibration are kept to recognize the model.
	keptCanaries = 4
	// canaryTime is how long the outcome of asking about them holds.
	canaryTime = time.Hour
	// canaryMoves is the change of a probability by which the model is another one.
	canaryMoves = 0.05
)

// checks caches whether models still answer as calibrations say.
type checks struct {
	mu     sync.Mutex
	by     map[string]check     // by calibration; guarded by mu
	logged map[string]time.Time // when it was logged last that a calibration does not hold; guarded by mu
}

// due reports whether to log that a calibration does not hold: once in [canaryTime].
func (c *checks) due(id string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.logged[id]; ok && now.Sub(last) < canaryTime {
		return false
	}
	if c.logged == nil || len(c.logged) > maxPriors {
		c.logged = map[string]time.Time{}
	}
	c.logged[id] = now
	return true
}

type check struct {
	at   time.Time
	same bool
}

// addReadings adds the readings of a plan's answers to a list of distinct ones.
func addReadings(readings []string, p *plan) []string {
	for _, c := range answered([]*plan{p}) {
		if !slices.Contains(readings, c.scores.Reading) {
			readings = append(readings, c.scores.Reading)
		}
	}
	return readings
}

// holds reports whether a calibration says something of the answer that a plan has:
// prompts and readings are those that it was made with, and the model still answers
// the same to some of its rows. It logs what has changed.
func (s *Service) holds(ctx context.Context, r *run, p *plan, k *Calibration) (bool, error) {
	changed, err := s.changed(ctx, r, p, k)
	if err != nil || changed == "" {
		return err == nil, err
	}
	if s.checks.due(k.ID, s.now()) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "decisions: a calibration does not hold any more and is not applied; make it again",
			slog.Bool("calibration_stale", true), slog.String("calibration", k.ID), slog.String("organization", r.caller.Organization),
			slog.String("model", k.Model), slog.String("changed", changed))
	}
	return false, nil
}

// changed returns what has changed since a calibration was made, empty for nothing.
func (s *Service) changed(ctx context.Context, r *run, p *plan, k *Calibration) (string, error) {
	if k.Prompts != "" && k.Prompts != promptForm {
		return "the form of the prompts", nil
	}
	for _, reading := range addReadings(nil, p) {
		if len(k.readings) > 0 && !slices.Contains(k.readings, reading) && !slices.Contains(k.readings, "") {
			return "the reading, to " + strconv.Quote(reading), nil
		}
	}
	same, err := s.recognize(ctx, r, p.question, k)
	if err != nil || same {
		return "", err
	}
	return "the model's answers", nil
}

// recognize asks the model about rows of a calibration again, unless it was asked
// lately, and reports whether the answers are the same.
func (s *Service) recognize(ctx context.Context, r *run, asked *question, k *Calibration) (bool, error) {
	s.checks.mu.Lock()
	last, ok := s.checks.by[k.ID]
	s.checks.mu.Unlock()
	if ok && s.now().Sub(last.at) < canaryTime {
		return last.same, nil
	}
	states := make([]json.RawMessage, len(k.canaries))
	for i, row := range k.canaries {
		if states[i] = json.RawMessage(row.State); !row.JSON {
			states[i] = raw(row.State)
		}
	}
	answers, err := s.askEach(ctx, r.caller, r.info, max(k.Orders, 1), asked, states)
	if err != nil {
		return false, err
	}
	now := check{s.now(), k.matches(answers)}
	s.checks.mu.Lock()
	defer s.checks.mu.Unlock()
	if s.checks.by == nil || len(s.checks.by) > maxPriors {
		s.checks.by = map[string]check{}
	}
	s.checks.by[k.ID] = now
	return now.same, nil
}

// matches reports whether answers about the canaries are as they were.
func (k *Calibration) matches(asked *answers) bool {
	for i, p := range asked.p {
		if len(k.canaries[i].P) != len(p) {
			return false
		}
		for j := range p {
			if math.Abs(p[j]-k.canaries[i].P[j]) > canaryMoves {
				return false
			}
		}
	}
	return true
}
