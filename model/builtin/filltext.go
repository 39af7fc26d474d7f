package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// numbers yields those of the text, and then numbers at a distance from zero and from each
// bound that grows with the index, in steps of what they must be multiples of.
func (f *filler) numbers(whole bool, sh *shape, w want, yield func(filled) bool) bool {
	if w.index == 0 {
		for _, n := range f.facts.numbers(w.field) {
			if f.facts.used[n.at] = true; !yield(filled{n.value, true}) {
				return false
			}
		}
	}
	starts, step, free := append([]*big.Rat{new(big.Rat)}, sh.bounds...), big.NewRat(1, 1), !whole && len(sh.multiples) == 0
	for _, multiple := range sh.multiples {
		if step = new(big.Rat).Mul(step, multiple); whole { // a multiple that is whole
			step.SetInt(step.Num())
		}
	}
	if free && len(sh.bounds) > 1 { // what lies between two bounds
		step.Sub(sh.bounds[1], sh.bounds[0]).Mul(step, big.NewRat(1, 1024))
	}
	for _, start := range starts {
		if !free { // from a multiple
			count := new(big.Rat).Quo(start, step)
			start = new(big.Rat).Mul(step, new(big.Rat).SetInt(new(big.Int).Div(count.Num(), count.Denom())))
		}
		for _, i := range []int{w.index, -w.index} {
			v := new(big.Rat).Mul(step, big.NewRat(int64(i), 1))
			if !yield(filled{value: decimal(v.Add(v, start))}) {
				return false
			}
		}
	}
	return true
}

// decimal writes a number with as many digits as it needs, up to a bound.
func decimal(v *big.Rat) json.Number {
	const mostDigits = 400
	digits, _ := v.FloatPrec()
	return json.Number(v.FloatString(min(digits, mostDigits)))
}

// strings yields those of the text, then strings made for the format or the patterns, and
// free text, each as long as it must be.
func (f *filler) strings(sh *shape, w want, yield func(filled) bool) bool {
	const mostMade = 256
	var texts, made []string
	least, most := sh.length.least, sh.length.most
	for _, pattern := range slices.Concat(lists()["format "+sh.format], sh.patterns) {
		for repeat := 0; repeat < 2*least+2; repeat = max(2*repeat, 1) {
			made = append(made, sample(pattern, w.index, min(repeat, max(least, 1))))
		}
	}
	for i := range made[:len(made):len(made)] { // one that more patterns match
		for _, end := range made {
			if len(sh.patterns) > 1 && len(made) < mostMade {
				made = append(made, made[i]+end)
			}
		}
	}
	if w.index == 0 {
		texts = f.facts.strings(w.field, sh.format, sh.patterns)
	}
	free, number := f.facts.freeText(w.field), fmt.Sprint(w.index)
	if w.index > 0 {
		free = firstRunes(free, most-len(number)-1) + " " + number
	}
	for i, text := range slices.Concat(texts, made, []string{free, number, string(rune('a' + w.index%26))}) {
		length := most
		if n := utf8.RuneCountInString(text); n < least && least <= most {
			text, length = strings.Repeat(cmp.Or(text, "x"), least/max(n, 1)+1), least
		}
		if !yield(filled{firstRunes(text, length), i < len(texts)}) {
			return false
		}
	}
	return true
}

// sample returns a string that a regular expression is likely to match: anchors are taken
// for satisfied. Open repetitions are taken repeat times beyond their least, and different
// indexes prefer different characters and branches. Of an expression that cannot be read it
// is empty.
func sample(pattern string, index, repeat int) string {
	const longest = 1 << 12
	var out strings.Builder
	var write func(re *syntax.Regexp)
	write = func(re *syntax.Regexp) {
		low, high, subs := 1, 1, re.Sub
		switch re.Op {
		case syntax.OpLiteral:
			out.WriteString(string(re.Rune))
		case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
			c, choices := runeOf(append(re.Rune, 'a', 'z')[:max(len(re.Rune), 2)], index)
			out.WriteRune(c)
			index /= choices
		case syntax.OpAlternate:
			subs = subs[index%len(subs):][:1]
			index /= len(re.Sub)
		case syntax.OpStar:
			low, high = 0, -1
		case syntax.OpPlus:
			high = -1
		case syntax.OpQuest:
			low = 0
		case syntax.OpRepeat:
			low, high = re.Min, re.Max
		}
		if low += repeat; high >= 0 {
			low = min(low, high)
		}
		for i := 0; i < low && out.Len() < longest; i++ {
			for _, sub := range subs {
				write(sub)
			}
		}
	}
	if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		write(re)
	}
	return out.String()
}

// runeOf chooses a character of a class, given as pairs of bounds, one that can be read where
// there is one, and says of how many.
func runeOf(class []rune, index int) (c rune, choices int) {
	const readable = "abcdefghijklmnopqrstuvwxyz123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0 -_.,:;/+*=!?#$%&@'()[]{}<>^|~`\\\""
	var all []rune
	for _, r := range readable {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				all = append(all, r)
			}
		}
	}
	if len(all) == 0 {
		return class[0], 1
	}
	return all[index%len(all)], len(all)
}
