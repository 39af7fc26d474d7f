package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-506d8e5d/svc/internal/status"
)

// contract is openapi.json as something that requests and answers are held to.
type contract struct {
	doc  map[string]any
	open *jsonschema.Compiler // for requests: unknown fields are ignored
	shut *jsonschema.Compiler // for answers: a field that is not described is an error

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema // guarded by mu
	answered map[string]bool               // operations that succeeded, guarded by mu
}

// shared is the contract of all tests: its schemas are compiled once.
var shared = sync.OnceValue(newContract)

func newContract() *contract {
	c := &contract{compiled: map[string]*jsonschema.Schema{}, answered: map[string]bool{}}
	load := func(change func(any)) (map[string]any, *jsonschema.Compiler) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
		if err != nil {
			panic(err)
		}
		change(doc)
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("openapi.json", doc); err != nil {
			panic(err)
		}
		return doc.(map[string]any), compiler
	}
	c.doc, c.open = load(func(any) {})
	_, c.shut = load(shut)
	return c
}

// shut forbids the fields that the schemas in v do not name.
func shut(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			shut(item)
		}
	case map[string]any:
		for _, item := range v {
			shut(item)
		}
		if _, ok := v["additionalProperties"]; ok || v["properties"] == nil {
			return
		}
		switch kind := v["type"].(type) {
		case string:
			if kind == "object" {
				v["additionalProperties"] = false
			}
		case []any:
			v["additionalProperties"] = false
		}
	}
}

// place is a place in the document.
type place []string

func (p place) with(names ...string) place { return append(p[:len(p):len(p)], names...) }

// find returns what is at a place, following a reference at its end, and where
// that is. It is nil where there is nothing.
func (c *contract) find(p place) (any, place) {
	var v any = c.doc
	for _, name := range p {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, p
		}
		v = object[name]
	}
	if object, ok := v.(map[string]any); ok {
		if ref, ok := object["$ref"].(string); ok {
			return c.find(strings.Split(strings.TrimPrefix(ref, "#/"), "/"))
		}
	}
	return v, p
}

// check holds JSON to the schema at a place.
func (c *contract) check(compiler *jsonschema.Compiler, p place, data []byte) error {
	schema, err := c.schema(compiler, p)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// schema compiles the schema at a place, once.
func (c *contract) schema(compiler *jsonschema.Compiler, p place) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pointer strings.Builder
	for _, name := range p {
		pointer.WriteString("/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name)))
	}
	key := fmt.Sprintf("%p%s", compiler, pointer.String())
	if schema := c.compiled[key]; schema != nil {
		return schema, nil
	}
	schema, err := compiler.Compile("openapi.json#" + pointer.String())
	c.compiled[key] = schema
	return schema, err
}

// Contract makes the tests fail where a request that api accepts, or an answer of
// it, is not as openapi.json says, and returns api.
func Contract(t testing.TB, api *API) *API {
	t.Helper()
	shared().hold(t, api)
	return api
}

func (c *contract) hold(t testing.TB, api *API) {
	inner := api.mux
	api.mux = http.NewServeMux()
	api.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		x := &transcript{contract: c, t: t, Writer: status.Writer{ResponseWriter: w}}
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") && r.Header.Get("Content-Encoding") == "" { // an upload may be large
			r.Body = &tee{r.Body, &x.request}
		}
		defer func() {
			p := recover()
			x.check(r, p != nil || x.cut)
			if p != nil {
				panic(p)
			}
		}()
		inner.ServeHTTP(x, r)
	})
}

// tee keeps what is read of a body.
type tee struct {
	io.ReadCloser
	to *bytes.Buffer
}

func (b *tee) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.Write(p[:n])
	return n, err
}

// transcript is a request and its answer.
type transcript struct {
	status.Writer
	contract          *contract
	t                 testing.TB
	request, response bytes.Buffer
	cut               bool // the client took not all of the answer
}

func (x *transcript) Write(p []byte) (int, error) {
	n, err := x.Writer.Write(p)
	x.response.Write(p[:n])
	x.cut = x.cut || err != nil
	return n, err
}

// check holds the exchange to the contract. What was aborted is held to it as far
// as it went.
func (x *transcript) check(r *http.Request, aborted bool) {
	fail := func(format string, args ...any) {
		x.t.Errorf("openapi.json: %s %s, %d: %s\nrequest:  %.2000s\nresponse: %.2000s",
			r.Method, r.URL, x.Status, fmt.Sprintf(format, args...), x.request.String(), x.response.String())
	}
	method := strings.ToLower(r.Method)
	if method == "head" {
		method = "get"
	}
	operation := place{"paths", strings.ReplaceAll(r.Pattern, "...}", "}"), method}
	found, _ := x.contract.find(operation)
	if found == nil || x.Status == 0 {
		if found == nil && r.Pattern != "/" && x.Status != http.StatusMethodNotAllowed {
			fail("there is no such operation")
		}
		return
	}
	if x.Status == http.StatusSwitchingProtocols {
		return // what follows is no answer
	}
	if x.Status < 300 && !aborted {
		x.contract.mu.Lock()
		x.contract.answered[r.Method+" "+r.Pattern] = true
		x.contract.mu.Unlock()
		if err := x.checkRequest(r, operation); err != nil {
			fail("an accepted request: %v", err)
		}
	}
	if err := x.checkResponse(operation, aborted); err != nil && r.Method != http.MethodHead {
		fail("%v", err)
	}
}

func (x *transcript) checkRequest(r *http.Request, operation place) error {
	parameters, _ := x.contract.find(operation.with("parameters"))
	known := map[string]bool{}
	list, _ := parameters.([]any)
	for _, p := range list {
		if name, ok := p.(map[string]any)["name"].(string); ok { // a shared one is a header
			known[name] = true
		}
	}
	for name := range r.URL.Query() {
		if base, _, _ := strings.Cut(name, "["); !known[base] {
			return fmt.Errorf("the parameter %q is not described", name)
		}
	}
	schema := operation.with("requestBody", "content", "application/json", "schema")
	described, at := x.contract.find(schema)
	if body := bytes.TrimSpace(x.request.Bytes()); described != nil && len(body) > 0 {
		return x.contract.check(x.contract.open, at, body)
	}
	return nil
}

func (x *transcript) checkResponse(operation place, aborted bool) error {
	_, response := x.contract.find(operation.with("responses", strconv.Itoa(x.Status)))
	media, _, err := mime.ParseMediaType(x.Header().Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("the content type: %w", err)
	}
	content := response.with("content")
	described, _ := x.contract.find(content)
	types, _ := described.(map[string]any)
	for name := range types {
		if base, _, _ := strings.Cut(name, ";"); base == media {
			content = content.with(name)
		}
	}
	if len(content) == len(response)+1 {
		if _, any := types["*/*"]; any {
			return nil
		}
		return fmt.Errorf("the status with the content type %s is not described", media)
	}
	schema, at := x.contract.find(content.with("schema"))
	switch {
	case schema == nil:
		return nil
	case media == "text/event-stream":
		return x.checkEvents(at)
	case aborted:
		return nil
	}
	return x.contract.check(x.contract.shut, at, x.response.Bytes())
}

// checkEvents holds the data of each event to a schema, and the names of those
// that have one to their types.
func (x *transcript) checkEvents(schema place) error {
	blocks := strings.Split(x.response.String(), "\n\n")
	for _, block := range blocks[:len(blocks)-1] {
		name, data := "", ""
		for line := range strings.Lines(block) {
			line = strings.TrimSuffix(line, "\n")
			if text, ok := strings.CutPrefix(line, "event: "); ok {
				name = text
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				data = text
			}
		}
		if data == "[DONE]" {
			continue
		}
		if err := x.contract.check(x.contract.shut, schema, []byte(data)); err != nil {
			return fmt.Errorf("the event %s: %w", block, err)
		}
		var event struct{ Type string }
		if err := json.Unmarshal([]byte(data), &event); err != nil || event.Type != name {
			return fmt.Errorf("the event %s has the name %q", block, name)
		}
	}
	return nil
}
