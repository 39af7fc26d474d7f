package convert_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// filler fills values with something else in every field. Interfaces are filled by
// what of has for their types.
type filler struct {
	n     int
	parts int // of chats, whose kinds follow each other
	of    map[reflect.Type]func(*filler) any
}

func newFiller() *filler {
	return &filler{of: map[reflect.Type]func(*filler) any{
		reflect.TypeFor[accounts.Trace]():  func(*filler) any { return accounts.Trace{} }, // which the interface does not show
		reflect.TypeFor[json.RawMessage](): func(f *filler) any { return json.RawMessage(f.text(`{"x":0.%d}`)) },
		reflect.TypeFor[chat.Part](): func(f *filler) any {
			f.n++
			switch f.parts++; f.parts % 3 {
			case 0:
				return chat.Text(f.text("text %d"))
			case 1:
				return chat.Image{MediaType: f.text("image/x%d"), Data: []byte(f.text("%d"))}
			}
			return chat.File{ID: f.text("file_%d"), Name: f.text("name %d"), MIMEType: f.text("text/x%d"), Data: []byte(f.text("%d"))}
		},
		reflect.TypeFor[model.Logprob](): func(f *filler) any {
			top := []model.Logprob{{Token: f.text("t%d"), Logprob: -0.5, Bytes: []byte(f.text("%d"))}}
			return model.Logprob{Token: f.text("t%d"), Logprob: -1.5, Bytes: []byte(f.text("%d")), Top: top}
		},
	}}
}

func (f *filler) text(format string) string {
	f.n++
	return fmt.Sprintf(format, f.n)
}

// fill fills what p points to.
func fill[T any](f *filler, change ...func(*T)) T {
	var v T
	f.fill(reflect.ValueOf(&v).Elem())
	for _, c := range change {
		c(&v)
	}
	return v
}

func (f *filler) fill(v reflect.Value) {
	if make, ok := f.of[v.Type()]; ok {
		v.Set(reflect.ValueOf(make(f)))
		return
	}
	f.n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(f.text("s%d"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint8:
		v.SetUint(uint64('a' + f.n%26))
	case reflect.Func, reflect.Interface: // nil: it is not sent
	case reflect.Float64, reflect.Float32:
		v.SetFloat(float64(f.n) / 2)
	default:
		panic("no filling for " + v.Type().String())
	}
}

// request sends values over the wire as requests, and expects to find them on the
// other side as they were. Every field of the body is used by one of them.
func request[D, W any](t *testing.T, to func(*D) *W, from func(*W) *D, except string, values ...D) {
	t.Helper()
	used := map[string]bool{}
	for i := range values {
		sent := to(&values[i])
		data := encode(t, sent)
		root, err := jsonin.Parse(data, jsonin.Dots)
		if err != nil {
			t.Fatal(err)
		}
		root.SetOpen()
		got := new(W)
		wire.Decode(root, got)
		if err := root.Err(); err != nil {
			t.Fatalf("%s\n%v", data, err)
		}
		for _, unknown := range root.Ignored() {
			t.Errorf("%T: %s is sent and not read", sent, unknown.Path)
		}
		equal(t, data, from(got), &values[i])
		if again := encode(t, to(from(got))); !bytes.Equal(again, data) {
			t.Errorf("sent     %s\nreturned %s", data, again)
		}
		uses(reflect.ValueOf(sent).Elem(), "", used)
	}
	complain[W](t, used, strings.Fields(except))
}

// answer sends values over the wire as answers.
func answer[D, W any](t *testing.T, to func(*D) W, from func(*W) D, except string, values ...D) {
	t.Helper()
	used := map[string]bool{}
	for i := range values {
		sent := to(&values[i])
		data := encode(t, sent)
		var got W
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%s\n%v", data, err)
		}
		equal(t, data, from(&got), values[i])
		uses(reflect.ValueOf(sent), "", used)
	}
	complain[W](t, used, strings.Fields(except))
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := jsonout.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func equal(t *testing.T, data []byte, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		g, _ := json.MarshalIndent(got, "", " ")
		w, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("%T changed on the way:\ngot  %s\nwant %s\nover %s", want, g, w, data)
	}
}

// uses notes the paths of the fields of v that are not zero.
func uses(v reflect.Value, path string, used map[string]bool) {
	if v.IsZero() {
		return
	}
	used[path] = true
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		uses(v.Elem(), path, used)
	case reflect.Struct:
		for i := range v.NumField() {
			uses(v.Field(i), path+"."+v.Type().Field(i).Name, used)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			uses(v.Index(i), path, used)
		}
	}
}

// complain fails for the fields of a body that nothing has used, but for those that
// are ignored or excepted: other spellings, and what says how an answer is sent.
func complain[W any](t *testing.T, used map[string]bool, except []string) {
	t.Helper()
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(typ.Elem(), path)
		case reflect.Struct:
			for i := range typ.NumField() {
				f := typ.Field(i)
				name := path + "." + f.Name
				if f.Type == reflect.TypeFor[wire.Ignored]() || f.Type == reflect.TypeFor[*struct{}]() || slices.Contains(except, name) {
					continue
				}
				if !used[name] {
					t.Errorf("%v: nothing sets %s", typ, name)
					continue
				}
				walk(f.Type, name)
			}
		}
	}
	walk(reflect.TypeFor[W](), "")
}

func pointer[D, W any](f func(*W) *D) func(*W) D { return func(w *W) D { return *f(w) } }

func TestChatRequestsArrive(t *testing.T) {
	f := newFiller()
	schema := func(r *chat.Request) { r.Format.Type, r.AllowedTools = model.FormatSchema, nil }
	search := func(r *chat.Request) {
		for i := range r.Tools {
			r.Tools[i].Search = false // of Responses alone
		}
		r.Moderate = "both"
		r.Dialect, r.Reasoning, r.CountInput = chat.Completions, false, false // of Messages, and of the interface
		r.N, r.Calls = 2, chat.CallForm{}
	}
	custom := func(r *chat.Request) {
		search(r)
		tool := responses.CustomTool("c", "d", "")
		r.Tools, r.AllowedTools, r.Calls.Custom = []model.Tool{{Name: "f"}, tool}, []string{"f", "c"}, []string{"c"}
		r.ToolChoice = model.ToolChoice{Mode: model.ToolAuto}
		r.Messages = []chat.Message{{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1", Name: "c", Arguments: `{"input":"a"}`}}}}
	}
	request(t, convert.ToChatRequest, convert.FromChatRequest, ".Streaming .Unused .MaxTokens .Stop.Text .Modalities .Messages.Content.Text .Messages.Content.Value.ChatFile.FileData.MIMEType .Messages.Content.Value.File "+
		".Functions .FunctionCall .Messages.FunctionCall .Tools.Custom.Format", // older forms, and what becomes a description
		fill(f, schema, search, func(r *chat.Request) { r.ToolChoice.Mode = model.ToolNamed }),
		fill(f, schema, search, func(r *chat.Request) { r.ToolChoice = model.ToolChoice{Mode: model.ToolRequired} }),
		fill(f, schema, search, func(r *chat.Request) {
			r.ToolChoice, r.AllowedTools = model.ToolChoice{Mode: model.ToolAuto}, []string{"a", "b"}
		}),
		fill(f, schema, custom),
		fill(f, schema, custom, func(r *chat.Request) {
			r.AllowedTools, r.ToolChoice = nil, model.ToolChoice{Mode: model.ToolNamed, Name: "c"}
		}),
		chat.Request{Model: "m", Metadata: map[string]string{}},
	)
}

func TestChatAnswersArrive(t *testing.T) {
	f := newFiller()
	answer(t, convert.ToChatCompletion, pointer(convert.FromChatCompletion), ".Choices.Index",
		fill(f, func(c *chat.Completion) {
			c.StopSequence, c.Calls, c.More[0].StopSequence, c.More[1].StopSequence = "", chat.CallForm{}, "", "" // of Messages alone
			c.Answering = ""                                                                                      // a header says it
		}),
		chat.Completion{Metadata: map[string]string{}, Calls: chat.CallForm{Custom: []string{"c"}}, Choice: chat.Choice{ToolCalls: []model.ToolCall{{ID: "1", Name: "c", Arguments: `{"input":"a"}`}}}},
		chat.Completion{Metadata: map[string]string{}, Calls: chat.CallForm{Legacy: true}, Choice: chat.Choice{FinishReason: model.ToolCalls, ToolCalls: []model.ToolCall{{Name: "f", Arguments: "{}"}}}},
		chat.Completion{Metadata: map[string]string{}})
	answer(t, convert.ToStoredMessage, convert.FromStoredMessage, ".ContentParts.ChatFile.FileData.MIMEType .ContentParts.File .ToolCalls.Custom", fill(f, func(m *chat.StoredMessage) { m.Reasoning = "" }),
		chat.StoredMessage{ID: "m", Message: chat.Message{Role: model.User, Content: []chat.Part{chat.Text("a")}}},
		chat.StoredMessage{ID: "m", Message: chat.Message{Role: model.User, Content: []chat.Part{chat.Text("a"), chat.Image{MediaType: "image/png", Data: []byte("b")}}}})
}

func TestCompletionsArrive(t *testing.T) {
	f := newFiller()
	request(t, convert.ToCompletionRequest, convert.FromCompletionRequest, ".Streaming .Stop.Text .N .BestOf .Echo .Sampling.ChatTemplateKwargs", fill(f, func(r *chat.TextRequest) { r.Sampling.ChatTemplateKwargs = nil }))
	answer(t, convert.ToTextCompletion, pointer(convert.FromTextCompletion), ".Choices.Index", fill(f, func(c *chat.Completion) {
		c.Logprobs, c.ToolCalls, c.Metadata, c.Thought, c.StopSequence = nil, nil, map[string]string{}, "", ""
		c.More, c.Calls, c.Answering, c.Refusal = nil, chat.CallForm{}, "", ""
	}))
}

func TestEmbeddingsArrive(t *testing.T) {
	f := newFiller()
	request(t, convert.ToEmbeddingRequest, convert.FromEmbeddingRequest, ".EncodingFormat", fill[embeddings.Request](f))
	to := func(r *embeddings.Response) wire.EmbeddingList { return convert.ToEmbeddingList(r, false) }
	from := func(w *wire.EmbeddingList) embeddings.Response { return *convert.FromEmbeddingList(w, len(w.Data)) }
	answer(t, to, from, ".Data.Index .Data.Embedding.Packed", fill[embeddings.Response](f))
}

// inputItems is one item of each kind, as requests have them.
func inputItems(f *filler) []conversations.Item {
	text := conversations.Part{Type: conversations.InputText, Text: f.text("text %d")}
	file := conversations.Part{Type: conversations.InputFile, FileID: f.text("file_%d")}
	picture := conversations.Part{Type: conversations.InputImage, Image: &model.Image{MediaType: "image/png", Data: []byte(f.text("%d"))}}
	data := f.text("%d")
	sum := sha256.Sum256([]byte(data))
	inline := conversations.Part{Type: conversations.InputFile, Inline: &conversations.InlineFile{Name: f.text("n%d"), MIMEType: "text/plain", Data: []byte(data), Digest: hex.EncodeToString(sum[:])}}
	said := conversations.Part{Type: conversations.OutputText, Text: f.text("text %d")}
	return []conversations.Item{
		&conversations.Message{Role: model.User, Content: []conversations.Part{text, file, picture, inline}},
		&conversations.Message{Role: model.Assistant, Phase: conversations.Commentary, Content: []conversations.Part{said}},
		&conversations.FunctionCall{CallID: f.text("c%d"), Namespace: f.text("ns%d"), Name: f.text("n%d"), Arguments: f.text("{%d}")},
		&conversations.FunctionCall{CallID: f.text("c%d"), Namespace: f.text("ns%d"), Name: f.text("n%d"), Arguments: f.text("in %d"), Custom: true},
		&conversations.FunctionCallOutput{CallID: f.text("c%d"), Output: f.text("out %d")},
		&conversations.FunctionCallOutput{CallID: f.text("c%d"), Content: []conversations.Part{text, file, picture, inline}, Custom: true},
		&conversations.WebSearch{ID: f.text("ws_%d")},
		&conversations.Compaction{Sealed: f.text("sealed %d")},
		&conversations.Reasoning{ID: f.text("rs_%d"), Sealed: f.text("sealed %d")},
		&conversations.MCPListTools{ID: f.text("mcpl_%d"), Server: f.text("s%d")},
		&conversations.MCPApprovalRequest{ID: "mcpr_1", Asked: "mcpr_1", Server: f.text("s%d"), Name: f.text("n%d"), Arguments: f.text("{%d}")},
		&conversations.MCPApprovalResponse{ID: f.text("mcpa_%d"), Approval: "mcpr_1", Approve: true, Reason: f.text("reason %d")},
		&conversations.MCPCall{ID: f.text("mcp_%d"), Status: conversations.Completed, Server: f.text("s%d"), Name: f.text("n%d"), Arguments: f.text("{%d}"), Output: f.text("out %d"), Approval: "mcpr_1"},
		&conversations.MCPCall{ID: f.text("mcp_%d"), Status: conversations.Failed, Server: f.text("s%d"), Name: f.text("n%d"), Arguments: f.text("{%d}"), Output: f.text("out %d"),
			Error: &conversations.MCPError{Type: conversations.MCPHTTPError, Code: 500, Message: f.text("why %d")}},
		conversations.Reference{ID: f.text("msg_%d")},
	}
}

// outputItems is one item of each kind, as answers have them.
func outputItems(f *filler) []conversations.Item {
	text := conversations.Part{Type: conversations.InputText, Text: f.text("text %d")}
	file := conversations.Part{Type: conversations.InputFile, FileID: f.text("file_%d")}
	picture := conversations.Part{Type: conversations.InputImage, Image: &model.Image{MediaType: "image/png", Data: []byte(f.text("%d"))}}
	inline := conversations.Part{Type: conversations.InputFile, Inline: &conversations.InlineFile{Name: f.text("n%d")}}
	said := conversations.Part{Type: conversations.OutputText, Text: f.text("text %d"), Logprobs: []model.Logprob{fill[model.Logprob](f)},
		Citations: []conversations.Citation{fill[conversations.Citation](f)}}
	return []conversations.Item{
		&conversations.Message{ID: f.text("msg_%d"), Status: conversations.Completed, Role: model.Assistant, Phase: conversations.FinalAnswer, Content: []conversations.Part{text, file, picture, inline, said}},
		&conversations.FunctionCall{ID: f.text("fc_%d"), Status: conversations.InProgress, CallID: f.text("c%d"), Namespace: f.text("ns%d"), Name: f.text("n%d"), Arguments: f.text("{%d}")},
		&conversations.FunctionCall{ID: f.text("ctc_%d"), Status: conversations.Incomplete, CallID: f.text("c%d"), Name: f.text("n%d"), Arguments: f.text("in %d"), Custom: true},
		&conversations.FunctionCall{ID: f.text("sh_%d"), Status: conversations.Completed, CallID: f.text("c%d"), Name: "shell", Arguments: `{"commands":["ls"],"timeout_ms":null,"max_output_length":1}`, Tool: "shell"},
		&conversations.FunctionCall{ID: f.text("apc_%d"), Status: conversations.Completed, CallID: f.text("c%d"), Name: "apply_patch", Arguments: `{"type":"delete_file","path":"a"}`, Tool: "apply_patch"},
		&conversations.FunctionCallOutput{ID: f.text("fco_%d"), CallID: f.text("c%d"), Output: f.text("out %d")},
		&conversations.FunctionCallOutput{ID: f.text("fco_%d"), CallID: f.text("c%d"), Content: []conversations.Part{text, file, picture, inline}, Custom: true},
		&conversations.WebSearch{ID: f.text("ws_%d"), Status: conversations.Completed, Queries: []string{f.text("q%d"), f.text("q%d")}, Sources: []string{f.text("http://%d")}},
		&conversations.FileSearch{ID: f.text("fs_%d"), Status: conversations.Completed, Queries: []string{f.text("q%d")}, Shown: true, Passages: []conversations.Passage{
			{File: f.text("file_%d"), Filename: f.text("n%d"), Score: 0.5, Text: f.text("text %d"), Attributes: map[string]any{"a": "b", "c": 1.5, "d": true}, Page: 3, Headings: []string{f.text("h%d")}}}},
		&conversations.Compaction{ID: f.text("cmp_%d"), Sealed: f.text("sealed %d")},
		&conversations.Reasoning{ID: f.text("rs_%d"), Sealed: f.text("sealed %d"), Summary: f.text("thought %d")},
		&conversations.MCPListTools{ID: f.text("mcpl_%d"), Server: f.text("s%d"), Error: f.text("why %d"), Tools: []conversations.MCPTool{
			{Name: f.text("n%d"), Description: f.text("d%d"), InputSchema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}}},
		&conversations.MCPApprovalRequest{ID: "mcpr_1", Asked: "mcpr_1", Server: f.text("s%d"), Name: f.text("n%d"), Arguments: f.text("{%d}")},
		&conversations.MCPApprovalResponse{ID: f.text("mcpa_%d"), Approval: "mcpr_1", Approve: true, Reason: f.text("reason %d")},
		&conversations.MCPCall{ID: f.text("mcp_%d"), Status: conversations.Completed, Server: f.text("s%d"), Name: f.text("n%d"), Arguments: f.text("{%d}"), Output: f.text("out %d"), Approval: "mcpr_1"},
		&conversations.MCPCall{ID: f.text("mcp_%d"), Status: conversations.Failed, Server: f.text("s%d"), Name: f.text("n%d"), Arguments: f.text("{%d}"),
			Error: &conversations.MCPError{Type: conversations.MCPExecutionError, Content: json.RawMessage(`[{"type":"text","text":"why"}]`)}},
	}
}

func TestResponseRequestsArrive(t *testing.T) {
	f := newFiller()
	f.of[reflect.TypeFor[[]conversations.Item]()] = func(f *filler) any { return inputItems(f) }
	plain := func(r *responses.Request) {
		r.Moderate = "both"
		r.Format.Type, r.ToolChoice = model.FormatSchema, model.ToolChoice{Mode: model.ToolRequired}
		r.AllowedTools, r.ToolAliases, r.ShownTools, r.ShownToolChoice, r.FileSearch = nil, nil, nil, nil, nil
		r.MCP, r.MCPChoice, r.AllowedMCP = nil, nil, nil
		r.Tools, r.SearchType = []model.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"a":1}`), Strict: true}, responses.SearchTool()}, responses.WebSearch
	}
	// tools is what the server makes of these.
	tools := func(body string) func(r *responses.Request) {
		return func(r *responses.Request) {
			plain(r)
			root, err := jsonin.Parse([]byte(body), jsonin.Dots)
			if err != nil {
				t.Fatal(err)
			}
			w := &wire.ResponseRequest{}
			wire.Decode(root, w)
			if root.Err() != nil {
				t.Fatal(root.Err())
			}
			made, err := convert.FromResponseRequest(w)
			if err != nil {
				t.Fatal(err)
			}
			r.Tools, r.ToolChoice, r.AllowedTools, r.ToolAliases, r.SearchType = made.Tools, made.ToolChoice, made.AllowedTools, made.ToolAliases, made.SearchType
			r.ShownTools, r.ShownToolChoice, r.FileSearch = made.ShownTools, made.ShownToolChoice, made.FileSearch
			r.MCP, r.MCPChoice, r.AllowedMCP = made.MCP, made.MCPChoice, made.AllowedMCP
		}
	}
	again := func(w *wire.ResponseRequest) *responses.Request {
		r, err := convert.FromResponseRequest(w)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	request(t, convert.ToResponseRequest, again, ".Continuation.Input.Value.Hosted .Input.Text .Stream .StreamOptions .Unused .Conversation.Value .Tools.ToolFields.Format .Tools.ToolFields.Tools .Tools.ToolFields.VectorStoreIDs .Tools.ToolFields.Filters .Tools.ToolFields.MaxNumResults .Tools.ToolFields.RankingOptions .Tools.Sent .Tools.Bare .Tools.Away .Reasoning.GenerateSummary .Input.Value.InputPartFields .Continuation.Input.Text .Continuation.Conversation.Value "+
		".Continuation.Input.Value.Content.Text .Continuation.Input.Value.Output.Value.InputPartFields.Refusal .Continuation.Input.Value.Content.Value.InputPartFields.Refusal .Continuation.Input.Value.InputPartFields .ToolChoice.Value.Mode .ToolChoice.Value.Tools .ToolChoice.Value.Namespace .ToolChoice.Value.ServerLabel",
		fill(f, plain),
		fill(f, plain, func(r *responses.Request) { r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: "f"} }),
		fill(f, tools(`{"input":"x","tools":[{"type":"function","name":"f"},{"type":"custom","name":"c","description":"d","format":{"type":"grammar","syntax":"lark","definition":"x"}},
			{"type":"namespace","name":"ns","tools":[{"type":"function","name":"g"}]},{"type":"web_search","user_location":{}},{"type":"shell"}],
			"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"function","name":"g","namespace":"ns"}]}}`)),
		fill(f, tools(`{"input":"x","tools":[{"type":"file_search","vector_store_ids":["vs_1"],"filters":{"type":"eq","key":"a","value":1},"max_num_results":3,
			"ranking_options":{"ranker":"auto","score_threshold":0.5}}],"tool_choice":{"type":"file_search"}}`)),
		fill(f, tools(`{"input":"x","tools":[{"type":"custom","name":"c"}],"tool_choice":{"type":"custom","name":"c"}}`)),
		fill(f, tools(`{"input":"x","tools":[{"type":"mcp","server_label":"s","server_url":"https://s","server_description":"d","authorization":"a","headers":{"x":"y","z":"1"},
			"allowed_tools":{"tool_names":["a"],"read_only":true},"require_approval":{"always":{"read_only":false},"never":{"tool_names":["a"]}}},{"type":"mcp","server_label":"t","require_approval":"never"}],
			"tool_choice":{"type":"mcp","server_label":"s","name":"a"}}`)),
		fill(f, tools(`{"input":"x","tools":[{"type":"mcp","server_label":"s"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"s"}]}}`)),
	)
}

// TestCallersOwnToolsArrive sends tools that a program has made without saying how
// they are shown: the caller's names for them arrive.
func TestCallersOwnToolsArrive(t *testing.T) {
	r := &responses.Request{Input: responses.Text("x"), Tools: []model.Tool{{Name: "ns__f"}, {Name: "g"}, responses.CustomTool("c", "d", "")},
		ToolAliases:  map[string]responses.ToolAlias{"ns__f": {Namespace: "ns", Name: "f"}, "c": {Name: "c", Custom: true}},
		AllowedTools: []string{"ns__f", "c"}, ToolChoice: model.ToolChoice{Mode: model.ToolAuto}}
	root, err := jsonin.Parse(encode(t, convert.ToResponseRequest(r)), jsonin.Dots)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire.ResponseRequest{}
	wire.Decode(root, w)
	got, err := convert.FromResponseRequest(w)
	if err != nil || root.Err() != nil {
		t.Fatal(err, root.Err())
	}
	equal(t, nil, got.Tools, r.Tools)
	equal(t, nil, got.ToolAliases, r.ToolAliases)
	equal(t, nil, got.AllowedTools, r.AllowedTools)
}

func TestResponsesArrive(t *testing.T) {
	f := newFiller()
	f.of[reflect.TypeFor[[]conversations.Item]()] = func(f *filler) any { return outputItems(f) }
	f.of[reflect.TypeFor[error]()] = func(*filler) any { return errors.New("not sent") }
	whole := func(r *responses.Response) {
		r.Error.Cause, r.Usage.ReasoningTokens, r.Input, r.Answering = nil, 0, nil, ""
		r.Echo.Format.Type = model.FormatSchema
		r.Echo.ShownTools, r.Echo.ShownToolChoice = nil, nil
		r.Echo.Tools, r.Echo.SearchType = []model.Tool{{Name: "f", Description: "d", Parameters: json.RawMessage(`{"a":1}`), Strict: true}, responses.SearchTool()}, responses.WebSearch
		r.Echo.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: "f"}
	}
	shown := func(r *responses.Response) {
		r.Echo.Tools, r.Echo.SearchType, r.Echo.ToolChoice = nil, "", model.ToolChoice{}
		r.Echo.ShownTools, r.Echo.ShownToolChoice = json.RawMessage(`[{"type":"custom","name":"c"}]`), json.RawMessage(`{"type":"custom","name":"c"}`)
	}
	to := func(r *responses.Response) wire.Response { return *convert.ToResponse(r) }
	answer(t, to, pointer(convert.FromResponse), ".Store .Output.Output.Value.Annotations .Output.Output.Value.Logprobs .Usage.InputDetails.CacheWriteTokens .Usage.OutputDetails .Output.Annotations .Output.Content.Annotations",
		fill(f, whole), fill(f, whole, shown), fill(f, whole, func(r *responses.Response) { r.Echo.Unstored = false }))
	answer(t, convert.ToCompacted, pointer(convert.FromCompacted), ".Usage.InputDetails.CacheWriteTokens .Usage.OutputDetails .Output.Output.Value.Annotations .Output.Output.Value.Logprobs .Output.Status .Output.Content.Annotations",
		fill(f, func(c *responses.Compacted) { c.Usage.ReasoningTokens = 0 }))
}

func TestResponseEventsArrive(t *testing.T) {
	f := newFiller()
	item := outputItems(f)[0]
	part := conversations.Part{Type: conversations.InputText, Text: "a"}
	response := &responses.Response{ID: "resp_1", Status: responses.Completed, Output: []conversations.Item{}}
	events := []responses.Event{
		{Type: responses.EventTextDelta, Sequence: 1, OutputIndex: 2, ItemID: "i", Text: "a"},
		{Type: responses.EventSummaryPartAdded, Sequence: 1, OutputIndex: 2, ItemID: "i", Part: &part},
		{Type: responses.EventSummaryDelta, Sequence: 1, OutputIndex: 2, ItemID: "i", Text: "a"},
		{Type: responses.EventTextDone, Sequence: 1, OutputIndex: 2, ItemID: "i", Text: "a"},
		{Type: responses.EventPartAdded, Sequence: 1, OutputIndex: 2, ItemID: "i", Part: &part},
		{Type: responses.EventPartDone, Sequence: 1, OutputIndex: 2, ItemID: "i", Part: &part},
		{Type: responses.EventArgumentsDelta, Sequence: 1, OutputIndex: 2, ItemID: "i", Text: "a"},
		{Type: responses.EventArgumentsDone, Sequence: 1, OutputIndex: 2, ItemID: "i", Text: "a", Name: "n"},
		{Type: responses.EventInputDelta, Sequence: 1, OutputIndex: 2, ItemID: "i", Text: "a"},
		{Type: responses.EventInputDone, Sequence: 1, OutputIndex: 2, ItemID: "i", Text: "a"},
		{Type: responses.EventItemAdded, Sequence: 1, OutputIndex: 2, Item: item},
		{Type: responses.EventItemDone, Sequence: 1, OutputIndex: 2, Item: item},
		{Type: responses.EventCited, Sequence: 1, OutputIndex: 2, ItemID: "i", Citation: &conversations.Citation{File: "f", Filename: "n", Index: 3}, Cited: 1},
		{Type: responses.EventFilesSearching, Sequence: 1, OutputIndex: 2, ItemID: "i"},
		{Type: responses.EventSearching, Sequence: 1, OutputIndex: 2, ItemID: "i"},
		{Type: responses.EventError, Sequence: 1, Error: &fault.Error{Code: "c", Message: "m", Param: "p"}},
		{Type: responses.EventCompleted, Sequence: 1, Response: convert.FromResponse(convert.ToResponse(response))},
	}
	failure := func(e *fault.Error) *wire.EventError {
		return &wire.EventError{Code: e.Code, Message: e.Message, Param: &e.Param, Error: wire.ErrorObject{Code: e.Code, Message: e.Message, Param: &e.Param, Type: "t", Policy: "p", Question: "q"}}
	}
	to := func(e *responses.Event) wire.ResponseEvent { return *convert.ToResponseEvent(e, failure) }
	from := func(w *wire.ResponseEvent) responses.Event {
		return convert.FromResponseEvent(w, func(o *wire.ErrorObject) *fault.Error {
			return &fault.Error{Code: o.Code, Message: o.Message, Param: *o.Param}
		})
	}
	answer(t, to, from, ".ContentIndex .Logprobs .Part.Annotations .Part.Logprobs .Part.FileID .Part.Filename .Part.ImageURL .Item .Response", events...)
}

func TestStoredObjectsArrive(t *testing.T) {
	f := newFiller()
	answer(t, convert.ToConversation, convert.FromConversation, "", fill[conversations.Conversation](f))
	answer(t, convert.ToModel, convert.FromModel, "", model.Info{ID: "m", Created: 1, OwnedBy: "o"})
	answer(t, convert.ToFile, convert.FromFile, ".StatusDetails", fill(f, func(f *files.File) { f.MIMEType, f.Reason, f.Note = "", "", "" }))
}

// TestAdministrationArrives sends what package client sends and reads.
func TestAdministrationArrives(t *testing.T) {
	f := newFiller()
	f.of[reflect.TypeFor[accounts.Status]()] = func(*filler) any { return accounts.Suspended }
	f.of[reflect.TypeFor[accounts.UnknownFields]()] = func(*filler) any { return accounts.RefuseUnknown }
	f.of[reflect.TypeFor[accounts.Period]()] = func(*filler) any { return accounts.Day }
	request(t, convert.ToOrganizationRequest, failing[accounts.NewOrganization](t, convert.FromOrganizationRequest), "", fill(f, func(n *accounts.NewOrganization) { n.ID = "" }))
	request(t, convert.ToOrganizationUpdate, func(w *wire.OrganizationUpdate) *accounts.OrganizationUpdate {
		return new(convert.FromOrganizationUpdate(w))
	}, "", fill[accounts.OrganizationUpdate](f))
	request(t, convert.ToKeyRequest, failing[accounts.NewKey](t, convert.FromKeyRequest), "", fill[accounts.NewKey](f))
	request(t, convert.ToKeyUpdate, failing[accounts.KeyUpdate](t, convert.FromKeyUpdate), "", fill[accounts.KeyUpdate](f))
	answer(t, convert.ToOrganization, pointer(failing[accounts.Organization](t, convert.FromOrganization)), "", fill[accounts.Organization](f))
	answer(t, convert.ToKey, pointer(failing[accounts.APIKey](t, convert.FromKey)), "", fill[accounts.APIKey](f))
	answer(t, convert.ToUsageRecord, pointer(failing[accounts.Entry](t, convert.FromUsageRecord)), "", fill(f, func(e *accounts.Entry) {
		e.Type, e.By, e.Use.Kind = accounts.EntryCharge, "", accounts.Generation
	}))
	answer(t, convert.ToAuditEntry, convert.FromAuditEntry, "", fill[accounts.AuditEntry](f), accounts.AuditEntry{ID: "audit_1"})
}

// failing returns a mapping whose error fails the test.
func failing[D, W any](t *testing.T, from func(*W) (D, error)) func(*W) *D {
	return func(w *W) *D {
		d, err := from(w)
		if err != nil {
			t.Fatal(err)
		}
		return &d
	}
}

func TestDecisionsArrive(t *testing.T) {
	f := newFiller()
	f.of[reflect.TypeFor[*decisions.Answer]()] = func(*filler) any { return (*decisions.Answer)(nil) }
	to := func(r *decisions.Request) *wire.DecisionRequest {
		w, err := convert.ToDecisionRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	request(t, to, convert.FromDecisionRequest, "", fill(f, func(r *decisions.Request) {
		r.MaxQuestions, r.Calibrations = 0, "" // of programs alone
		for i := range r.Questions {
			r.Calibrations, r.Questions[i].Images, r.Questions[i].KeptName = "", nil, "" // which are not sent
		}
	}))
	if _, err := convert.ToDecisionRequest(&decisions.Request{Questions: []decisions.Question{{Images: []decisions.Image{{}}}}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("images of a question: %v", err)
	}

	// answers have what their types have, raw ones no more than numbers.
	numbers := func(kind decisions.Type) decisions.Answer {
		a := fill[decisions.Answer](f)
		a.Type, a.Raw, a.Calibration, a.CalibrationStale, a.Abstained = kind, nil, "", false, false
		if kind != decisions.Noul {
			a.Noul = 0
		}
		if kind != decisions.Choice {
			a.Choice = ""
		}
		if kind != decisions.Score {
			a.Score = 0
			for i := range a.Outcomes {
				a.Outcomes[i].Level = nil
			}
		}
		if kind == decisions.Noul || kind == decisions.Labels {
			a.Confidence = 0
		}
		if kind == decisions.Noul {
			a.Outcomes = nil
		}
		return a
	}
	r := decisions.Response{ID: "dec_1", Model: "m", Usage: decisions.Usage{InputTokens: 1, OutputTokens: 2}, Ordered: true, Abstains: true}
	var asked []decisions.Question
	for _, kind := range []decisions.Type{decisions.Noul, decisions.Choice, decisions.Score, decisions.Labels} {
		a, raw := numbers(kind), numbers(kind)
		a.Name, raw.Name = string(kind), string(kind)
		raw.OrderVariation = a.OrderVariation
		a.Raw, a.Calibration, a.CalibrationStale, a.Abstained = &raw, "calib_1", true, kind == decisions.Choice
		r.Answers, asked = append(r.Answers, a), append(asked, decisions.Question{Name: a.Name})
	}
	answer(t, convert.ToDecision, pointer(func(w *wire.Decision) *decisions.Response {
		got, err := convert.FromDecision(w, asked)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}), "", r)
	kept := decisions.Kept{ID: "dec_1", CreatedAt: 2, State: []byte(`"x"`), Images: 1, Response: r, Metadata: map[string]string{"a": "b"},
		Labels: []decisions.Label{{Question: "noul", Answer: []byte("true")}}}
	for _, q := range asked {
		kept.Questions = append(kept.Questions, decisions.Question{Name: q.Name, Type: decisions.Type(q.Name), Instructions: "?", Criteria: []byte("{}")})
	}
	answer(t, convert.ToKeptDecision, pointer(func(w *wire.KeptDecision) *decisions.Kept {
		got, err := convert.FromKeptDecision(w)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}), "", kept)
	if _, err := convert.FromDecision(&wire.Decision{}, asked); !fault.Is(err, fault.Upstream) {
		t.Errorf("an answer without answers: %v", err)
	}
}

func TestCalibrationsArrive(t *testing.T) {
	f := newFiller()
	request(t, convert.ToCalibrationRequest, convert.FromCalibrationRequest, ".FileID .From .Question.Sent .Question.Name", fill(f, func(n *decisions.NewCalibration) {
		n.Question.Name, n.Question.Images, n.Question.KeptName = "", nil, ""
		n.Asked = json.RawMessage(fmt.Sprintf(`{"type":%q,"instructions":%q,"criteria":%s}`, n.Question.Type, n.Question.Instructions, n.Question.Criteria))
	}))
	answer(t, convert.ToCalibration, convert.FromCalibration, "", fill(f, func(k *decisions.Calibration) {
		k.Map, k.Orders = calibration.Map{Method: k.Map.Method}, 0
		k.Before, k.After = calibration.Metrics{}, calibration.Metrics{ECE: 1, Brier: 2, NLL: 3, Accuracy: 4, OverGuess: 5, AUROC: 6}
		k.Before.ECE = 7
	}))
}
