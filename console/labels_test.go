package console_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/model"
)

// decided stores decisions about states, each with a question of every type.
func (d *desk) decided(states ...string) (ids []string) {
	d.Helper()
	caller, err := d.service.Authenticate(d.Context(), d.key)
	if err != nil {
		d.Fatal(err)
	}
	store := true
	for _, state := range states {
		text, err := json.Marshal(state)
		if err != nil {
			d.Fatal(err)
		}
		got, err := d.service.Decide(d.Context(), caller, &decisions.Request{
			Model: model.DefaultDecider, State: text, Store: &store, Questions: []decisions.Question{
				{Name: "team", Type: decisions.Choice, Criteria: json.RawMessage(`{"billing":"Charges and refunds","technical":"Errors and outages"}`)},
				{Name: "angry", Type: decisions.Noul, Instructions: "Is it an angry message?"},
				{Name: "urgency", Type: decisions.Score, Criteria: json.RawMessage(`["can wait","today","now"]`)},
				{Name: "topics", Type: decisions.Labels, Criteria: json.RawMessage(`{"a":null,"b":null}`)},
			},
		})
		if err != nil {
			d.Fatal(err)
		}
		ids = append(ids, got.ID)
	}
	return ids
}

func (d *desk) labels(id string) string {
	d.Helper()
	caller, err := d.service.Authenticate(d.Context(), d.key)
	if err != nil {
		d.Fatal(err)
	}
	k, err := d.service.StoredDecision(d.Context(), caller, id)
	if err != nil {
		d.Fatal(err)
	}
	var all []string
	for _, l := range k.Labels {
		all = append(all, l.Question+" "+string(l.Answer))
	}
	return strings.Join(all, ", ")
}

// fields are the hidden fields of the first form with labels in a page.
func fields(page string) url.Values {
	_, form, _ := strings.Cut(page, `<form class="card labels"`)
	form, _, _ = strings.Cut(form, "</form>")
	values := url.Values{}
	for _, m := range regexp.MustCompile(`type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		values.Set(m[1], html.UnescapeString(m[2]))
	}
	return values
}

var (
	shownDecision = regexp.MustCompile(`href="/console/labels/(dec_[^"]+)"`)
	skipLink      = regexp.MustCompile(`href="/console(/labels/next\?[^"]*)" data-key=" "`)
)

// TestLabelOneAfterTheOther labels decisions without scripts: those first that the
// model was least sure of, with skipping.
func TestLabelOneAfterTheOther(t *testing.T) {
	d := open(t)
	d.signIn(d.key)
	ids := d.decided("A refund of charges, please.", "Something else.", "Errors and outages: errors.", "charges refunds charges refunds errors")
	_, page := d.get("/labels?question=team&labels=missing")
	var order []string
	for _, m := range shownDecision.FindAllStringSubmatch(page, -1) {
		order = append(order, m[1])
	}
	if len(order) != len(ids) || !strings.Contains(page, `href="/console/labels/next?labels=missing&amp;question=team"`) {
		t.Fatalf("got %v in %s", order, page)
	}
	percent := regexp.MustCompile(`</bdi> <small>([0-9.]+) %`)
	last := 0.0
	for _, m := range percent.FindAllStringSubmatch(page, -1) {
		var sure float64
		if _, err := fmt.Sscan(m[1], &sure); err != nil || sure < last {
			t.Errorf("%v: %v after %v", err, sure, last)
		}
		last = sure
	}
	_, page = d.get("/labels/next?question=team")
	for _, want := range []string{"4 without a label", order[0], `data-key="1"`, `data-key="2"`, "<bdi>billing</bdi>"} {
		if !strings.Contains(page, want) {
			t.Fatalf("no %q in %s", want, page)
		}
	}
	skip := skipLink.FindStringSubmatch(page)
	if _, page = d.get(html.UnescapeString(skip[1])); !strings.Contains(page, "3 without a label") || !strings.Contains(page, order[1]) {
		t.Fatalf("after skipping: %s", page)
	}
	form := fields(page)
	form.Set("answer", `"technical"`)
	status, page := d.post("/labels/"+order[1], form)
	if status != http.StatusOK || !strings.Contains(page, "2 without a label") || !strings.Contains(page, order[2]) || d.labels(order[1]) != `team "technical"` {
		t.Fatalf("after labelling: %d, %s, %s", status, d.labels(order[1]), page)
	}
	form = fields(page)
	form.Set("answer", `"billing"`)
	_, page = d.post("/labels/"+order[2], form)
	_, page = d.get(html.UnescapeString(skipLink.FindStringSubmatch(page)[1]))
	if strings.Contains(page, order[1]) || !strings.Contains(page, order[0]) || !strings.Contains(page, "team: 2 labels") || !strings.Contains(page, "A calibration takes 18 more.") {
		t.Errorf("after the last: %s", page)
	}
	if _, page = d.get("/labels?labels=set"); strings.Count(page, "<tr><td>") != 2 || strings.Contains(page, order[0]) {
		t.Errorf("labelled ones: %s", page)
	}
	if _, page = d.get("/labels?model=other"); !strings.Contains(page, "There are none.") {
		t.Errorf("of another model: %s", page)
	}
}

// TestLabelADecision labels a decision by itself: each type of question, and back.
func TestLabelADecision(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	id := d.decided(hostile)[0]
	set := func(name, answer string) (int, string) {
		return d.post("/labels/"+id, url.Values{"token": {token}, "name": {name}, "answer": {answer}})
	}
	_, page := d.get("/labels/" + id)
	for _, want := range []string{`value="true"`, `value="2"`, `value="&#34;billing&#34;"`, "takes no label", "&lt;script&gt;alert"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	for _, l := range [][2]string{{"team", `"billing"`}, {"angry", "false"}, {"urgency", "2"}} {
		if status, page := set(l[0], l[1]); status != http.StatusOK || !strings.Contains(page, `class="primary" aria-pressed="true"`) {
			t.Errorf("%v: %d %s", l, status, page)
		}
	}
	if got := d.labels(id); got != `team "billing", angry false, urgency 2` {
		t.Errorf("got %s", got)
	}
	if _, page := d.get("/labels"); !strings.Contains(page, "<bdi>urgency</bdi>: <bdi>now</bdi>") || !strings.Contains(page, "<bdi>angry</bdi>: <bdi>no</bdi>") {
		t.Errorf("the list: %s", page)
	}
	if set("angry", "null"); d.labels(id) != `team "billing", urgency 2` {
		t.Errorf("got %s", d.labels(id))
	}
	for name, want := range map[[2]string]int{
		{"team", `"sales"`}: http.StatusUnprocessableEntity, {"none", "true"}: http.StatusUnprocessableEntity, {"topics", `"a"`}: http.StatusUnprocessableEntity,
		{"team", `x"`}: http.StatusBadRequest,
	} {
		if status, _ := set(name[0], name[1]); status != want {
			t.Errorf("%v: %d, want %d", name, status, want)
		}
	}
	if status, _ := d.get("/labels/next"); status != http.StatusBadRequest {
		t.Errorf("no question: %d", status)
	}
}

// TestCalibrateFromTheConsole shows what labels guarantee and makes a calibration.
func TestCalibrateFromTheConsole(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	caller, err := d.service.Authenticate(t.Context(), d.key)
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for i := range 120 {
		states = append(states, []string{"charges and refunds ", "errors and outages "}[i%2]+fmt.Sprint(i))
	}
	for i, id := range d.decided(states...) {
		label := []string{`"billing"`, `"technical"`}[i%2]
		if _, err := d.service.LabelDecision(t.Context(), caller, id, []decisions.Label{{Question: "team", Answer: json.RawMessage(label)}}); err != nil {
			t.Fatal(err)
		}
	}
	_, page := d.get("/labels?question=team")
	for _, want := range []string{"team: 120 labels", "<bdi>billing</bdi> 60, <bdi>technical</bdi> 60", "Of 120 stored answers of svc-snap-preview, 100.0 % are right.", "<tr><td>5.0 %</td>", "Calibrate svc-snap-preview"} {
		if !strings.Contains(page, want) {
			t.Fatalf("no %q in %s", want, page)
		}
	}
	status, page := d.post("/labels/calibrate", url.Values{"token": {token}, "question": {"team"}, "of": {"svc-snap-preview"}})
	if status != http.StatusOK || !strings.Contains(page, "The newest calibration, <code>calib_") || !strings.Contains(page, "was made of 120.") {
		t.Fatalf("%d %s", status, page)
	}
	if list, err := d.service.Calibrations(t.Context(), caller, svc.Page{Limit: 1}); err != nil || len(list.Items) != 1 || list.Items[0].Rows != 120 {
		t.Errorf("got %v, %v", list.Items, err)
	}
	if status, _ := d.post("/labels/calibrate", url.Values{"token": {token}, "question": {"angry"}, "of": {"svc-snap-preview"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("without labels: %d", status)
	}
}
