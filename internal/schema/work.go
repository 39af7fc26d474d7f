package schema

import (
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/cpu"
)

const (
	// maxSquares bounds how long the schemas of a request take to be compiled, which
	// grows with the square of the schemas in a document: one may have 10,000, a
	// thousand may have 300 each. What lies where a schema is not looked for, and each
	// new base address, cost the compiler foreign times as much.
	maxSquares = 10_000 * 10_000
	foreign    = 16

	// maxValues is how many values a schema has at most: each takes some hundred
	// bytes while it is read.
	maxValues = 150_000

	// maxText is how many bytes of JSON the schemas of a request have at most.
	maxText = 4 << 20

	// maxPatterns is the size of all regular expressions of a request's schemas, in
	// bytes of their text and in instructions when they are compiled; maxPattern
	// bounds the text of one before it is read: classes of Unicode characters take a
	// thousand times as much memory as text.
	maxPatterns = 100_000
	maxPattern  = 10_000

	// matchedPerStep is how many bytes of a text, times the size of the expression
	// that it is matched with, are one step of a validation.
	matchedPerStep = 256

	// Numbers are compared exactly, as fractions of integers: one has at most
	// maxDigits characters and an exponent of maxExponent in either direction, far
	// more than a float64.
	maxDigits   = 1000
	maxExponent = 1000
)

var (
	errNumber  = errors.New("it has a number of more than 1,000 digits")
	errPattern = errors.New("the regular expressions are too large")
)

// Budget is what the schemas of one request may take together to be compiled. The
// zero value is a whole one. It belongs to one goroutine.
type Budget struct {
	Tenant string // the organization whose turn it is that compiles and validates; see package cpu

	text, squares, patterns int
}

// Compile is the function [Compile] for one of several schemas: one for which the
// budget does not suffice is Invalid as well.
func (b *Budget) Compile(raw json.RawMessage, param string) (*Schema, error) {
	if b.text += len(raw); b.text > maxText {
		return nil, fault.Invalidf(param, "%s is too long: the schemas of a request may have %d MiB.", param, maxText>>20)
	}
	if strings.Count(string(raw), ",") > maxValues {
		return nil, fault.Invalidf(param, "%s has more than %d values.", param, maxValues)
	}
	defer cpu.Enter(b.Tenant).Leave()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return nil, fault.Invalidf(param, "%s is not valid JSON.", param)
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, fault.Invalidf(param, "%s must be a JSON Schema object.", param)
	}
	w, err := work(doc)
	if err != nil {
		return nil, fault.Invalidf(param, "%s cannot be used: %v.", param, err)
	}
	if b.squares += w.squares(); b.squares > maxSquares {
		return nil, fault.Invalidf(param, "%s has too many schemas for one request.", param)
	}
	p := &patterns{used: &b.patterns}
	compiled, err := compile(doc, false, p)
	if p.exceeded {
		return nil, fault.Invalidf(param, "%s has more regular expressions than one request may have, or longer ones.", param)
	}
	if err != nil {
		return nil, fault.Invalidf(param, "%s is not a valid JSON Schema: %.300s.", param, reason(err))
	}
	if Parts(compiled) > MaxParts {
		return nil, fault.Invalidf(param, "%s has more than %d parts when its references are written out.", param, MaxParts)
	}
	result := &Schema{compiled: compiled, tenant: b.Tenant, stepper: stepper{most: maxSteps}}
	p.step = result.stepper.step
	result.stepper.watch(compiled, map[*jsonschema.Schema]bool{})
	return result, nil
}

// worked is what makes a document long to compile.
type worked struct{ schemas, far int }

func (w worked) squares() int {
	if w.schemas > maxSquares || w.far > maxSquares {
		return maxSquares + 1
	}
	return w.schemas * (w.schemas + foreign*w.far)
}

// work counts what may be schemas in a document, and what makes them dear. The
// error is that of a number which no value is compared with.
func work(doc any) (w worked, err error) {
	switch doc := doc.(type) {
	case bool:
		w.schemas++
	case json.Number:
		return w, checkNumber(doc)
	case []any:
		for _, v := range doc {
			if err := w.add(v); err != nil {
				return w, err
			}
		}
	case map[string]any:
		w.schemas++
		for name, v := range doc {
			switch text, _ := v.(string); {
			case text == "":
			case name == "$id" || name == "id":
				w.far++
			case name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef":
				if !near(text) {
					w.far++
				}
			}
			if err := w.add(v); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

func (w *worked) add(doc any) error {
	more, err := work(doc)
	w.schemas, w.far = w.schemas+more.schemas, w.far+more.far
	return err
}

// near reports whether a reference leads to where the compiler has been before.
func near(ref string) bool {
	at, local := strings.CutPrefix(ref, "#")
	if !local || at == "" {
		return local
	}
	for _, place := range []string{"/$defs/", "/definitions/"} {
		if name, ok := strings.CutPrefix(at, place); ok {
			return !strings.Contains(name, "/")
		}
	}
	return false
}

func checkNumber(n json.Number) error {
	text := string(n)
	if len(text) > maxDigits {
		return errNumber
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		if e, err := strconv.Atoi(text[at+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return errNumber
		}
	}
	return nil
}

// patterns compiles the regular expressions of a schema, each once.
type patterns struct {
	used     *int // of maxPatterns; nil: nobody counts
	exceeded bool
	compiled map[string]*pattern
	step     func(int) // counts the work of matching; nil: nobody does
}

// pattern is one regular expression.
type pattern struct {
	*regexp.Regexp
	of   *patterns
	size int
}

// MatchString implements [jsonschema.Regexp].
func (p *pattern) MatchString(text string) bool {
	if p.of.step != nil {
		p.of.step(len(text) * p.size / matchedPerStep)
	}
	return p.Regexp.MatchString(text)
}

// compile is a [jsonschema.RegexpEngine].
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if found := p.compiled[text]; found != nil {
		return found, nil
	}
	size, err := patternSize(text)
	if p.used != nil {
		*p.used += len(text) + size
		p.exceeded = p.exceeded || err == errPattern || *p.used > maxPatterns
		if p.exceeded {
			return nil, errPattern
		}
	}
	if err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	if p.compiled == nil {
		p.compiled = map[string]*pattern{}
	}
	one := &pattern{compiled, p, size}
	p.compiled[text] = one
	return one, nil
}

// patternSize returns about how many instructions a regular expression has, which
// is not compiled for that. The error is errPattern for one that is too long.
func patternSize(text string) (int, error) {
	if len(text) > maxPattern {
		return 0, errPattern
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	size := instructions(parsed)
	if size > maxPatterns {
		return 0, errPattern
	}
	return size, nil
}

func instructions(re *syntax.Regexp) int {
	const runesPerInstruction = 8 // of memory
	n := 1 + len(re.Rune)/runesPerInstruction
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n = min(n+instructions(sub), maxPatterns+1)
	}
	if re.Op == syntax.OpRepeat {
		n = min(n*max(re.Min, re.Max, 1), maxPatterns+1)
	}
	return n
}
