package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-506d8e5d/svc/internal/cpu"
)

const (
	// MaxParts is how many parts a schema may have with its references written out,
	// each as often as it is referred to: what is checked against it is checked as
	// often as that. Two references on each of 40 levels are a million million.
	MaxParts = 50_000

	// maxSteps is how many parts one validation looks at: a schema that refers to
	// itself has as many as the value is deep.
	maxSteps = 1_000_000

	// stepsBetween is how many it looks at before it sees whether its context has
	// ended.
	stepsBetween = 1 << 10
)

var errTooLong = errors.New("it takes too long to be checked against the schema")

// Parts returns how many parts there are in s with its references written out
// once in every circle, or MaxParts + 1 where there are more.
func Parts(s *jsonschema.Schema) int { return measurer{}.parts(s) }

type measurer map[*jsonschema.Schema]int

func (m measurer) parts(s *jsonschema.Schema) int {
	if n, ok := m[s]; ok {
		return n
	}
	m[s] = 1 // what a circle comes back to
	n := weight(s)
	for _, sub := range subschemas(s) {
		n = min(n+m.parts(sub), MaxParts+1)
	}
	m[s] = n
	return n
}

// perPart is how many values or names are compared in the time of a part.
const perPart = 16

// weight is how many values and names s itself compares with.
func weight(s *jsonschema.Schema) int {
	n := len(s.Required)
	if s.Enum != nil {
		n += len(s.Enum.Values)
	}
	for _, names := range s.DependentRequired {
		n += len(names)
	}
	for _, d := range s.Dependencies {
		if names, ok := d.([]string); ok {
			n += len(names)
		}
	}
	return 1 + n/perPart
}

// width is how much of a value each part of a schema looks at that it is held to.
func width(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v) / perPart
	case []any:
		return len(v) / perPart
	}
	return 0
}

// subschemas returns the schemas directly within s.
func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	if s.DynamicRef != nil {
		subs = append(subs, s.DynamicRef.Ref)
	}
	subs = slices.Concat(subs, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems)
	subs = slices.AppendSeq(subs, maps.Values(s.Properties))
	subs = slices.AppendSeq(subs, maps.Values(s.PatternProperties))
	subs = slices.AppendSeq(subs, maps.Values(s.DependentSchemas))
	either := []any{s.Items, s.AdditionalItems, s.AdditionalProperties}
	for _, sub := range slices.AppendSeq(either, maps.Values(s.Dependencies)) {
		switch sub := sub.(type) {
		case *jsonschema.Schema:
			subs = append(subs, sub)
		case []*jsonschema.Schema:
			subs = append(subs, sub...)
		}
	}
	return slices.DeleteFunc(subs, func(sub *jsonschema.Schema) bool { return sub == nil })
}

// stepper counts the steps of one validation at a time. The validator knows
// nothing of contexts and limits; what it does ask for each part of a schema,
// before it goes on to what is within, is whether the value has its format.
type stepper struct {
	most  int
	mu    sync.Mutex // held while a validation runs
	ctx   context.Context
	turn  *cpu.Turn
	steps int
}

// stopped is what a step panics with, through the validator.
type stopped struct{ err error }

// run calls validate, which ends with ctx and after the most steps.
func (p *stepper) run(ctx context.Context, tenant string, validate func() error) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn = cpu.Enter(tenant)
	defer p.turn.Leave()
	p.ctx, p.steps = ctx, 0
	defer func() {
		p.ctx = nil
		r := recover()
		if s, ok := r.(stopped); ok {
			err = s.err
		} else if r != nil {
			panic(r)
		}
	}()
	return validate()
}

func (p *stepper) step(n int) {
	if p.ctx == nil {
		return // the schema itself is looked at
	}
	before := p.steps / stepsBetween
	if p.steps += n; p.steps > p.most {
		panic(stopped{errTooLong})
	}
	if p.steps/stepsBetween == before {
		return
	}
	if err := p.ctx.Err(); err != nil {
		panic(stopped{err})
	}
	p.turn.Yield()
}

// watch has every part of a schema counted.
func (p *stepper) watch(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if seen[s] || s.Bool != nil {
		return
	}
	seen[s] = true
	subs := subschemas(s)
	steps, inner := weight(s)+len(subs), s.Format
	f := &jsonschema.Format{Validate: func(v any) error {
		p.step(steps + width(v))
		if inner == nil || inner.Validate == nil {
			return nil
		}
		return inner.Validate(v)
	}}
	if inner != nil {
		f.Name = inner.Name
	}
	if f.Name == "regex" { // which the validator would not ask us about
		f.Name = "regular expression"
		inner = &jsonschema.Format{Validate: isRegexp}
	}
	s.Format = f
	for _, sub := range subs {
		p.watch(sub, seen)
	}
}

func isRegexp(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	_, err := patternSize(text)
	if err == nil {
		_, err = regexp.Compile(text)
	}
	if err != nil {
		return fmt.Errorf("not a regular expression: %w", err)
	}
	return nil
}
