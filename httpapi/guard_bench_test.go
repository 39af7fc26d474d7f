//go:build unix

package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/model/openai"
)

// TestCallsOfAGuardedTurn counts the calls of the judge beside the model's own: one
// where only the input is judged, and two with the output.
//
//	go test ./httpapi -run TestCallsOfAGuardedTurn -v
func TestCallsOfAGuardedTurn(t *testing.T) {
	for stage, want := range map[guard.Stage]int{guard.Input: 1, guard.Output: 1, guard.Both: 2} {
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":"svc-preview","stream":%v,"messages":[{"role":"user","content":"Hi"}]}`,
			"/v1/responses":        `{"model":"svc-preview","stream":%v,"input":"Hi"}`,
		} {
			for _, stream := range []bool{false, true} {
				is := is.New(t)
				a := newTurnsOver(t, judging(modeltest.Text("Hello ", "there.")), options{
					policies: map[string]guard.Policy{"p": policy(stage, "SECRET"), "q": policy(stage, "RUDE")}, defaults: []string{"p", "q"}})
				is.Equal(a.do("POST", path, fmt.Sprintf(body, stream)).status, 200)
				is.Equal(a.decisions(t), want)
				t.Logf("%-20s stream %-5v policies on %-6s: %d calls of the judge, %d of the model", path, stream, stage, a.decisions(t), a.generations())
			}
		}
	}
}

// The benchmarks compare a chat with policies on its input with one without: the CPU time
// of this process, with a double of a model server in a process of its own, and the time
// until the answer has come where the double takes its time over decisions.
//
//	go test ./httpapi -run '^$' -bench Guarded -benchtime 2000x
//	go test ./httpapi -run '^$' -bench FirstByte -benchtime 100x

// guardDoubleEnv is set in the process with the double: how long decisions take.
const guardDoubleEnv = "SVC_GUARD_DOUBLE"

// TestGuardDouble is the double.
func TestGuardDouble(t *testing.T) {
	takes, err := time.ParseDuration(os.Getenv(guardDoubleEnv))
	if err != nil {
		t.Skip("it is a process of the benchmarks")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	fmt.Printf("listens %s\n", listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin) // until the benchmark ends
		os.Exit(0)
	}()
	http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/systemone") {
			io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Bern."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":2,"total_tokens":22}}`)
			return
		}
		time.Sleep(takes)
		var asked struct {
			Questions map[string]json.RawMessage `json:"questions"`
		}
		if json.Unmarshal(body, &asked) != nil {
			return
		}
		var answers []string
		for name := range asked.Questions {
			answers = append(answers, fmt.Sprintf(`%q:{"type":"noul","noul":0.01}`, name))
		}
		fmt.Fprintf(w, `{"model":"m","answers":{%s},"usage":{"input_tokens":20,"output_tokens":0}}`, strings.Join(answers, ","))
	}))
}

// guardDouble starts the double and returns its URL.
func guardDouble(b *testing.B, takes time.Duration) string {
	command := exec.Command(os.Args[0], "-test.run=^TestGuardDouble$", "-test.v")
	command.Env = append(os.Environ(), guardDoubleEnv+"="+takes.String())
	stdin, err := command.StdinPipe()
	must(b, err)
	stdout, err := command.StdoutPipe()
	must(b, err)
	must(b, command.Start())
	b.Cleanup(func() {
		stdin.Close()
		command.Wait() // it was told to end
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "listens "); ok {
			go io.Copy(io.Discard, stdout)
			return "http://" + address + "/v1"
		}
	}
	b.Fatal("the double did not start")
	return ""
}

// guardAPI returns what sends a chat to an interface before the double, with policies on
// the stage or none.
func guardAPI(b *testing.B, double string, stage guard.Stage) (chat func()) {
	server := &openai.Server{URL: double}
	backend, err := openai.New(openai.Options{Models: []openai.Model{
		{Info: model.Info{ID: model.DefaultGenerator, Generates: true}, Targets: []openai.Target{{Server: server, Model: "m"}}},
		{Info: model.Info{ID: model.DefaultDecider, Decides: true}, Decides: openai.SystemOne, Targets: []openai.Target{{Server: server, Model: "m"}}},
	}})
	must(b, err)
	b.Cleanup(func() { backend.Close() })
	options := svc.Options{Backend: backend, Logger: slog.New(slog.DiscardHandler)}
	if stage != "" {
		options.Policies = map[string]guard.Policy{"p": policy(stage, "SECRET")}
		options.DefaultPolicies = []string{"p"}
	}
	service, err := svc.New(b.Context(), options)
	must(b, err)
	b.Cleanup(func() { must(b, service.Close()) })
	key, err := service.Bootstrap(b.Context(), "")
	must(b, err)
	api := httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler)})
	return func() {
		r := httptest.NewRequest("POST", "/v1/chat/completions", bytes.NewBufferString(benchPlain))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}

// BenchmarkGuardedChat reports the CPU time of a chat with policies and the share of one
// without.
func BenchmarkGuardedChat(b *testing.B) {
	double := guardDouble(b, 0)
	plain := guardAPI(b, double, "")
	for _, stage := range []guard.Stage{guard.Input, guard.Both} {
		guarded := guardAPI(b, double, stage)
		b.Run(string(stage), func(b *testing.B) {
			measure := func(chat func()) (total time.Duration) {
				for range 50 {
					chat()
				}
				begun := cpuTime(b)
				for range b.N {
					chat()
				}
				return cpuTime(b) - begun
			}
			unguarded, with := measure(plain), measure(guarded)
			b.ReportMetric(float64(unguarded.Microseconds())/float64(b.N), "µs-plain/op")
			b.ReportMetric(float64(with.Microseconds())/float64(b.N), "µs-guarded/op")
			b.ReportMetric(float64(with)/float64(unguarded), "times")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkGuardedFirstByte reports what an input stage adds to a chat where a decision
// takes 50 ms.
func BenchmarkGuardedFirstByte(b *testing.B) {
	double := guardDouble(b, 50*time.Millisecond)
	plain, guarded := guardAPI(b, double, ""), guardAPI(b, double, guard.Input)
	measure := func(chat func()) time.Duration {
		chat()
		begun := time.Now()
		for range b.N {
			chat()
		}
		return time.Since(begun)
	}
	unguarded, with := measure(plain), measure(guarded)
	b.ReportMetric(float64((with-unguarded).Microseconds())/float64(b.N)/1000, "ms-added/op")
	b.ReportMetric(0, "ns/op")
}
