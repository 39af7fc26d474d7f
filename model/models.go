package model

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/fault"
)

// Models are the models of a [Backend] as the service uses them: what the driver
// does, and what a driver may do besides, with what holds where it does not. All
// methods may be called concurrently.
type Models struct {
	driver   Backend
	scorer   Scorer // nil: the driver is none; so are those below
	labeler  Labeler
	decider  Decider
	embedder Embedder
	counter  TokenCounter // how the driver counts
	lister   Lister       // which models it has
}

// Use returns the Models of a driver, or b itself where it is one.
func Use(b Backend) *Models {
	if m, ok := b.(*Models); ok {
		return m
	}
	m := &Models{driver: b}
	m.scorer, _ = driver.As[Scorer](b)
	m.labeler, _ = driver.As[Labeler](b)
	m.decider, _ = driver.As[Decider](b)
	m.embedder, _ = driver.As[Embedder](b)
	m.counter, _ = driver.As[TokenCounter](b)
	m.lister, _ = driver.As[Lister](b)
	return m
}

// Generate answers a request; see [Backend].
func (m *Models) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return m.driver.Generate(ctx, req)
}

// Score asks one question about a state; see [Scorer]. The error of a driver that
// is none is [ErrNoScorer].
func (m *Models) Score(ctx context.Context, req *ScoreRequest) (*Scores, error) {
	if m.scorer == nil {
		return nil, ErrNoScorer
	}
	return m.scorer.Score(ctx, req)
}

// Decide answers all questions of a decision in one call; see [Decider]. The
// error of a driver that is none is [ErrUndecided].
func (m *Models) Decide(ctx context.Context, req *DecideRequest) (*Decision, error) {
	if m.decider == nil {
		return nil, ErrUndecided
	}
	return m.decider.Decide(ctx, req)
}

// Decides reports whether Decide may answer at all.
func (m *Models) Decides() bool { return m.decider != nil }

// Labels returns labels for the options of one question, n or as many as one call
// can ask about; see [Labeler].
func (m *Models) Labels(ctx context.Context, id string, n int) []string {
	if m.labeler == nil {
		return Letters[:min(n, MaxLabels)]
	}
	return m.labeler.Labels(ctx, id, n)
}

// List returns the models. A driver that is no [Lister] has the two models that
// the interface names: one that generates (and, for an [Embedder], embeds) and, for
// a [Scorer], one that decides.
// The slice is shared and must not be changed.
func (m *Models) List() []Info {
	if m.lister != nil {
		return m.lister.Models()
	}
	models := []Info{{ID: DefaultGenerator, Generates: true, Embeds: m.embedder != nil}}
	if m.scorer != nil {
		models = append(models, Info{ID: DefaultDecider, Decides: true})
	}
	return models
}

// MaxID is how long the ID of a model may be, in bytes. It is stored with all that
// the model makes, also where a driver hands any ID on to its server.
const MaxID = 256

// Find returns the model with an ID, and whether there is one.
func (m *Models) Find(id string) (Info, bool) {
	if len(id) > MaxID {
		return Info{}, false
	}
	if m.lister != nil {
		return m.lister.Model(id)
	}
	for _, info := range m.List() {
		if info.ID == id {
			return info, true
		}
	}
	return Info{}, false
}

// Generator returns the model with an ID for generation. The NotFound error has the
// param model and names models that there are, as far as they are among allowed;
// nil allows all.
func (m *Models) Generator(id string, allowed []string) (Info, error) {
	if id == "" {
		return Info{}, fault.Invalidf("model", "model is required.")
	}
	info, ok := m.Find(id)
	if !ok || !info.Generates {
		return Info{}, m.missing("generation model", id, func(i Info) bool { return i.Generates && isAllowed(i.ID, allowed) })
	}
	return info, nil
}

func isAllowed(id string, allowed []string) bool {
	return allowed == nil || slices.Contains(allowed, id)
}

// missing is the NotFound error of a model ID that nothing serves. It names the
// first models that fit.
func (m *Models) missing(what, id string, fits func(Info) bool) error {
	const most = 10
	var ids []string
	for _, info := range m.List() {
		if fits(info) && len(ids) <= most {
			ids = append(ids, info.ID)
		}
	}
	if len(ids) > most {
		ids[most] = "…"
	}
	e := fault.Missing(CodeNotFound, what, id)
	e.Param = "model"
	if len(ids) > 0 {
		e.Message += " Available: " + strings.Join(ids, ", ") + "."
	} else {
		e.Message += " There is none that this key may use."
	}
	return e
}

// CountTokens returns the length of a prompt in tokens, or any number above the
// model's context window where that is exceeded: the driver's own count,
// or for one that is no [TokenCounter] an estimate that is about right for
// English prose and high for most else.
func (m *Models) CountTokens(ctx context.Context, req *Request) (int, error) {
	if m.counter != nil {
		return m.counter.CountTokens(ctx, req)
	}
	return PromptTokens(req, EstimateTokens), nil
}

// CheckWindow returns a Rejected error with the code context_length_exceeded
// when the request's prompt and its MaxTokens together do not fit the model's
// context window, or when a prompt without MaxTokens leaves no room to answer.
// It counts tokens only where the prompt's length in bytes leaves a doubt: no
// tokenizer makes more tokens than there are bytes.
func (m *Models) CheckWindow(ctx context.Context, info Info, req *Request) error {
	answer := max(req.MaxTokens, 1)
	if answer <= info.Window() && req.Sum(promptBytes{}, promptBytes{}.of)+answer <= info.Window() {
		return nil
	}
	count, err := m.CountTokens(ctx, req)
	if err != nil {
		return err
	}
	if count+answer <= info.Window() {
		return nil
	}
	over := &OverWindow{Prompt: count, Answer: req.MaxTokens, Window: info.Window()}
	refused := fault.ContextLength("%s", over.message())
	refused.Err = over
	return refused
}

// OverWindow is the cause of the error of [Models.CheckWindow]: what does not fit a
// context window, in tokens.
type OverWindow struct {
	Prompt int // any number above Window where the prompt alone is longer than that
	Answer int // the cap of the request; 0 is none
	Window int
}

// Error implements error.
func (o *OverWindow) Error() string {
	return fmt.Sprintf("model: %d + %d > %d tokens", o.Prompt, o.Answer, o.Window)
}

func (o *OverWindow) message() string {
	switch {
	case o.Prompt > o.Window: // nobody counts on to know how many more
		return fmt.Sprintf("The prompt does not fit the model's context window of %d tokens.", o.Window)
	case o.Answer > 0:
		return fmt.Sprintf("The prompt has %d tokens and asks for up to %d more, but the model's context window is %d tokens.", o.Prompt, o.Answer, o.Window)
	}
	return fmt.Sprintf("The prompt has %d tokens, which leaves no room to answer in the model's context window of %d tokens.", o.Prompt, o.Window)
}

// promptBytes is the most tokens that a prompt can have.
type promptBytes struct{}

func (promptBytes) of(part *Request) (int, bool) {
	return PromptTokens(part, func(s string) int { return len(s) }), true
}

// Unwrap returns the driver; see package driver.
func (m *Models) Unwrap() any { return m.driver }

// As leaves the answer to the driver.
func (m *Models) As(any) bool { return false }

var (
	_ Backend        = (*Models)(nil)
	_ driver.Wrapper = (*Models)(nil)
	_ driver.Asker   = (*Models)(nil)
)
