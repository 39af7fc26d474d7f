package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var soak = flag.Duration("soak", 8*time.Second, "how long TestSoak runs, half of it with an organization that harms; five minutes show more")

const soakAdmin = "admin-key-of-the-soak"

// TestSoak runs nine organizations that do what organizations do, first alone and
// then beside one that does all it can to harm them. It prints how they fared, side
// by side, and fails where they are refused or a race is found (with -race the
// server looks for them as well).
func TestSoak(t *testing.T) {
	model := moody(t)
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"servers":{"a":{"url":"`+model.URL+`/v1","concurrency":16}},"models":[
		{"id":"svc-preview","generates":true,"targets":[{"server":"a","model":"m"}]},
		{"id":"svc-snap-preview","decides":"labels","label_mass":0.1,"targets":[{"server":"a","model":"m"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	server := startServer(t, t.TempDir(), "-config", config, "-admin-key", soakAdmin, "-max-requests", "64")
	defer server.kill()
	var good []*tenant
	for n := range 9 {
		good = append(good, newTenant(t, server, fmt.Sprint("good-", n)))
	}
	hostile := newTenant(t, server, "hostile")

	alone := runTenants(t, good, *soak/2)
	ctx, cancel := context.WithCancel(t.Context())
	var attacks sync.WaitGroup
	for _, attack := range hostile.attacks() {
		attacks.Go(func() {
			for ctx.Err() == nil {
				attack(ctx)
			}
		})
	}
	beside := runTenants(t, good, *soak/2)
	cancel()
	attacks.Wait()

	var table strings.Builder
	fmt.Fprintf(&table, "%-14s %28s   %28s\n%-14s %28s   %28s\n", "", "alone", "beside the hostile one", "", "n   err   p50   p95   p99", "n   err   p50   p95   p99")
	for _, kind := range kinds {
		fmt.Fprintf(&table, "%-14s %28s   %28s\n", kind.name, alone[kind.name], beside[kind.name])
		if a := alone[kind.name]; len(a.took) == 0 || a.failed > 0 {
			t.Errorf("%s alone: %d of %d failed: %s", kind.name, a.failed, len(a.took), a.why)
		}
		if b := beside[kind.name]; len(b.took) == 0 || b.failed*100 > len(b.took) {
			t.Errorf("%s beside the hostile organization: %d of %d failed: %s", kind.name, b.failed, len(b.took), b.why)
		}
	}
	t.Logf("\n%s", table.String())
	if said := server.said.String(); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic") {
		t.Errorf("the server said %s", said)
	}
}

// moody is a model server that does what a prompt has it do.
func moody(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		pause := func(d time.Duration) bool {
			select {
			case <-time.After(d):
				return true
			case <-r.Context().Done():
				return false
			}
		}
		said := string(body)
		usage := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":10}`, len(body)/4)
		switch {
		case strings.Contains(said, "FAIL"):
			http.Error(w, `{"error":{"message":"broken"}}`, http.StatusInternalServerError)
		case strings.Contains(said, "REFUSE"):
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
		case strings.Contains(said, `"logprobs":true`):
			pause(5 * time.Millisecond)
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"choices":[{"message":{"content":"Yes"},"finish_reason":"stop","logprobs":{"content":[{"token":"Yes","logprob":-0.1,"top_logprobs":[{"token":"Yes","logprob":-0.1},{"token":"No","logprob":-2.4}]}]}}],`+usage+`}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			gap := 3 * time.Millisecond
			if strings.Contains(said, "TRICKLE") {
				gap = time.Second
			}
			for n := range 10 {
				fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d \"}}]}\n\n", n)
				w.(http.Flusher).Flush()
				if !pause(gap) {
					return
				}
			}
			io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],`+usage+"}\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// tenant is an organization.
type tenant struct {
	server *killable
	key    string
	client *http.Client
}

func newTenant(t *testing.T, s *killable, name string) *tenant {
	t.Helper()
	admin := &tenant{s, soakAdmin, http.DefaultClient}
	var o struct{ ID, Key string }
	made, err := admin.post(t.Context(), "/admin/v1/organizations", `{"name":"`+name+`","credits":1000}`)
	if err != nil || json.Unmarshal(made, &o) != nil {
		t.Fatal(err, string(made))
	}
	if made, err = admin.post(t.Context(), "/admin/v1/api_keys", `{"organization_id":"`+o.ID+`"}`); err != nil || json.Unmarshal(made, &o) != nil {
		t.Fatal(err, string(made))
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(client.CloseIdleConnections)
	return &tenant{s, o.Key, client}
}

// post sends a body and returns the answer, whose status must be 200.
func (o *tenant) post(ctx context.Context, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.server.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+o.key)
	req.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(body, "--b\r\n") {
		req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	}
	res, err := o.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", res.Status, answer)
	}
	return answer, err
}

// kind is what an organization does, with what its answer has to have.
type kind struct{ name, path, body, want string }

var kinds = []kind{
	{"chat", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]}`, `"content":`},
	{"chat stream", "/v1/chat/completions", `{"model":"svc-preview","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, "[DONE]"},
	{"turn", "/v1/responses", `{"model":"svc-preview","input":"Hi"}`, `"status":"completed"`},
	{"turn stream", "/v1/responses", `{"model":"svc-preview","input":"Hi","stream":true}`, "event: response.completed"},
	{"decision", "/v1/systemone", `{"model":"svc-snap-preview","state":"x","questions":{"a":{"type":"noul","instructions":"?"}}}`, `"noul":`},
	{"conversation", "/v1/conversations", `{"items":[{"role":"user","content":"Hi"}]}`, `"conv_`},
	{"file", "/v1/files", "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nHi\r\n--b--\r\n", `"processed"`},
}

// fared is how requests of a kind went.
type fared struct {
	took   []time.Duration
	failed int
	why    string
}

func (f *fared) String() string {
	slices.Sort(f.took)
	at := func(q int) time.Duration {
		if len(f.took) == 0 {
			return 0
		}
		return f.took[(len(f.took)-1)*q/100].Round(time.Millisecond)
	}
	return fmt.Sprintf("%d %d %v %v %v", len(f.took), f.failed, at(50), at(95), at(99))
}

// runTenants has organizations work for a while, each with one request at a time
// and a pause behind it.
func runTenants(t *testing.T, tenants []*tenant, d time.Duration) map[string]*fared {
	var mu sync.Mutex
	all := map[string]*fared{}
	for _, k := range kinds {
		all[k.name] = &fared{}
	}
	var group sync.WaitGroup
	end := time.Now().Add(d)
	for _, o := range tenants {
		group.Go(func() {
			for n := 0; n < len(kinds) || time.Now().Before(end); n++ { // each kind once, however slow the machine
				k := kinds[n%len(kinds)]
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				began := time.Now()
				answer, err := o.post(ctx, k.path, k.body)
				cancel()
				if err == nil && !strings.Contains(string(answer), k.want) {
					err = fmt.Errorf("the answer is %.300s", answer)
				}
				mu.Lock()
				f := all[k.name]
				f.took = append(f.took, time.Since(began))
				if err != nil {
					f.failed++
					f.why = err.Error()
				}
				mu.Unlock()
				<-time.After(20 * time.Millisecond)
			}
		})
	}
	group.Wait()
	return all
}

// attacks are what the hostile organization does, again and again and at once.
func (o *tenant) attacks() (attacks []func(context.Context)) {
	many := func(n int, attack func(context.Context)) {
		for range n {
			attacks = append(attacks, attack)
		}
	}
	send := func(path, body string) func(context.Context) {
		return func(ctx context.Context) {
			_, _ = o.post(ctx, path, body) // whatever it is answered
			rest(ctx, 10*time.Millisecond)
		}
	}
	chat := func(text, fields string) func(context.Context) {
		return send("/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"`+text+`"}]`+fields+`}`)
	}
	many(4, chat("FAIL", ""))                                             // a model server that seems ill
	many(2, chat("REFUSE", ""))                                           // and one that refuses
	many(40, chat("TRICKLE", `,"stream":true`))                           // streams that never end
	many(20, o.hang(`{"model":"svc-preview","input":"TRICKLE","stream"`)) // bodies that never come
	many(10, o.leave)                                                     // hang-ups
	many(10, o.unread)                                                    // streams that nobody reads
	many(2, chat(strings.Repeat(" ", 15<<20), ""))                        // bodies of blanks
	many(2, chat("Hi", `,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":`+bomb(40)+`}}`))
	options := make([]string, 255)
	for n := range options {
		options[n] = fmt.Sprintf(`"o%d":null`, n)
	}
	choice := `{"type":"choice","instructions":"?","criteria":{` + strings.Join(options, ",") + `}}`
	many(4, send("/v1/systemone", `{"model":"svc-snap-preview","debias":8,"state":"x","questions":{"a":`+choice+`,"b":`+choice+`,"c":`+choice+`}}`))
	many(8, o.oneConversation()) // turns of one conversation at once
	many(4, send("/v1/responses", `{"model":"svc-preview","input":"TRICKLE","background":true}`))
	many(4, send("/v1/nothing", `{`))
	many(2, func(ctx context.Context) { // keys that are none
		guess := *o
		guess.key = "sk-guess"
		_, _ = guess.post(ctx, "/v1/responses", `{}`)
	})
	return attacks
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// bomb is a schema that doubles with each level.
func bomb(levels int) string {
	defs := []string{`"d0":{"type":"string"}`}
	for n := range levels {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, n+1, n, n))
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/d%d","$defs":{%s}}`, levels, strings.Join(defs, ","))
}

// raw opens a connection and sends a request with so much of a body.
func (o *tenant) raw(ctx context.Context, length int, body string) net.Conn {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(o.server.url, "http://"))
	if err != nil {
		return nil
	}
	fmt.Fprintf(conn, "POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", o.key, length, body)
	return conn
}

// hang sends a part of a body and waits.
func (o *tenant) hang(body string) func(context.Context) {
	return func(ctx context.Context) {
		if conn := o.raw(ctx, 1<<20, body); conn != nil {
			defer conn.Close()
			rest(ctx, 20*time.Second)
		}
	}
}

const trickling = `{"model":"svc-preview","input":"TRICKLE","stream":true}`

// leave asks for an answer, sends a byte more and hangs up.
func (o *tenant) leave(ctx context.Context) {
	if conn := o.raw(ctx, len(trickling), trickling+"x"); conn != nil {
		defer conn.Close()
		rest(ctx, 50*time.Millisecond)
	}
}

// unread asks for an answer that it does not read.
func (o *tenant) unread(ctx context.Context) {
	if conn := o.raw(ctx, len(trickling), trickling); conn != nil {
		defer conn.Close()
		rest(ctx, 5*time.Second)
	}
}

// oneConversation makes turns of one conversation from many places.
func (o *tenant) oneConversation() func(context.Context) {
	var once sync.Once
	var c struct{ ID string }
	return func(ctx context.Context) {
		once.Do(func() {
			if made, err := o.post(ctx, "/v1/conversations", "{}"); err == nil {
				_ = json.Unmarshal(made, &c) // without one its turns are refused
			}
		})
		_, _ = o.post(ctx, "/v1/responses", `{"model":"svc-preview","input":"Hi","conversation":"`+c.ID+`"}`)
		rest(ctx, 10*time.Millisecond)
	}
}

// lines keeps what a process says.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() < 64<<20 {
		l.text.Write(p)
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
