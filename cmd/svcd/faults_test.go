package main

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestFaultyDatabase has turns made while the database refuses transactions at
// random, answers late and loses connections, in the middle of commits, too. None
// fails; they are stored whole and paid for once, and nothing else is charged than
// what the usage says.
func TestFaultyDatabase(t *testing.T) {
	proxy := pgtest.NewProxy(t, pgtest.Database(t))
	url, _ := start(t, empty, "-data", proxy.URL, "-api-key", killKey, "-admin-key", testAdminKey)
	server := &killable{url: url}
	proxy.Set(pgtest.Faults{Refuse: 0.05, Cut: 0.01, CutCommit: 0.05, Delay: 0.1, MaxDelay: 5 * time.Millisecond})
	var mu sync.Mutex
	acked := map[string]json.RawMessage{}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			previous := ""
			for n := range 15 {
				response, err := server.turn(t.Context(), previous, fmt.Sprintf("writer %d says %d", w, n), w%2 == 0)
				var r struct{ ID string }
				mu.Lock()
				if err != nil {
					t.Error(err)
				} else if err := json.Unmarshal(response, &r); err != nil {
					t.Errorf("%v: %s", err, response)
				} else {
					acked[r.ID], previous = response, r.ID
				}
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	proxy.Set(pgtest.Faults{})
	for id, want := range acked {
		if got := server.get(t, "/v1/responses/"+id); string(got) != string(want) {
			t.Errorf("response %s\ngot  %s\nwant %s", id, got, want)
		}
	}
	reader := newUsageReader()
	if err := reader.follow(t.Context(), server); err != nil {
		t.Error(err)
	}
	reader.check(t, server, acked, 0)
	if n := proxy.Counts(); len(acked) == 0 || n.CutCommits == 0 || n.Refused == 0 {
		t.Errorf("%d turns were acknowledged while the proxy did %+v", len(acked), n)
	}
	t.Logf("%d turns were acknowledged, %+v", len(acked), proxy.Counts())
}
