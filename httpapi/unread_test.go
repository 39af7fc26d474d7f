package httpapi

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// talker is a model that never stops, and counts the bytes that it is asked for.
type talker struct {
	*modeltest.Script
	piece model.TextDelta
	given atomic.Int64
}

func (e *talker) Generate(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for more := true; more; more = yield(e.piece, nil) {
			e.given.Add(int64(len(e.piece.Text)))
		}
	}
}

// TestAnUnreadStreamStopsItsModel counts what a model has made for a client that
// does not read, when nothing goes on any more: it is what the stream may hold.
func TestAnUnreadStreamStopsItsModel(t *testing.T) {
	const most = 256 << 10
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"stream":true}`,
		"/v1/responses":        `{"model":"svc-preview","input":"Hi","stream":true}`,
	} {
		for _, size := range []int{4, 64 << 10} {
			for _, more := range []bool{false, true} {
				t.Run(fmt.Sprint(path, ", pieces of ", size, " bytes, more ", more), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						script := &talker{Script: modeltest.New(), piece: model.TextDelta{Text: strings.Repeat("x", size), More: more}}
						c := newSlowClient(t, script)
						c.begin(t, c.key, path, len(body), body)
						if _, err := c.Read(make([]byte, 1)); err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
						if given := script.given.Load(); given == 0 || given > most {
							t.Errorf("%d bytes were made for nobody, want some and at most %d", given, most)
						}
					})
				})
			}
		}
	}
}
