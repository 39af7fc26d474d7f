package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestNothingIsFetched sends an address in every field of every dialect that has one in
// some API, in forms that servers have been tricked with, to either interface. Nothing
// connects to it: the listener of the address is there, and counts.
func TestNothingIsFetched(t *testing.T) {
	var fetched atomic.Int64
	bait := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	bait.Config.ConnState = func(net.Conn, http.ConnState) { fetched.Add(1) }
	bait.Start()
	defer bait.Close()

	chatPart := func(part string) string {
		return `{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},` + part + `]}]}`
	}
	inputPart := func(part string) string {
		return `{"model":"svc-preview","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"},` + part + `]}]}`
	}
	output := func(part string) string {
		return `{"model":"svc-preview","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[` + part + `]}]}`
	}
	item := func(item string) string {
		return `{"model":"svc-preview","input":[{"role":"user","content":"Hi"},` + item + `]}`
	}
	tool := func(tool string) string { return `{"model":"svc-preview","input":"Hi","tools":[` + tool + `]}` }
	block := func(block string) string {
		return `{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"},` + block + `]}]}`
	}
	schema := `{"type":"object","properties":{"a":{"$ref":"URL"}},"$schema":"URL","$id":"URL"}`
	const chat, responses, messages = "/v1/chat/completions", "/v1/responses", messagesPath
	fields := []struct{ path, body string }{
		{chat, chatPart(`{"type":"image_url","image_url":{"url":"URL"}}`)},
		{chat, chatPart(`{"type":"image_url","image_url":"URL"}`)},
		{chat, chatPart(`{"type":"file","file":{"file_url":"URL"}}`)},
		{chat, chatPart(`{"type":"file","file":{"file_data":"URL","filename":"a.txt"}}`)},
		{chat, chatPart(`{"type":"file","file_id":"URL"}`)},
		{chat, chatPart(`{"type":"input_audio","input_audio":{"data":"URL","format":"wav"}}`)},
		{chat, chatPart(`{"type":"video_url","video_url":{"url":"URL"}}`)},
		{chat, chatPart(`{"type":"text","text":"URL"}`)},
		{chat, chatBodyOf(`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + schema + `}}`)},
		{chat, chatBodyOf(`"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}]`)},
		{chat, chatBodyOf(`"functions":[{"name":"f","parameters":` + schema + `}]`)},
		{chat, chatBodyOf(`"web_search_options":{"url":"URL"}`)},
		{responses, inputPart(`{"type":"input_image","image_url":"URL"}`)},
		{responses, inputPart(`{"type":"input_image","file_id":"URL"}`)},
		{responses, inputPart(`{"type":"input_file","file_url":"URL"}`)},
		{responses, inputPart(`{"type":"input_file","file_data":"URL","filename":"a.html"}`)},
		{responses, inputPart(`{"type":"input_audio","input_audio":{"data":"URL","format":"wav"}}`)},
		{responses, output(`{"type":"input_image","image_url":"URL"}`)},
		{responses, output(`{"type":"input_file","file_url":"URL"}`)},
		{responses, item(`{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"URL"}}`)},
		{responses, item(`{"type":"web_search_call","id":"ws_1","action":{"type":"open_page","url":"URL"}}`)},
		{responses, item(`{"type":"mcp_list_tools","server_label":"a","server_url":"URL","tools":[]}`)},
		{responses, item(`{"type":"image_generation_call","id":"ig_1","result":"URL"}`)},
		{responses, item(`{"type":"item_reference","id":"URL"}`)},
		{responses, tool(`{"type":"mcp","server_label":"a","server_url":"URL"}`)},
		{responses, tool(`{"type":"mcp","server_label":"a","connector_id":"URL"}`)},
		{responses, tool(`{"type":"function","name":"f","parameters":` + schema + `}`)},
		{responses, tool(`{"type":"image_generation","input_image_mask":{"image_url":"URL"}}`)},
		{responses, tool(`{"type":"web_search","filters":{"allowed_domains":["URL"]}}`)},
		{responses, `{"model":"svc-preview","input":"Hi","prompt":{"id":"URL"}}`},
		{messages, block(`{"type":"image","source":{"type":"url","url":"URL"}}`)},
		{messages, block(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"URL"}}`)},
		{messages, block(`{"type":"document","source":{"type":"url","url":"URL"}}`)},
		{messages, block(`{"type":"document","source":{"type":"file","file_id":"URL"}}`)},
		{messages, block(`{"type":"search_result","source":"URL","title":"a","content":[{"type":"text","text":"a"}]}`)},
		{messages, `{"model":"svc-preview","max_tokens":9,"mcp_servers":[{"type":"url","url":"URL","name":"a"}],"messages":[{"role":"user","content":"Hi"}]}`},
		{messages, `{"model":"svc-preview","max_tokens":9,"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}],"messages":[{"role":"user","content":"URL"}]}`},
		{"/v1/decisions", `{"model":"jev-latest","input":[{"type":"input_image","image_url":"URL"}],"questions":[{"name":"a","type":"noul","criteria":{"yes":"a","no":"b"}}]}`},
		{"/v1/systemone", `{"model":"jev-latest","state":{"a":"URL"},"images":[{"url":"URL"},{"mediaType":"image/png","data":"URL"}],"questions":{"a":{"type":"noul","instructions":"a","images":[{"url":"URL"}]}}}`},
		{"/v1/embeddings", `{"model":"svc-preview","input":"URL"}`},
		{"/v1/rerank", `{"model":"jev-latest","query":"URL","documents":["URL",{"text":"URL","url":"URL"}]}`},
		{"/v1/conversations", `{"items":[{"role":"user","content":[{"type":"input_image","image_url":"URL"},{"type":"input_file","file_url":"URL"}]}]}`},
		{"/v1/completions", `{"model":"svc-preview","prompt":"URL"}`},
	}
	for _, open := range []bool{false, true} {
		for _, form := range []string{bait.URL + "/a.png", strings.Replace(bait.URL, "127.0.0.1", "localhost", 1), "//" + strings.TrimPrefix(bait.URL, "http://") + "/x", "file:///etc/passwd"} {
			script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Text("ok") }}
			a, key := newOpenOver(t, script, open)
			for _, f := range fields {
				if w := send(a, key, "POST", f.path, strings.ReplaceAll(f.body, "URL", form)); w.Code >= 500 {
					t.Errorf("%s %s: %d %s", f.path, f.body, w.Code, w.Body)
				}
			}
			for _, req := range script.Requests() {
				if text := fmt.Sprintf("%+v", req); strings.Contains(text, "root:") {
					t.Errorf("the model read a file of this machine: %s", text)
				}
			}
		}
	}
	if n := fetched.Load(); n > 0 {
		t.Errorf("%d times something was fetched", n)
	}
}

func chatBodyOf(fields string) string {
	return `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],` + fields + `}`
}
