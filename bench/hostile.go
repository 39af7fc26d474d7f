package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// hostileLoad is what one organization does to the process that others use.
type hostileLoad struct {
	name string
	run  func(ctx context.Context, b *bench, key string)
}

var hostileLoads = []hostileLoad{
	{"60 fast unread streams", unreadStreams(60)},
	{"3,000 slow streams being opened", slowStreams(3000)},
	{"8 clients with debiased decisions", repeatedly(8, debiased())},
	{"4 clients with bodies of 15 MiB", repeatedly(4, largeBody())},
	{"8 clients with schemas", repeatedly(8, expandingSchema())},
}

// hostile measures the turns of one organization alone and beside each load of
// another one. Alone is measured before each load, so that both see the same noise.
func (b *bench) hostile() error {
	victim, err := b.newKey("victim")
	if err != nil {
		return err
	}
	turns := 60
	if b.short {
		turns = 20
	}
	fmt.Printf("%-36s %10s %10s %10s %10s %7s %7s %9s\n", "beside", "alone p50", "p99", "p50", "p99", "x p50", "x p99", "RSS MB")
	for _, load := range hostileLoads {
		hostile, err := b.newKey("hostile")
		if err != nil {
			return err
		}
		alone, err := b.turnTimes(victim, turns)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		var group sync.WaitGroup
		group.Go(func() { load.run(ctx, b, hostile) })
		time.Sleep(3 * time.Second) // until it is in full swing
		beside, err := b.turnTimes(victim, turns)
		memory := b.svcd.resident() >> 20
		cancel()
		group.Wait()
		if err != nil {
			return fmt.Errorf("%s: %w", load.name, err)
		}
		fmt.Printf("%-36s %8.0f ms %7.0f ms %7.0f ms %7.0f ms %7.1f %7.1f %9d\n", load.name, at(alone, 50), at(alone, 99), at(beside, 50), at(beside, 99),
			at(beside, 50)/at(alone, 50), at(beside, 99)/at(alone, 99), memory)
	}
	return nil
}

// turnTimes makes turns with two clients and returns how long each took, in
// milliseconds and in order.
func (b *bench) turnTimes(key string, turns int) ([]float64, error) {
	times := make([]float64, 2*turns)
	failed := make(chan error, 2)
	var group sync.WaitGroup
	for n := range 2 {
		group.Go(func() {
			for i := range turns {
				began := time.Now()
				if _, err := post(b.svcd.url, key, respond("chunks=20", false)); err != nil {
					failed <- err
					return
				}
				times[n*turns+i] = float64(time.Since(began)) / float64(time.Millisecond)
			}
		})
	}
	group.Wait()
	close(failed)
	slices.Sort(times)
	return times, <-failed
}

// at is a percentile of sorted times.
func at(times []float64, percent int) float64 { return times[(len(times)-1)*percent/100] }

// newKey makes an organization and a key of it.
func (b *bench) newKey(name string) (string, error) {
	var organization struct{ ID string }
	if err := b.administer("/admin/v1/organizations", map[string]string{"name": name, "credits": "100000"}, &organization); err != nil {
		return "", err
	}
	var key struct{ Key string }
	err := b.administer("/admin/v1/api_keys", map[string]string{"organization_id": organization.ID}, &key)
	return key.Key, err
}

func (b *bench) administer(path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	data, err = post(b.svcd.url, adminKey, request{path, string(data)})
	if err != nil {
		return err
	}
	return json.Unmarshal(data, answer)
}

// unreadStreams opens streams of a model that never pauses, and reads nothing.
func unreadStreams(n int) func(context.Context, *bench, string) {
	return func(ctx context.Context, b *bench, key string) {
		host, err := url.Parse(b.svcd.url)
		if err != nil {
			panic(err) // it was dialled before
		}
		for i := range n {
			conn, err := net.Dial("tcp", host.Host)
			if err != nil {
				fmt.Println(err)
				return
			}
			defer conn.Close()
			r := chat("chunks=100000000 size=16384", true)
			if i%2 == 1 {
				r = respond("chunks=100000000 size=16384", true)
			}
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", r.path, key, len(r.body), r.body)
		}
		<-ctx.Done()
	}
}

// slowStreams opens streams of a slow model, 32 at a time, until there are n.
func slowStreams(n int) func(context.Context, *bench, string) {
	return func(ctx context.Context, b *bench, key string) {
		opening := make(chan struct{}, 32)
		var group sync.WaitGroup
		for range n {
			select {
			case opening <- struct{}{}:
			case <-ctx.Done():
				group.Wait()
				return
			}
			group.Go(func() {
				res := send(ctx, b, key, chat("chunks=1000 pause=1s", true))
				<-opening
				if res != nil {
					_, _ = io.Copy(io.Discard, res.Body) // it ends with ctx
					res.Body.Close()
				}
			})
		}
		group.Wait()
	}
}

// repeatedly has clients make a request again and again; that it is refused is no
// error.
func repeatedly(clients int, r request) func(context.Context, *bench, string) {
	return func(ctx context.Context, b *bench, key string) {
		var group sync.WaitGroup
		for range clients {
			group.Go(func() {
				for ctx.Err() == nil {
					if res := send(ctx, b, key, r); res != nil {
						_, _ = io.Copy(io.Discard, res.Body) // what it answers does not matter
						res.Body.Close()
					}
				}
			})
		}
		group.Wait()
	}
}

// send returns the answer to a request, nil where there is none.
func send(ctx context.Context, b *bench, key string, r request) *http.Response {
	req, err := http.NewRequestWithContext(ctx, "POST", b.svcd.url+r.path, strings.NewReader(r.body))
	if err != nil {
		panic(err) // the URL is one that was asked before
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := client.Do(req)
	if err != nil {
		return nil
	}
	return res
}

// debiased is a decision with many options, asked in several orders.
func debiased() request {
	var options []string
	for i := range 20 {
		options = append(options, fmt.Sprintf(`"option_%d":"What is meant by option %d."`, i, i))
	}
	return request{"/v1/systemone", `{"model":"svc-snap-preview","debias":16,"state":"` + strings.Repeat("Some state. ", 1000) +
		`","questions":{"q":{"type":"choice","instructions":"Which?","criteria":{` + strings.Join(options, ",") + `}}}}`}
}

// largeBody is a chat of many short messages.
func largeBody() request {
	const message = `{"role":"user","content":[{"type":"text","text":"word"}]},`
	return request{"/v1/chat/completions", `{"model":"svc-preview","messages":[` + strings.Repeat(message, 15<<20/len(message)) + `{"role":"user","content":"chunks=1"}]}`}
}

// expandingSchema asks for an answer by a small schema that is large when its
// references are written out.
func expandingSchema() request {
	const levels = 14
	var defs strings.Builder
	for i := range levels {
		fmt.Fprintf(&defs, `"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]},`, i, i+1, i+1)
	}
	schema := fmt.Sprintf(`{"$ref":"#/$defs/l0","$defs":{%s"l%d":{"type":"object"}}}`, &defs, levels)
	return request{"/v1/responses", `{"model":"svc-preview","input":"chunks=1","store":false,"text":{"format":{"type":"json_schema","name":"s","schema":` + schema + `}}}`}
}
