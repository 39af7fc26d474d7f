// Command mount puts the interface into a program that has an http.ServeMux and
// users of its own: it serves chats and decisions under /ai to whoever is signed
// in, with neither API keys nor credits.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/httpapi"
)

// sessions is who is signed in, as the program knows it.
var sessions = map[string]string{"cookie-of-ada": svc.DefaultOrganization}

func main() {
	service, err := svc.New(context.Background(), svc.Options{Accounting: svc.NoAccounting})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	api := httpapi.New(service, httpapi.Options{
		Only: []httpapi.Interface{httpapi.Chat, httpapi.Decisions},
		Authenticate: func(r *http.Request) (svc.Caller, error) {
			cookie, err := r.Cookie("session")
			if err != nil || sessions[cookie.Value] == "" {
				return svc.Caller{}, &svc.Error{Kind: fault.Unauthenticated, Code: "signed_out", Message: "Sign in first."}
			}
			return svc.Caller{Organization: sessions[cookie.Value]}, nil
		},
	})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "The program's own page.") })
	mux.Handle("/ai/", http.StripPrefix("/ai", api))

	server := httptest.NewServer(mux) // or http.ListenAndServe(addr, mux)
	defer server.Close()
	body := `{"model":"svc-preview","messages":[{"role":"user","content":"Water boils at 100 degrees. When does water boil?"}]}`
	for _, session := range []string{"", "cookie-of-ada"} {
		req, err := http.NewRequest("POST", server.URL+"/ai/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		req.AddCookie(&http.Cookie{Name: "session", Value: session})
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Printf("session %q: %s\n", session, resp.Status)
	}
}
