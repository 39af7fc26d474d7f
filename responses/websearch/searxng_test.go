package websearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// service starts a search service that answers with a status and a body.
func service(t *testing.T, status int, body string) (*SearXNG, *http.Request) {
	t.Helper()
	var got http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = *r
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return &SearXNG{URL: server.URL + "/base/", HTTP: server.Client()}, &got
}

func TestSearXNG(t *testing.T) {
	is := is.New(t)
	s, asked := service(t, 200, `{"query":"x","results":[
		{"title":"A <b>","url":"https://a.example/","content":"a & b","engine":"z"},
		{"title":"B","url":"https://b.example/","content":null}],"answers":[]}`)
	results, err := s.Search(t.Context(), "what is é & ü?")
	is.NoErr(err)
	is.Equal(results, []Result{{"A <b>", "https://a.example/", "a & b"}, {"B", "https://b.example/", ""}})
	is.Equal(asked.Method, "GET")
	is.Equal(asked.URL.Path, "/base/search")
	is.Equal(asked.URL.Query().Get("q"), "what is é & ü?")
	is.Equal(asked.URL.Query().Get("format"), "json")
}

func TestSearXNGFindsNothing(t *testing.T) {
	is := is.New(t)
	s, _ := service(t, 200, `{"results":[]}`)
	results, err := s.Search(t.Context(), "x")
	is.NoErr(err)
	is.Equal(len(results), 0)
}

func TestSearXNGFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"JSON is not enabled", 403, "Forbidden", "websearch: the search service answered 403 Forbidden"},
		{"too many requests", 429, `{"results":[]}`, "websearch: the search service answered 429 Too Many Requests"},
		{"no JSON", 200, "<html>", "websearch: reading the answer: invalid character '<' looking for beginning of value"},
		{"another shape", 200, `{"results":"none"}`, "websearch: reading the answer: json: cannot unmarshal"},
		{"nothing", 200, "", "websearch: reading the answer: EOF"},
		{"an answer without end", 200, `{"results":[{"title":"` + strings.Repeat("x", maxAnswer), "websearch: reading the answer: unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := service(t, c.status, c.body)
			results, err := s.Search(t.Context(), "x")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || results != nil {
				t.Errorf("got %v, %v, want %s", results, err, c.want)
			}
		})
	}
}

// TestErrorsDoNotSayWhatWasSearchedFor keeps queries out of logs.
func TestErrorsDoNotSayWhatWasSearchedFor(t *testing.T) {
	s, _ := service(t, 200, "")
	s.URL = "http://127.0.0.1:1"
	_, err := s.Search(t.Context(), "private matter")
	if err == nil || strings.Contains(err.Error(), "private") {
		t.Errorf("got %v", err)
	}
}

func TestSearXNGStopsWithItsContext(t *testing.T) {
	is := is.New(t)
	reached := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reached
		cancel()
	}()
	_, err := (&SearXNG{URL: server.URL}).Search(ctx, "x")
	is.True(errors.Is(err, context.Canceled))
}

func FuzzSearXNGAnswer(f *testing.F) {
	f.Add(`{"results":[{"title":"A","url":"u","content":"c"}]}`)
	f.Add(`{"results":null}`)
	f.Add(`{"results":[{"title":1}]}`)
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
	f.Cleanup(server.Close)
	s := &SearXNG{URL: server.URL, HTTP: server.Client()}
	f.Fuzz(func(t *testing.T, answer string) {
		body = answer
		results, err := s.Search(t.Context(), "x")
		if err != nil && results != nil {
			t.Fatalf("got %v with %v", results, err)
		}
		Format("x", results)
	})
}
