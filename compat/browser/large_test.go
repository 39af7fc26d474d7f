package browser_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	large   = flag.Int("responses", 0, "how `many` responses a store has whose pages are timed")
	largeAt = flag.String("store", "", "a `directory` for that store, to be used again")
)

// TestLargeStore times every page over a store on disk with many responses, turns
// of conversations and stored completions among them, of one organization.
//
//	go test -run LargeStore -responses 200000 -store DIR
func TestLargeStore(t *testing.T) {
	if *large == 0 {
		t.Skip("fills a store: go test -run LargeStore -responses 200000")
	}
	if *largeAt == "" {
		*largeAt = t.TempDir()
	}
	s := start(t, "-data", *largeAt, "-api-key", "a-key-for-a-large-store")
	s.key = "a-key-for-a-large-store"
	c := s.signedIn(t)
	began := time.Now()
	s.store(t, *large)
	t.Logf("%d responses in %v", *large, time.Since(began).Round(time.Second))
	for _, page := range append(lists, singles(t, c, s)...) {
		var took []time.Duration
		var size int
		for range 9 {
			began := time.Now()
			size = len(c.get(t, s.url+"/console"+page))
			took = append(took, time.Since(began))
		}
		first := took[0]
		slices.Sort(took)
		t.Logf("%-64s first %8v  median %8v  %4d KB", page, first.Round(10*time.Microsecond), took[4].Round(10*time.Microsecond), size>>10)
		bound := 100 * time.Millisecond
		if strings.HasPrefix(page, "/log") || strings.HasPrefix(page, "/overview") {
			bound = 300 * time.Millisecond // a search goes on for 150
		}
		if first > bound || took[4] > bound {
			t.Errorf("%s takes %v, and %v at first", page, took[4], first)
		}
	}
}

// lists are the pages of lists, searches and sums.
var lists = []string{
	"/decide", "/respond", "/files", "/conversations", "/overview", "/log", "/log?kind=completion", "/log?status=failed", "/log?from=2020-01-01&to=2026-01-01", "/usage", "/usage?measure=tokens",
	"/log?q=nothing+has+these+words", "/conversations?q=nothing", "/log?kind=completion&q=nothing+has+these+words",
	"/admin/organizations", "/admin/organizations/org_default", "/admin/organizations/org_default/usage",
	"/admin/usage", "/admin/keys", "/admin/audit", "/admin/system",
}

var firstLink = regexp.MustCompile(`<(?:td|th|li)[^>]*>\s*<a href="/console([^"]+)"`)

// singles are the pages of the newest objects of lists, and the second page of each.
func singles(t *testing.T, c session, s server) (all []string) {
	t.Helper()
	for _, list := range []string{"/conversations", "/log?kind=response", "/log?kind=completion", "/usage"} {
		page := c.get(t, s.url+"/console"+list)
		if m := firstLink.FindStringSubmatch(page); m != nil {
			all = append(all, m[1])
		}
		if m := regexp.MustCompile(`<a href="([^"]+)" rel="next"`).FindStringSubmatch(page); m != nil {
			next := strings.ReplaceAll(strings.TrimSuffix(m[1], "#ledger"), "&amp;", "&")
			if strings.HasPrefix(next, "?") {
				next = list + next
			}
			all = append(all, strings.TrimPrefix(next, "/console"))
		}
	}
	for _, path := range all {
		if id, ok := strings.CutPrefix(path, "/responses/"); ok {
			return append(all, "/respond?response="+id)
		}
	}
	t.Fatalf("no response among %q", all)
	return nil
}

// store makes responses: of every eight, three continue one before, two are
// completions, and one is in a conversation of 2,000 turns.
func (s server) store(t *testing.T, n int) {
	t.Helper()
	const writers = 32
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}
	send := func(path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return ""
		}
		r.Header.Set("Authorization", "Bearer "+s.key)
		resp, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %v %s", path, resp.StatusCode, err, answer)
		}
		m := regexp.MustCompile(`"id":"(resp_[^"]+)"`).FindSubmatch(answer)
		if m == nil {
			return ""
		}
		return string(m[1])
	}
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			last, long := "", ""
			for i := w; i < n && t.Context().Err() == nil && !t.Failed(); i += writers {
				text := fmt.Sprintf(`"Order %d has not arrived. It was sent on Monday from Antwerp, and the customer waits for it."`, i)
				switch round := i / writers; {
				case round%8 < 2:
					send("/v1/chat/completions", `{"model":"svc-preview","store":true,"messages":[{"role":"user","content":`+text+`}]}`)
				case round%8 < 5 && last != "":
					last = send("/v1/responses", `{"model":"svc-preview","previous_response_id":"`+last+`","input":`+text+`}`)
				case round%8 == 7 && w == 0 && round < 16_000:
					before := ""
					if long != "" {
						before = `"previous_response_id":"` + long + `",`
					}
					long = send("/v1/responses", `{"model":"svc-preview",`+before+`"input":"And then?"}`)
				default:
					last = send("/v1/responses", `{"model":"svc-preview","input":`+text+`}`)
				}
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// session is a client of the console that is signed in with both keys.
type session struct{ *http.Client }

func (s server) signedIn(t *testing.T) session {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := session{&http.Client{Jar: jar}}
	for _, key := range []string{adminKey, s.key} {
		page := c.get(t, s.url+"/console/signin")
		token := regexp.MustCompile(`name="token" value="([^"]*)"`).FindStringSubmatch(page)[1]
		resp, err := c.PostForm(s.url+"/console/signin", url.Values{"key": {key}, "token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("signing in: %d", resp.StatusCode)
		}
	}
	return c
}

func (c session) get(t *testing.T, address string) string {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", address, resp.StatusCode, err)
	}
	return string(body)
}
