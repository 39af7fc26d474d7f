package console_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// batch makes a batch of lines.
func (d *desk) batch(lines string) batches.Batch {
	d.Helper()
	caller, err := d.service.Authenticate(d.Context(), d.key)
	if err != nil {
		d.Fatal(err)
	}
	f, err := d.service.UploadFile(d.Context(), caller, files.Upload{Filename: "in.jsonl", MIMEType: "application/jsonl", Purpose: files.Batch, Content: strings.NewReader(lines)})
	if err != nil {
		d.Fatal(err)
	}
	b, err := d.batches.Create(d.Context(), caller, batches.NewBatch{Endpoint: "/v1/chat/completions", InputFile: f.ID, Metadata: map[string]string{hostile: hostile}})
	if err != nil {
		d.Fatal(err)
	}
	return b
}

// ended waits for the end of a batch, which has no event that a test could wait for.
func (d *desk) ended(id string) batches.Batch {
	d.Helper()
	caller, err := d.service.Authenticate(d.Context(), d.key)
	if err != nil {
		d.Fatal(err)
	}
	for {
		b, err := d.batches.Get(d.Context(), caller, id)
		if err != nil {
			d.Fatal(err)
		}
		if b.Status.Ended() {
			return b
		}
		runtime.Gosched()
	}
}

func TestBatchPages(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	const line = `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"svc-preview","messages":[{"role":"user","content":"Hello"}]}}`
	done := d.ended(d.batch(line + "\n" + strings.Replace(line, `"a"`, `"b"`, 1)).ID)
	_, page := d.get("/batches/" + done.ID)
	for _, want := range []string{`<span class="status completed">completed</span>`, "2 of 2 completed", `href="/console/files/` + done.OutputFile + `/content"`, "&lt;script&gt;alert"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	if strings.Contains(page, "data-load") || strings.Contains(page, "/cancel") {
		t.Errorf("it has ended: %s", page)
	}
	if status, output := d.get("/files/" + done.OutputFile + "/content"); status != http.StatusOK || strings.Count(output, "\n") != 2 {
		t.Errorf("%d %s", status, output)
	}
	failed := d.ended(d.batch(line + "\n" + line + "\n").ID)
	_, page = d.get("/batches/" + failed.ID)
	for _, want := range []string{"Why it failed", `<td class="number">2</td><td>custom_id</td>`, "duplicate_custom_id"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	if _, page = d.get("/batches"); !strings.Contains(page, done.ID) || !strings.Contains(page, failed.ID) || strings.Contains(page, "<script>alert") {
		t.Errorf("the list: %s", page)
	}
	if _, page = d.get("/batches?q=failed"); strings.Contains(page, done.ID) || !strings.Contains(page, failed.ID) {
		t.Errorf("the search: %s", page)
	}
	if status, _ := d.post("/batches/"+done.ID+"/cancel", url.Values{"token": {token}}); status != http.StatusConflict {
		t.Errorf("cancelling what has ended: %d", status)
	}
}

// TestARunningBatchIsFollowedAndCancelled has a batch whose model does not answer.
func TestARunningBatchIsFollowedAndCancelled(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	d := openOn(t, &modeltest.Script{Respond: func(*model.Request) modeltest.Answer {
		close(began)
		<-goOn
		return modeltest.Text("Hello.")
	}}, slog.New(slog.DiscardHandler))
	token := d.signIn(d.key)
	b := d.batch(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"svc-preview","messages":[{"role":"user","content":"Hello"}]}}`)
	<-began
	_, page := d.get("/batches/" + b.ID)
	for _, want := range []string{`data-load="/console/batches/` + b.ID + `/state"`, "0 of 1 completed", "Cancel the batch"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	if status, page := d.get("/batches/" + b.ID + "/state"); status != http.StatusOK || strings.Contains(page, "<html") || !strings.Contains(page, "in_progress") {
		t.Errorf("%d %s", status, page)
	}
	if status, page := d.post("/batches/"+b.ID+"/cancel", url.Values{"token": {token}}); status != http.StatusOK || !strings.Contains(page, "cancelling") {
		t.Errorf("%d %s", status, page)
	}
	close(goOn)
	if got := d.ended(b.ID); got.Status != batches.Cancelled || got.Completed != 1 {
		t.Errorf("got %+v", got)
	}
}
