package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/wire"
)

// filler fills values with something else in every field. Interfaces are filled by
// what of has for their types.
type filler struct {
	n  int
	of map[reflect.Type]func(*filler) any
}

func newFiller() *filler {
	return &filler{of: map[reflect.Type]func(*filler) any{
		reflect.TypeFor[json.RawMessage](): func(f *filler) any { return json.RawMessage(f.text(`{"x":0.%d}`)) },
		reflect.TypeFor[chat.Part](): func(f *filler) any {
			if f.n++; f.n%2 == 0 {
				return chat.Text(f.text("text %d"))
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
	}
	request(t, convert.ToChatRequest, convert.FromChatRequest, ".Streaming .Unused .MaxTokens .Stop.Text .N .Modalities .Messages.Content.Text .Messages.Content.Value.ChatFile.FileData.MIMEType .Messages.Content.Value.File",
		fill(f, schema, search, func(r *chat.Request) { r.ToolChoice.Mode = model.ToolNamed }),
		fill(f, schema, search, func(r *chat.Request) { r.ToolChoice = model.ToolChoice{Mode: model.ToolRequired} }),
		fill(f, schema, search, func(r *chat.Request) {
			r.ToolChoice, r.AllowedTools = model.ToolChoice{Mode: model.ToolAuto}, []string{"a", "b"}
		}),
		chat.Request{Model: "m", Metadata: map[string]string{}},
	)
}

func TestChatAnswersArrive(t *testing.T) {
	f := newFiller()
	answer(t, convert.ToChatCompletion, pointer(convert.FromChatCompletion), ".Choices.Index", fill[chat.Completion](f), chat.Completion{Metadata: map[string]string{}})
	answer(t, convert.ToStoredMessage, convert.FromStoredMessage, ".ContentParts.ChatFile.FileData.MIMEType .ContentParts.File", fill[chat.StoredMessage](f),
		chat.StoredMessage{ID: "m", Message: chat.Message{Role: model.User, Content: []chat.Part{chat.Text("a")}}})
}

func TestCompletionsArrive(t *testing.T) {
	f := newFiller()
	request(t, convert.ToCompletionRequest, convert.FromCompletionRequest, ".Streaming .Stop.Text .N .BestOf .Echo .Sampling.ChatTemplateKwargs", fill(f, func(r *chat.TextRequest) { r.Sampling.ChatTemplateKwargs = nil }))
	answer(t, convert.ToTextCompletion, pointer(convert.FromTextCompletion), ".Choices.Index", fill(f, func(c *chat.Completion) {
		c.Logprobs, c.ToolCalls, c.Metadata = nil, nil, map[string]string{}
	}))
}

func TestEmbeddingsArrive(t *testing.T) {
	f := newFiller()
	request(t, convert.ToEmbeddingRequest, convert.FromEmbeddingRequest, ".EncodingFormat", fill[embeddings.Request](f))
	to := func(r *embeddings.Response) wire.EmbeddingList { return convert.ToEmbeddingList(r, false) }
	from := func(w *wire.EmbeddingList) embeddings.Response { return *convert.FromEmbeddingList(w, len(w.Data)) }
	answer(t, to, from, ".Data.Index .Data.Embedding.Packed", fill[embeddings.Response](f))
}
