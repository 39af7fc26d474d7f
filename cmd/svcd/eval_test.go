package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// judge answers as two models: "sure" is right with 0.9, "first" likes the option
// that is asked first. It refuses the state "long".
func judge(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var req struct {
			Model     string
			State     struct{ Text string }
			Questions struct {
				C struct{ Criteria json.RawMessage }
			}
		}
		if err == nil {
			err = json.Unmarshal(body, &req)
		}
		if err != nil || strings.Contains(string(body), "label") {
			t.Errorf("got %s: %v", body, err)
		}
		if req.State.Text == "long" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"detail":{"message":"Too long."}}`)
			return
		}
		a, yes := 0.1, 0.2
		if req.State.Text == "a" {
			a, yes = 0.9, 0.8
		}
		level := 0.75                                 // of the first level asked
		raw := `,"raw":{"noul":0.6,"confidence":0.6}` // of the noul by the model that is calibrated
		if req.Model == "first" {
			raw = ""
			a = 0.1
			if strings.HasPrefix(string(req.Questions.C.Criteria), `{"a"`) {
				a = 0.9
			}
		} else if strings.HasPrefix(string(req.Questions.C.Criteria), `{"b"`) {
			level = 0.25
		}
		fmt.Fprintf(w, `{"answers":{"c":{"type":"choice","probabilities":{"a":%v,"b":%v}},"n":{"type":"noul","noul":%v%s},`+
			`"s":{"type":"score","probabilities":{"0":%v,"1":%v}}},"usage":{"input_tokens":1000000,"output_tokens":0}}`, a, 1-a, yes, raw, level, 1-level)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestEval(t *testing.T) {
	dir := t.TempDir()
	rows, questions, page := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "q.json"), filepath.Join(dir, "page.html")
	var text strings.Builder
	text.WriteString("Text,c.label,n.label,s.label\nlong,a,TRUE,\nunlabelled,,,\n")
	for i := range 40 {
		text.WriteString([]string{"a,a,true,0\n", "b,b,False,\n"}[i%2])
	}
	for name, content := range map[string]string{
		rows:      text.String(),
		questions: `{"c":{"type":"choice","criteria":{"a":null,"b":null}},"n":{"type":"noul"},"s":{"type":"score","criteria":["low","high"]}}`,
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"eval", "-url", judge(t).URL, "-key", "k", "-questions", questions, "-models", "first,sure", "-price", "2", "-out", page}
	stdout, _, err := run(t.Context(), append(args, rows)...)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder // with the latency left out, and single blanks
	for line := range strings.Lines(stdout) {
		if !strings.HasPrefix(line, "latency") {
			got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
	}
	for _, want := range []string{
		"c: 40 rows, 1 more that a model refused\nfirst sure sure − first\naccuracy 0.5 [",
		"] 1 [1, 1] 0.5 [",           // the difference
		"\nECE 0.4 [",                //
		"] 0.1 [0.1, 0.1] -0.3 [",    //
		"\nAUROC 0.5 [0.5, 0.5] 0.5", // one confidence
		"\ncoverage at 5 % error 0 [0, 0] 1 [1, 1] 1 [1, 1]\nflips by order 1 [1, 1] 0 [0, 0] -1 [-1, -1]\ncost per 1,000 rows, $ 2000 [2000, 2000] 2000 [2000, 2000] 0 [0, 0]\n",
		"\nconfidence, first rows mean right\n0.9–1.0 40 0.900 0.500\n",
		"\nright, answered a b\na 20 0\nb 20 0\nmost confident errors confidence answer right state\nrow 3 0.900 a b {\"Text\":\"b\"}\nrow 5 0.900 ",
		"\nn: 40 rows, 1 more that a model refused\nfirst sure, raw sure sure, raw − first sure − first sure − sure, raw\naccuracy 1 [1, 1] 0.5 [",
		"flips by order – – – – – –\n", // a noul has one order
		"\nconfidence, sure, raw rows mean right\n0.6–0.7 40 0.600 0.500\nright, answered true false\ntrue 20 0\nfalse 20 0\n",
		"\ns: 20 rows\n",
		"flips by order 1 [1, 1] 0 [0, 0] -1 [-1, -1]\ncost per 1,000 rows, $ 2000 [2000, 2000] 2000 [2000, 2000] 0 [0, 0]\nconfidence, first rows mean right\n0.7–0.8 20 0.750 1.000\n",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q is not in\n%s", want, got.String())
		}
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if circles := strings.Count(string(html), "<circle "); circles != 7 || !strings.Contains(string(html), `cx="180" cy="100"`) || !strings.Contains(string(html), `<text x="50" y="215" text-anchor="middle" font-size="11">0.25</text>`) || strings.Contains(string(html), "http") {
		t.Errorf("%d circles in\n%s", circles, html)
	}
	// A run that broke off goes on where it was.
	kept := filepath.Join(dir, "kept.jsonl")
	if _, _, err := run(t.Context(), append(args, "-answers", kept, rows)...); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(data), "\n"); lines != 82 { // 41 rows by two models
		t.Errorf("%d answers are kept", lines)
	}
	if err := os.WriteFile(kept, data[:len(data)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	again, stderr, err := run(t.Context(), append(args, "-answers", kept, rows)...)
	if err != nil || !strings.Contains(stderr, "41 of 41 rows by sure") {
		t.Errorf("%v\n%s\n%s", err, stderr, again)
	}
	if data, err = os.ReadFile(kept); err != nil || strings.Count(string(data), "\n") != 82 {
		t.Errorf("%d answers are kept, %v", strings.Count(string(data), "\n"), err)
	}
	if err := os.WriteFile(rows, []byte("Text,c.label\nx,other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t.Context(), append(args, rows)...); err == nil || !strings.Contains(err.Error(), `row 1: c.label is "other" and none of a, b`) {
		t.Errorf("a wrong label: %v", err)
	}
}

// TestEvalLabels evaluates each label of a question by itself.
// TestEvalRoute shows how a cascade would do by a judgment of the cheap model's answers.
func TestEvalRoute(t *testing.T) {
	dir := t.TempDir()
	rows, questions, page := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "q.json"), filepath.Join(dir, "page.html")
	text := "text,n.label,n.strong.label\n" + strings.Repeat("a,true,\nb,false,true\nb,false,true\nb,false,FALSE\n", 10)
	for name, content := range map[string]string{rows: text, questions: `{"n":{"type":"noul"},"c":{"type":"choice","criteria":{"a":null,"b":null}}}`} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"eval", "-url", judge(t).URL, "-key", "k", "-questions", questions, "-models", "first", "-out", page, "-route"}
	stdout, _, err := run(t.Context(), append(args, "n", rows)...)
	if err != nil {
		t.Fatal(err)
	}
	_, curve, found := strings.Cut(stdout, "cascade by first\n")
	if !found {
		t.Fatalf("there is no curve in %s", stdout)
	}
	var got []string
	for line := range strings.Lines(curve) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	t.Log(strings.Join(got, "\n"))
	if got[0] != "to the strong model accuracy random mixing threshold guaranteed" || !strings.HasPrefix(got[1], "0.000 0.250 0.250 ") {
		t.Errorf("the curve begins with %q", got[:2])
	}
	if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "1.000 0.750 0.750 none") }) {
		t.Errorf("the curve does not end with the strong model alone: %q", got)
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), "<h2>Cascade by first</h2>") {
		t.Errorf("the page has no curve: %v", err)
	}
	if _, _, err := run(t.Context(), append(args, "c", rows)...); err == nil || !strings.Contains(err.Error(), "-route c is no question of the type noul") {
		t.Errorf("got %v", err)
	}
}

func TestEvalLabels(t *testing.T) {
	dir := t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		first := 0.1
		if strings.Contains(string(body), "rain") {
			first = 0.9
		}
		fmt.Fprintf(w, `{"answers":{"l":{"type":"labels","labels":[],"probabilities":{"wet":%v,"late":0.2}}},"usage":{"input_tokens":1}}`, first)
	}))
	defer server.Close()
	rows, questions := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "q.json")
	for name, content := range map[string]string{
		rows:      `{"state":"rain","l.label":["wet","late"]}` + "\n" + `{"state":"sun","l.label":[]}` + "\n" + `{"state":"rain","l.label":"wet"}` + "\n" + `{"state":"no label"}` + "\n",
		questions: `{"l":{"type":"labels","criteria":{"wet":null,"late":null}}}`,
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout, _, err := run(t.Context(), "eval", "-url", server.URL, "-key", "k", "-questions", questions, "-out", filepath.Join(dir, "page.html"), rows)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(stdout) {
		got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	for _, want := range []string{"l.wet: 3 rows\nsvc-snap-preview\naccuracy 1 [1, 1]\n", "l.late: 3 rows\nsvc-snap-preview\naccuracy 0.6667 ["} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q is not in\n%s", want, got.String())
		}
	}
}
