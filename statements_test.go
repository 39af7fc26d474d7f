package svc_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestStatementsOfATurn counts the statements that PostgreSQL is sent for a turn,
// BEGIN, COMMIT and ROLLBACK aside, which go along with others.
func TestStatementsOfATurn(t *testing.T) {
	store, err := pgstore.Open(t.Context(), pgstore.Options{URL: pgtest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	quiet := slog.New(slog.DiscardHandler)
	service, err := svc.New(t.Context(), svc.Options{Store: store, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	key, err := service.Bootstrap(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	handler := httpapi.New(service, httpapi.Options{Logger: quiet})
	post := func(path, idempotencyKey, body string) string {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		if idempotencyKey != "" {
			r.Header.Set("Idempotency-Key", idempotencyKey)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		answer, err := io.ReadAll(w.Body)
		if err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s %v", path, w.Code, answer, err)
		}
		return string(answer)
	}
	conversation, _, _ := strings.Cut(strings.SplitN(post("/v1/conversations", "", "{}"), `"id":"`, 2)[1], `"`)
	turn := `{"model":"svc-preview","input":"How long do I have?"%s}`
	n := 0
	for name, send := range map[string]func(){
		"a turn":                    func() { post("/v1/responses", "", fmt.Sprintf(turn, "")) },
		"by conversation":           func() { post("/v1/responses", "", fmt.Sprintf(turn, `,"conversation":"`+conversation+`"`)) },
		"with Idempotency-Key":      func() { n++; post("/v1/responses", fmt.Sprint("key", n), fmt.Sprintf(turn, "")) },
		"not stored, with that key": func() { n++; post("/v1/responses", fmt.Sprint("key", n), fmt.Sprintf(turn, `,"store":false`)) },
	} {
		send()
		// What processes do each second comes on top: the least of some turns is
		// what a turn costs.
		least := ^uint64(0)
		for range 15 {
			before := store.Stats().Statements
			send()
			least = min(least, store.Stats().Statements-before)
		}
		if t.Logf("%s: %d statements", name, least); least > 8 {
			t.Errorf("%s takes %d statements, want 8 at most", name, least)
		}
	}
}
