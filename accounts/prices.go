package accounts

import (
	"fmt"
	"math/bits"
)

// Prices are what a million tokens of a model cost.
type Prices struct {
	Input         Micros `json:"input"`          // of a prompt, without what the next line counts
	CachedInput   Micros `json:"cached_input"`   // of a prompt that the model server had cached
	Output        Micros `json:"output"`         // of an answer, reasoning included
	DecisionInput Micros `json:"decision_input"` // of a decision request; decisions have no other price
}

// DefaultPrices returns the prices of a model that has none of its own.
func DefaultPrices() Prices {
	return Prices{
		Input:         200_000,
		CachedInput:   50_000,
		Output:        800_000,
		DecisionInput: 200_000,
	}
}

// tokensPerPrice is how many tokens a price is for.
const tokensPerPrice = 1_000_000

// check returns an error where a price cannot be charged.
func (p Prices) check() error {
	for _, price := range []Micros{p.Input, p.CachedInput, p.Output, p.DecisionInput} {
		if price < 0 || price > maxAmount {
			return fmt.Errorf("accounts: price %s is not between 0 and %s dollars", price, maxAmount)
		}
	}
	return nil
}

// cost returns what the use costs in whole micro-dollars, rounded up once. It
// is an error where a count is negative or the cost more than maxAmount.
func (p Prices) cost(u Use) (Micros, error) {
	if u.InputTokens < 0 || u.CachedTokens < 0 || u.OutputTokens < 0 || u.ReasoningTokens < 0 {
		return 0, fmt.Errorf("accounts: negative token count in %+v", u)
	}
	cached := min(u.CachedTokens, u.InputTokens)
	parts := [...]struct {
		tokens int
		price  Micros
	}{{u.InputTokens - cached, p.Input}, {cached, p.CachedInput}, {u.OutputTokens, p.Output}}
	if u.Kind == Decision {
		parts = [...]struct {
			tokens int
			price  Micros
		}{{tokens: u.InputTokens, price: p.DecisionInput}, {}, {}}
	}

	var high, low uint64
	for _, part := range parts {
		h, l := bits.Mul64(uint64(part.tokens), uint64(part.price))
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high += h + carry
	}
	low, carry := bits.Add64(low, tokensPerPrice-1, 0)
	high += carry
	if high >= tokensPerPrice {
		return 0, fmt.Errorf("accounts: cost of %+v is out of range", u)
	}
	total, _ := bits.Div64(high, low, tokensPerPrice)
	if total > uint64(maxAmount) {
		return 0, fmt.Errorf("accounts: cost of %+v is out of range", u)
	}
	return Micros(total), nil
}
