// Package route answers with one of several models: a [Route] is a model ID of its own.
//
// A router asks a question about the request and has the model answer that the answer
// to the question names. A cascade asks its models one after the other, the cheapest
// first, and judges each answer but the last: the first one that is accepted is the
// answer. Both take their threshold from a number or, with an error rate, from a
// calibration.
//
// [New] puts routes around a backend, which it keeps whole. What a route's answer took
// besides the model that answers is told as [model.Spent].
package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/model"
)

// Route says which model answers. It is a router where it has a Question, and a cascade
// otherwise.
type Route struct {
	// Question is a choice, whose option's model answers; Otherwise answers where the
	// answer is less confident than MinConfidence, does not keep the error rate
	// Error, or cannot be had. One of both may be set.
	Question      *decisions.Question
	Models        map[string]string // from each option to a model ID
	Otherwise     string
	MinConfidence float64

	// Cascade are model IDs, two or more. Accept is a yes/no question about the answer of
	// each but the last one: it is accepted where the probability of yes is at least
	// Threshold or, with Error, where of the accepted answers no larger share is wrong.
	Cascade   []string
	Accept    *decisions.Question
	Threshold float64

	Error   float64 // the error rate that a calibration of the question keeps; 0: none
	Decider string  // the model that decides; empty is [model.DefaultDecider]
	Sees    []guard.Sight

	// Calibrations is the organization whose calibrations are applied; empty is
	// [accounts.DefaultOrganization].
	Calibrations string
}

// Decider asks questions; it is a [decisions.Service] without accounts: what a decision
// costs is told with the answer.
type Decider = guard.Decider

// Options configure [New].
type Options struct {
	Routes  map[string]Route // by model ID
	Decider Decider          // nil: decisions of the backend, without calibrations
	Log     *slog.Logger     // where decisions go that could not be had; nil: slog.Default()
}

// Backend is a backend with routes.
type Backend struct {
	*model.Models
	o      Options
	infos  []model.Info
	routes map[string]*route

	mu         sync.Mutex
	thresholds map[string]float64 // by calibration and rate; guarded by mu
}

// route is a valid Route.
type route struct {
	Route
	id string
}

// New returns a backend with routes around b. The error names the route and the field
// that is wrong, as a path in a configuration.
func New(b model.Backend, o Options) (*Backend, error) {
	r := &Backend{Models: model.Use(b), o: o, routes: map[string]*route{}, thresholds: map[string]float64{}}
	r.o.Log = cmp.Or(o.Log, slog.Default())
	if o.Decider == nil {
		r.o.Decider = decisions.New(decisions.Options{Backend: b})
	}
	r.infos = slices.Clone(r.Models.List())
	for _, id := range slices.Sorted(maps.Keys(o.Routes)) {
		one := &route{o.Routes[id], id}
		if err := one.check("routes." + id); err != nil {
			return nil, err
		}
		if _, ok := r.Models.Find(id); ok && slices.ContainsFunc(r.infos, func(info model.Info) bool { return info.ID == id }) {
			return nil, misconfigured("routes."+id, "is the ID of a model")
		}
		info, err := r.infoOf(one)
		if err != nil {
			return nil, err
		}
		r.routes[id] = one
		r.infos = append(r.infos, info)
	}
	return r, nil
}

func misconfigured(path, format string, args ...any) error {
	return fault.Invalidf(path, "%s %s.", path, fmt.Sprintf(format, args...))
}

// Validate returns what is wrong with routes, as far as that can be said without their
// models.
func Validate(routes map[string]Route) error {
	for _, id := range slices.Sorted(maps.Keys(routes)) {
		if err := (&route{routes[id], id}).check("routes." + id); err != nil {
			return err
		}
	}
	return nil
}

// check validates a route and fills in its defaults.
func (r *route) check(path string) error {
	r.Decider, r.Calibrations = cmp.Or(r.Decider, model.DefaultDecider), cmp.Or(r.Calibrations, accounts.DefaultOrganization)
	if r.id == "" || len(r.id) > model.MaxID {
		return misconfigured(path, "must have an ID of 1 to %d bytes", model.MaxID)
	}
	if r.Error < 0 || r.Error >= 1 {
		return misconfigured(path+".error", "must be above 0 and below 1")
	}
	for i, sight := range r.Sees {
		if !sight.Valid() {
			return misconfigured(fmt.Sprintf("%s.sees[%d]", path, i), "must be history, tools or files")
		}
	}
	switch {
	case (r.Question == nil) == (len(r.Cascade) == 0):
		return misconfigured(path, "must have either a question or a cascade")
	case r.Question != nil:
		return r.checkRouter(path)
	}
	return r.checkCascade(path)
}

func (r *route) checkRouter(path string) error {
	if r.Question.Type != decisions.Choice {
		return misconfigured(path+".question.type", "must be choice")
	}
	if err := r.Question.Check(path + ".question"); err != nil {
		return err
	}
	for option := range r.Models {
		if _, err := r.Question.AnswerIndex(path+".models."+option, jsonText(option)); err != nil {
			return misconfigured(path+".models."+option, "is not an option of the question")
		}
	}
	switch {
	case len(r.Models) == 0:
		return misconfigured(path+".models", "must have a model for an option")
	case r.Otherwise == "":
		return misconfigured(path+".otherwise", "must be a model")
	case r.MinConfidence < 0 || r.MinConfidence > 1:
		return misconfigured(path+".min_confidence", "must be from 0 to 1")
	case r.MinConfidence != 0 && r.Error != 0:
		return misconfigured(path, "must have either min_confidence or error")
	}
	return nil
}

func (r *route) checkCascade(path string) error {
	switch {
	case len(r.Cascade) < 2:
		return misconfigured(path+".cascade", "must have two models or more")
	case r.Accept == nil || r.Accept.Type != decisions.Noul:
		return misconfigured(path+".accept", "must be a question of the type noul")
	case (r.Threshold == 0) == (r.Error == 0):
		return misconfigured(path, "must have either threshold or error")
	case r.Threshold < 0 || r.Threshold > 1:
		return misconfigured(path+".threshold", "must be above 0 and at most 1")
	}
	return r.Accept.Check(path + ".accept")
}

// models are the models that may answer, with the places of their IDs.
func (r *route) models() (ids, places []string) {
	for i, id := range r.Cascade {
		ids, places = append(ids, id), append(places, fmt.Sprintf("cascade[%d]", i))
	}
	if r.Question == nil {
		return ids, places
	}
	ids, places = []string{r.Otherwise}, []string{"otherwise"}
	for _, option := range slices.Sorted(maps.Keys(r.Models)) {
		ids, places = append(ids, r.Models[option]), append(places, "models."+option)
	}
	return ids, places
}

// infoOf describes a route as a model: what fits it fits each of its models.
func (b *Backend) infoOf(r *route) (model.Info, error) {
	path := "routes." + r.id
	info := model.Info{ID: r.id, OwnedBy: "route", Generates: true, Routes: true}
	ids, places := r.models()
	for i, id := range ids {
		found, ok := b.Models.Find(id)
		if !ok || !found.Generates {
			return info, misconfigured(path+"."+places[i], "is %q, which is not a generation model", id)
		}
		if i == 0 || found.Window() < info.ContextWindow {
			info.ContextWindow = found.Window()
		}
	}
	if decider, ok := b.Models.Find(r.Decider); !ok || !decider.Decides {
		return info, misconfigured(path+".decider", "is %q, which is not a decision model", r.Decider)
	}
	return info, nil
}

// Check returns what keeps routes from taking a threshold from a calibration.
func (b *Backend) Check(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(b.routes)) {
		r := b.routes[id]
		if r.Error == 0 {
			continue
		}
		question := cmp.Or(r.Question, r.Accept)
		calibrated, err := b.o.Decider.CalibrationOf(ctx, accounts.Caller{Organization: r.Calibrations}, r.Decider, question)
		if err == nil && calibrated == "" {
			err = fmt.Errorf("the organization %q has no calibration of the question for the model %q", r.Calibrations, r.Decider)
		}
		if err == nil && r.Accept != nil {
			_, err = b.accepts(ctx, r, calibrated)
		}
		if err != nil {
			path := "routes." + id + ".error"
			return fault.Invalidf(path, "%s: %s.", path, err)
		}
	}
	return nil
}

// maxThresholds is how many thresholds are remembered.
const maxThresholds = 1000

var errNoThreshold = errors.New("no threshold keeps the rate with the rows of the calibration")

// accepts returns the probability from which on an answer is accepted by a calibration,
// which never changes.
func (b *Backend) accepts(ctx context.Context, r *route, id string) (float64, error) {
	key := fmt.Sprint(id, " ", r.Error)
	b.mu.Lock()
	known, ok := b.thresholds[key]
	b.mu.Unlock()
	if ok {
		return known, nil
	}
	rows, err := b.o.Decider.CalibrationRows(ctx, accounts.Caller{Organization: r.Calibrations}, id)
	if err != nil {
		return 0, err
	}
	found, ok := calibration.AcceptFrom(calibration.ScoresOf(rows, 0), r.Error)
	if !ok {
		return 0, errNoThreshold
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.thresholds) >= maxThresholds {
		clear(b.thresholds)
	}
	b.thresholds[key] = found.Confidence
	return found.Confidence, nil
}
