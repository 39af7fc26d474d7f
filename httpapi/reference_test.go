package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/reference"
)

// withoutExample are the operations that are no request for an answer.
var withoutExample = []string{"connectResponses"}

func TestEveryRouteHasAnExample(t *testing.T) {
	examples, err := reference.Examples(openAPI)
	check(t, err)
	for path, methods := range newContract().doc["paths"].(map[string]any) {
		for method, raw := range methods.(map[string]any) {
			operation, ok := raw.(map[string]any)
			if !ok || operation["operationId"] == nil || slices.Contains(withoutExample, operation["operationId"].(string)) {
				continue
			}
			if !slices.ContainsFunc(examples, func(e reference.Example) bool { return e.Operation == operation["operationId"] }) {
				t.Errorf("%s %s has no example: give its body an \"example\" in internal/wire/openapi.base.json", strings.ToUpper(method), path)
			}
		}
	}
}

// TestExamples runs each example of the reference against a server, in each language
// whose interpreter is there.
func TestExamples(t *testing.T) {
	examples, err := reference.Examples(openAPI)
	check(t, err)
	slices.SortStableFunc(examples, func(a, b reference.Example) int { return order(a) - order(b) })
	for language, run := range map[string]func(*exampleServer) *exec.Cmd{
		"curl": (*exampleServer).shell, "Python": (*exampleServer).python, "JavaScript": (*exampleServer).javaScript, "Go": (*exampleServer).golang,
	} {
		t.Run(language, func(t *testing.T) {
			s := newExampleServer(t)
			for _, e := range examples {
				if e.Language == language {
					s.examples = append(s.examples, e)
				}
			}
			command := run(s)
			if command.Err != nil {
				t.Skip(command.Err)
			}
			command.Env = s.env
			out, err := command.CombinedOutput()
			check(t, err)
			for _, e := range s.examples {
				_, result, ran := strings.Cut(string(out), "== "+e.Operation+"\n")
				result, _, _ = strings.Cut(result, "\n== ")
				// What goes on in the background may have ended, or not.
				ended := e.Operation == "cancelResponse" && strings.Contains(result, "has ended and cannot be cancelled")
				running := e.Operation == "getVectorStoreFileContent" && strings.Contains(result, "in progress in the vector store")
				if !ran || strings.Contains(result, "FAILED") && !ended && !running {
					t.Errorf("%s: %s\n%s", e.Operation, result, s.ids.Replace(e.Code))
				}
			}
		})
	}
}

// order has what is deleted come last, items before what they are in, and the
// organization and its key after everything.
func order(e reference.Example) int {
	switch {
	case e.Method != "DELETE":
		return 0
	case strings.HasPrefix(e.Path, "/admin/v1/api_keys"):
		return 1000
	case strings.HasPrefix(e.Path, "/admin"):
		return 1001
	case strings.HasPrefix(e.Path, "/v1/files"):
		return 999
	}
	return 900 - len(e.Path)
}

// exampleServer is a server with the objects that examples name.
type exampleServer struct {
	testing.TB
	dir      string
	env      []string
	ids      *strings.Replacer
	examples []reference.Example // in the order to run them
}

func newExampleServer(t *testing.T) *exampleServer {
	t.Helper()
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "svc_up 1") })
	a := newBareAPI(t, svc.Options{}, Options{Metrics: metrics})
	o := newOwner(t, a)
	for range 20 {
		w := send(a, o.key, "POST", "/v1/systemone", `{"model":"svc-snap-preview","state":"x","questions":{"refund":{"type":"noul","instructions":"?"}},"store":true}`)
		_, id, _ := strings.Cut(w.Body.String(), `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		o.ids["decision_id"] = id
		if w := send(a, o.key, "POST", "/v1/decisions/"+id+"/labels", `{"labels":{"refund":true}}`); w.Code != 200 {
			t.Fatal(w.Body)
		}
	}
	other, err := a.service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "A"})
	check(t, err)
	key, err := a.service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: other.ID})
	check(t, err)
	s := &exampleServer{TB: t, dir: t.TempDir()}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	check(t, os.WriteFile(filepath.Join(s.dir, "notes.md"), []byte("# Notes\n\nRefunds take five days.\n"), 0o600))
	check(t, os.WriteFile(filepath.Join(s.dir, ".curlrc"), []byte("silent\nshow-error\nfail-with-body\n"), 0o600))
	s.env = append(os.Environ(), "SVC_URL="+server.URL, "SVC_API_KEY="+o.key, "SVC_ADMIN_KEY="+adminKey, "CURL_HOME="+s.dir)
	s.ids = strings.NewReplacer("https://example.com/webhooks", receiver.URL, "org_123", other.ID, "key_123", key.ID,
		"dec_123", o.ids["decision_id"], "calib_123", o.ids["calibration_id"], "resp_123", o.ids["response_id"], "chatcmpl_123", o.ids["completion_id"],
		"batch_123", o.ids["batch_id"], "whe_123", o.ids["webhook_endpoint_id"], "whd_123", o.ids["delivery_id"], "vs_123", o.ids["vector_store_id"],
		"file_123", o.ids["file_id"], "file_456", o.ids["lines"], "vsfb_123", o.ids["file_batch_id"], "conv_123", o.ids["conversation_id"], "msg_123", o.ids["item_id"])
	return s
}

// write writes each example to a file of its own, by what name and code make of it,
// and returns what main makes of all names.
func (s *exampleServer) write(ending string, change func(name, code string) string, line string) string {
	s.Helper()
	var lines strings.Builder
	for i, e := range s.examples {
		name := fmt.Sprintf("example%d", i)
		s.file(name+ending, change(name, s.ids.Replace(e.Code)))
		lines.WriteString(strings.NewReplacer("NAME", name, "OPERATION", e.Operation).Replace(line))
	}
	return lines.String()
}

func (s *exampleServer) file(name, content string) {
	s.Helper()
	check(s.TB, os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600))
}

func asItIs(_, code string) string { return code }

func (s *exampleServer) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(s.Context(), name, args...)
	c.Dir = s.dir
	return c
}

// shell runs the examples in sh.
func (s *exampleServer) shell() *exec.Cmd {
	s.file("all.sh", s.write(".sh", asItIs, "printf '\n== OPERATION\n'\nsh NAME.sh || echo FAILED\n"))
	if _, err := exec.LookPath("curl"); err != nil {
		return &exec.Cmd{Err: err}
	}
	return s.command("sh", "all.sh")
}

// python runs the examples in one process.
func (s *exampleServer) python() *exec.Cmd {
	run := "def run(operation, name):\n    print('\\n== ' + operation)\n    try: exec(open(name).read(), {})\n    except Exception as e: print('FAILED', e, getattr(e, 'read', bytes)())\n"
	s.file("all.py", run+s.write(".py", asItIs, "run('OPERATION', 'NAME.py')\n"))
	return s.command("python3", "all.py")
}

// javaScript runs the examples in one process.
func (s *exampleServer) javaScript() *exec.Cmd {
	s.file("all.mjs", s.write(".mjs", asItIs, "console.log('\\n== OPERATION')\ntry { await import('./NAME.mjs') } catch (e) { console.log('FAILED', e) }\n"))
	return s.command("node", "all.mjs")
}

// golang runs the examples as one program, which runs the one that it is given the
// name of.
func (s *exampleServer) golang() *exec.Cmd {
	s.file("go.mod", "module examples\n\ngo 1.26\n")
	s.file("all.go", "package main\nimport \"os\"\nfunc main() {\nswitch os.Args[1] {\n"+s.write(".go", func(name, code string) string {
		return strings.Replace(code, "func main()", "func "+name+"()", 1)
	}, "case \"OPERATION\": NAME()\n")+"}\n}\n")
	if out, err := s.command("go", "build", "-o", "all", ".").CombinedOutput(); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	var all strings.Builder
	for _, e := range s.examples {
		fmt.Fprintf(&all, "printf '\\n== %s\\n'\n./all %[1]s || echo FAILED\n", e.Operation)
	}
	s.file("all.sh", all.String())
	return s.command("sh", "all.sh")
}

// TestReferencePage holds what the page is served with, and that it has the routes that
// are served.
func TestReferencePage(t *testing.T) {
	a := newBareAPI(t, svc.Options{}, Options{Only: []Interface{Decisions, OpenAPI}})
	w := send(a, "", "GET", "/docs", "")
	h := w.Header()
	if w.Code != 200 || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Content-Security-Policy") != reference.Policy {
		t.Errorf("%d %v", w.Code, h)
	}
	page := w.Body.String()
	if !strings.Contains(page, `<code>/v1/rerank</code>`) || strings.Contains(page, `<code>/v1/files</code>`) {
		t.Error("the page does not have the routes that are served and no others")
	}
	for _, outside := range []string{"<script", "<img", "http-equiv", "@import", "url("} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
}
