//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestFailover has three servers on a PostgreSQL server with a synchronous standby,
// under a load of turns, streams, items, uploads, grants and revocations. The
// PostgreSQL server is killed, and after a while the standby takes over. Until then
// the servers are not ready, answer 503 and call no model; afterwards all is as
// TestReplicasKilled wants it.
func TestFailover(t *testing.T) {
	f := newFailover(t, true)
	f.run(func() { f.work(2 * time.Second) })
	f.check()
	for _, u := range f.uploads {
		if got := f.cluster.any().get(t, "/v1/files/"+u.id+"/content"); !bytes.Equal(got, u.content) {
			t.Errorf("the file %s has %d bytes, want the %d that were uploaded", u.id, len(got), len(u.content))
		}
	}
}

// TestFailoverThatLoses is TestFailover with a standby that has not got the last
// commits. What they wrote may be missing, and is missing whole; what is there is
// whole and was made from what is there.
func TestFailoverThatLoses(t *testing.T) {
	f := newFailover(t, false)
	var safe map[string]json.RawMessage
	f.run(func() {
		f.work(time.Second)
		f.workload.mu.Lock()
		safe = maps.Clone(f.acked)
		f.workload.mu.Unlock()
		f.pair.Hold()
		held := time.Now()
		f.until("a turn is made that will be lost", func() bool {
			for _, turn := range f.turns {
				if turn.begun.After(held) {
					return true
				}
			}
			return false
		})
		f.work(time.Second)
	})
	lost := 0
	for id, want := range f.acked {
		got, status, err := call(t.Context(), f.cluster.any(), killKey, http.MethodGet, "/v1/responses/"+id, "", "", nil)
		_, had := safe[id]
		switch {
		case status == http.StatusNotFound && !had && f.turns[id].begun.Before(f.promoted):
			lost++
		case err == nil && !had && f.turns[id].begun.Before(f.promoted) && isInterrupted(got):
			lost++ // its beginning is there
		case err != nil || string(got) != string(want):
			t.Errorf("response %s\ngot  %s (%v)\nwant %s", id, got, err, want)
		}
	}
	if lost == 0 {
		t.Error("the failover has lost no turn")
	}
	lostFiles := 0
	for _, u := range f.uploads {
		got, status, err := call(t.Context(), f.cluster.any(), killKey, http.MethodGet, "/v1/files/"+u.id+"/content", "", "", nil)
		switch {
		case status == http.StatusNotFound && u.begun.Before(f.promoted):
			lostFiles++
		case err != nil || !bytes.Equal(got, u.content):
			t.Errorf("the file %s has %d bytes (%v), want the %d that were uploaded", u.id, len(got), err, len(u.content))
		}
	}
	f.checkLedger()
	t.Logf("%d of %d turns and %d of %d files were lost", lost, len(f.acked), lostFiles, len(f.uploads))
}

// isInterrupted says whether a response is one whose end was lost: its process ends
// it anew a minute later at the latest.
func isInterrupted(response []byte) bool {
	var r struct{ Status string }
	return json.Unmarshal(response, &r) == nil && (r.Status == "in_progress" || r.Status == "failed")
}

// failover is a workload on servers whose database is replaced.
type failover struct {
	*workload
	pair  *pgtest.Pair
	exact bool // the standby has all that was committed
	model *scribe

	killed, promoted, ready time.Time

	mu       sync.Mutex
	outage   time.Time // when no server was ready any more
	turns    map[string]told
	attempts []attempt
	uploads  []sentFile
	kept     []string // conversations
	long     []string // turns in the background
}

// told is a turn that a client has the answer to.
type told struct {
	previous, conversation, said string // the response or the conversation that it continues from
	begun                        time.Time
}

// attempt is a request.
type attempt struct {
	said         string // what it has the model hear, where it does
	begun, ended time.Time
	status       int
}

// sentFile is a file that a client was told to be stored.
type sentFile struct {
	id      string
	content []byte
	begun   time.Time
}

func newFailover(t *testing.T, exact bool) *failover {
	f := &failover{pair: pgtest.NewPair(t, exact), exact: exact, model: newScribe(t), turns: map[string]told{}}
	f.workload = newWorkload(newCluster(t, 3, f.pair.URL, "-upstream", f.model.url))
	f.mayFail = f.orUnavailable
	t.Cleanup(func() {
		if t.Failed() {
			for i := range f.cluster.servers {
				t.Logf("server %d said\n%s", i, f.cluster.server(i).said.String())
			}
		}
	})
	return f
}

// codes are those of answers while there is no database.
var codes = []string{"service_unavailable", "storage_unavailable", "authorization_failed"}

// codeLost is that of a turn that was lost while it was made.
const codeLost = "response_not_found"

// orUnavailable reports whether an answer is one that a server may give whose
// database is away. Any other, or none, is a failure of the test.
func (f *failover) orUnavailable(ctx context.Context, status int, err error) bool {
	if status == http.StatusOK || ctx.Err() != nil {
		return true
	}
	allowed := codes
	if !f.exact {
		allowed = append(allowed, codeLost)
	}
	if status == http.StatusServiceUnavailable && slices.ContainsFunc(allowed, func(code string) bool {
		return strings.Contains(err.Error(), `"code":"`+code+`"`)
	}) {
		return true
	}
	if !f.exact && status == http.StatusNotFound {
		return true // what it asks for is lost
	}
	f.t.Errorf("status %d: %v", status, err)
	return false
}

// run has clients work, kills the database after before has returned, has the
// standby take over when every server has noticed, and lets the clients work on.
func (f *failover) run(before func()) {
	ctx, stop := context.WithCancel(f.t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	work := []func(context.Context){f.converse, f.converse, f.uploadSlowly, f.upload, f.follow, f.background, f.reread}
	if f.exact {
		work = append(work, f.onceEach, f.revoke, f.grant)
	}
	for i := range 4 {
		work = append(work, func(ctx context.Context) { f.chain(ctx, i%2 == 0) })
	}
	for _, client := range work {
		clients.Go(func() { client(ctx) })
	}
	f.waitForTurn(ctx)
	before()
	f.pair.Kill()
	f.killed = time.Now()
	f.untilReady(http.StatusServiceUnavailable)
	f.mu.Lock()
	f.outage = time.Now()
	f.mu.Unlock()
	f.until("requests come and go without a database", func() bool {
		return len(f.attempts) > 0 && f.attempts[len(f.attempts)-1].begun.After(f.outage.Add(time.Second))
	})
	f.checkOutage()
	f.promoted = time.Now()
	f.pair.Promote()
	f.untilReady(http.StatusOK)
	f.ready = time.Now()
	for range 3 {
		f.waitForTurn(ctx)
	}
	f.work(2 * time.Second)
	stop()
	clients.Wait()
	f.checkHistories()
	f.checkBackground()
	slowest := time.Duration(0)
	for _, a := range f.attempts {
		slowest = max(slowest, a.ended.Sub(a.begun))
	}
	f.t.Logf("not ready %v after the kill, ready %v after the standby was told to take over; %d requests, the slowest took %v; %d turns, %d uploads",
		f.outage.Sub(f.killed), f.ready.Sub(f.promoted), len(f.attempts), slowest, len(f.acked), len(f.uploads))
}

// work lets the clients go on for a time, which nothing waits for.
func (f *failover) work(d time.Duration) { pause(f.t.Context(), d) }

// until waits until something is so of what clients have noted.
func (f *failover) until(what string, so func() bool) {
	for end := time.Now().Add(patience); ; f.work(10 * time.Millisecond) {
		f.mu.Lock()
		is := so()
		f.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("it took %v until %s", patience, what)
		}
	}
}

// untilReady waits until /readyz of every server has a status.
func (f *failover) untilReady(want int) {
	for i := range f.cluster.servers {
		for end := time.Now().Add(patience); ; pause(f.t.Context(), 20*time.Millisecond) {
			_, status, err := call(f.t.Context(), f.cluster.server(i), "", http.MethodGet, "/readyz", "", "", nil)
			if status == want {
				break
			}
			if status != http.StatusOK && status != http.StatusServiceUnavailable || time.Now().After(end) {
				f.t.Fatalf("/readyz of server %d is %d: %v", i, status, err)
			}
		}
	}
}

// ask makes a request of any server and notes how it went.
func (f *failover) ask(ctx context.Context, method, path, said, kind string, body []byte) ([]byte, int, error) {
	begun := time.Now()
	answer, status, err := call(context.WithoutCancel(ctx), f.cluster.any(), killKey, method, path, "", kind, bytes.NewReader(body))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempts = append(f.attempts, attempt{said, begun, time.Now(), status})
	return answer, status, err
}

// turn makes a turn, streamed or not, and reports whether it was answered.
func (f *failover) turn(ctx context.Context, field, from string, stream bool) (id, conversation string, status int) {
	said, begun := "I say "+rand.Text(), time.Now()
	body := fmt.Sprintf(`{"model":"svc-preview","input":%q,"stream":%v`, said, stream)
	if from != "" {
		body += fmt.Sprintf(`,%q:%q`, field, from)
	}
	answer, status, err := f.ask(ctx, http.MethodPost, "/v1/responses", said, "application/json", []byte(body+"}"))
	if err == nil && stream {
		answer, err = lastResponse(answer)
		if err != nil {
			status = http.StatusServiceUnavailable
		}
	}
	if err != nil {
		if !f.mayFail(ctx, status, err) || status == http.StatusServiceUnavailable {
			pause(ctx, 20*time.Millisecond)
		}
		return "", "", status
	}
	if err := failureOf(answer); err != nil {
		f.mayFail(ctx, http.StatusServiceUnavailable, err)
		return "", "", http.StatusServiceUnavailable
	}
	id, conversation = f.ack(answer)
	f.mu.Lock()
	defer f.mu.Unlock()
	t := told{said: said, begun: begun}
	if field == "conversation" {
		t.conversation = from
	} else {
		t.previous = from
	}
	f.turns[id] = t
	return id, conversation, status
}

// lastResponse returns the response of the last event of a stream. The error is
// that of one that failed, or that the stream has no end.
func lastResponse(stream []byte) (json.RawMessage, error) {
	events := strings.Split(strings.TrimSpace(string(stream)), "\n\n")
	last := events[len(events)-1]
	for strings.HasPrefix(last, ":") { // a comment, behind a long silence
		_, last, _ = strings.Cut(last, "\n")
	}
	name, data, _ := strings.Cut(last, "\ndata: ")
	var event struct{ Response json.RawMessage }
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		return nil, fmt.Errorf("the stream ends with %q: %w", last, err)
	}
	if name != "event: response.completed" {
		return nil, errors.New(last)
	}
	return event.Response, nil
}

// chain makes turns that continue from one another.
func (f *failover) chain(ctx context.Context, stream bool) {
	for previous := ""; ctx.Err() == nil; {
		id, _, status := f.turn(ctx, "previous_response_id", previous, stream)
		if id != "" || status == http.StatusNotFound {
			previous = id
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// converse adds items to a conversation and makes turns that continue from it.
func (f *failover) converse(ctx context.Context) {
	for ctx.Err() == nil {
		var conversation struct{ ID string }
		answer, status, err := f.ask(ctx, http.MethodPost, "/v1/conversations", "", "application/json", []byte("{}"))
		if err != nil {
			f.mayFail(ctx, status, err)
			pause(ctx, 20*time.Millisecond)
			continue
		}
		if err := json.Unmarshal(answer, &conversation); err != nil {
			f.t.Error(err)
			return
		}
		f.mu.Lock()
		f.kept = append(f.kept, conversation.ID)
		f.mu.Unlock()
		for ctx.Err() == nil {
			_, status, err := f.ask(ctx, http.MethodPost, "/v1/conversations/"+conversation.ID+"/items", "", "application/json",
				[]byte(`{"items":[{"type":"message","role":"user","content":"I add `+rand.Text()+`"}]}`))
			if err != nil {
				f.mayFail(ctx, status, err)
			}
			if status == http.StatusNotFound {
				break
			}
			f.turn(ctx, "conversation", conversation.ID, false)
		}
	}
}

// uploadSlowly sends files of several transactions, bit by bit.
func (f *failover) uploadSlowly(ctx context.Context) {
	for ctx.Err() == nil {
		content := []byte(strings.Repeat(rand.Text()+"\n", 180_000))
		begun := time.Now()
		read, write := io.Pipe()
		form := multipart.NewWriter(write)
		var sending sync.WaitGroup
		sending.Go(func() {
			err := form.WriteField("purpose", "assistants")
			var part io.Writer
			if err == nil {
				part, err = form.CreatePart(map[string][]string{
					"Content-Disposition": {`form-data; name="file"; filename="a.txt"`}, "Content-Type": {"text/plain"},
				})
			}
			for piece := range slices.Chunk(content, 256<<10) {
				if err == nil {
					_, err = part.Write(piece)
					pause(context.Background(), 40*time.Millisecond)
				}
			}
			write.CloseWithError(errors.Join(err, form.Close())) // who reads has gone, or says what came of it
		})
		answer, status, err := call(context.WithoutCancel(ctx), f.cluster.any(), killKey, http.MethodPost, "/v1/files", "", form.FormDataContentType(), read)
		read.Close()
		sending.Wait()
		var file struct{ ID string }
		if err == nil {
			err = json.Unmarshal(answer, &file)
		}
		if err != nil {
			f.mayFail(ctx, status, err)
			pause(ctx, 50*time.Millisecond)
			continue
		}
		f.mu.Lock()
		f.uploads = append(f.uploads, sentFile{file.ID, content, begun})
		f.mu.Unlock()
	}
}

// background begins turns that take some seconds, whether or not anybody waits.
func (f *failover) background(ctx context.Context) {
	for range 8 {
		answer, status, err := f.ask(ctx, http.MethodPost, "/v1/responses", "", "application/json", []byte(`{"model":"svc-preview","input":"Be LONG.","background":true}`))
		if err != nil {
			f.mayFail(ctx, status, err)
		} else {
			var r struct{ ID string }
			if err := json.Unmarshal(answer, &r); err != nil {
				f.t.Error(err)
			}
			f.mu.Lock()
			f.long = append(f.long, r.ID)
			f.mu.Unlock()
		}
		pause(ctx, 500*time.Millisecond)
	}
}

// reread reads what was acknowledged.
func (f *failover) reread(ctx context.Context) {
	for ctx.Err() == nil {
		id := ""
		f.workload.mu.Lock()
		for id = range f.acked {
			break
		}
		f.workload.mu.Unlock()
		if id != "" {
			if _, status, err := f.ask(ctx, http.MethodGet, "/v1/responses/"+id, "", "", nil); err != nil {
				f.mayFail(ctx, status, err)
			}
		}
		pause(ctx, 30*time.Millisecond)
	}
}

// checkOutage looks at the requests that came and went while there was no database.
func (f *failover) checkOutage() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.attempts {
		if a.begun.Before(f.outage) {
			continue
		}
		if a.status != http.StatusServiceUnavailable {
			f.t.Errorf("a request without a database is answered with status %d", a.status)
		}
		if f.model.heard(a.said) != nil {
			f.t.Errorf("a model was called for %q without a database", a.said)
		}
	}
}

// checkHistories compares what the model heard with what is stored.
func (f *failover) checkHistories() {
	texts := map[string][]string{} // of conversations
	for _, id := range f.kept {
		_, status, err := call(f.t.Context(), f.cluster.any(), killKey, http.MethodGet, "/v1/conversations/"+id, "", "", nil)
		if status == http.StatusNotFound && !f.exact {
			continue
		}
		if err != nil {
			f.t.Fatal(err)
		}
		texts[id] = f.cluster.any().texts(f.t, id)
	}
	for id, turn := range f.turns {
		if !f.exact {
			if _, status, _ := call(f.t.Context(), f.cluster.any(), killKey, http.MethodGet, "/v1/responses/"+id, "", "", nil); status == http.StatusNotFound {
				continue
			}
		}
		var want []string
		if turn.conversation != "" {
			at := slices.Index(texts[turn.conversation], turn.said)
			want = texts[turn.conversation][:at+1]
		} else {
			for t := turn; ; t = f.turns[t.previous] {
				want = append(want, t.said)
				if t.previous == "" {
					break
				}
				want = append(want, echoOf(f.turns[t.previous].said))
			}
			slices.Reverse(want)
		}
		if got := f.model.heard(turn.said); !slices.Equal(got, want) {
			n := 0
			for n < min(len(got), len(want)) && got[n] == want[n] {
				n++
			}
			f.t.Errorf("to make %s the model heard %q behind %d items, and what is stored is %q", id, got[n:], n, want[n:])
		}
	}
}

// texts returns what was said in a conversation.
func (s *killable) texts(t *testing.T, conversation string) (all []string) {
	t.Helper()
	for after := ""; ; {
		var page struct {
			Data []struct {
				Content []struct{ Text string }
			}
			LastID  string `json:"last_id"`
			HasMore bool   `json:"has_more"`
		}
		if err := json.Unmarshal(s.get(t, "/v1/conversations/"+conversation+"/items?order=asc&limit=100&after="+after), &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Data {
			all = append(all, item.Content[0].Text)
		}
		if after = page.LastID; !page.HasMore {
			return all
		}
	}
}

// checkBackground looks at the turns in the background: each has ended, and its
// events are the same from each number on, whoever is asked.
func (f *failover) checkBackground() {
	restarted := time.Now()
	for _, id := range f.long {
		s := f.cluster.any()
		if _, status, _ := call(f.t.Context(), s, killKey, http.MethodGet, "/v1/responses/"+id, "", "", nil); status == http.StatusNotFound && !f.exact {
			continue
		}
		status := s.ended(f.t, id, restarted)
		s.checkTails(f.t, id, status)
		if status != "completed" && f.exact && f.ready.Sub(f.killed) < 10*time.Second {
			f.t.Errorf("the turn %s in the background is %s", id, status)
		}
	}
}

// checkLedger compares what the servers say of the ledger with each other, and with
// what a reader met that followed it all the time.
func (f *failover) checkLedger() {
	t := f.t
	all := newUsageReader()
	if err := errors.Join(f.reader.follow(t.Context(), f.cluster.any()), all.follow(t.Context(), f.cluster.any())); err != nil {
		t.Fatal(err)
	}
	for object, n := range all.seen {
		if n != 1 {
			t.Errorf("%s was paid for %d times", object, n)
		}
		if f.reader.seen[object] == 0 {
			t.Errorf("a reader that follows has not met the payment for %s", object)
		}
	}
	for id, object := range all.objects {
		if met, ok := f.reader.objects[id]; ok && met != object {
			t.Errorf("the entry %s is of %s, and a reader met it as one of %s", id, object, met)
		}
	}
	for id, turn := range f.turns {
		if turn.begun.After(f.promoted) && all.seen[id] != 1 {
			t.Errorf("the response %s was paid for %d times", id, all.seen[id])
		}
	}
	want := 1000*accounts.Dollar - all.cost
	for i := range f.cluster.servers {
		if got := f.cluster.server(i).balance(t, want); got != want {
			t.Errorf("the balance is %s at server %d, want %s", got, i, want)
		}
	}
}

// echoOf is what the model answers.
func echoOf(said string) string { return "You say: " + said }

// scribe is a model server that notes what it hears.
type scribe struct {
	url string

	mu    sync.Mutex
	calls map[string][]string // what it heard, by what was said last
}

func newScribe(t *testing.T) *scribe {
	s := &scribe{calls: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL + "/v1"
	return s
}

// heard returns what came before the answer to something, and that, or nil.
func (s *scribe) heard(said string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[said]
}

func (s *scribe) serve(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) == 0 {
		http.NotFound(w, r)
		return
	}
	var texts []string
	for _, m := range request.Messages {
		texts = append(texts, m.Content)
	}
	said := texts[len(texts)-1]
	s.mu.Lock()
	s.calls[said] = texts
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	pieces := []string{echoOf(said)}
	if strings.Contains(said, "LONG") {
		pieces = strings.SplitAfter(strings.Repeat("word after word ", 40), " ")
	}
	for _, piece := range pieces {
		pause(r.Context(), time.Duration(20+mathrand.IntN(60))*time.Millisecond)
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", piece)
		w.(http.Flusher).Flush()
	}
	io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n")
}
