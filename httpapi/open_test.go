package httpapi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// pngURL is a data URL of a picture, three pixels wide and two high.
func pngURL(t *testing.T) (url string, data []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), b.Bytes()
}

// newOpen is a server with the open interface over a scripted model.
func newOpen(t *testing.T, open bool) (*API, *modeltest.Script, string) {
	t.Helper()
	script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Text("A cat.") }}
	a, key := newOpenOver(t, script, open)
	return a, script, key
}

func newOpenOver(t *testing.T, script *modeltest.Script, open bool) (*API, string) {
	t.Helper()
	a := newBareAPI(t, svc.Options{Backend: script, Open: open}, Options{})
	_, key := newLimited(t, a, 0, 0)
	return a, key
}

// TestImagesOfTheOpenInterface sends an image in each dialect: the open interface shows
// it to the model, and the strict one refuses it or leaves a remark.
func TestImagesOfTheOpenInterface(t *testing.T) {
	url, data := pngURL(t)
	picture := model.Image{MediaType: "image/png", Data: data, Width: 3, Height: 2}
	const remark = model.Text("[An image was left out here: images are not read.]")
	base64Data := strings.TrimPrefix(url, "data:image/png;base64,")
	for _, c := range []struct {
		path, body string
		strict     []model.Part // nil: a 400
	}{
		{"/v1/chat/completions", `{"model":"svc-preview","store":true,"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"` + url + `","detail":"low"}}]}]}`, nil},
		{"/v1/responses", `{"model":"svc-preview","input":[{"role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"` + url + `","detail":"auto"}]}]}`, []model.Part{model.Text("What is it?"), remark}},
		{messagesPath, `{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + base64Data + `"}}]}]}`, []model.Part{model.Text("What is it?"), remark}},
	} {
		for _, open := range []bool{true, false} {
			t.Run(fmt.Sprint(c.path, open), func(t *testing.T) {
				is := is.New(t)
				a, script, key := newOpen(t, open)
				w := send(a, key, "POST", c.path, c.body)
				want := c.strict
				if open {
					want = []model.Part{model.Text("What is it?"), picture}
				}
				if want == nil {
					is.Equal(w.Code, 400)
					is.Equal(len(script.Requests()), 0)
					return
				}
				is.Equal(w.Code, 200)
				is.Equal(script.Requests()[0].Messages[0].Parts, want)
			})
		}
	}
}

// TestImagesOfAHistory continues from a turn with an image: the model sees it again, and
// the item shows it.
func TestImagesOfAHistory(t *testing.T) {
	is := is.New(t)
	url, data := pngURL(t)
	a, script, key := newOpen(t, true)
	w := send(a, key, "POST", "/v1/responses", `{"model":"svc-preview","input":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"`+url+`"}]}`)
	is.Equal(w.Code, 200)
	w = send(a, key, "POST", "/v1/responses", `{"model":"svc-preview","previous_response_id":"resp_0001","input":"Are you sure?"}`)
	is.Equal(w.Code, 200)
	is.Equal(script.Requests()[1].Messages[0].Parts, []model.Part{model.Text("What is it?"), model.Image{MediaType: "image/png", Data: data, Width: 3, Height: 2}})
	w = send(a, key, "GET", "/v1/responses/resp_0001/input_items", "")
	is.True(strings.Contains(w.Body.String(), `{"type":"input_image","image_url":"`+url+`"}`))
}

// TestImagesThatAreNone has each reason for which an image is refused.
func TestImagesThatAreNone(t *testing.T) {
	url, _ := pngURL(t)
	a, script, key := newOpen(t, true)
	chatImage := func(url string) (string, string) {
		return "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}}]}]}`
	}
	input := func(part string) (string, string) {
		return "/v1/responses", `{"model":"svc-preview","input":[{"role":"user","content":[` + part + `]}]}`
	}
	for _, c := range []struct {
		call                 func() (string, string)
		param, code, message string
	}{
		{func() (string, string) { return chatImage("https://example.com/a.png") }, "messages[0].content[0].image_url.url", "invalid_image_url",
			"messages[0].content[0].image_url.url must be a data URL: this service does not fetch images."},
		{func() (string, string) { return chatImage("data:image/png,abc") }, "messages[0].content[0].image_url.url", "invalid_image_url",
			"messages[0].content[0].image_url.url must be a data URL with base64."},
		{func() (string, string) { return chatImage("data:image/gif;base64,R0lGODdh") }, "messages[0].content[0]", "invalid_image",
			`The image cannot be taken: the type \"image/gif\" is none of image/png, image/jpeg and image/webp.`},
		{func() (string, string) { return chatImage(strings.Replace(url, "png", "jpeg", 1)) }, "messages[0].content[0]", "invalid_image",
			"The image cannot be taken: the bytes do not match the mediaType image/jpeg."},
		{func() (string, string) { return chatImage(url[:len("data:image/png;base64,")+24]) }, "messages[0].content[0]", "invalid_image",
			"The image cannot be taken: the bytes are not a readable image/png."},
		{func() (string, string) { return input(`{"type":"input_image","file_id":"file_1"}`) }, "input[0].content[0].image_url", "validation_error",
			"input[0].content[0].image_url is required."},
		{func() (string, string) {
			return input(`{"type":"input_image","image_url":"http://127.0.0.1/a.png"}`)
		}, "input[0].content[0].image_url", "invalid_image_url",
			"input[0].content[0].image_url must be a data URL: this service does not fetch images."},
		{func() (string, string) {
			return input(strings.Repeat(`{"type":"input_image","image_url":"`+url+`"},`, 64) + `{"type":"input_image","image_url":"` + url + `"}`)
		}, "input[0].content[64]", "invalid_image", "The image cannot be taken: there may be at most 64 images in a prompt."},
	} {
		is := is.New(t)
		path, body := c.call()
		w := send(a, key, "POST", path, body)
		is.Equal(w.Code, 400)
		got := w.Body.String()
		if !strings.Contains(got, `"message":"`+c.message) {
			t.Errorf("got %s, want %s", got, c.message)
		}
		is.True(strings.HasSuffix(got, `"param":"`+c.param+`","code":"`+c.code+`"}}`))
	}
	if n := len(script.Requests()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestReasoningSummaries shows what the model thinks in the output of a response, whole and
// in its events, where the request asks for it and the interface is open. A client may
// send the item back.
func TestReasoningSummaries(t *testing.T) {
	is := is.New(t)
	thinks := modeltest.Events(model.Reasoning{Text: "Hm, "}, model.Reasoning{Text: "4."}, model.TextDelta{Text: "Four"}, modeltest.DefaultUsage, model.Finish{Reason: model.Stop})
	const shown = `{"id":"rs_0001","type":"reasoning","summary":[{"type":"summary_text","text":"Hm, 4."}]}`
	for _, open := range []bool{true, false} {
		script := modeltest.New(thinks, thinks, modeltest.Text("Yes"))
		a := newBareAPI(t, svc.Options{Backend: script, Open: open}, Options{})
		_, key := newLimited(t, a, 0, 0)
		const body = `{"model":"svc-preview","input":"2+2?","reasoning":{"effort":"low","summary":"auto"}`
		w := send(a, key, "POST", "/v1/responses", body+"}")
		is.Equal(w.Code, 200)
		is.Equal(strings.Contains(w.Body.String(), `"output":[`+shown+`,{"id":"msg_0002"`), open)
		is.Equal(strings.Contains(w.Body.String(), `"reasoning":{"effort":"low","summary":"auto"}`), open)
		is.Equal(strings.Contains(send(a, key, "GET", "/v1/responses/resp_0001", "").Body.String(), shown), open)
		events := send(a, key, "POST", "/v1/responses", body+`,"stream":true}`).Body.String()
		if !open {
			is.True(!strings.Contains(events, "summary_text"))
			continue
		}
		_, events, _ = strings.Cut(events, "\"sequence_number\":1")
		_, events, _ = strings.Cut(events, "\n\n")
		events, _, _ = strings.Cut(events, "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":8")
		at := func(name string, n int, rest string) string {
			return "event: response." + name + "\ndata: {\"type\":\"response." + name + `","sequence_number":` + fmt.Sprint(n) + "," + rest + "}\n\n"
		}
		const place = `"item_id":"rs_0002","output_index":0,`
		item := strings.Replace(shown, "rs_0001", "rs_0002", 1)
		is.Equal(events, at("output_item.added", 2, `"output_index":0,"item":{"id":"rs_0002","type":"reasoning","summary":[]}`)+
			at("reasoning_summary_part.added", 3, place+`"summary_index":0,"part":{"type":"summary_text","text":""}`)+
			at("reasoning_summary_text.delta", 4, place+`"summary_index":0,"delta":"Hm, 4."`)+
			at("reasoning_summary_text.done", 5, place+`"summary_index":0,"text":"Hm, 4."`)+
			at("reasoning_summary_part.done", 6, place+`"summary_index":0,"part":{"type":"summary_text","text":"Hm, 4."}`)+
			at("output_item.done", 7, `"output_index":0,"item":`+item))
		w = send(a, key, "POST", "/v1/responses", `{"model":"svc-preview","input":[{"role":"user","content":"2+2?"},`+item+`,{"role":"assistant","content":"Four"},{"role":"user","content":"Sure?"}]}`)
		is.Equal(w.Code, 200)
		is.Equal(len(script.Requests()[2].Messages), 3)
	}
}
