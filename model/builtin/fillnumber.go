package builtin

import (
	"encoding/json"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// numberShape is what schemas say about a number. Bounds are nil where there is
// none; step is nil where every fraction will do.
type numberShape struct {
	low, high         *big.Rat
	lowOpen, highOpen bool // the bound itself is excluded
	step              *big.Rat
}

func numberShapeOf(kind string, parts []*jsonschema.Schema) numberShape {
	var n numberShape
	if kind == "integer" {
		n.step = big.NewRat(1, 1)
	}
	for _, s := range parts {
		n.atLeast(s.Minimum, false)
		n.atLeast(s.ExclusiveMinimum, true)
		n.atMost(s.Maximum, false)
		n.atMost(s.ExclusiveMaximum, true)
		if s.MultipleOf != nil && s.MultipleOf.Sign() > 0 {
			n.step = commonMultiple(n.step, s.MultipleOf)
		}
	}
	return n
}

func (n *numberShape) atLeast(bound *big.Rat, open bool) {
	if bound != nil && (n.low == nil || bound.Cmp(n.low) > 0 || open && bound.Cmp(n.low) == 0) {
		n.low, n.lowOpen = bound, open
	}
}

func (n *numberShape) atMost(bound *big.Rat, open bool) {
	if bound != nil && (n.high == nil || bound.Cmp(n.high) < 0 || open && bound.Cmp(n.high) == 0) {
		n.high, n.highOpen = bound, open
	}
}

// commonMultiple returns the least number that is a multiple of both. For
// reduced fractions that is the least common multiple of the numerators over the
// greatest common divisor of the denominators.
func commonMultiple(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	gcd := new(big.Int).GCD(nil, nil, a.Num(), b.Num())
	num := new(big.Int).Mul(a.Num(), b.Num())
	num.Quo(num, gcd)
	return new(big.Rat).SetFrac(num, new(big.Int).GCD(nil, nil, a.Denom(), b.Denom()))
}

// number makes a number: one of the text that fits, or the one nearest to zero.
func (f *filler) number(kind string, parts []*jsonschema.Schema, w want) (filled, bool) {
	if w.index == 0 {
		for _, candidate := range f.facts.numbers(w.field) {
			if v := json.Number(candidate.digits); satisfies(parts, v) {
				f.facts.use(candidate)
				return filled{v, true}, true
			}
		}
	}
	n := numberShapeOf(kind, parts)
	return filled{value: decimal(n.pick(max(w.index-1, 0)))}, true
}

// pick returns the number nearest to zero that fits, or for another index another
// number.
func (n numberShape) pick(index int) *big.Rat {
	start := new(big.Rat)
	up := true
	switch {
	case n.low != nil && n.low.Sign() >= 0:
		start.Set(n.low)
	case n.high != nil && n.high.Sign() <= 0:
		start.Set(n.high)
		up = false
	case n.high != nil && (n.low == nil || new(big.Rat).Neg(n.low).Cmp(n.high) > 0):
		up = false
	}
	v, step := start, n.gap()
	if n.step != nil {
		step = n.step
		v = multiple(start, step, up)
	}
	if n.excludes(v) {
		index++
	}
	return n.walk(v, step, index, up)
}

// walk goes index steps from v in a direction, and what leads over the bound
// there it goes the other way.
func (n numberShape) walk(v, step *big.Rat, index int, up bool) *big.Rat {
	bound := n.high
	if !up {
		bound = n.low
	}
	steps := big.NewRat(int64(index), 1)
	if bound != nil {
		room := new(big.Rat).Quo(new(big.Rat).Sub(bound, v), step)
		room.Abs(room)
		room.SetInt(new(big.Int).Quo(room.Num(), room.Denom()))
		if steps.Cmp(room) > 0 {
			steps.Sub(steps, room)
			up = !up
		}
	}
	if !up {
		steps.Neg(steps)
	}
	return new(big.Rat).Add(v, steps.Mul(steps, step))
}

// gap returns a step that stays between two bounds for a while.
func (n numberShape) gap() *big.Rat {
	if n.low == nil || n.high == nil {
		return big.NewRat(1, 1)
	}
	const pieces = 1024
	gap := new(big.Rat).Sub(n.high, n.low)
	if gap.Sign() <= 0 || gap.Cmp(big.NewRat(pieces, 1)) >= 0 {
		return big.NewRat(1, 1)
	}
	return gap.Mul(gap, big.NewRat(1, pieces))
}

func (n numberShape) excludes(v *big.Rat) bool {
	return n.low != nil && n.lowOpen && v.Cmp(n.low) == 0 || n.high != nil && n.highOpen && v.Cmp(n.high) == 0
}

// multiple returns the multiple of step that is nearest to v in the direction.
func multiple(v, step *big.Rat, up bool) *big.Rat {
	quotient := new(big.Rat).Quo(v, step)
	count := new(big.Int).Div(quotient.Num(), quotient.Denom()) // rounds down
	if up && !quotient.IsInt() {
		count.Add(count, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(count), step)
}

// decimal writes a number with as many digits as it needs, up to a bound.
func decimal(v *big.Rat) json.Number {
	if v.IsInt() {
		return json.Number(v.Num().String())
	}
	const mostDigits = 400
	digits, _ := v.FloatPrec()
	text := v.FloatString(min(max(digits, 1), mostDigits))
	return json.Number(strings.TrimRight(strings.TrimRight(text, "0"), "."))
}
