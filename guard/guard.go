// Package guard judges what models are asked and what they answer by policies, and
// blocks what a policy says.
//
// A [Policy] has typed questions, as a decision has them, and says which answers to
// them block. A [Service] holds the policies of a program; its [Turn] is the policies of
// one request, which judges the input before any model is called and the output
// before anybody sees it: it is a [model.Guard]. All questions of a stage about the
// same are one decision. [New] puts policies around a backend instead, for programs
// without a store or accounts.
//
// A policy that could not be asked is a failure, and never a pass: what it did is in
// its [Verdict].
package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// Stage is what a policy judges.
type Stage string

// The stages.
const (
	Input  Stage = "input"  // what a model is asked
	Output Stage = "output" // what it answers
	Both   Stage = "both"
)

// Sight is what a policy sees of a prompt besides the last message of the user and the
// system's messages.
type Sight string

// The sights.
const (
	History Sight = "history" // the other messages of the user and the assistant
	Tools   Sight = "tools"   // the outputs of tools
	Files   Sight = "files"   // the text of documents
)

// Valid reports whether there is such a sight.
func (s Sight) Valid() bool { return s == History || s == Tools || s == Files }

// OnFailure is what becomes of a request that a policy could not be asked about.
type OnFailure string

// What may become of it. The zero value is BlockRequest.
const (
	BlockRequest OnFailure = "block"
	AllowRequest OnFailure = "allow"
)

// Policy is questions and which answers to them block.
type Policy struct {
	Stage     Stage
	Questions []decisions.Question // 1 to [decisions.MaxQuestions], without images
	Block     map[string]Block     // by the name of a question; one or more
	Model     string               // that decides; empty is [model.DefaultDecider]
	OnFailure OnFailure
	LogOnly   bool // nothing is blocked: the verdict says what would have been
	Sees      []Sight

	// Calibrations is the organization whose calibrations of the questions are applied;
	// empty is [accounts.DefaultOrganization].
	Calibrations string
}

// Block says from which probability of an answer on something is blocked. Either
// Threshold or FalseBlocks is set.
type Block struct {
	When      json.RawMessage // the answer: true or false, the name of an option, the index of a level
	Threshold float64         // above 0, at most 1

	// FalseBlocks is the share of good requests that may be blocked: the threshold
	// comes from the rows of the question's calibration, see [calibration.BlockAbove].
	FalseBlocks float64
}

// Outcome is what a policy has said.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Blocked Outcome = "blocked"
	Logged  Outcome = "logged" // it would have been blocked, but for LogOnly
	Failed  Outcome = "failed" // the policy could not be asked
)

// weights order outcomes: of two stages the weightier one is that of the policy.
var weights = map[Outcome]int{Passed: 1, Logged: 2, Failed: 3, Blocked: 4}

// Verdict is what a policy has said about one request.
type Verdict struct {
	Policy  string
	Outcome Outcome
}

// Refusal is in the cause of the error of a request that a policy blocked or that it
// could not be asked about, and is what [Options.Blocked] is told.
type Refusal struct {
	Policy      string
	Question    string // empty where the policy could not be asked
	Stage       Stage
	Probability float64
	Threshold   float64
	Decision    string // ID of the stored decision, empty where it is not stored
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("guard: policy %s, stage %s, question %q", r.Policy, r.Stage, r.Question)
}

// Decider asks questions; it is a [decisions.Service].
type Decider interface {
	Decide(ctx context.Context, c accounts.Caller, req *decisions.Request) (*decisions.Response, error)
	CalibrationRows(ctx context.Context, c accounts.Caller, id string) ([]calibration.Row, error)
	CalibrationOf(ctx context.Context, c accounts.Caller, modelID string, asked *decisions.Question) (string, error)
}

// Options configure a [Service].
type Options struct {
	Policies map[string]Policy // by name: 1 to 64 letters, digits, underscores or hyphens
	Defaults []string          // names of those that hold for every request
	Decider  Decider           // required

	// Blocked is told what was blocked, before the caller is; nil tells nobody. An error
	// is logged.
	Blocked func(ctx context.Context, c accounts.Caller, r Refusal) error

	// Observe is told every outcome; nil tells nobody.
	Observe func(policy string, stage Stage, outcome Outcome)

	Log *slog.Logger // where policies go that could not be asked; nil: slog.Default()
}

// Service holds policies. Its methods may be called concurrently.
type Service struct {
	o        Options
	policies map[string]*policy
	builtIn  *policy // [Moderation], under the name ModerationPolicy where no policy has it

	mu         sync.Mutex
	thresholds map[string]calibration.Above // by calibration, answer and rate; guarded by mu
}

// policy is a valid Policy.
type policy struct {
	Policy
	name string
	when map[string]int // the index of the blocking answer, by question
}

// Timeout bounds one decision of a policy.
const Timeout = time.Minute

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// NewService returns a Service. The error names the policy and the field that is
// wrong, as a path in a configuration.
func NewService(o Options) (*Service, error) {
	if o.Decider == nil {
		return nil, errors.New("guard: Options need a Decider")
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	s := &Service{o: o, thresholds: map[string]calibration.Above{}}
	var err error
	if s.builtIn, err = parse(ModerationPolicy, Moderation()); err != nil {
		return nil, err
	}
	s.policies, err = parseAll(o.Policies, o.Defaults)
	return s, err
}

// Validate returns what is wrong with policies, as far as that can be said without
// asking them: the error of [NewService].
func Validate(policies map[string]Policy, defaults []string) error {
	_, err := parseAll(policies, defaults)
	return err
}

func parseAll(policies map[string]Policy, defaults []string) (parsed map[string]*policy, err error) {
	parsed = map[string]*policy{}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if parsed[name], err = parse(name, policies[name]); err != nil {
			return nil, err
		}
	}
	for i, name := range defaults {
		if parsed[name] == nil {
			return nil, misconfigured(fmt.Sprintf("default_policies[%d]", i), "names the policy %.64q, which does not exist", name)
		}
	}
	return parsed, nil
}

// misconfigured is the error about a place in a configuration.
func misconfigured(path, format string, args ...any) error {
	return fault.Invalidf(path, "%s %s.", path, fmt.Sprintf(format, args...))
}

// parse validates a policy.
func parse(name string, p Policy) (*policy, error) {
	path := "policies." + name
	if !validName.MatchString(name) {
		return nil, misconfigured(path, "must have a name of 1 to 64 letters, digits, underscores or hyphens")
	}
	if p.Stage != Input && p.Stage != Output && p.Stage != Both {
		return nil, misconfigured(path+".stage", "must be input, output or both")
	}
	if p.OnFailure = cmp.Or(p.OnFailure, BlockRequest); p.OnFailure != BlockRequest && p.OnFailure != AllowRequest {
		return nil, misconfigured(path+".on_failure", "must be block or allow")
	}
	for i, sight := range p.Sees {
		if !sight.Valid() {
			return nil, misconfigured(fmt.Sprintf("%s.sees[%d]", path, i), "must be history, tools or files")
		}
	}
	p.Sees = slices.Compact(slices.Sorted(slices.Values(p.Sees)))
	p.Model, p.Calibrations = cmp.Or(p.Model, model.DefaultDecider), cmp.Or(p.Calibrations, accounts.DefaultOrganization)
	if len(p.Questions) < 1 || len(p.Questions) > decisions.MaxQuestions {
		return nil, misconfigured(path+".questions", "must have 1 to %d questions", decisions.MaxQuestions)
	}
	if len(p.Block) == 0 {
		return nil, misconfigured(path+".block", "must name a question")
	}
	parsed := &policy{Policy: p, name: name, when: map[string]int{}}
	for _, question := range slices.Sorted(maps.Keys(p.Block)) {
		if err := parsed.parseBlock(path+".block."+question, question); err != nil {
			return nil, err
		}
	}
	for i := range p.Questions {
		if err := p.checkQuestion(path, i); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

// checkQuestion validates a question of a policy.
func (p *Policy) checkQuestion(path string, i int) error {
	q := &p.Questions[i]
	at := path + ".questions." + q.Name
	const most = decisions.MaxQuestionName - 65 // its name in the decision has that of the policy before it
	if len(q.Name) < 1 || len(q.Name) > most {
		return misconfigured(at, "must have a name of 1 to %d bytes", most)
	}
	if slices.ContainsFunc(p.Questions[:i], func(other decisions.Question) bool { return other.Name == q.Name }) {
		return misconfigured(at, "has the name of another question")
	}
	if len(q.Images) > 0 {
		return misconfigured(at, "must have no images")
	}
	if err := q.Check(at); err != nil {
		return err
	}
	return nil
}

// parseBlock validates what blocks by one question.
func (p *policy) parseBlock(path, question string) error {
	b := p.Block[question]
	at := slices.IndexFunc(p.Questions, func(q decisions.Question) bool { return q.Name == question })
	if at < 0 {
		return misconfigured(path, "is about a question that the policy does not have")
	}
	q := &p.Questions[at]
	index, err := q.AnswerIndex(path+".when", b.When)
	if err != nil {
		return err
	}
	p.when[question] = index
	switch {
	case b.Threshold != 0 && b.FalseBlocks != 0, b.Threshold == 0 && b.FalseBlocks == 0:
		return misconfigured(path, "must have either a threshold or false_blocks")
	case b.Threshold != 0 && !(b.Threshold > 0 && b.Threshold <= 1):
		return misconfigured(path+".threshold", "must be above 0 and at most 1")
	case b.FalseBlocks != 0 && !(b.FalseBlocks >= calibration.LeastFalseBlocks && b.FalseBlocks < 1):
		return misconfigured(path+".false_blocks", "must be at least %v and below 1", calibration.LeastFalseBlocks)
	case b.FalseBlocks != 0 && q.Type == decisions.Labels:
		return misconfigured(path+".false_blocks", "is not for questions of type labels, which have no calibrations; ask a noul question about each option")
	}
	return nil
}

// Check returns what keeps policies from being asked: a model that does not decide,
// an organization without the calibration that a rate of false blocks takes, or one
// with too few rows. organization says whether there is one with an ID, and decides
// whether a model decides.
func (s *Service) Check(ctx context.Context, organization func(ctx context.Context, id string) error, decides func(modelID string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(s.policies)) {
		p, path := s.policies[name], "policies."+name
		if !decides(p.Model) {
			return misconfigured(path+".model", "is %q, which is not a decision model", p.Model)
		}
		if s.o.Policies[name].Calibrations != "" {
			if err := organization(ctx, p.Calibrations); err != nil {
				return misconfigured(path+".calibrations", "names the organization %q: %s", p.Calibrations, fault.From(err).Message)
			}
		}
		for _, question := range slices.Sorted(maps.Keys(p.Block)) {
			if rate := p.Block[question].FalseBlocks; rate != 0 {
				if err := s.checkCalibration(ctx, p, question, rate); err != nil {
					return fault.Invalidf(path, "%s.block.%s.false_blocks: %s.", path, question, err)
				}
			}
		}
	}
	return nil
}

func (s *Service) checkCalibration(ctx context.Context, p *policy, question string, rate float64) error {
	at := slices.IndexFunc(p.Questions, func(q decisions.Question) bool { return q.Name == question })
	id, err := s.o.Decider.CalibrationOf(ctx, accounts.Caller{Organization: p.Calibrations}, p.Model, &p.Questions[at])
	if err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("the organization %q has no calibration of the question for the model %q; make one from labels, or give a threshold", p.Calibrations, p.Model)
	}
	_, err = s.threshold(ctx, p, id, p.when[question], rate)
	return err
}

// maxThresholds is how many thresholds are remembered.
const maxThresholds = 1000

// threshold returns the threshold that a rate of false blocks has by a calibration,
// which never changes.
func (s *Service) threshold(ctx context.Context, p *policy, id string, answer int, rate float64) (calibration.Above, error) {
	key := fmt.Sprint(id, answer, rate)
	s.mu.Lock()
	known, ok := s.thresholds[key]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	rows, err := s.o.Decider.CalibrationRows(ctx, accounts.Caller{Organization: p.Calibrations}, id)
	if err != nil {
		return calibration.Above{}, err
	}
	if len(rows) == 0 {
		return calibration.Above{}, fmt.Errorf("the rows of the calibration %s were not kept; make it again", id)
	}
	scored := calibration.ScoresOf(rows, answer)
	found, ok := calibration.BlockAbove(scored, rate)
	if !ok {
		good := len(slices.DeleteFunc(scored, func(row calibration.Scored) bool { return row.Hit }))
		return calibration.Above{}, fmt.Errorf("the calibration %s has %d rows that are not to be blocked, but a rate of %v takes %d; label more",
			id, good, rate, calibration.FewestGood(rate))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.thresholds) >= maxThresholds {
		clear(s.thresholds)
	}
	s.thresholds[key] = found
	return found, nil
}
