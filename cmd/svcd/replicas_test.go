package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

var replicaRounds = flag.Int("replicas.rounds", 3, "how often TestReplicasKilled kills one of three servers")

// TestReplicasKilled has three servers on one database under a load of turns,
// streams, items, uploads, grants and revocations, of which one after the other is
// killed at a random moment. What a client was told to be stored is there on every
// server; what was asked for again under one key was done once; each turn is paid
// for once, a reader that follows the usage meets each payment once, and the
// balance is exact; every upload ends as processed; and a key that was revoked is
// dead on every server within a second.
func TestReplicasKilled(t *testing.T) {
	c := newCluster(t, 3, pgtest.Database(t))
	w := newWorkload(c)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() { w.chain(ctx, i%2 == 0) })
	}
	for _, client := range []func(context.Context){w.onceEach, w.onceEach, w.converse, w.converse, w.upload, w.grant, w.revoke, w.follow} {
		clients.Go(func() { client(ctx) })
	}
	for round := range *replicaRounds {
		w.waitForTurn(ctx)
		// The moment of the kill is what the test is about; it waits for nothing.
		<-time.After(time.Duration(mathrand.IntN(600)) * time.Millisecond)
		c.replace(mathrand.IntN(3))
		if t.Failed() {
			t.Logf("after %d rounds", round+1)
			break
		}
	}
	w.waitForTurn(ctx)
	stop()
	clients.Wait()
	w.check()
	t.Logf("%d turns, %d of them asked for until they were answered, %d items, %d files, %d grants and %d revocations survived %d kills of one of three servers",
		len(w.acked), w.keyed, w.items, len(w.files), w.granted, w.revoked, *replicaRounds)
}

// cluster are servers on one database.
type cluster struct {
	t        *testing.T
	database string
	flags    []string

	mu      sync.RWMutex
	servers []*killable
}

func newCluster(t *testing.T, n int, database string, flags ...string) *cluster {
	c := &cluster{t: t, database: database, flags: append(flags, "-admin-key", testAdminKey)}
	for range n {
		c.servers = append(c.servers, c.start())
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			s.kill()
		}
	})
	return c
}

func (c *cluster) start() *killable {
	return startServer(c.t, c.database, c.flags...)
}

// replace kills a server and starts another one in its place.
func (c *cluster) replace(i int) {
	c.server(i).kill()
	s := c.start()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers[i] = s
}

func (c *cluster) server(i int) *killable {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.servers[i]
}

func (c *cluster) any() *killable { return c.server(mathrand.IntN(len(c.servers))) }

// workload is what clients do and what they were told.
type workload struct {
	t       *testing.T
	cluster *cluster
	reader  *usageReader
	mayFail func(ctx context.Context, status int, err error) bool // whether an answer may be; it fails the test otherwise

	mu      sync.Mutex
	acked   map[string]json.RawMessage // responses by ID
	turns   chan struct{}              // closed with the next turn that is acknowledged
	said    map[string]string          // conversations by what was said in them, once each
	maybe   map[string]string          // or not at all
	keyed   int                        // turns that were asked for until they were answered
	items   int
	files   []string
	granted int
	revoked int
}

// call makes a request with a key and returns the answer. A status that is not
// 200 is an error.
func call(ctx context.Context, s *killable, key, method, path, idempotency, kind string, body io.Reader) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", kind)
	if idempotency != "" {
		req.Header.Set("Idempotency-Key", idempotency)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", path, resp.Status, answer)
	}
	return answer, resp.StatusCode, err
}

func post(ctx context.Context, s *killable, key, path, idempotency, body string) ([]byte, int, error) {
	return call(ctx, s, key, http.MethodPost, path, idempotency, "application/json", strings.NewReader(body))
}

// postTurn makes a turn. One that failed is an error with the status 503: its
// database was away or busy when it was to be stored.
func postTurn(ctx context.Context, s *killable, idempotency, body string) ([]byte, int, error) {
	response, status, err := post(ctx, s, killKey, "/v1/responses", idempotency, body)
	if err == nil {
		if err = failureOf(response); err != nil {
			status = http.StatusServiceUnavailable
		}
	}
	return response, status, err
}

// failureOf returns why a turn has failed, or nil for one that has not.
func failureOf(response []byte) error {
	var r struct {
		Status string
		Error  struct{ Code string }
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return err
	}
	if r.Status == "failed" {
		return fmt.Errorf("a turn failed: \"code\":%q", r.Error.Code)
	}
	return nil
}

func newWorkload(c *cluster) *workload {
	l := &workload{t: c.t, cluster: c, acked: map[string]json.RawMessage{}, said: map[string]string{}, maybe: map[string]string{}, reader: newUsageReader()}
	l.mayFail = l.orKilled
	return l
}

// orKilled reports whether an answer is one that a server may give which is killed,
// or whose database is busy. Any other is a failure of the test.
func (l *workload) orKilled(ctx context.Context, status int, err error) bool {
	if status != 0 && status != http.StatusServiceUnavailable && status != http.StatusOK && ctx.Err() == nil {
		l.t.Error(err)
		return false
	}
	return true
}

// ack remembers a response that a client has.
func (l *workload) ack(response json.RawMessage) (id, conversation string) {
	var r struct {
		ID, Status   string
		Conversation struct{ ID string }
	}
	if err := json.Unmarshal(response, &r); err != nil || r.Status != "completed" {
		l.t.Errorf("a turn was answered with %s: %v", response, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[r.ID] = response
	if l.turns != nil {
		close(l.turns)
		l.turns = nil
	}
	return r.ID, r.Conversation.ID
}

func (l *workload) waitForTurn(ctx context.Context) {
	l.mu.Lock()
	if l.turns == nil {
		l.turns = make(chan struct{})
	}
	next := l.turns
	l.mu.Unlock()
	select {
	case <-next:
	case <-ctx.Done():
	case <-time.After(patience):
		l.t.Errorf("no turn was made in %v", patience)
	}
}

// chain makes turns that continue from one another, each on any server.
func (l *workload) chain(ctx context.Context, stream bool) {
	previous := ""
	for n := 0; ctx.Err() == nil; n++ {
		response, err := l.cluster.any().turn(ctx, previous, fmt.Sprint("turn ", n), stream)
		if err != nil {
			continue // killed
		}
		previous, _ = l.ack(response)
	}
}

// onceEach makes turns under a key, and asks again until each is answered.
func (l *workload) onceEach(ctx context.Context) {
	previous, conversation := "", ""
	for ctx.Err() == nil {
		key := rand.Text()
		body := fmt.Sprintf(`{"model":"svc-preview","input":"I say %s once"`, key)
		if previous != "" {
			body += fmt.Sprintf(`,"previous_response_id":%q`, previous)
		}
		for {
			// To the end, whatever the test does: a turn that is not answered says nothing.
			asking := context.WithoutCancel(ctx)
			response, status, err := postTurn(asking, l.cluster.any(), key, body+"}")
			if status == http.StatusConflict && strings.Contains(err.Error(), "was not kept") {
				// Its server died before the answer was kept.
				l.mu.Lock()
				if previous != "" {
					l.maybe[key] = conversation
				}
				l.mu.Unlock()
				previous = ""
				break
			}
			if err != nil {
				if !l.mayFail(asking, status, err) {
					return
				}
				continue
			}
			previous, conversation = l.ack(response)
			l.mu.Lock()
			l.said[key] = conversation
			l.keyed++
			l.mu.Unlock()
			break
		}
	}
}

// converse adds items to a conversation and makes turns that continue from it,
// while another one does so, too.
func (l *workload) converse(ctx context.Context) {
	var conversation struct{ ID string }
	for n := 0; ctx.Err() == nil; n++ {
		if n%20 == 0 {
			answer, _, err := post(ctx, l.cluster.any(), killKey, "/v1/conversations", "", "{}")
			if err != nil || json.Unmarshal(answer, &conversation) != nil {
				n--
				continue
			}
		}
		key := "item " + rand.Text()
		_, status, err := post(ctx, l.cluster.any(), killKey, "/v1/conversations/"+conversation.ID+"/items", "",
			`{"items":[{"type":"message","role":"user","content":"I add `+key+`"}]}`)
		if err != nil {
			l.mayFail(ctx, status, err)
			continue
		}
		l.mu.Lock()
		l.said[key] = conversation.ID
		l.items++
		l.mu.Unlock()
		response, status, err := postTurn(ctx, l.cluster.any(), "",
			fmt.Sprintf(`{"model":"svc-preview","input":"Go on.","conversation":%q}`, conversation.ID))
		if err == nil {
			l.ack(response)
		} else if status != http.StatusConflict { // the one before it may hang in a server that was killed
			l.mayFail(ctx, status, err)
		}
	}
}

// upload sends documents whose text has to be extracted.
func (l *workload) upload(ctx context.Context) {
	for ctx.Err() == nil {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		form.WriteField("purpose", "assistants")
		part, err := form.CreatePart(map[string][]string{
			"Content-Disposition": {`form-data; name="file"; filename="a.pdf"`}, "Content-Type": {"application/pdf"},
		})
		if err == nil {
			_, err = part.Write(onePage(rand.Text()))
		}
		if err = errors.Join(err, form.Close()); err != nil {
			l.t.Error(err)
			return
		}
		answer, status, err := call(ctx, l.cluster.any(), killKey, http.MethodPost, "/v1/files", "", form.FormDataContentType(), bytes.NewReader(body.Bytes()))
		var file struct{ ID string }
		if err == nil {
			err = json.Unmarshal(answer, &file)
		}
		if err != nil {
			l.mayFail(ctx, status, err)
			continue
		}
		l.mu.Lock()
		l.files = append(l.files, file.ID)
		l.mu.Unlock()
		pause(ctx, 100*time.Millisecond) // each is a process
	}
}

// onePage returns a PDF with a line of text.
func onePage(line string) []byte {
	text := "BT /F1 12 Tf 72 720 Td (" + line + ") Tj ET"
	var b bytes.Buffer
	var offsets []int
	b.WriteString("%PDF-1.4\n")
	for i, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(text), text), "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	} {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	b.WriteString("xref\n0 6\n0000000000 65535 f \n")
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", start)
	return b.Bytes()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// grant adds a micro-dollar at a time, each until it is answered.
func (l *workload) grant(ctx context.Context) {
	for ctx.Err() == nil {
		key := rand.Text()
		for {
			asking := context.WithoutCancel(ctx)
			_, status, err := post(asking, l.cluster.any(), testAdminKey, "/admin/v1/organizations/"+accounts.DefaultOrganization+"/credits", key, `{"amount":"0.000001"}`)
			if err == nil {
				break
			}
			if !l.mayFail(asking, status, err) {
				return
			}
		}
		l.mu.Lock()
		l.granted++
		l.mu.Unlock()
		pause(ctx, 20*time.Millisecond)
	}
}

// revoke makes keys, has every server know them, and revokes them on one.
func (l *workload) revoke(ctx context.Context) {
	for ctx.Err() == nil {
		answer, status, err := post(ctx, l.cluster.any(), testAdminKey, "/admin/v1/api_keys", "", `{"organization_id":"`+accounts.DefaultOrganization+`","name":"brief"}`)
		var key struct{ ID, Key string }
		if err == nil {
			err = json.Unmarshal(answer, &key)
		}
		if err != nil {
			l.mayFail(ctx, status, err)
			continue
		}
		for i := range l.cluster.servers {
			call(ctx, l.cluster.server(i), key.Key, http.MethodGet, "/v1/models", "", "", nil) // one may be dead
		}
		_, status, err = call(ctx, l.cluster.any(), testAdminKey, http.MethodDelete, "/admin/v1/api_keys/"+key.ID, "", "", nil)
		if err != nil {
			l.mayFail(ctx, status, err)
			continue
		}
		pause(ctx, time.Second)
		for i := range l.cluster.servers {
			if answer, status, _ := call(ctx, l.cluster.server(i), key.Key, http.MethodGet, "/v1/models", "", "", nil); status == http.StatusOK {
				l.t.Errorf("a key that was revoked a second ago is answered: %s", answer)
			}
		}
		l.mu.Lock()
		l.revoked++
		l.mu.Unlock()
	}
}

// follow reads the usage as it comes.
func (l *workload) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.reader.follow(ctx, l.cluster.any()); err != nil && ctx.Err() == nil && !strings.Contains(err.Error(), "503") && strings.Contains(err.Error(), "usage: ") {
			l.t.Error(err)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// check looks at what is there in the end.
func (l *workload) check() {
	t := l.t
	if len(l.acked) == 0 {
		t.Fatal("no turn was acknowledged before a kill")
	}
	ctx := context.WithoutCancel(t.Context())
	for _, id := range l.files {
		l.wantProcessed(ctx, id)
	}
	for id, want := range l.acked {
		if got := l.cluster.any().get(t, "/v1/responses/"+id); string(got) != string(want) {
			t.Fatalf("response %s\ngot  %s\nwant %s", id, got, want)
		}
	}
	texts := map[string]string{} // of conversations
	count := func(conversation, key string) int {
		if _, ok := texts[conversation]; !ok {
			texts[conversation] = l.cluster.any().items(t, conversation)
		}
		return strings.Count(texts[conversation], key)
	}
	for key, conversation := range l.said {
		if n := count(conversation, key); n != 1 {
			t.Errorf("conversation %s has %q %d times", conversation, key, n)
		}
	}
	for key, conversation := range l.maybe {
		if n := count(conversation, key); n > 1 {
			t.Errorf("conversation %s has %q %d times", conversation, key, n)
		}
	}
	for i := range l.cluster.servers {
		if err := l.reader.follow(ctx, l.cluster.server(i)); err != nil {
			t.Error(err)
		}
	}
	l.reader.check(t, l.cluster.server(0), l.acked, l.granted)
}

// wantProcessed waits until the text of a file is there.
func (l *workload) wantProcessed(ctx context.Context, id string) {
	for end := time.Now().Add(patience); ; pause(ctx, 200*time.Millisecond) {
		var file struct{ Status string }
		if err := json.Unmarshal(l.cluster.any().get(l.t, "/v1/files/"+id), &file); err != nil {
			l.t.Fatal(err)
		}
		if file.Status == "processed" {
			return
		}
		if file.Status != "uploaded" || time.Now().After(end) {
			l.t.Errorf("the file %s is %s", id, file.Status)
			return
		}
	}
}

// items returns what was said in a conversation, as JSON.
func (s *killable) items(t *testing.T, conversation string) string {
	t.Helper()
	var all strings.Builder
	for after := ""; ; {
		var page struct {
			Data    []json.RawMessage
			LastID  string `json:"last_id"`
			HasMore bool   `json:"has_more"`
		}
		if err := json.Unmarshal(s.get(t, "/v1/conversations/"+conversation+"/items?order=asc&limit=100&after="+after), &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Data {
			if bytes.Contains(item, []byte(`"role":"user"`)) {
				all.Write(item)
			}
		}
		if after = page.LastID; !page.HasMore {
			return all.String()
		}
	}
}

// usageReader follows the usage of the organization default.
type usageReader struct {
	after   string
	seen    map[string]int    // records by the object that they pay for
	objects map[string]string // those objects by the IDs of records
	cost    accounts.Micros
}

func newUsageReader() *usageReader {
	return &usageReader{seen: map[string]int{}, objects: map[string]string{}}
}

// follow reads all that came after what was read before.
func (u *usageReader) follow(ctx context.Context, s *killable) error {
	for {
		var list struct {
			Data []struct {
				ID     string          `json:"id"`
				Object string          `json:"object_id"`
				Cost   accounts.Micros `json:"cost"`
			} `json:"data"`
			HasMore bool `json:"has_more"`
		}
		answer, status, err := call(ctx, s, testAdminKey, http.MethodGet, "/admin/v1/organizations/"+accounts.DefaultOrganization+"/usage?limit=500&after="+u.after, "", "", nil)
		if err == nil {
			err = json.Unmarshal(answer, &list)
		}
		if err != nil && status != 0 {
			return fmt.Errorf("usage: %w", err)
		}
		if err != nil {
			return err
		}
		for _, e := range list.Data {
			u.after = e.ID
			u.seen[e.Object]++
			u.objects[e.ID] = e.Object
			u.cost += e.Cost
		}
		if !list.HasMore {
			return nil
		}
	}
}

// check compares what was read with what was stored and with the balance.
func (u *usageReader) check(t *testing.T, s *killable, acked map[string]json.RawMessage, granted int) {
	for id := range acked {
		if u.seen[id] != 1 {
			t.Errorf("the response %s was paid for %d times", id, u.seen[id])
		}
	}
	for id, n := range u.seen {
		if n != 1 {
			t.Errorf("a reader met the payment for %s %d times", id, n)
		}
	}
	want := 1000*accounts.Dollar + accounts.Micros(granted) - u.cost
	if got := s.balance(t, want); got != want {
		t.Errorf("the balance is %s, want %s", got, want)
	}
}

// balance returns the balance of the organization default once it is what it is to
// be, or after a while: what other servers charged a server knows within a second.
func (s *killable) balance(t *testing.T, want accounts.Micros) accounts.Micros {
	var o struct{ Credits accounts.Micros }
	for end := time.Now().Add(patience); o.Credits != want && time.Now().Before(end); pause(t.Context(), 200*time.Millisecond) {
		answer, _, err := call(t.Context(), s, testAdminKey, http.MethodGet, "/admin/v1/organizations/"+accounts.DefaultOrganization, "", "", nil)
		if err := errors.Join(err, json.Unmarshal(answer, &o)); err != nil {
			t.Fatal(err)
		}
	}
	return o.Credits
}
