package httpapi

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
)

// TestImagesAreTheServersToRefuse passes images on unless the configuration says
// that the model reads none, and tells the caller what a server says that refuses
// them, whatever status it has for that.
func TestImagesAreTheServersToRefuse(t *testing.T) {
	const llamaCPP = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
	refuse := func(message string) string {
		return `{"detail":{"error_type":"request_rejected","message":"The model does not take this request: ` + message + `"}}`
	}
	for name, c := range map[string]struct {
		model  openai.Model
		status int    // with which the server refuses images; 0: it takes them
		says   string // then
		asked  bool
		want   string
	}{
		"said to see none":   {openai.Model{NoImages: true}, 0, "", false, `{"detail":{"error_type":"request_rejected","message":"The model does not read images."}}`},
		"none, and decides":  {openai.Model{NoImages: true, Decides: openai.SystemOne}, 0, "", false, `{"detail":{"error_type":"request_rejected","message":"The model does not read images."}}`},
		"sees":               {openai.Model{}, 0, "", true, `{"model":"svc-snap-preview","answers":{"q":{"type":"noul","noul":0.9999999989999999}},"usage":{"input_tokens":50,"output_tokens":0}}`},
		"vLLM":               {openai.Model{}, 400, "judge is not a multimodal model", true, refuse("judge is not a multimodal model")},
		"llama.cpp":          {openai.Model{}, 500, llamaCPP, true, refuse(llamaCPP)},
		"llama.cpp, with OK": {openai.Model{}, 200, llamaCPP, true, refuse(llamaCPP)},
		"Ollama":             {openai.Model{}, 500, "this model is missing data required for image input", true, refuse("this model is missing data required for image input")},
		"OpenRouter":         {openai.Model{}, 404, "No endpoints found that support image input", true, refuse("No endpoints found that support image input")},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			var seen atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path != "/v1/chat/completions" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				if strings.Contains(string(body), "data:image/png;base64,") {
					seen.Add(1)
					if c.status > 0 {
						w.WriteHeader(c.status)
						fmt.Fprintf(w, `{"error":{"message":%q}}`, c.says)
						return
					}
				}
				io.WriteString(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Yes"},"logprobs":{"content":[`+
					`{"token":"Yes","logprob":0,"top_logprobs":[{"token":"Yes","logprob":0}]}]}}],"usage":{"prompt_tokens":50,"completion_tokens":1}}`)
			}))
			t.Cleanup(server.Close)
			m := c.model
			m.Info, m.Targets = model.Info{ID: model.DefaultDecider, Decides: true}, []openai.Target{{Server: &openai.Server{URL: server.URL + "/v1"}, Model: "judge"}}
			b, err := openai.New(openai.Options{Models: []openai.Model{m}, Logger: slog.New(slog.DiscardHandler)})
			check(t, err)
			t.Cleanup(b.Close)
			a := newDecisionAPIOver(t, b)
			w := a.post(a.key, strings.NewReader(shown(`[{"mediaType":"image/png","base64":"`+base64.StdEncoding.EncodeToString(onePixel(t))+`"}]`)))
			is.Equal(w.Body.String(), c.want)
			switch {
			case strings.Contains(c.want, "request_rejected"):
				is.Equal(w.Code, http.StatusBadRequest)
			default:
				is.Equal(w.Code, http.StatusOK)
			}
			is.Equal(seen.Load() > 0, c.asked)
		})
	}
}
