package builtin

import (
	"regexp/syntax"
	"strings"
	"unicode"
)

// longestSample is the most bytes of a string made for a pattern.
const longestSample = 1 << 12

// sample returns a string that a regular expression is likely to match. Stars
// and other open repetitions are taken repeat times beyond their least, and
// different indexes prefer different characters and branches. It fails for an
// expression that cannot be read. Anchors and word boundaries are taken for
// satisfied, so that the caller must check what it gets.
func sample(pattern string, index, repeat int) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	s := sampler{index: index, repeat: repeat}
	s.write(re)
	return s.out.String(), s.out.Len() < longestSample
}

type sampler struct {
	out           strings.Builder
	index, repeat int
}

func (s *sampler) write(re *syntax.Regexp) {
	if s.out.Len() >= longestSample {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			s.out.WriteRune(c)
		}
	case syntax.OpCharClass:
		s.out.WriteRune(s.classRune(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s.out.WriteRune(s.letter('a'))
	case syntax.OpStar:
		s.times(re.Sub[0], s.repeat)
	case syntax.OpPlus:
		s.times(re.Sub[0], 1+s.repeat)
	case syntax.OpQuest:
		s.times(re.Sub[0], min(s.repeat, 1))
	case syntax.OpRepeat:
		n := re.Min + s.repeat
		if re.Max >= 0 {
			n = min(n, re.Max)
		}
		s.times(re.Sub[0], n)
	case syntax.OpAlternate:
		s.write(re.Sub[s.index%len(re.Sub)])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			s.write(sub)
		}
	}
}

func (s *sampler) times(re *syntax.Regexp, n int) {
	for range min(n, longestSample) {
		s.write(re)
	}
}

func (s *sampler) letter(first rune) rune { return first + rune(s.index%26) }

// classRune chooses a character of a class, given as pairs of bounds: a small
// letter where there is one, or else a digit, a capital, or what is first to be
// seen.
func (s *sampler) classRune(pairs []rune) rune {
	for _, kind := range [][2]rune{{'a', 'z'}, {'1', '9'}, {'0', '9'}, {'A', 'Z'}, {'!', '~'}} {
		var within []rune
		for i := 0; i+1 < len(pairs); i += 2 {
			for c := max(pairs[i], kind[0]); c <= min(pairs[i+1], kind[1]); c++ {
				within = append(within, c)
			}
		}
		if len(within) > 0 {
			return within[s.index%len(within)]
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if c := pairs[i]; unicode.IsPrint(c) {
			return c
		}
	}
	if len(pairs) > 0 {
		return pairs[0]
	}
	return 'a'
}
