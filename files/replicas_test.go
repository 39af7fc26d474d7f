package files

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// TestReplicasLeaveEachOthersWorkAlone starts a process while another one
// receives a file and extracts one. The second waits for what the first makes,
// and takes over what it leaves behind.
func TestReplicasLeaveEachOthersWorkAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		ids := counter()
		replica := func(e Extractor) (*env, *cluster.Member) {
			p, err := cluster.Join(t.Context(), cluster.Options{Store: storage.Use(store), Shared: true})
			ok(t, err)
			return newEnvOver(t, store, Options{Extractor: e, Cluster: p, NewID: ids, Now: func() time.Time { return start }}), p
		}
		release := make(chan struct{})
		first, firstProcess := replica(extractorFunc(func(ctx context.Context, data []byte, _ Format) (Extracted, error) {
			select {
			case <-release:
				return Extracted{Text: "first " + string(data), Pages: 1}, nil
			case <-ctx.Done():
				return Extracted{}, ctx.Err()
			}
		}))
		id := first.create("application/pdf", "x").ID
		draft, err := first.Stage(t.Context(), one, "a.txt", "text/plain", strings.NewReader("text"))
		ok(t, err)

		second, secondProcess := replica(shouting)
		defer secondProcess.Close()
		equal(t, second.Waiting(), 0)
		_, err = draft.Commit(t.Context(), Purpose, 0)
		ok(t, err)
		go func() {
			time.Sleep(time.Second)
			close(release)
		}()
		document, err := second.Stored(t.Context(), one, id)
		ok(t, err)
		equal(t, document.Text, "first x")

		release = make(chan struct{})
		id = first.create("application/pdf", "y").ID
		synctest.Wait()
		ok(t, first.Close())
		ok(t, firstProcess.Close())
		time.Sleep(time.Second)
		<-secondProcess.PeerGone()
		ok(t, second.Recover(t.Context(), one.Namespace()))
		equal(t, second.settle(id).Status, Processed)
		document, err = second.Stored(t.Context(), one, id)
		ok(t, err)
		equal(t, document.Text, "Y")
	})
}
