package accounts

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
)

// Micros is an amount of money in millionths of a US dollar. In JSON it is a
// string with a decimal number of dollars, such as "12.5"; a JSON number
// without an exponent is read as well, exactly.
type Micros int64

// Dollar is one US dollar.
const Dollar Micros = 1_000_000

// decimals is how many digits after the point one micro-dollar needs.
const decimals = 6

// ParseDollars reads a decimal number of dollars, such as "12.5" or "-0.000001".
// The error is Invalid and names no parameter: text that is not a plain decimal
// number, more than six digits after the point, or an amount that Micros cannot
// hold.
func ParseDollars(text string) (Micros, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if !isDigits(whole) || (point && !isDigits(fraction)) {
		return 0, fault.Invalidf("", "An amount must be a decimal number of US dollars, such as \"12.50\".")
	}
	if len(fraction) > decimals {
		return 0, fault.Invalidf("", "An amount may have at most %d digits after the decimal point.", decimals)
	}
	value, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	switch {
	case err != nil:
		return 0, fault.Invalidf("", "The amount is too large.")
	case negative && value <= -math.MinInt64:
		return Micros(-value), nil
	case !negative && value <= math.MaxInt64:
		return Micros(value), nil
	}
	return 0, fault.Invalidf("", "The amount is too large.")
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// FormatDollars writes an amount as the shortest decimal number of dollars that
// is exactly it. [ParseDollars] reads it back.
func FormatDollars(m Micros) string {
	sign, value := "", uint64(m)
	if m < 0 {
		sign, value = "-", -value
	}
	fraction := strconv.FormatUint(uint64(Dollar)+value%uint64(Dollar), 10)[1:]
	text := sign + strconv.FormatUint(value/uint64(Dollar), 10)
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		text += "." + fraction
	}
	return text
}

// String returns what [FormatDollars] returns.
func (m Micros) String() string { return FormatDollars(m) }

// MarshalJSON writes the amount as a JSON string of dollars.
func (m Micros) MarshalJSON() ([]byte, error) {
	return []byte(`"` + FormatDollars(m) + `"`), nil
}

// UnmarshalJSON reads a JSON string or number of dollars as [ParseDollars] does.
// As encoding/json has it, null changes nothing.
func (m *Micros) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if len(data) >= 2 && data[0] == '"' {
		data = bytes.TrimSuffix(data[1:], []byte(`"`))
	}
	value, err := ParseDollars(string(data))
	if err != nil {
		return err
	}
	*m = value
	return nil
}
