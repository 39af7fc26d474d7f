package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/responses"
)

// span is a stretch of time that the overview shows in steps.
type span struct {
	Name, Value string
	step        time.Duration
	steps       int
	layout      string // of a step's beginning
}

// spans are what the overview can show, the default first.
var spans = []span{
	{"24 hours", "day", time.Hour, 24, "Jan 2 15:04"},
	{"7 days", "week", 6 * time.Hour, 28, "Jan 2 15:04"},
	{"30 days", "month", 24 * time.Hour, 30, "Jan 2"},
}

// overviewTime is how long the overview reads entries, and maxOverview how many.
const (
	overviewTime = 200 * time.Millisecond
	maxOverview  = 20_000
)

// overviewView is what an organization's stored entries say about a stretch of time.
type overviewView struct {
	Token      string
	Span       span
	Spans      []span
	All        group
	Read       string // how much of it the numbers are of
	Charts     []timeChart
	First      string // where the charts begin and end
	Last       string
	Groups     []grouping
	StoodOut   []notable
	Slowest    []entry
	Running    []runningLine
	Budgets    []budgetLine
	Credits    accounts.Micros
	CreditsFor string // how long they last; empty where nothing is spent
}

// grouping is the entries by what they have in common.
type grouping struct {
	Name   string
	Field  string // of the log's filter
	Groups []group
}

// group is entries together.
type group struct {
	Name, Value      string // Value is that of the log's filter
	Requests, Errors int
	Tokens, Cached   int
	Input            int
	Cost             accounts.Micros
	latency, first   []int64
}

func (g *group) add(e *entry) {
	g.Requests++
	if e.Status == "failed" {
		g.Errors++
	}
	g.Tokens, g.Input, g.Cached, g.Cost = g.Tokens+e.Input+e.Output, g.Input+e.Input, g.Cached+e.Cached, g.Cost+e.Cost
	if e.Latency > 0 {
		g.latency = append(g.latency, e.Latency)
	}
	if e.FirstToken > 0 {
		g.first = append(g.first, e.FirstToken)
	}
}

// quantile returns the value below which a share of the values are, 0 for none.
func quantile(values []int64, share float64) int64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// P50, P95 and FirstToken are in milliseconds, 0 where they are not known.
func (g group) P50() int64        { return quantile(g.latency, 0.5) }
func (g group) P95() int64        { return quantile(g.latency, 0.95) }
func (g group) FirstToken() int64 { return quantile(g.first, 0.5) }

// ErrorShare and CacheShare are 0 to 1.
func (g group) ErrorShare() float64 { return part(g.Errors, g.Requests) }
func (g group) CacheShare() float64 { return part(g.Cached, g.Input) }

func part(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// notable is a step of time that stands out.
type notable struct{ What, Query string }

// runningLine is a response that is being made.
type runningLine struct {
	ID, Asked, Model string
	Since            int64
	For              string
}

// budgetLine is a key with a budget, and how long that lasts.
type budgetLine struct {
	ID, Name      string
	Spent, Budget accounts.Micros
	Period        string
	Part          float64
	Lasts         string
}

// timeChart is a drawing of steps of time, whose height is 100 and whose steps are 10
// wide.
type timeChart struct {
	Name, Total, Top string
	Width            int
	Columns          []timeColumn
	Label            string
}

// timeColumn is one step: a bar, and below its top another of what part of it is bad.
type timeColumn struct {
	X, Y, Height  float64
	BadY, BadHigh float64
	Title, Query  string
}

func (c *Console) overviewPage(v *request) error {
	view := overviewView{Token: v.session.Token, Spans: spans, Span: spans[0]}
	for _, s := range spans {
		if s.Value == v.r.FormValue("span") {
			view.Span = s
		}
	}
	if err := c.readRunning(v, &view); err != nil {
		return err
	}
	if v.fragmentAsked() {
		return v.fragment("overview", "running-now", view)
	}
	steps, begin, err := c.readOverview(v, &view)
	if err != nil {
		return err
	}
	view.draw(steps, begin)
	if err := c.readBudgets(v, &view); err != nil {
		return err
	}
	return v.render("overview", "Overview", view)
}

// readOverview reads the entries of the stretch of time, newest first, as far as it
// gets, and returns them by step.
func (c *Console) readOverview(v *request, view *overviewView) (steps []group, begin time.Time, err error) {
	s := view.Span
	now := c.opts.Now().UTC()
	begin = now.Truncate(s.step).Add(s.step).Add(-time.Duration(s.steps) * s.step)
	steps = make([]group, s.steps)
	models, keys, kinds := map[string]*group{}, map[string]*group{}, map[string]*group{}
	count := func(groups map[string]*group, name string, e *entry) {
		if groups[name] == nil {
			groups[name] = &group{Name: name, Value: name}
		}
		groups[name].add(e)
	}
	all, began, last, n := c.feeds(v, logFilter{after: map[string]string{}}), time.Now(), now.Unix(), 0
	for ; n < maxOverview && (n%32 != 0 || time.Since(began) < overviewTime); n++ {
		f, err := newestOf(all)
		if err != nil {
			return nil, begin, err
		}
		if f == nil || f.buffer[0].At < begin.Unix() {
			last = 0
			break
		}
		e := f.buffer[0]
		f.buffer, f.after, last = f.buffer[1:], e.ID, e.At
		at := int(time.Unix(e.At, 0).Sub(begin) / s.step)
		steps[min(max(at, 0), s.steps-1)].add(&e)
		view.All.add(&e)
		count(models, e.Model, &e)
		count(keys, e.Key, &e)
		count(kinds, e.Kind, &e)
		view.slow(&e)
	}
	view.Read = plural(n, "stored entry", "stored entries")
	if last != 0 {
		view.Read = "the newest " + view.Read + ", back to " + time.Unix(last, 0).UTC().Format("2006-01-02 15:04") + ": there are more than could be read at once"
	}
	for i := range view.Slowest {
		if err := c.askedOf(v, &view.Slowest[i]); err != nil {
			return nil, begin, err
		}
	}
	names, err := c.keyNames(v)
	if err != nil {
		return nil, begin, err
	}
	for id, g := range keys {
		g.Name = cmp.Or(names[id], id, "without a key")
	}
	view.Groups = []grouping{{"Model", "model", sortedGroups(models)}, {"Key", "key", sortedGroups(keys)}, {"Kind", "kind", sortedGroups(kinds)}}
	return steps, begin, nil
}

// maxGroups is how many models or keys the overview names.
const maxGroups = 20

func sortedGroups(groups map[string]*group) (all []group) {
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), maxGroups)]
}

// maxSlowest is how many of the slowest entries are shown.
const maxSlowest = 5

// slow keeps an entry that is among the slowest.
func (view *overviewView) slow(e *entry) {
	if e.Latency == 0 || len(view.Slowest) == maxSlowest && e.Latency <= view.Slowest[maxSlowest-1].Latency {
		return
	}
	view.Slowest = append(view.Slowest, *e)
	slices.SortStableFunc(view.Slowest, func(a, b entry) int { return cmp.Compare(b.Latency, a.Latency) })
	view.Slowest = view.Slowest[:min(len(view.Slowest), maxSlowest)]
}

// keyNames are what people call the organization's keys, by ID.
func (c *Console) keyNames(v *request) (map[string]string, error) {
	keys, err := c.service.Keys(v.ctx(), v.caller.Organization, svc.Page{Limit: 1000})
	return namesOf(keys.Items), err
}

func namesOf(keys []accounts.APIKey) map[string]string {
	names := map[string]string{}
	for i := range keys {
		names[keys[i].ID] = cmp.Or(keys[i].Name, keys[i].ID)
	}
	return names
}

// draw makes the charts of the steps, and says which stand out.
func (view *overviewView) draw(steps []group, begin time.Time) {
	s := view.Span
	at := func(i int) time.Time { return begin.Add(time.Duration(i) * s.step) }
	view.First, view.Last = at(0).Format(s.layout), at(len(steps)).Format(s.layout)
	chart := func(name, total string, value func(*group) float64, bad func(*group) float64, text func(float64) string) {
		c := timeChart{Name: name, Total: total, Width: 10 * len(steps)}
		largest := 0.0
		for i := range steps {
			largest = max(largest, value(&steps[i]))
		}
		top := roundUp(largest)
		c.Top = text(top)
		for i := range steps {
			column := timeColumn{X: float64(10*i) + 1.5, Y: 100, Title: at(i).Format("Jan 2 15:04") + ": " + text(value(&steps[i])), Query: view.query(i, begin)}
			if top > 0 {
				column.Height = value(&steps[i]) / top * 100
				column.BadHigh = bad(&steps[i]) / top * 100
			}
			column.Y, column.BadY = 100-column.Height, 100-column.BadHigh
			c.Columns = append(c.Columns, column)
		}
		c.Label = fmt.Sprintf("%s over %s: %s; at most %s", name, s.Name, total, text(largest))
		view.Charts = append(view.Charts, c)
	}
	count := func(x float64) string { return grouped(int64(x)) }
	ms := func(x float64) string { return cmp.Or(spanText(int64(x)), "0") }
	none := func(*group) float64 { return 0 }
	all := &view.All
	chart("Requests, errors in red", fmt.Sprintf("%s, %s", plural(all.Requests, "request", "requests"), plural(all.Errors, "error", "errors")),
		func(g *group) float64 { return float64(g.Requests) }, func(g *group) float64 { return float64(g.Errors) }, count)
	chart("Latency, 95 % are faster", "half within "+cmp.Or(spanText(all.P50()), "–"), func(g *group) float64 { return float64(g.P95()) }, none, ms)
	chart("Time to the first token, median", cmp.Or(spanText(all.FirstToken()), "–"), func(g *group) float64 { return float64(g.FirstToken()) }, none, ms)
	chart("Spend", money(all.Cost), func(g *group) float64 { return float64(g.Cost) / float64(accounts.Dollar) }, none, dollarText)
	chart("Tokens", grouped(int64(all.Tokens)), func(g *group) float64 { return float64(g.Tokens) }, none, count)
	view.standsOut(steps, begin)
}

// query is the address of the log with the entries of a step.
func (view *overviewView) query(i int, begin time.Time) string {
	const layout = "2006-01-02T15:04"
	from := begin.Add(time.Duration(i) * view.Span.step)
	return "?" + url.Values{"from": {from.Format(layout)}, "to": {from.Add(view.Span.step).Format(layout)}}.Encode()
}

// A step stands out with so many errors that are so much more than usual, or where it
// was so much slower.
const (
	notableErrors = 3
	notableTimes  = 3
	notableCalls  = 5
)

func (view *overviewView) standsOut(steps []group, begin time.Time) {
	usual := quantile(view.All.latency, 0.95)
	for i := range steps {
		g := &steps[i]
		at := begin.Add(time.Duration(i) * view.Span.step).Format("Jan 2 15:04")
		if g.Errors >= notableErrors && g.ErrorShare() >= min(2*view.All.ErrorShare(), 0.5) {
			view.StoodOut = append(view.StoodOut, notable{fmt.Sprintf("%s: %d of %d requests failed", at, g.Errors, g.Requests), view.query(i, begin) + "&status=failed"})
		}
		if p := g.P50(); usual > 0 && g.Requests >= notableCalls && p*2 > usual*notableTimes {
			view.StoodOut = append(view.StoodOut, notable{fmt.Sprintf("%s: half of the requests took more than %s", at, spanText(p)), view.query(i, begin)})
		}
	}
}

// readRunning lists what is being made now, by whichever process.
func (c *Console) readRunning(v *request, view *overviewView) error {
	all, err := c.service.RunningResponses(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *responses.Response) int { return strings.Compare(b.ID, a.ID) })
	now := c.opts.Now()
	for _, r := range all[:min(len(all), pageSize)] {
		input, err := c.service.ResponseInput(v.ctx(), v.caller, r.ID, svc.Page{Limit: 20})
		if err != nil {
			continue // it ended or was deleted meanwhile
		}
		view.Running = append(view.Running, runningLine{
			ID: r.ID, Asked: headline(askedIn(input.Items)), Model: r.Echo.Model, Since: r.CreatedAt, For: now.Sub(time.Unix(r.CreatedAt, 0)).Round(time.Second).String(),
		})
	}
	return nil
}

// readBudgets says how long budgets and credits last at the pace of late.
func (c *Console) readBudgets(v *request, view *overviewView) error {
	keys, err := c.service.Keys(v.ctx(), v.caller.Organization, svc.Page{Limit: 1000})
	if err != nil {
		return err
	}
	now := c.opts.Now().UTC()
	for i := range keys.Items {
		k := &keys.Items[i]
		if k.Budget == 0 || len(view.Budgets) == pageSize {
			continue
		}
		begin, end := periodOf(k.BudgetPeriod, now)
		view.Budgets = append(view.Budgets, budgetLine{
			ID: k.ID, Name: cmp.Or(k.Name, k.ID), Spent: k.Spent, Budget: k.Budget, Period: during(k.BudgetPeriod),
			Part: min(1, float64(k.Spent)/float64(k.Budget)), Lasts: lasting(k.Spent, k.Budget, begin, now, end),
		})
	}
	o, err := c.service.Organization(v.ctx(), v.caller.Organization)
	if err != nil {
		return err
	}
	view.Credits = o.Credits
	stretch := time.Duration(view.Span.steps) * view.Span.step
	if daily := float64(view.All.Cost) / (stretch.Hours() / 24); daily > 0 && o.Credits > 0 {
		view.CreditsFor = "more than a year at this pace"
		if days := float64(o.Credits) / daily; days < 365 {
			view.CreditsFor = "about " + plural(int(days), "day", "days") + " at this pace"
		}
	}
	return nil
}

// periodOf returns the period of a budget that a time is in.
func periodOf(p accounts.Period, now time.Time) (begin, end time.Time) {
	year, month, day := now.Date()
	if p == accounts.Day {
		begin = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		return begin, begin.AddDate(0, 0, 1)
	}
	begin = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return begin, begin.AddDate(0, 1, 0)
}

// lasting says how long a budget lasts when as much is spent as in its period so far.
func lasting(spent, budget accounts.Micros, begin, now, end time.Time) string {
	switch {
	case spent >= budget:
		return "used up until " + end.Format("2006-01-02 15:04")
	case spent <= 0:
		return "to the end of the period"
	}
	left := float64(now.Sub(begin)) * float64(budget-spent) / float64(spent)
	if left < float64(end.Sub(now)) {
		return "until about " + now.Add(time.Duration(left)).Format("2006-01-02 15:04")
	}
	return "to the end of the period"
}
