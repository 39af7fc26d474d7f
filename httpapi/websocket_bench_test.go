//go:build unix

package httpapi

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkTurn compares what a turn costs over a WebSocket and over HTTP, for
// clients that look for the last event. They take turns, so that what else the
// machine does is the same for both; cpu/http is the ratio of processor time.
func BenchmarkTurn(b *testing.B) {
	c := newClient(b, wordy{})
	conn := c.frames(b)
	var buffer []byte
	completed := []byte(`"response.completed"`)
	over := map[string]func(){
		"websocket": func() {
			check(b, conn.send(create(`"input":"Hi","store":false`)))
			for {
				var err error
				buffer, err = conn.next(buffer, true)
				check(b, err)
				if bytes.Contains(buffer[:min(len(buffer), 64)], completed) {
					return
				}
			}
		},
		"http": func() {
			req, err := http.NewRequest("POST", c.URL+"/v1/responses", strings.NewReader(`{"model":"svc-preview","input":"Hi","store":false,"stream":true}`))
			check(b, err)
			req.Header.Set("Authorization", "Bearer "+c.key)
			res, err := http.DefaultClient.Do(req)
			check(b, err)
			defer res.Body.Close()
			lines := bufio.NewScanner(res.Body)
			lines.Buffer(nil, 1<<20)
			last := false
			for lines.Scan() {
				if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
					last = bytes.Contains(data[:min(len(data), 64)], completed)
				}
			}
			check(b, lines.Err())
			if !last {
				b.Fatal("the stream has no end")
			}
		},
	}
	cpu := map[string]time.Duration{}
	for b.Loop() {
		for name, turn := range over {
			began := cpuTime(b)
			for range 20 {
				turn()
			}
			cpu[name] += cpuTime(b) - began
		}
	}
	for name, spent := range cpu {
		b.ReportMetric(float64(spent.Microseconds())/float64(20*b.N), "µs-cpu/"+name)
	}
	b.ReportMetric(float64(cpu["websocket"])/float64(cpu["http"]), "cpu/http")
}

// cpuTime is what the process has used of the processor.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
