package pdf

import "math"

// Numeric objects (ISO 32000-2, 7.3.3), with the malformed ones that producers
// write and other readers accept.

// parseNumber reads a number at the start of the word w and returns how many
// bytes belong to it. It is not a number when ok is false.
func parseNumber(w []byte) (value float64, n int, ok bool) {
	sign := 1.0
	for n < len(w) && (w[n] == '+' || w[n] == '-') {
		if w[n] == '-' {
			sign = -1
		}
		n++
	}
	value, digits, n := parseDigits(w, n)
	if digits == 0 {
		return 0, n, n == len(w) && n > 0 && w[n-1] == '.' // "." and "-." stand for 0
	}
	n, ok = numberTail(w, n)
	return sign * value, n, ok
}

// parseDigits reads digits with at most one point, from w[n].
func parseDigits(w []byte, n int) (value float64, digits, after int) {
	decimals, point := 0, false
	for ; n < len(w); n++ {
		c := w[n]
		switch {
		case c >= '0' && c <= '9':
			digits++
			if point && decimals < 300 {
				decimals++
			}
			value = value*10 + float64(c-'0')
		case c == '.' && !point:
			point = true
		default:
			return scaleDown(value, decimals), digits, n
		}
	}
	return scaleDown(value, decimals), digits, n
}

func scaleDown(v float64, decimals int) float64 {
	if math.IsInf(v, 0) {
		return 0
	}
	if decimals == 0 {
		return v
	}
	return v / math.Pow10(decimals)
}

// numberTail decides about the rest of a word that began with digits: an
// exponent and a second sign or point belong to the number and are ignored, the
// letters of an operator do not, and anything else makes the word a keyword.
func numberTail(w []byte, n int) (int, bool) {
	if n == len(w) {
		return n, true
	}
	switch c := w[n]; {
	case c == '-' || c == '+' || c == '.':
		for n < len(w) && (w[n] == '-' || w[n] == '.' || w[n] == '+' || w[n] >= '0' && w[n] <= '9') {
			n++
		}
		return n, n == len(w)
	case c == 'e' || c == 'E':
		return len(w), true
	}
	for _, c := range w[n:] {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && c != '*' && c != '\'' && c != '"' {
			return 0, false
		}
	}
	return n, true
}
