package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

// TestStopSequencesAreTold has the servers that tell which sequence has ended an
// answer, as vLLM and SGLang write it.
func TestStopSequencesAreTold(t *testing.T) {
	for _, field := range []string{`"stop_reason":"END"`, `"matched_stop":"END"`, `"stop_reason":null`, `"matched_stop":151645`} {
		is := is.New(t)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop",`+field+`}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
		}))
		t.Cleanup(s.Close)
		req := ask("Hello")
		req.Stop, req.Whole = []string{"END"}, true
		var finish model.Finish
		for event, err := range backendOf(t, s.URL).Generate(t.Context(), req) {
			is.NoErr(err)
			if e, ok := event.(model.Finish); ok {
				finish = e
			}
		}
		want := ""
		if strings.Contains(field, "END") {
			want = "END"
		}
		is.Equal(finish, model.Finish{Reason: model.Stop, StopSequence: want})
	}
}
