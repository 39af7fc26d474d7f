package chat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// long has files of 100 KiB and counts how often they are read.
type long struct {
	inline
	reads int
}

func (l *long) Stored(_ context.Context, _ accounts.Caller, id string) (model.Document, error) {
	l.reads++
	return model.Document{Name: id, Text: strings.Repeat("x", 100<<10)}, nil
}

// A file is read once for a request, however often its messages refer to it, and
// more text than any context window holds is refused before a prompt is built.
func TestReferencesToFilesAreBounded(t *testing.T) {
	for references, want := range map[int]string{3: "", 1000: "they have more than 64 MiB"} {
		documents := new(long)
		e := newEnvOver(t, modeltest.New(modeltest.Text("a")), documents)
		parts := make([]chat.Part, references)
		for i := range parts {
			parts[i] = chat.File{ID: "file_1"}
		}
		_, err := e.Complete(t.Context(), e.caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: parts}}})
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d references: got %v, want %q", references, err, want)
		}
		if documents.reads != 1 {
			t.Errorf("%d references: the file was read %d times", references, documents.reads)
		}
	}
}
