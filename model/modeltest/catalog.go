package modeltest

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/model"
)

// listRules hold for a Lister.
var listRules = []rule{
	{name: "every listed model can be found and used", check: func(t *testing.T, s subject) {
		infos := s.List()
		if len(infos) == 0 {
			t.Error("the list is empty")
		}
		_, scores := driver.As[model.Scorer](s.driver)
		_, embeds := driver.As[model.Embedder](s.driver)
		seen := map[string]bool{}
		for _, info := range infos {
			found, ok := s.Find(info.ID)
			if !ok || !reflect.DeepEqual(found, info) {
				t.Errorf("listed %+v, found %+v, %v", info, found, ok)
			}
			if info.ID == "" || seen[info.ID] {
				t.Errorf("the ID %q is empty or listed twice", info.ID)
			}
			seen[info.ID] = true
			if !info.Generates && !info.Decides && !info.Embeds || info.Decides && !scores || info.Embeds && !embeds {
				t.Errorf("%+v cannot be used", info)
			}
			for _, effort := range info.ReasoningEfforts {
				if !slices.Contains(model.Efforts, effort) {
					t.Errorf("%s takes the unknown effort %q", info.ID, effort)
				}
			}
		}
	}},
	{name: "the list stays the same", check: func(t *testing.T, s subject) {
		if a, b := s.List(), s.List(); !reflect.DeepEqual(a, b) {
			t.Errorf("got %+v and %+v", a, b)
		}
	}},
}

// countRules hold for a TokenCounter.
var countRules = []rule{
	{name: "a longer prompt has more tokens", check: func(t *testing.T, s subject) {
		req := s.request(question)
		before := s.count(t, req)
		if before <= 0 {
			t.Errorf("a prompt has %d tokens", before)
		}
		longer := map[string]*model.Request{}
		longer["message"] = s.request(question)
		longer["message"].Messages = append(longer["message"].Messages, model.TextMessage(model.Assistant, "One. Two. Three."))
		longer["document"] = s.request(question)
		longer["document"].Messages[0].Parts = append(longer["document"].Messages[0].Parts, model.Document{Name: "a.txt", Text: "One."})
		longer["tool"] = s.request(question)
		longer["tool"].Tools = tools
		for what, req := range longer {
			if after := s.count(t, req); after <= before {
				t.Errorf("%d tokens with one more %s, %d without", after, what, before)
			}
		}
	}},
	{name: "counting gives the same number every time and does not change the request", check: func(t *testing.T, s subject) {
		req := everyRole(s)
		want := s.count(t, req)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if got, err := s.CountTokens(t.Context(), req); got != want || err != nil {
					t.Errorf("got %d, %v, want %d", got, err, want)
				}
			})
		}
		wg.Wait()
		if !reflect.DeepEqual(req, everyRole(s)) {
			t.Errorf("got  %+v\nwant %+v", req, everyRole(s))
		}
	}},
}

func (s subject) count(t *testing.T, req *model.Request) int {
	t.Helper()
	count, err := s.CountTokens(t.Context(), req)
	if err != nil {
		t.Fatalf("CountTokens: %v", err)
	}
	return count
}
