package decisions

import (
	"slices"

	"github.com/seed-506d8e5d/svc/model"
)

// plan is how one question is put to the model: in one call, or where it has more
// options than one call can ask about, in one call about groups of options and one
// about the options of each likely group.
type plan struct {
	question *question
	groups   [][]option // nil for a single call
	first    *call
	within   []*call // by group; nil for one that is skipped

	// orders ask the same with the options in other orders, so that the model's
	// preference for places evens out.
	orders []*plan

	// parts ask about each option of a Labels question by itself. The plan itself
	// asks nothing then.
	parts []*plan

	prior     *prior // what the model answers whatever the state; nil: unknown
	variation float64
}

// call is one call of the model and its result. Its prompt is rendered when it is
// asked and not kept: a request may plan hundreds of calls with megabytes each.
type call struct {
	render func() (string, []model.Option)
	images []model.Image
	scores *model.Scores
	cut    *model.Cut // of a call that ended without scores
}

// newPlan plans the calls about q in several orders of its options.
func newPlan(q *question, orders int) *plan {
	p := &plan{question: q, first: &call{images: q.images}}
	if q.kind == Labels {
		for i := range q.options {
			p.parts = append(p.parts, newPlan(q.about(&q.options[i]), orders))
		}
		return p
	}
	for _, order := range q.orders(orders) {
		p.orders = append(p.orders, newPlan(q.inOrder(order), 1))
	}
	if !q.grouped() {
		p.first.render = func() (string, []model.Option) { return ask(q) }
		return p
	}
	p.groups = split(q.options)
	p.first.render = func() (string, []model.Option) { return askGroups(q, p.groups) }
	return p
}

// repeat returns a plan that asks the same about another state. The rendered
// prompts are shared.
func (p *plan) repeat() *plan {
	again := *p
	again.first = &call{render: p.first.render, images: p.first.images}
	again.orders = make([]*plan, len(p.orders))
	for i, o := range p.orders {
		again.orders[i] = o.repeat()
	}
	return &again
}

// lookInside plans the calls about the groups that the first call found likely
// enough, and returns them.
func (p *plan) lookInside() []*call {
	if p.groups == nil {
		return nil
	}
	var calls []*call
	p.within = make([]*call, len(p.groups))
	for g, mass := range distribution(p.first.scores) {
		if mass < skipBelow {
			continue
		}
		part := *p.question
		part.options = p.groups[g]
		p.within[g] = &call{images: part.images, render: func() (string, []model.Option) { return ask(&part) }}
		calls = append(calls, p.within[g])
	}
	return calls
}

// result returns the probabilities of the question's options in order. Those of
// several orders are averaged in log space, where a preference for places is a sum
// that shifts cancel. It sets the variation between the orders.
func (p *plan) result() []float64 {
	if p.parts != nil {
		all := make([]float64, len(p.parts))
		for i, part := range p.parts {
			all[i] = part.result()[0]
			p.variation = max(p.variation, part.variation)
		}
		return all
	}
	own := p.own()
	least, most, logs := slices.Clone(own), slices.Clone(own), make([]float64, len(own))
	for i, x := range own {
		logs[i] = logOf(x)
	}
	for _, o := range p.orders {
		for place, x := range o.own() {
			i := o.question.order[place]
			logs[i] += logOf(x)
			least[i], most[i] = min(least[i], x), max(most[i], x)
		}
	}
	for i := range own {
		p.variation = max(p.variation, most[i]-least[i])
	}
	if len(p.orders) == 0 && p.prior == nil {
		return own
	}
	for i := range logs {
		logs[i] /= float64(1 + len(p.orders))
	}
	return softmax(p.prior.without(logs))
}

// own returns the probabilities in the order in which p asks.
func (p *plan) own() []float64 {
	outer := distribution(p.first.scores)
	if p.groups == nil {
		return outer
	}
	within := make([][]float64, len(p.groups))
	sizes := make([]int, len(p.groups))
	for g, c := range p.within {
		sizes[g] = len(p.groups[g])
		if c != nil {
			within[g] = distribution(c.scores)
		}
	}
	return combine(outer, within, sizes)
}

// leaves returns the plans that ask something, in one order: those given, or
// their parts.
func leaves(plans []*plan) []*plan {
	var all []*plan
	for _, p := range plans {
		if p.parts != nil {
			all = append(all, p.parts...)
		} else {
			all = append(all, p)
		}
	}
	return all
}

// allOf returns the leaves and, behind them, the same in other orders.
func allOf(plans []*plan) []*plan {
	all := leaves(plans)
	for _, p := range all {
		all = append(all, p.orders...)
	}
	return all
}

// answered returns the calls of all plans that have scores.
func answered(plans []*plan) []*call {
	var calls []*call
	for _, p := range allOf(plans) {
		for _, c := range append([]*call{p.first}, p.within...) {
			if c != nil && c.scores != nil {
				calls = append(calls, c)
			}
		}
	}
	return calls
}

// inputTokens returns the tokens of plans about one state: those of the state once,
// and of each question as often as it was asked.
func inputTokens(plans []*plan) int {
	tokens := 0
	for _, p := range leaves(plans) {
		if tokens, _ = p.first.used(); tokens > 0 {
			break
		}
	}
	for _, p := range allOf(plans) {
		tokens += p.asked()
	}
	return tokens
}

// asked returns the tokens of all that p asks: the calls about groups of options
// are prompts of their own.
func (p *plan) asked() int {
	_, tokens := p.first.used()
	for _, c := range p.within {
		_, more := c.used()
		tokens += more
	}
	return tokens
}

// used returns the tokens of a call that was answered, or whose prompt a model
// server had when the call ended; 0 for any other call and for nil.
func (c *call) used() (state, question int) {
	switch {
	case c == nil:
		return 0, 0
	case c.scores != nil:
		return c.scores.StateTokens, c.scores.QuestionTokens
	case c.cut != nil:
		return c.cut.StateTokens, c.cut.QuestionTokens
	}
	return 0, 0
}
