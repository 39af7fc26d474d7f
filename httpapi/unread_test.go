package httpapi

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
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

const unreadChat = `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"stream":true}`

// TestUnreadStreamsAreCounted against their organization, until they are read: one
// that would be too much is ended.
func TestUnreadStreamsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		script := &talker{Script: modeltest.New(), piece: model.TextDelta{Text: strings.Repeat("x", 64<<10)}}
		a := newAdminAPI(t, svc.Options{Backend: script, Now: time.Now}, Options{MaxBodies: 3 * stalledBytes})
		first := newSlowClientOf(t, a)
		first.begin(t, first.key, chatPathOf, len(unreadChat), unreadChat)
		_, err := first.Read(make([]byte, 1))
		is.NoErr(err)
		synctest.Wait()
		is.Equal(a.admission.Usage().Bytes, int64(0)) // it may go on at any moment
		time.Sleep(stalledAfter + blockedAfter)
		synctest.Wait()
		is.Equal(a.admission.Usage().Bytes, int64(stalledBytes))

		second := first.another(t)
		second.begin(t, second.key, chatPathOf, len(unreadChat), unreadChat)
		_, err = second.Read(make([]byte, 1))
		is.NoErr(err)
		time.Sleep(stalledAfter + 2*blockedAfter)
		_, err = io.Copy(io.Discard, second)
		is.NoErr(err) // it has an end
		is.Equal(a.admission.Usage().Streams, int64(1))

		_, err = io.ReadFull(first, make([]byte, 256<<10))
		is.NoErr(err)
		synctest.Wait()
		is.Equal(a.admission.Usage().Bytes, int64(0))
	})
}

// TestTheKernelHoldsLittleForAClient that does not read: the model is not read on.
func TestTheKernelHoldsLittleForAClient(t *testing.T) {
	is := is.New(t)
	script := &talker{Script: modeltest.New(), piece: model.TextDelta{Text: strings.Repeat("x", 16<<10)}}
	a := newBareAPI(t, svc.Options{Backend: script}, Options{})
	_, key := newLimited(t, a, 0, 0)
	server := httptest.NewUnstartedServer(a)
	server.Listener = Listener(server.Listener)
	server.Start()
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	is.NoErr(err)
	t.Cleanup(func() { conn.Close() })
	is.NoErr(conn.(*net.TCPConn).SetReadBuffer(64 << 10)) // what the client's side takes
	r, err := http.NewRequest("POST", server.URL+chatPathOf, strings.NewReader(unreadChat))
	is.NoErr(err)
	r.Header.Set("Authorization", "Bearer "+key)
	is.NoErr(r.Write(conn))
	for a.admission.Usage().Bytes == 0 {
		runtime.Gosched() // it is counted when it has waited for a second
	}
	if given := script.given.Load(); given > 2*sendBuffer {
		t.Errorf("%d bytes were made for a client that reads none", given)
	}
}
