package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// BenchmarkDialects compares what an answer costs as a chat completion and as a
// message: whole, and as a stream of 1,000 pieces.
//
//	go test ./httpapi -run '^$' -bench Dialects -count 6
func BenchmarkDialects(b *testing.B) {
	const pieces = 1000
	backend := modeltest.New()
	answer := modeltest.Text(strings.SplitAfter(strings.Repeat("another ", pieces), " ")[:pieces]...)
	backend.Respond = func(*model.Request) modeltest.Answer { return answer }
	service, err := svc.New(b.Context(), svc.Options{Backend: backend, DefaultPrices: &accounts.Prices{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { service.Close() })
	if _, err := service.Bootstrap(b.Context(), "sk-one"); err != nil {
		b.Fatal(err)
	}
	api := httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler)})
	const stored = `"store":false`
	for _, c := range []struct{ name, path, body string }{
		{"whole/chat", chatPath, chatBody(stored)},
		{"whole/messages", messagesPath, messagesBody(stored)},
		{"stream/chat", chatPath, chatBody(`"stream":true,` + stored)},
		{"stream/messages", messagesPath, messagesBody(`"stream":true,` + stored)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", c.path, strings.NewReader(c.body))
				r.Header.Set("Authorization", "Bearer sk-one")
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				if api.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
