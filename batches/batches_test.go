package batches_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
)

// bubble runs a test under a clock of its own.
func bubble(t *testing.T, o options, f func(t *testing.T, e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newEnv(t, o)) })
}

// echo answers with the last message, and costs 10 input tokens and 1 output token.
func echo(req *model.Request) modeltest.Answer {
	text := string(req.Messages[len(req.Messages)-1].Parts[0].(model.Text))
	if strings.HasPrefix(text, "fail") {
		return modeltest.Fail(&fault.Error{Kind: fault.Rejected, Code: fault.CodeRejected, Message: "No."})
	}
	return said(text)
}

func TestABatch(t *testing.T) {
	bubble(t, options{price: 0.5}, func(t *testing.T, e *env) {
		is := is.New(t)
		e.script.Respond = echo
		var lines []string
		for i := range 100 {
			lines = append(lines, ask(fmt.Sprintf("line %d", i), fmt.Sprintf("text %d", i)))
		}
		lines[7] = ask("line 7", "fail")
		id := e.create(chat, lines...)
		b := e.ended(id)
		is.Equal(b["status"], "completed")
		is.Equal(b["request_counts"], map[string]any{"total": 100.0, "completed": 99.0, "failed": 1.0})
		is.Equal(b["errors"], nil)
		is.Equal(b["model"], model.DefaultGenerator)
		is.Equal(b["usage"].(map[string]any)["input_tokens"], 990.0)
		is.Equal(e.events, []string{"batch.completed " + id})

		for n, text := range append(e.content(b["output_file_id"])[:7:7], e.content(b["output_file_id"])[7:]...) {
			if n >= 7 {
				n++
			}
			want := fmt.Sprintf(`"custom_id":"line %d","response":{"status_code":200,`, n)
			if !strings.Contains(text, want) || !strings.Contains(text, fmt.Sprintf(`"content":"text %d"`, n)) || !strings.HasSuffix(text, `,"error":null}`) {
				t.Fatalf("line %d: got %s", n, text)
			}
		}
		failed := e.content(b["error_file_id"])
		is.Equal(len(failed), 1)
		is.True(strings.Contains(failed[0], `"custom_id":"line 7","response":{"status_code":400,`))

		caller, err := e.service.Authenticate(t.Context(), e.key)
		is.NoErr(err)
		entries, err := e.service.Usage(t.Context(), caller.Organization, page.Params{Limit: 1000})
		is.NoErr(err)
		is.Equal(len(entries.Items), 99)
		whole, err := e.service.Parts().Accounts.Cost(entries.Items[0].Use)
		is.NoErr(err)
		is.Equal(entries.Items[0].Cost(), (whole+1)/2)
		is.Equal(stored(t, e, caller.Namespace(), "b/"), []string{"b/m/" + id}) // nothing else is left
	})
}

func TestValidationIsOfTheWholeFileBeforeAnythingRuns(t *testing.T) {
	long := ask("long", strings.Repeat("x", 16<<20))
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"no requests":      {[]string{"", " "}, `[{"code":"empty_file","line":null,"message":"The input file has no requests.","param":null}]`},
		"no JSON":          {[]string{ask("a", "x"), "{"}, `[{"code":"invalid_json_line","line":2,"message":"The line is not a JSON object with a custom_id, a method, a url and a body: unexpected end of JSON input.","param":null}]`},
		"an array":         {[]string{"[]"}, `[{"code":"invalid_json_line","line":1,"message":"The line is not a JSON object with a custom_id, a method, a url and a body.","param":null}]`},
		"another type":     {[]string{`{"custom_id":7}`}, `[{"code":"invalid_json_line","line":1,"message":"The line is not a JSON object with a custom_id, a method, a url and a body: custom_id cannot be number.","param":null}]`},
		"a long line":      {[]string{ask("a", "x"), "", long}, `[{"code":"line_too_long","line":3,"message":"The line is longer than 16 MiB.","param":null}]`},
		"an equal name":    {[]string{ask("a", "x"), ask("b", "x"), ask("a", "y")}, `[{"code":"duplicate_custom_id","line":3,"message":"custom_id \"a\" is that of an earlier line.","param":"custom_id"}]`},
		"no name":          {[]string{ask("", "x")}, `[{"code":"missing_required_parameter","line":1,"message":"custom_id is required.","param":"custom_id"}]`},
		"a long name":      {[]string{ask(strings.Repeat("x", 513), "x")}, `[{"code":"invalid_request","line":1,"message":"custom_id is longer than 512 bytes.","param":"custom_id"}]`},
		"another method":   {[]string{strings.Replace(ask("a", "x"), "POST", "GET", 1)}, `[{"code":"invalid_method","line":1,"message":"method must be \"POST\".","param":"method"}]`},
		"another endpoint": {[]string{strings.Replace(ask("a", "x"), chat, "/v1/responses", 1)}, `[{"code":"invalid_url","line":1,"message":"url must be the endpoint of the batch, \"/v1/chat/completions\", not \"/v1/responses\".","param":"url"}]`},
		"a stream":         {[]string{strings.Replace(ask("a", "x"), `"model"`, `"stream":true,"model"`, 1)}, `[{"code":"streaming_unsupported","line":1,"message":"The lines of a batch are answered whole; leave stream out.","param":"body.stream"}]`},
		"in background":    {[]string{strings.Replace(ask("a", "x"), `"model"`, `"background":true,"model"`, 1)}, `[{"code":"background_unsupported","line":1,"message":"The lines of a batch run in the background anyway; leave background out.","param":"body.background"}]`},
		"no body":          {[]string{`{"custom_id":"a","method":"POST","url":"` + chat + `"}`}, `[{"code":"missing_required_parameter","line":1,"message":"body is required and must be an object.","param":"body"}]`},
		"another model":    {[]string{strings.Replace(ask("a", "x"), model.DefaultGenerator, "none", 1)}, `[{"code":"model_not_found","line":1,"message":"No model found with id \"none\".","param":"body.model"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, options{}, func(t *testing.T, e *env) {
				is := is.New(t)
				b := e.ended(e.create(chat, c.lines...))
				is.Equal(b["status"], "failed")
				problems, err := json.Marshal(b["errors"].(map[string]any)["data"])
				is.NoErr(err)
				is.Equal(string(problems), c.want)
				is.Equal(len(e.script.Requests()), 0)
				is.Equal(b["output_file_id"], nil)
				is.True(b["failed_at"] != nil)
				for i, text := range e.content(b["error_file_id"]) { // says the same
					var line struct {
						Response any
						Error    struct {
							Code, Message, Param string
							Line                 int
						}
					}
					is.NoErr(json.Unmarshal([]byte(text), &line))
					problem := b["errors"].(map[string]any)["data"].([]any)[i].(map[string]any)
					number, _ := problem["line"].(float64)
					param, _ := problem["param"].(string)
					is.Equal([]any{line.Response, line.Error.Code, line.Error.Message, line.Error.Param, line.Error.Line}, []any{nil, problem["code"], problem["message"], param, int(number)})
				}
			})
		})
	}
}

func TestMoreLinesThanABatchMayHave(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		is := is.New(t)
		lines := make([]string, 50_001)
		for i := range lines {
			lines[i] = ask(fmt.Sprint(i), "x")
		}
		b := e.ended(e.create(chat, lines...))
		is.Equal(b["status"], "failed")
		is.True(strings.Contains(fmt.Sprint(b["errors"]), "too_many_requests"))
	})
}

// TestAllProblemsAreInTheErrorFile has more of them than the batch itself names.
func TestAllProblemsAreInTheErrorFile(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		is := is.New(t)
		var lines []string
		for i := range 150 {
			lines = append(lines, ask(fmt.Sprint(i%2, "-", i/2*2), "x"), "[")
		}
		b := e.ended(e.create(chat, lines...))
		is.Equal(len(b["errors"].(map[string]any)["data"].([]any)), 100)
		file := e.content(b["error_file_id"])
		is.Equal(len(file), 150)
		is.True(strings.HasSuffix(file[149], `"custom_id":"","response":null,"error":{"code":"invalid_json_line","message":"The line is not a JSON object with a custom_id, a method, a url and a body: unexpected end of JSON input.","line":300}}`))
		b = e.ended(e.create(chat, ask("same", "x"), ask("same", "x")))
		is.True(strings.Contains(e.content(b["error_file_id"])[0], `"custom_id":"same","response":null,"error":{"code":"duplicate_custom_id",`))
	})
}

// TestInputsOfEmbeddings counts those of all lines together.
func TestInputsOfEmbeddings(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		is := is.New(t)
		line := func(name string, n int) string {
			return `{"custom_id":"` + name + `","method":"POST","url":"/v1/embeddings","body":{"input":["x"` + strings.Repeat(`,"x"`, n-1) + `]}}`
		}
		b := e.ended(e.create("/v1/embeddings", line("a", 30_000), line("b", 20_001), line("c", 5)))
		problems, err := json.Marshal(b["errors"].(map[string]any)["data"])
		is.NoErr(err)
		is.Equal(string(problems), `[{"code":"too_many_inputs","line":2,"message":"The lines up to this one have more than 50000 inputs.","param":"body.input"}]`)
	})
}

// TestAByteOrderMark holds that a file of a program that writes one is read, and
// that the lines behind the first are found.
func TestAByteOrderMark(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		is := is.New(t)
		e.script.Respond = echo
		lines := []string{"\ufeff" + ask("first", "text 1") + "\r"}
		for i := range 40 {
			lines = append(lines, ask(fmt.Sprint(i), strings.Repeat(fmt.Sprint(i), 300)))
		}
		b := e.ended(e.create(chat, lines...))
		is.Equal(b["request_counts"], map[string]any{"total": 41.0, "completed": 41.0, "failed": 0.0})
		is.True(strings.Contains(e.content(b["output_file_id"])[0], `"custom_id":"first"`))
	})
}

func TestCreateErrors(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		file := e.upload(ask("a", "x"))
		body := func(file, endpoint, window string) string {
			return fmt.Sprintf(`{"input_file_id":%q,"endpoint":%q,"completion_window":%q}`, file, endpoint, window)
		}
		other := e.organization(0).Secret
		for name, c := range map[string]struct{ key, body, code, param string }{
			"another endpoint":          {e.key, body(file, "/v1/files", "24h"), "validation_error", "endpoint"},
			"another window":            {e.key, body(file, chat, "1h"), "validation_error", "completion_window"},
			"no file":                   {e.key, body("file_none", chat, "24h"), "file_not_found", "input_file_id"},
			"another organization":      {other, body(file, chat, "24h"), "file_not_found", "input_file_id"},
			"a file of another purpose": {e.key, body(e.document(), chat, "24h"), "validation_error", "input_file_id"},
			"a short life":              {e.key, strings.Replace(body(file, chat, "24h"), "{", `{"output_expires_after":{"anchor":"created_at","seconds":1},`, 1), "validation_error", "output_expires_after.seconds"},
		} {
			status, answer := e.send(c.key, "POST", "/v1/batches", "application/json", c.body)
			if status/100 != 4 || !strings.Contains(answer, `"code":"`+c.code+`"`) || !strings.Contains(answer, `"param":"`+c.param+`"`) {
				t.Errorf("%s: got %d %s", name, status, answer)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	bubble(t, options{workers: 1}, func(t *testing.T, e *env) {
		is := is.New(t)
		reached := make(chan bool)
		e.script.Respond = func(req *model.Request) modeltest.Answer {
			reached <- true
			return echo(req)
		}
		var lines []string
		for i := range 40 {
			lines = append(lines, ask(fmt.Sprint(i), strings.Repeat(fmt.Sprint(i%10), 3000)))
		}
		id := e.create(chat, lines...)
		for range 3 {
			<-reached
		}
		synctest.Wait() // the fourth line waits
		is.Equal(e.do("GET", "/v1/batches/"+id, "")["request_counts"], map[string]any{"total": 40.0, "completed": 3.0, "failed": 0.0})
		is.Equal(e.do("POST", "/v1/batches/"+id+"/cancel", "")["status"], "cancelling")
		is.Equal(e.do("POST", "/v1/batches/"+id+"/cancel", "")["status"], "cancelling")
		<-reached // it runs to its end
		b := e.ended(id)
		is.Equal(b["status"], "cancelled")
		is.Equal(b["request_counts"], map[string]any{"total": 40.0, "completed": 4.0, "failed": 0.0})
		is.Equal(len(e.content(b["output_file_id"])), 4)
		missing := e.content(b["error_file_id"])
		is.Equal(len(missing), 36)
		is.True(strings.HasSuffix(missing[0], `"custom_id":"4","response":null,"error":{"code":"batch_cancelled","message":"The request did not run before the batch was cancelled."}}`))
		is.True(strings.Contains(missing[35], `"custom_id":"39"`))
		is.Equal(e.events, []string{"batch.cancelled " + id})
		status, answer := e.send(e.key, "POST", "/v1/batches/"+id+"/cancel", "", "")
		is.Equal(status, 409)
		is.True(strings.Contains(answer, `is cancelled and cannot be cancelled.`))
	})
}

func TestExpiry(t *testing.T) {
	bubble(t, options{workers: 1}, func(t *testing.T, e *env) {
		is := is.New(t)
		e.script.Respond = func(req *model.Request) modeltest.Answer {
			return modeltest.Fail(&fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The model is busy."})
		}
		id := e.create(chat, ask("a", "x"), ask("b", "x"))
		b := e.ended(id)
		is.Equal(b["status"], "expired")
		is.Equal(b["expired_at"].(float64)-b["created_at"].(float64) >= 24*3600, true)
		is.Equal(b["output_file_id"], nil)
		is.True(strings.Contains(e.content(b["error_file_id"])[1], `"custom_id":"b","response":null,"error":{"code":"batch_expired",`))
	})
}

func TestAModelServerThatFailsIsAskedAgain(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, e *env) {
		is := is.New(t)
		e.script.Answers = []modeltest.Answer{
			modeltest.Fail(&fault.Error{Kind: fault.Upstream, Code: fault.CodeUpstream, Message: "The model failed."}),
			modeltest.Fail(&fault.Error{Kind: fault.RateLimited, Code: fault.CodeRateLimited, Message: "The model is busy."}),
			said("yes"),
		}
		began := time.Now()
		b := e.ended(e.create(chat, ask("a", "x")))
		is.Equal(b["request_counts"], map[string]any{"total": 1.0, "completed": 1.0, "failed": 0.0})
		is.True(time.Since(began) >= 3*time.Second)
	})
}
