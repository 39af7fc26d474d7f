package main

import (
	"encoding/json"
	"flag"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

var replicaRounds = flag.Int("replicas.rounds", 2, "how often TestReplicasKilled kills one of three servers")

// TestReplicasKilled has three servers on one database, of which one after the
// other is killed in the middle of turns. What a client was told to be stored is
// there on every server, each turn is paid for once, a reader that follows the
// usage meets each payment once, and the balance is exact.
func TestReplicasKilled(t *testing.T) {
	database := pgtest.Database(t)
	admin := []string{"-admin-key", testAdminKey}
	servers := make([]*killable, 3)
	for i := range servers {
		servers[i] = startServer(t, database, admin...)
	}
	defer func() {
		for _, s := range servers {
			s.kill()
		}
	}()
	reader := &usageReader{seen: map[string]int{}}
	acked := map[string]json.RawMessage{}
	for range *replicaRounds {
		victim := rand.IntN(len(servers))
		var others sync.WaitGroup
		others.Go(func() { reader.follow(t, servers[(victim+1)%len(servers)]) })
		maps.Copy(acked, servers[victim].writeUntilKilled(t))
		others.Wait()
		servers[victim] = startServer(t, database, admin...)
	}
	if len(acked) == 0 {
		t.Fatal("no turn was acknowledged before a kill")
	}
	conversations := map[string]bool{}
	n := 0
	for id, want := range acked {
		server := servers[n%len(servers)]
		n++
		got := server.get(t, "/v1/responses/"+id)
		if string(got) != string(want) {
			t.Fatalf("response %s\ngot  %s\nwant %s", id, got, want)
		}
		conversations[conversationOf(t, got)] = true
	}
	for id := range conversations {
		servers[n%len(servers)].checkWhole(t, id)
	}
	for _, s := range servers {
		reader.follow(t, s)
	}
	reader.check(t, servers[0], acked)
	t.Logf("%d turns survived %d kills of one of three servers", len(acked), *replicaRounds)
}

// usageReader follows the usage of the organization default.
type usageReader struct {
	after string
	seen  map[string]int // records by the object that they pay for
	cost  accounts.Micros
}

// follow reads all that came after what was read before.
func (u *usageReader) follow(t *testing.T, s *killable) {
	for more := true; more; {
		var list struct {
			Data []struct {
				ID     string          `json:"id"`
				Object string          `json:"object_id"`
				Cost   accounts.Micros `json:"cost"`
			} `json:"data"`
			HasMore bool `json:"has_more"`
		}
		s.ask(t, "/admin/v1/organizations/"+accounts.DefaultOrganization+"/usage?limit=500&after="+u.after, &list)
		for _, e := range list.Data {
			u.after = e.ID
			u.seen[e.Object]++
			u.cost += e.Cost
		}
		more = list.HasMore
	}
}

// check compares what was read with what was stored and with the balance.
func (u *usageReader) check(t *testing.T, s *killable, acked map[string]json.RawMessage) {
	for id := range acked {
		if u.seen[id] != 1 {
			t.Errorf("the response %s was paid for %d times", id, u.seen[id])
		}
	}
	for id, n := range u.seen {
		if n != 1 {
			t.Errorf("a reader met the payment for %s %d times", id, n)
		}
	}
	var o struct{ Credits accounts.Micros }
	s.ask(t, "/admin/v1/organizations/"+accounts.DefaultOrganization, &o)
	if want := 1000*accounts.Dollar - u.cost; o.Credits != want {
		t.Errorf("the balance is %s, want %s", o.Credits, want)
	}
}

// ask gets an answer of the administration.
func (s *killable) ask(t *testing.T, path string, answer any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+testAdminKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, answer)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s %s: %v", path, resp.Status, body, err)
	}
}
