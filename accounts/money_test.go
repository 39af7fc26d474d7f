package accounts

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
)

func TestDollars(t *testing.T) {
	for _, test := range []struct {
		text   string
		micros Micros
		format string // what it is written as, where that differs
	}{
		{text: "0"},
		{text: "-0", format: "0"},
		{text: "1", micros: 1_000_000},
		{text: "0012.50", micros: 12_500_000, format: "12.5"},
		{text: "0.000001", micros: 1},
		{text: "-0.000001", micros: -1},
		{text: "0.1", micros: 100_000},
		{text: "-1.25", micros: -1_250_000},
		{text: "9223372036854.775807", micros: math.MaxInt64},
		{text: "-9223372036854.775808", micros: math.MinInt64},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := ParseDollars(test.text)
			if err != nil || got != test.micros {
				t.Errorf("ParseDollars: got %d, %v, want %d", int64(got), err, int64(test.micros))
			}
			want := test.format
			if want == "" {
				want = test.text
			}
			if got := FormatDollars(test.micros); got != want {
				t.Errorf("FormatDollars: got %q, want %q", got, want)
			}
		})
	}
}

func TestParseDollarsRefuses(t *testing.T) {
	for _, text := range []string{
		"", "-", ".", "1.", ".5", "-.5", "+1", "--1", "1,5", "1e3", "0x1", "1.2.3", " 1", "1 ", "NaN", "$1", "١",
		"0.0000001", "0.1000000", "9223372036854.775808", "-9223372036854.775809", "99999999999999999999999",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := ParseDollars(text)
			wantFault(t, err, invalid(""))
		})
	}
}

func TestMicrosInJSON(t *testing.T) {
	for data, want := range map[string]Micros{
		`"12.5"`: 12_500_000, `12.50`: 12_500_000, `-3`: -3_000_000, `"-0.000001"`: -1, `null`: 7,
	} {
		got := Micros(7)
		if err := json.Unmarshal([]byte(data), &got); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", data, got, err, want)
		}
	}
	for _, data := range []string{`true`, `{}`, `[]`, `1e3`, `""`, `"\u0031"`, `0.0000001`} {
		var got Micros
		if err := json.Unmarshal([]byte(data), &got); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v, %v, want an Invalid error", data, got, err)
		}
	}
}

func FuzzParseDollars(f *testing.F) {
	for _, seed := range []string{"0", "-1.5", "12.000001", "9223372036854.775807", "1e3", "."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		amount, err := ParseDollars(text)
		if err != nil {
			return
		}
		again, err := ParseDollars(FormatDollars(amount))
		if err != nil || again != amount {
			t.Errorf("%q is %d, written %q, read %d, %v", text, int64(amount), FormatDollars(amount), int64(again), err)
		}
	})
}

func TestCost(t *testing.T) {
	odd := Prices{Input: 3, CachedInput: 1, Output: 7, DecisionInput: 5}
	huge := Prices{Input: maxAmount, Output: maxAmount}
	for name, test := range map[string]struct {
		prices Prices
		use    Use
		want   Micros
	}{
		"nothing":                  {DefaultPrices(), Use{}, 0},
		"free":                     {Prices{}, Use{InputTokens: 1000, OutputTokens: 1000}, 0},
		"one token":                {DefaultPrices(), Use{InputTokens: 1}, 1},
		"five input tokens":        {DefaultPrices(), Use{InputTokens: 5}, 1},
		"six input tokens":         {DefaultPrices(), Use{InputTokens: 6}, 2},
		"rounded once":             {DefaultPrices(), Use{InputTokens: 2, CachedTokens: 1, OutputTokens: 1}, 2},
		"a million of each":        {DefaultPrices(), Use{InputTokens: 2e6, CachedTokens: 1e6, OutputTokens: 1e6}, 1_050_000},
		"all cached":               {DefaultPrices(), Use{InputTokens: 1e6, CachedTokens: 1e6}, 50_000},
		"more cached than input":   {DefaultPrices(), Use{InputTokens: 1e6, CachedTokens: 9e6}, 50_000},
		"reasoning is in output":   {DefaultPrices(), Use{OutputTokens: 1e6, ReasoningTokens: 1e6}, 800_000},
		"decision":                 {DefaultPrices(), Use{Kind: Decision, InputTokens: 1e6, CachedTokens: 1e6, OutputTokens: 1e6}, 200_000},
		"decision at its price":    {odd, Use{Kind: Decision, InputTokens: 1e6}, 5},
		"just above a whole":       {odd, Use{InputTokens: 333_334}, 2},
		"just below a whole":       {odd, Use{InputTokens: 333_333}, 1},
		"largest that is accepted": {huge, Use{InputTokens: 1e6}, maxAmount},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.prices.cost(test.use)
			if err != nil || got != test.want {
				t.Errorf("got %d, %v, want %d", int64(got), err, int64(test.want))
			}
		})
	}
	for name, use := range map[string]Use{
		"negative input":     {InputTokens: -1},
		"negative cached":    {CachedTokens: -1},
		"negative output":    {OutputTokens: -1},
		"negative reasoning": {ReasoningTokens: -1},
		"over the largest":   {InputTokens: 1e6 + 1},
		"just over 64 bits":  {InputTokens: 18_446_744_074},
		"over 64 bits":       {InputTokens: math.MaxInt, OutputTokens: math.MaxInt},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := huge.cost(use); err == nil {
				t.Errorf("got %d, want an error", int64(got))
			}
		})
	}
}
