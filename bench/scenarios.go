package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	many     = 2000 // chunks of an answer at full speed
	few      = 200  // chunks that come alone
	turns    = 200  // of a chain
	early    = 10   // the turn of a chain that a late one is compared with
	late     = 1000 // which
	streams  = 3000 // that are open at once
	question = 16   // of a decision
)

// scenarios are what is measured, in the order it is printed.
var scenarios = []scenario{
	{name: "chat", calls: 200, units: 1, aim: 2.0, svcd: ours(chat("chunks=20", false)), other: theirs(chat("chunks=20", false))},
	{name: "chat, 500 tokens whole", calls: 50, units: 1, aim: 2.5, svcd: ours(chat("chunks=500", false)), other: theirs(chat("chunks=500", false))},
	{name: "chunk at full speed", calls: 5, units: many, aim: 1.5, svcd: ours(chat(atOnce, true)), other: theirs(chat(atOnce, true))},
	{name: "chunk alone", calls: 3, units: few, aim: 1.3, svcd: ours(chat(oneByOne, true)), other: theirs(chat(oneByOne, true))},
	{name: "stored response", calls: 100, units: 1, aim: 3.0, svcd: ours(respond("chunks=20", false)), other: theirs(chat("chunks=20", false))},
	{name: "stored chunk", calls: 5, units: many, aim: 2.5, svcd: ours(respond(atOnce, true)), other: theirs(chat(atOnce, true))},
	{name: "message, against chat", calls: 200, units: 1, aim: 1.1, svcd: ours(message("chunks=20", false)), other: ours(unstored("chunks=20", false)), itself: true},
	{name: "its chunk, against chat's", calls: 5, units: many, aim: 1.15, svcd: ours(message(atOnce, true)), other: ours(unstored(atOnce, true)), itself: true},
	{name: "turn 200 of a chain", calls: 10, units: 1, aim: 2.0, svcd: chained(turns), other: resent(turns)},
	{name: "16 questions", calls: 20, units: 1, svcd: ours(decide), other: bareCalls, beyond: 300, besides: "16 bare calls"},
}

// The orders of the answers that are streamed.
var (
	atOnce   = fmt.Sprintf("chunks=%d", many)
	oneByOne = fmt.Sprintf("chunks=%d pause=1ms", few)
)

// request is a call of the interface.
type request struct{ path, body string }

func chat(order string, streamed bool) request {
	return request{"/v1/chat/completions", fmt.Sprintf(`{"model":"svc-preview","messages":[{"role":"user","content":%q}],"stream":%t}`, order, streamed)}
}

// unstored is a chat as a message is: nothing is stored.
func unstored(order string, streamed bool) request {
	r := chat(order, streamed)
	r.body = `{"store":false,` + r.body[1:]
	return r
}

func message(order string, streamed bool) request {
	return request{"/v1/messages", fmt.Sprintf(`{"model":"svc-preview","max_tokens":100000,"messages":[{"role":"user","content":%q}],"stream":%t}`, order, streamed)}
}

func respond(order string, streamed bool) request {
	return request{"/v1/responses", fmt.Sprintf(`{"model":"svc-preview","input":%q,"stream":%t}`, order, streamed)}
}

// decide is a decision with sixteen questions.
var decide = func() request {
	var questions []string
	for i := range question {
		questions = append(questions, fmt.Sprintf(`"q%d":{"type":"choice","instructions":"Question %d?","criteria":{"one":null,"two":null}}`, i, i))
	}
	return request{"/v1/systemone", `{"model":"svc-snap-preview","state":"` + strings.Repeat("Some state. ", 100) + `","questions":{` + strings.Join(questions, ",") + `}}`}
}()

// client keeps its connections, so that they cost nothing here.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams + 1}}

// post makes a call and reads the whole answer.
func post(url, key string, r request) ([]byte, error) {
	req, err := http.NewRequest("POST", url+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	body, err := do(req, key)
	if err == nil && bytes.Contains(body, []byte("response.failed")) {
		err = fmt.Errorf("%s: %.500s", r.path, body)
	}
	return body, err
}

// get is post without a body.
func get(url, key string) ([]byte, error) {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return nil, err
	}
	return do(req, key)
}

// do makes a call that must succeed and reads the whole answer.
func do(req *http.Request, key string) ([]byte, error) {
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", req.URL.Path, res.StatusCode, body)
	}
	return body, err
}

func ours(r request) func(*bench) (func() error, error) {
	return func(b *bench) (func() error, error) {
		return func() error {
			_, err := post(b.svcd.url, b.key, r)
			return err
		}, nil
	}
}

func theirs(r request) func(*bench) (func() error, error) {
	return func(b *bench) (func() error, error) {
		return func() error {
			_, err := post(b.proxy.url, "", r)
			return err
		}, nil
	}
}

// said is what each turn of a chain says.
const said = "What came of the order that I asked about? chunks=20"

// chained makes a chain of turns and returns a call that continues its end, each
// time from the same turn.
func chained(turns int) func(*bench) (func() error, error) {
	return func(b *bench) (func() error, error) {
		previous := ""
		turn := func() (string, error) {
			body, err := post(b.svcd.url, b.key, request{"/v1/responses", fmt.Sprintf(`{"model":"svc-preview","input":%q%s}`, said, previous)})
			if err != nil {
				return "", err
			}
			var r struct {
				ID string `json:"id"`
			}
			err = json.Unmarshal(body, &r)
			return r.ID, err
		}
		for range b.fewer(turns) - 1 {
			id, err := turn()
			if err != nil {
				return nil, err
			}
			previous = fmt.Sprintf(`,"previous_response_id":%q`, id)
		}
		return func() error {
			_, err := turn()
			return err
		}, nil
	}
}

// resent is the same turn by a client that sends the history each time.
func resent(turns int) func(*bench) (func() error, error) {
	return func(b *bench) (func() error, error) { return theirs(b.history(turns))(b) }
}

// history is a request with what a turn of a chain sends its model.
func (b *bench) history(turns int) request {
	var messages []string
	for range b.fewer(turns) - 1 {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q},{"role":"assistant","content":%q}`, said, strings.Repeat("word ", 20)))
	}
	messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, said))
	return request{"/v1/chat/completions", `{"model":"svc-preview","messages":[` + strings.Join(messages, ",") + `]}`}
}

// fewer is how many turns a chain has with the one that is measured.
func (b *bench) fewer(turns int) int {
	if b.short {
		return max(turns/10, 2)
	}
	return turns
}

// longChain measures a late turn of a chain beside an early one. What sending the
// longer history costs is taken out: how much more it costs a client to send the
// model server the one prompt than the other.
func (b *bench) longChain() error {
	calls := 20
	if b.short {
		calls = 2
	}
	measured := [...]struct {
		of   *process
		make func(*bench) (func() error, error)
	}{
		{b.svcd, chained(early)}, {b.svcd, chained(late)},
		{b.self, bare(b.history(early))}, {b.self, bare(b.history(late))},
	}
	var costs [len(measured)][]float64
	var makes [len(measured)]func() error
	for i, m := range measured {
		call, err := m.make(b)
		if err != nil {
			return err
		}
		makes[i] = call
	}
	var ratios []float64
	for round := range b.rounds + 1 {
		var cost [len(measured)]float64
		for i, m := range measured {
			var err error
			if cost[i], err = m.of.costOf(calls, makes[i]); err != nil {
				return err
			}
		}
		if round == 0 { // it warms up
			continue
		}
		for i := range cost {
			costs[i] = append(costs[i], cost[i])
		}
		ratios = append(ratios, (cost[1]-cost[3]+cost[2])/cost[0])
	}
	fmt.Printf("%-28s %9.1f us %9.1f us %8.2f %8s   the tenth beside it; %.1f us more for what is sent\n", "turn 1,000 of a chain",
		median(costs[1]), median(costs[0]), median(ratios), aim(1.2), median(costs[3])-median(costs[2]))
	return nil
}

// bareCalls are what a decision with sixteen questions asks of a model server,
// without anybody between.
func bareCalls(b *bench) (func() error, error) {
	r := request{"/v1/chat/completions", `{"model":"double","max_tokens":1,"logprobs":true,"top_logprobs":20,"messages":[{"role":"system","content":"` +
		strings.Repeat("Some state. ", 100) + `"},{"role":"user","content":"Question?"}]}`}
	return func() error {
		for range question {
			if _, err := post(b.double.url, "", r); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// bare makes a call of the model server, without anybody between.
func bare(r request) func(*bench) (func() error, error) {
	return func(b *bench) (func() error, error) {
		return func() error {
			_, err := post(b.double.url, "", r)
			return err
		}, nil
	}
}

// openStreams measures what a stream holds while its model is slow.
func (b *bench) openStreams() error {
	n := streams
	if b.short {
		n = 100
	}
	before := b.svcd.resident()
	var wg sync.WaitGroup
	failed := make(chan error, n)
	began := make(chan struct{}, n)
	for range n {
		wg.Go(func() { failed <- b.openStream(began) })
		time.Sleep(time.Millisecond)
	}
	for range n {
		select {
		case <-began:
		case <-time.After(time.Minute):
			return fmt.Errorf("not all streams have begun after a minute")
		}
	}
	time.Sleep(settle)
	each := float64(b.svcd.resident()-before) / float64(n) / 1024
	fmt.Printf("%-28s %9.1f KB %12s %8s %8s   of %d\n", "open stream", each, "", "", "40 KB", n)
	wg.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// openStream follows an answer that takes half a minute.
func (b *bench) openStream(began chan<- struct{}) error {
	r := chat("chunks=10 pause=5s", true)
	req, err := http.NewRequest("POST", b.svcd.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+b.key)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body) // what there is of it
		return fmt.Errorf("a stream: %d %s", res.StatusCode, body)
	}
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		return err
	}
	began <- struct{}{}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
