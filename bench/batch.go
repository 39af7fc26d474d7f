package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// batchServer is an svcd of its own before the model server, whose places are few, so
// that batches have to take what others leave.
func (b *bench) batchServer(dir, program, modelServer string, places int) (*bench, error) {
	dir, err := os.MkdirTemp(dir, "batch")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "config.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{
	  "servers": {"double": {"url": %q, "concurrency": %d}},
	  "models": [
	    {"id": "svc-preview", "generates": true, "context_window": 393216, "targets": [{"server": "double", "model": "double"}]},
	    {"id": "svc-snap-preview", "decides": "labels", "context_window": 393216, "targets": [{"server": "double", "model": "double"}]}
	  ]}`, modelServer, places), 0o600); err != nil {
		return nil, err
	}
	p, said, err := start(filepath.Join(dir, "svcd.log"), svcdSays, program,
		"-addr", "127.0.0.1:0", "-data", filepath.Join(dir, "data"), "-config", config, "-admin-key", adminKey)
	if err != nil {
		return nil, err
	}
	return &bench{svcd: p, key: said[2], rounds: b.rounds, short: b.short}, nil
}

// batches measures batches: what a line costs, how much memory many lines take, what
// others notice of them, and how much of their prompts a model server computes.
func (b *bench) batches(dir, program string) error {
	for _, measure := range []func(string, string) error{b.costOfLines, b.memoryOfBatch, b.besideBatch, b.promptsOfBatch} {
		if err := measure(dir, program); err != nil {
			return err
		}
	}
	return nil
}

// lines is a file of a request that is made n times.
func lines(n int, r request) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `{"custom_id":"%d","method":"POST","url":%q,"body":%s}`+"\n", i, r.path, r.body)
	}
	return all.String()
}

// batch is what is read of one.
type batch struct {
	ID     string
	Status string
	Errors any
	Counts struct{ Total, Completed, Failed int } `json:"request_counts"`
}

// submit uploads the lines of a batch to a path and makes it.
func (b *bench) submit(key, path, lines string) (id string, err error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("purpose", "batch"); err != nil {
		return "", err
	}
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="in.jsonl"`}, "Content-Type": {"application/jsonl"}})
	if err != nil {
		return "", err
	}
	if _, err := part.Write([]byte(lines)); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	req, err := http.NewRequest("POST", b.svcd.url+"/v1/files", &form)
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	answer, err := do(req, key)
	if err != nil {
		return "", err
	}
	var made batch
	if err := json.Unmarshal(answer, &made); err != nil {
		return "", err
	}
	answer, err = post(b.svcd.url, key, request{"/v1/batches", fmt.Sprintf(`{"input_file_id":%q,"endpoint":%q,"completion_window":"24h"}`, made.ID, path)})
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	return made.ID, err
}

// await waits until a batch has ended, and calls a function meanwhile.
func (b *bench) await(key, id string, meanwhile func()) error {
	for {
		answer, err := get(b.svcd.url+"/v1/batches/"+id, key)
		if err != nil {
			return err
		}
		var now batch
		if err := json.Unmarshal(answer, &now); err != nil {
			return err
		}
		switch now.Status {
		case "completed":
			if now.Counts.Completed != now.Counts.Total {
				return fmt.Errorf("batch %s: %d of %d lines failed", id, now.Counts.Failed, now.Counts.Total)
			}
			return nil
		case "failed", "expired", "cancelled":
			return fmt.Errorf("batch %s is %s: %v", id, now.Status, now.Errors)
		}
		meanwhile()
		time.Sleep(200 * time.Millisecond)
	}
}

// costOfLines measures what a line costs, all of its batch included, beside the same
// request over HTTP.
func (b *bench) costOfLines(dir, program string) error {
	of, err := b.batchServer(dir, program, b.double.url+"/v1", 16)
	if err != nil {
		return err
	}
	defer of.stop()
	n := 2000
	if b.short {
		n = 100
	}
	for _, r := range []struct {
		name string
		request
	}{{"line of Chat", chat("chunks=20", false)}, {"line of Responses, stored", respond("chunks=20", false)}, {"line of Decisions", oneQuestion("state", "Question?")}} {
		var inBatch, overHTTP []float64
		for round := range b.rounds/2 + 1 {
			line, err := of.svcd.costOf(1, func() error {
				id, err := of.submit(of.key, r.path, lines(n, r.request))
				if err != nil {
					return err
				}
				return of.await(of.key, id, func() {})
			})
			if err != nil {
				return err
			}
			call, err := of.svcd.costOf(n, func() error { _, err := post(of.svcd.url, of.key, r.request); return err })
			if err != nil {
				return err
			}
			if round > 0 { // the first warms up
				inBatch, overHTTP = append(inBatch, line/float64(n)), append(overHTTP, call)
			}
		}
		ours, theirs := median(inBatch), median(overHTTP)
		fmt.Printf("%-28s %9.1f us %9.1f us %8.2f %8s   beside the request over HTTP\n", r.name, ours, theirs, ours/theirs, aim(1.1))
	}
	return nil
}

// memoryOfBatch measures how much more memory svcd has at most while it runs a batch of
// the most lines than before, without the files of the store that it maps.
func (b *bench) memoryOfBatch(dir, program string) error {
	of, err := b.batchServer(dir, program, b.double.url+"/v1", 16)
	if err != nil {
		return err
	}
	defer of.stop()
	r, n := chat("chunks=20", false), 50_000
	if b.short {
		n = 1000
	}
	for range 50 {
		if _, err := post(of.svcd.url, of.key, r); err != nil {
			return err
		}
	}
	time.Sleep(time.Second)
	idle := of.svcd.anonymous()
	id, err := of.submit(of.key, r.path, lines(n, r))
	if err != nil {
		return err
	}
	most := of.svcd.anonymous()
	if err := of.await(of.key, id, func() { most = max(most, of.svcd.anonymous()) }); err != nil {
		return err
	}
	fmt.Printf("%-28s %9d MB %9d MB %8d %8d   MB beside idle, %d lines\n", "memory of a batch", most>>20, idle>>20, (most-idle)>>20, 100, n)
	return nil
}

// besideBatch measures how long requests of one organization take while another one's
// batch uses the same model server, and without it.
func (b *bench) besideBatch(dir, program string) error {
	of, err := b.batchServer(dir, program, b.double.url+"/v1", 16)
	if err != nil {
		return err
	}
	defer of.stop()
	other, err := of.newKey("night")
	if err != nil {
		return err
	}
	n := 10_000
	if b.short {
		n = 200
	}
	r := chat("chunks=1 pause=50ms", false)
	if _, err := of.latencies(r, 100); err != nil { // warms up
		return err
	}
	var alone, beside []float64
	id, err := of.submit(other, r.path, lines(n, r))
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- of.await(other, id, func() {}) }()
	for running := true; running; {
		found, err := of.latencies(r, 20)
		if err != nil {
			return err
		}
		select {
		case err := <-ended:
			if running = false; err != nil {
				return err
			}
		default:
			beside = append(beside, found...)
		}
	}
	for len(alone) < len(beside) {
		found, err := of.latencies(r, 20)
		if err != nil {
			return err
		}
		alone = append(alone, found...)
	}
	slices.Sort(alone)
	slices.Sort(beside)
	for _, percent := range []int{50, 95, 99} {
		fmt.Printf("%-28s %9.1f ms %9.1f ms %8.3f %8s   beside no batch, %d requests, %d lines\n", fmt.Sprintf("p%d beside a batch", percent),
			at(beside, percent), at(alone, percent), at(beside, percent)/at(alone, percent), "1.05", len(beside), n)
	}
	return nil
}

// latencies makes a request with four clients, and returns how long each call took in
// milliseconds.
func (b *bench) latencies(r request, each int) ([]float64, error) {
	times := make([]float64, 4*each)
	failed := make(chan error, 4)
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			for i := range each {
				began := time.Now()
				if _, err := post(b.svcd.url, b.key, r); err != nil {
					failed <- err
					return
				}
				times[n*each+i] = float64(time.Since(began)) / float64(time.Millisecond)
			}
		})
	}
	group.Wait()
	close(failed)
	return times, <-failed
}

// oneQuestion is a decision with one question about a state.
func oneQuestion(state, question string) request {
	return request{"/v1/systemone", fmt.Sprintf(`{"model":"svc-snap-preview","state":%q,"questions":{"q":{"type":"choice","instructions":%q,"criteria":{"one":null,"two":null}}}}`, state, question)}
}

// promptsOfBatch measures how many tokens of prompts a model server with four places
// computes, each of which remembers its last prompt, for 1,000 questions about ten
// states: as they stand in the file, and in random order.
func (b *bench) promptsOfBatch(dir, program string) error {
	of, err := b.batchServer(dir, program, b.double.url+"/cached/v1", cachePlaces)
	if err != nil {
		return err
	}
	defer of.stop()
	const states = 10
	each := 100
	if b.short {
		each = 20
	}
	var all []string
	for state := range states {
		text := strings.Repeat(fmt.Sprintf("State %d says something. ", state), 320)
		for i := range each {
			all = append(all, lines(1, oneQuestion(text, fmt.Sprintf("Is it question %d?", i))))
		}
	}
	var counts []cacheCounts
	for _, shuffle := range []bool{false, true} {
		if shuffle {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		var file strings.Builder
		for i, line := range all {
			file.WriteString(strings.Replace(line, `"custom_id":"0"`, fmt.Sprintf(`"custom_id":"%d"`, i), 1))
		}
		if _, err := get(b.double.url+"/cached", ""); err != nil { // begins anew
			return err
		}
		id, err := of.submit(of.key, "/v1/systemone", file.String())
		if err == nil {
			err = of.await(of.key, id, func() {})
		}
		if err != nil {
			return err
		}
		answer, err := get(b.double.url+"/cached", "")
		if err != nil {
			return err
		}
		var c cacheCounts
		if err := json.Unmarshal(answer, &c); err != nil {
			return err
		}
		counts = append(counts, c)
	}
	inOrder, random := counts[0], counts[1]
	fmt.Printf("%-28s %12d %12d %8.2f %8s   tokens computed beside random order, of %d, %d questions about %d states\n", "prompts in order",
		inOrder.Computed, random.Computed, float64(inOrder.Computed)/float64(random.Computed), "", inOrder.Prompt, len(all), states)
	return nil
}
