package console_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/model"
)

// judge sends a file of rows with one question.
func (d *desk) judge(token, rows string) (int, string) {
	d.Helper()
	return d.sendRows("/decide/rows", token, rows, map[string]string{"request": `{"model":"svc-snap-preview","state":"","questions":{"charged":{"type":"noul","instructions":"Was the customer charged twice?"}}}`})
}

// sendRows sends a form with a file of rows.
func (d *desk) sendRows(path, token, rows string, fields map[string]string) (int, string) {
	d.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	fields["token"] = token
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			d.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("rows", "rows.csv")
	if err == nil {
		_, err = file.Write([]byte(rows))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		d.Fatal(err)
	}
	r := httptest.NewRequestWithContext(d.Context(), "POST", d.url+"/console"+path, &b)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return d.do(r)
}

func TestRowsAreJudged(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	for name, rows := range map[string]string{
		"CSV":        "id,text\n1,\"I was charged twice, twice!\"\n2,The weather is fine.\n",
		"semicolons": "\ufeffid;text\n1;I was charged twice.\n2;The weather is fine.\n",
		"JSON Lines": `{"id":1,"text":"I was charged twice."}` + "\n\n" + `{"id":2,"text":"The weather is fine."}`,
		"strings":    `"I was charged twice."` + "\n" + `"The weather is fine."`,
	} {
		status, body := d.judge(token, rows)
		got, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if status != http.StatusOK || err != nil || len(got) != 3 {
			t.Fatalf("%s: %d %v %s", name, status, err, body)
		}
		n := len(got[0])
		if strings.Join(got[0][n-3:], "|") != "charged|charged confidence|error" || got[1][n-3] != "yes" || got[2][n-3] != "no" || got[1][n-1] != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRowsThatCannotBeJudged(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	for name, rows := range map[string]string{
		"nothing":  " \n",
		"no JSON":  "{\"text\": \n",
		"no CSV":   "a,b\n1\n",
		"too many": "text\n" + strings.Repeat("x\n", 2001),
	} {
		if status, page := d.judge(token, rows); status != http.StatusBadRequest || !strings.Contains(page, `class="wrong"`) {
			t.Errorf("%s: %d %s", name, status, page)
		}
	}
	if status, _ := d.judge("wrong", "text\nx\n"); status != http.StatusForbidden {
		t.Errorf("with a wrong token: %d", status)
	}
	if _, body := d.judge(token, "text\n=1+1\n"); !strings.Contains(body, "'=1+1") {
		t.Errorf("a formula stays one: %s", body)
	}
}

// TestTheExampleIsAnsweredRightly holds that the built-in model gets the first example
// right, and that the page says who answers.
func TestTheExampleIsAnsweredRightly(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	_, page := d.get("/decide")
	form := url.Values{"token": {token}, "ask": {"1"}, "model": {"svc-snap-preview"}, "kind": {"text"}, "state": {between(page, `name="state" rows="6" dir="auto">`, "<")}}
	for _, fieldset := range strings.Split(page, "<fieldset>")[1:] {
		form.Add("name", between(fieldset, `name="name" value="`, `"`))
		form.Add("type", between(fieldset, `" selected>`, "<"))
		form.Add("instructions", between(fieldset, `name="instructions" value="`, `"`))
		form.Add("criteria", between(fieldset, `name="criteria" rows="3" dir="auto">`, "<"))
	}
	form["type"] = []string{"choice", "noul", "score"}
	status, page := d.post("/decide", form)
	for _, want := range []string{`<strong dir="auto">billing</strong>`, `<strong dir="auto">yes</strong>`, `<strong dir="auto">1.77</strong>`, "Answered by svc-snap-preview, the built-in stand-in"} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%d: no %q", status, want)
		}
	}
}

// between is what a page has between two texts.
func between(page, before, after string) string {
	_, rest, _ := strings.Cut(page, before)
	text, _, _ := strings.Cut(rest, after)
	return html.UnescapeString(text)
}

// calibration makes one and returns its ID.
func (d *desk) calibration() string {
	d.Helper()
	n := &decisions.NewCalibration{
		Model: model.DefaultDecider, Question: decisions.Question{Name: "late", Type: decisions.Noul, Instructions: "Is it <late>?"},
		Asked: json.RawMessage(`{"type":"noul","instructions":"Is it <late>?"}`),
	}
	for i := range 60 {
		state := "The parcel is late."
		if i%2 > 0 {
			state = "All is well."
		}
		n.Rows = append(n.Rows, decisions.LabelledRow{State: json.RawMessage(strconv.Quote(state + " " + strconv.Itoa(i))), Answer: json.RawMessage(strconv.FormatBool(i%2 == 0))})
	}
	made, err := d.service.Calibrate(d.Context(), d.caller(), n)
	if err != nil {
		d.Fatal(err)
	}
	return made.ID
}

func TestCalibrationPages(t *testing.T) {
	d := open(t)
	d.signIn(d.key)
	if _, page := d.get("/calibrations"); !strings.Contains(page, "There are no calibrations.") {
		t.Errorf("without one: %s", page)
	}
	id := d.calibration()
	if _, page := d.get("/calibrations"); !strings.Contains(page, "/calibrations/"+id) || !strings.Contains(page, "Is it &lt;late&gt;?") {
		t.Errorf("with one: %s", page)
	}
	status, page := d.get("/calibrations/" + id)
	for _, want := range []string{"Before and after", "AUROC", `role="img" aria-label="How often answers are right, by their confidence: `} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%d: no %q in %s", status, want, page)
		}
	}
}

func TestEvaluate(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	rows := "state,answer\n"
	for i := range 20 {
		rows += fmt.Sprintf("I was charged twice. %d,yes\nThe <weather> is fine. %d,no\n", i, i)
	}
	rows += "The weather is nice.,yes\n"
	fields := map[string]string{"type": "noul", "model": "svc-snap-preview", "instructions": "Was the customer charged twice?"}
	status, page := d.sendRows("/evaluate", token, rows, fields)
	for _, want := range []string{"<h2>41 rows</h2>", `<th scope="row">accuracy</th><td class="number">0.976`, "The most confident errors", "The weather is nice."} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%d: no %q in %s", status, want, page)
		}
	}
	fields["other_instructions"] = "Is the weather fine?"
	if _, page = d.sendRows("/evaluate", token, rows, fields); !strings.Contains(page, "second wording") || !strings.Contains(page, "✓") {
		t.Errorf("two wordings: %s", page)
	}
	if _, page = d.sendRows("/evaluate", token, "state\nx\n", fields); !strings.Contains(page, "Row 1 has no right answer") {
		t.Errorf("without answers: %s", page)
	}
	if status, _ = d.sendRows("/evaluate", "wrong", rows, fields); status != http.StatusForbidden {
		t.Errorf("with a wrong token: %d", status)
	}
}
