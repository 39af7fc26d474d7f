package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// entry is one line of the log: a response, a completion or a decision.
type entry struct {
	ID, Kind, Href string
	At             int64
	Asked, Answer  string // how they begin
	Status, Model  string
	KeyName        string
	Input, Output  int // tokens; both 0 while it runs
	Cached         int // of the input
	accounts.Trace
	Metadata map[string]string
}

// logView is a page of the log.
type logView struct {
	Token    string
	Filter   logFilter
	Entries  []entry
	Keys     []accounts.APIKey
	Models   []model.Info
	Statuses []string
	Searched string // what a search has looked at so far; empty without one
	More     string // the query of what follows: the rest of a search, or older entries
	Goes     bool   // the search goes on by itself
	Live     string // the query of the page with and without the live tail
	Reload   string // the query that the live tail asks again; empty without one
	Any      bool   // whether a filter is set
}

// logFilter is what a page of the log shows, and where it begins. Its fields are those
// of the address.
type logFilter struct {
	Words, Kind, Status, Model, Key string
	From, To                        string // dates or times, in UTC
	MinLatency, MinFirst, MinTokens string
	MinCost                         string
	from, to                        time.Time
	latency, first, tokens, cost    int64
	after                           map[string]string // cursors by kind
	live                            bool
	seen, found                     int // by the steps of a search before this one
}

// The statuses of entries, as the filter offers them.
var logStatuses = []string{"in_progress", "completed", "incomplete", "failed", "cancelled"}

// logKinds are the kinds of entries with the prefixes of their IDs.
var logKinds = []struct{ kind, prefix string }{{"response", "resp"}, {"completion", "chatcmpl"}, {"decision", "dec"}}

// number reads a bound of the filter. Empty is none.
func number(what, text string, unit float64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n*unit > math.MaxInt32*1000 || n != n {
		return 0, &fault.Error{Kind: fault.Invalid, Message: "The filter for " + what + " must be a number."}
	}
	return int64(n * unit), nil
}

// momentOf reads a time of the filter: a date, or a date and a time.
func momentOf(text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, &fault.Error{Kind: fault.Invalid, Message: "A time is written as 2026-11-23 or 2026-11-23T14:30."}
	}
	if end {
		t = t.AddDate(0, 0, 1)
	}
	return t, nil
}

// readLogFilter reads the filter of an address.
func readLogFilter(values url.Values) (f logFilter, err error) {
	f = logFilter{
		Words: strings.TrimSpace(values.Get("q")), Kind: values.Get("kind"), Status: values.Get("status"), Model: values.Get("model"), Key: values.Get("key"),
		From: values.Get("from"), To: values.Get("to"), MinLatency: values.Get("latency"), MinFirst: values.Get("first"),
		MinTokens: values.Get("tokens"), MinCost: values.Get("cost"), live: values.Get("live") != "", after: map[string]string{},
	}
	for _, k := range logKinds {
		f.after[k.kind] = values.Get("after_" + k.kind)
	}
	if f.from, err = momentOf(f.From, false); err != nil {
		return f, err
	}
	if f.to, err = momentOf(f.To, true); err != nil {
		return f, err
	}
	for _, bound := range []struct {
		what, text string
		unit       float64
		into       *int64
	}{
		{"latency", f.MinLatency, 1, &f.latency}, {"time to the first token", f.MinFirst, 1, &f.first},
		{"tokens", f.MinTokens, 1, &f.tokens}, {"cost", f.MinCost, float64(accounts.Dollar), &f.cost},
	} {
		if *bound.into, err = number(bound.what, bound.text, bound.unit); err != nil {
			return f, err
		}
	}
	f.seen, _ = strconv.Atoi(values.Get("seen")) // no number is none
	f.found, _ = strconv.Atoi(values.Get("found"))
	f.seen, f.found = max(f.seen, 0), min(max(f.found, 0), pageSize)
	return f, nil
}

// query is the address of a page with the filter that begins at cursors, which may be
// nil.
func (f logFilter) query(after map[string]string, more ...string) string {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, value := range map[string]string{
		"q": f.Words, "kind": f.Kind, "status": f.Status, "model": f.Model, "key": f.Key, "from": f.From, "to": f.To,
		"latency": f.MinLatency, "first": f.MinFirst, "tokens": f.MinTokens, "cost": f.MinCost,
	} {
		set(name, value)
	}
	for kind, id := range after {
		set("after_"+kind, id)
	}
	for i := 0; i+1 < len(more); i += 2 {
		set(more[i], more[i+1])
	}
	return "?" + values.Encode()
}

// any reports whether the filter leaves entries out that have to be read to be left
// out.
func (f logFilter) any() bool {
	return f.Words != "" || f.Status != "" || f.Model != "" || f.Key != "" || f.latency+f.first+f.tokens+f.cost > 0
}

// takes reports whether an entry is in the list.
func (f logFilter) takes(e *entry) bool {
	words := strings.ToLower(f.Words)
	return (f.Status == "" || e.Status == f.Status) && (f.Model == "" || e.Model == f.Model) && (f.Key == "" || e.Key == f.Key) &&
		e.Latency >= f.latency && e.FirstToken >= f.first && int64(e.Input+e.Output) >= f.tokens && int64(e.Cost) >= f.cost &&
		(words == "" || has(words, e.Asked, e.Answer, e.Model, e.ID) || hasTag(words, e.Metadata))
}

// feed reads the entries of one kind, newest first.
type feed struct {
	kind   string
	read   func(svc.Page) (svc.List[entry], error)
	after  string // the cursor behind the entry that was taken last
	buffer []entry
	more   bool
}

// fill reads the next entries where there are none at hand.
func (f *feed) fill() error {
	if len(f.buffer) > 0 || !f.more {
		return nil
	}
	page, err := f.read(svc.Page{Limit: pageSize, After: f.after, Desc: true})
	f.buffer, f.more = page.Items, page.HasMore
	return err
}

// feeds are those of the kinds that the filter has, from its cursors.
func (c *Console) feeds(v *request, filter logFilter) []*feed {
	read := map[string]func(svc.Page) (svc.List[entry], error){
		"response": func(p svc.Page) (svc.List[entry], error) {
			found, err := c.service.Responses(v.ctx(), v.caller, p)
			return entriesOf(found, responseEntry), err
		},
		"completion": func(p svc.Page) (svc.List[entry], error) {
			found, err := c.service.ChatCompletions(v.ctx(), v.caller, chat.Filter{Model: filter.Model}, p)
			return entriesOf(found, completionEntry), err
		},
		"decision": func(p svc.Page) (svc.List[entry], error) {
			found, err := c.service.StoredDecisions(v.ctx(), v.caller, decisions.Filter{Model: filter.Model}, p)
			return entriesOf(found, decisionEntry), err
		},
	}
	var all []*feed
	for _, k := range logKinds {
		if filter.Kind != "" && filter.Kind != k.kind {
			continue
		}
		after := filter.after[k.kind]
		if after == "" && !filter.to.IsZero() {
			after = c.service.CursorAt(k.prefix, filter.to)
		}
		all = append(all, &feed{kind: k.kind, read: read[k.kind], after: after, more: true})
	}
	return all
}

func entriesOf[T any](found svc.List[T], of func(T) entry) svc.List[entry] {
	result := svc.List[entry]{Items: make([]entry, 0, len(found.Items)), HasMore: found.HasMore}
	for _, item := range found.Items {
		result.Items = append(result.Items, of(item))
	}
	return result
}

// newestOf returns the feed whose next entry is the newest, nil where none has one.
// Entries of the same second are in the order of the rest of their IDs, which is that
// of their creation.
func newestOf(all []*feed) (*feed, error) {
	var first *feed
	for _, f := range all {
		if err := f.fill(); err != nil {
			return nil, err
		}
		if len(f.buffer) > 0 && (first == nil || isNewer(&f.buffer[0], &first.buffer[0])) {
			first = f
		}
	}
	return first, nil
}

func isNewer(a, b *entry) bool {
	_, x, _ := strings.Cut(a.ID, "_")
	_, y, _ := strings.Cut(b.ID, "_")
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(x, y)) > 0
}

// A step of a search of the log looks at so many entries at most, and for so long.
const (
	maxLogStep  = 20_000
	logStepTime = 150 * time.Millisecond
)

// readLog reads entries until the page is full, or a search has taken its time.
func (c *Console) readLog(v *request, view *logView) error {
	filter := &view.Filter
	all, began, looked, last := c.feeds(v, *filter), time.Now(), 0, int64(0)
	ended := false
	for len(view.Entries) < pageSize-filter.found && looked < maxLogStep && (!filter.any() || looked%32 != 0 || time.Since(began) < logStepTime) {
		f, err := newestOf(all)
		if err != nil {
			return err
		}
		if ended = f == nil || f.buffer[0].At < filter.from.Unix() && !filter.from.IsZero(); ended {
			break
		}
		e := f.buffer[0]
		f.buffer, f.after, looked, last = f.buffer[1:], e.ID, looked+1, e.At
		if !filter.to.IsZero() && e.At >= filter.to.Unix() {
			continue
		}
		if filter.Words != "" && e.Kind == "completion" || len(e.Asked) == 0 && filter.takes(&e) {
			if err := c.askedOf(v, &e); err != nil {
				return err
			}
		}
		if filter.takes(&e) {
			view.Entries = append(view.Entries, e)
		}
	}
	if filter.any() {
		view.Searched = fmt.Sprintf("Looked at %s", plural(filter.seen+looked, "entry", "entries"))
		if last != 0 && !ended {
			view.Searched += " back to " + time.Unix(last, 0).UTC().Format("2006-01-02 15:04:05")
		}
	}
	if ended {
		return nil
	}
	cursors := map[string]string{}
	for _, f := range all {
		cursors[f.kind] = f.after
	}
	if view.Goes = len(view.Entries)+filter.found < pageSize; view.Goes {
		view.More = filter.query(cursors, "seen", strconv.Itoa(filter.seen+looked), "found", strconv.Itoa(filter.found+len(view.Entries)))
	} else if next, err := newestOf(all); next != nil || err != nil {
		view.More = filter.query(cursors)
		return err
	}
	return nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// logPage shows the log: the whole page, for the script the rows alone.
func (c *Console) logPage(v *request) error {
	filter, err := readLogFilter(v.r.URL.Query())
	if err != nil {
		return err
	}
	if v.find(filter.Words) {
		return nil
	}
	view := logView{Token: v.session.Token, Filter: filter, Statuses: logStatuses}
	if err := c.readLog(v, &view); err != nil {
		return err
	}
	view.Any = filter.query(nil) != "?"
	if err := c.nameKeys(v, &view); err != nil {
		return err
	}
	if filter.live {
		view.Live, view.Reload = filter.query(nil), filter.query(nil, "live", "1")
	} else {
		view.Live = filter.query(nil, "live", "1")
	}
	if v.fragmentAsked() {
		block := "rows"
		if filter.live {
			block = "live"
		}
		return v.fragment("log", block, view)
	}
	if view.Models, err = c.service.Models(v.ctx(), v.caller); err != nil {
		return err
	}
	return v.render("log", "Log", view)
}

// nameKeys puts in what people call the keys of the entries.
func (c *Console) nameKeys(v *request, view *logView) error {
	keys, err := c.service.Keys(v.ctx(), v.caller.Organization, svc.Page{Limit: 1000})
	if err != nil {
		return err
	}
	view.Keys = keys.Items
	names := namesOf(keys.Items)
	for i := range view.Entries {
		e := &view.Entries[i]
		e.KeyName = cmp.Or(names[e.Key], e.Key)
	}
	return nil
}

// maxLine is how much of a text the log shows, and searches, in bytes.
const (
	maxLine     = 160
	maxSearchIn = 20_000
)

func responseEntry(r *responses.Response) entry {
	e := entry{
		ID: r.ID, Kind: "response", Href: "/responses/" + r.ID, At: r.CreatedAt, Asked: askedIn(r.Input), Answer: clip(maxSearchIn, r.OutputText()),
		Status: string(r.Status), Model: r.Echo.Model, Trace: r.Trace, Metadata: r.Echo.Metadata,
	}
	if r.Incomplete != "" {
		e.Status = "incomplete"
	}
	if r.Usage != nil {
		e.Input, e.Output, e.Cached = r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.CachedTokens
	}
	if r.Error != nil {
		e.Answer = r.Error.Message
	}
	if e.Answer == "" {
		e.Answer = calledIn(r.Output)
	}
	return e
}

// askedIn is the last of what a user said, or what an output of a call was.
func askedIn(items []conversations.Item) string {
	text := ""
	for _, item := range items {
		switch item := item.(type) {
		case *conversations.Message:
			if item.Role == model.User || text == "" {
				text = viewItem(item).Text
				if text == "" && len(item.Content) > 0 {
					text = "(a file)"
				}
			}
		case *conversations.FunctionCallOutput:
			text = "Output of a call: " + item.Output
		}
	}
	return clip(maxSearchIn, text)
}

// calledIn says which functions were called.
func calledIn(items []conversations.Item) string {
	var names []string
	for _, item := range items {
		if call, ok := item.(*conversations.FunctionCall); ok {
			names = append(names, call.Name+"("+clip(120, call.Arguments)+")")
		}
	}
	return strings.Join(names, " ")
}

func completionEntry(c chat.Completion) entry {
	e := entry{
		ID: c.ID, Kind: "completion", Href: "/completions/" + c.ID, At: c.Created, Answer: clip(maxSearchIn, answerOf(c)), Status: "completed", Model: c.Model,
		Trace: c.Trace, Input: c.Usage.InputTokens, Output: c.Usage.OutputTokens, Cached: c.Usage.CachedTokens, Metadata: c.Metadata,
	}
	if c.FinishReason == model.Length {
		e.Status = "incomplete"
	}
	for _, call := range c.ToolCalls {
		e.Answer += call.Name + "(" + clip(120, call.Arguments) + ") "
	}
	return e
}

func decisionEntry(k decisions.Kept) entry {
	e := entry{
		ID: k.ID, Kind: "decision", Href: "/decisions/" + k.ID, At: k.CreatedAt, Asked: clip(maxSearchIn, stateLine(k.State)), Status: "completed",
		Model: k.Model, Trace: k.Trace, Input: k.Usage.InputTokens, Metadata: k.Metadata,
	}
	var answers []string
	for i := range k.Answers {
		view := viewOf(k.Answers[i], nil)
		answers = append(answers, fmt.Sprintf("%s: %s %.0f %%", view.Name, view.Verdict, 100*view.Confidence))
	}
	e.Answer = strings.Join(answers, " · ")
	return e
}

// askedOf reads the last message of a completion's request, which its record has not.
func (c *Console) askedOf(v *request, e *entry) error {
	if e.Kind != "completion" || e.Asked != "" {
		return nil
	}
	messages, err := c.service.ChatMessages(v.ctx(), v.caller, e.ID, svc.Page{Limit: 1, Desc: true})
	if fault.Is(err, fault.NotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	for _, m := range messages.Items {
		e.Asked = clip(maxSearchIn, viewMessage(m).Text)
	}
	return nil
}

// stateLine is a state as a line of the log shows it.
func stateLine(state json.RawMessage) string {
	_, text := stateOf(state)
	return text
}
