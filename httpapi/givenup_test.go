package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
)

// TestWhoLeavesPaysForWhatServersWorkedOn has callers leave while a model server
// has what they asked, all of it or the second half, or ask what it does not answer, which costs nothing.
func TestWhoLeavesPaysForWhatServersWorkedOn(t *testing.T) {
	state := strings.Repeat("hardly ", 60) // 70 tokens at the least, and 60 by the server
	rows := make([]string, 50)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"state":"%s%d","answer":true}`, state, i)
	}
	const question = `{"type":"noul","instructions":"Is it?"}`
	for name, c := range map[string]struct {
		path, body  string
		answered    int // requests of the server's before it is silent
		least, most int // tokens that are charged
	}{
		"a decision":                {decisionsPath, `{"model":"d","state":"` + state + `","questions":{"a":` + question + `}}`, 0, 70, 250},
		"the rest of a decision":    {decisionsPath, `{"model":"d","state":"` + state + `","questions":{"a":` + question + `,"b":` + question + `}}`, 1, 1000, 1050},
		"documents that are ranked": {"/v1/rerank", `{"model":"d","query":"` + state + `","documents":["a"]}`, 0, 70, 250},
		"a calibration":             {"/v1/calibrations", `{"model":"d","question":` + question + `,"rows":[` + strings.Join(rows, ",") + `]}`, 20, 4000, 25_000},
		"a server that decides":     {decisionsPath, `{"model":"s","state":"` + state + `","questions":{"a":` + question + `}}`, 0, 70, 100},
		"an answer with no label":   {decisionsPath, `{"model":"d","state":"NO LABEL","questions":{"a":` + question + `}}`, 100, 0, 0},
		"embeddings":                {"/v1/embeddings", `{"model":"e","input":["` + state + `","b"]}`, 0, 71, 71},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			answered := make(chan struct{}, c.answered)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || r.Method != http.MethodPost || strings.Contains(string(body), `"questions":{}`) {
					http.NotFound(w, r)
					return
				}
				select {
				case answered <- struct{}{}:
					w.Header().Set("Content-Type", "application/json")
					said := "Yes"
					if strings.Contains(string(body), "NO LABEL") {
						said = "Well"
					}
					fmt.Fprintf(w, `{"choices":[{"message":{"content":%[1]q},"finish_reason":"stop","logprobs":{"content":[{"token":%[1]q,"logprob":-0.1,"top_logprobs":[{"token":%[1]q,"logprob":-0.1},{"token":"No","logprob":-2.4}]}]}}],
						"usage":{"prompt_tokens":1000,"completion_tokens":1}}`, said)
				default:
					leave()
					<-r.Context().Done()
				}
			}))
			defer s.Close()
			targets := []openai.Target{{Server: &openai.Server{URL: s.URL + "/v1"}}}
			backend, err := openai.New(openai.Options{Models: []openai.Model{
				{Info: model.Info{ID: "d", Decides: true}, Targets: targets, Decides: openai.ByLabels},
				{Info: model.Info{ID: "s", Decides: true}, Targets: targets, Decides: openai.SystemOne},
				{Info: model.Info{ID: "e", Embeds: true}, Targets: targets},
			}})
			check(t, err)
			defer backend.Close()
			a := newAdminAPI(t, svc.Options{Backend: backend}, Options{})
			organization, key := newLimited(t, a, 0, 0)
			r := httptest.NewRequestWithContext(ctx, "POST", c.path, strings.NewReader(c.body))
			r.Header.Set("Authorization", "Bearer "+key)
			New(a.service, Options{}).ServeHTTP(httptest.NewRecorder(), r) // its answer, which nobody gets, is in no document
			used, err := a.service.Usage(t.Context(), organization, svc.Page{})
			check(t, err)
			if c.most == 0 && len(used.Items) == 0 {
				return // it costs its caller nothing
			}
			if len(used.Items) != 1 {
				t.Fatalf("got %+v", used.Items)
			}
			if tokens := used.Items[0].Use.InputTokens; tokens < c.least || tokens > c.most {
				t.Errorf("charged %d tokens", tokens)
			}
		})
	}
}
