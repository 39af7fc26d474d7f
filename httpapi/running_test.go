package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestRunningStreamsEnd takes from an organization what its stream needs, while
// the stream runs.
func TestRunningStreamsEnd(t *testing.T) {
	type env struct {
		*API
		organization, key string
	}
	for code, take := range map[string]func(*testing.T, env){
		"invalid_api_key": func(t *testing.T, e env) { check(t, e.service.RevokeKey(t.Context(), e.key)) },
		"org_suspended": func(t *testing.T, e env) {
			send(e.API, adminKey, "POST", "/admin/v1/organizations/"+e.organization, `{"status":"suspended"}`)
		},
		"insufficient_credits": func(t *testing.T, e env) {
			send(e.API, adminKey, "POST", "/admin/v1/organizations/"+e.organization+"/credits", `{"amount":-1}`)
		},
		"generation_timeout": func(*testing.T, env) { time.Sleep(10 * time.Minute) },
	} {
		for path, c := range map[string]struct{ body, begins, ends string }{
			"/v1/chat/completions": {streamed, "data: {", ""},
			"/v1/responses":        {`{"model":"svc-preview","stream":true,"input":"Hi"}`, "event: error\n", "event: response.failed\n"},
		} {
			t.Run(code+" "+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					script := modeltest.New(modeltest.Block(model.TextDelta{Text: "Half of it"}))
					a := newAdminAPI(t, svc.Options{Backend: script, Now: time.Now, MaxDuration: 5 * time.Minute}, Options{})
					o, err := a.service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "one", Credits: accounts.Dollar})
					check(t, err)
					k, err := a.service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: o.ID})
					check(t, err)
					w := httptest.NewRecorder()
					ended := make(chan time.Time, 1)
					go func() {
						defer func() {
							_ = recover() // the connection is aborted
							ended <- time.Now()
						}()
						r := httptest.NewRequest("POST", path, strings.NewReader(c.body))
						r.Header.Set("Authorization", "Bearer "+k.Secret)
						a.ServeHTTP(w, r)
					}()
					Until(t, func() bool { return script.UnderWay() == 1 })
					taken := time.Now()
					take(t, env{a, o.ID, k.ID})
					if after := (<-ended).Sub(taken); code != "generation_timeout" && after > time.Second {
						t.Errorf("it ended %v later", after)
					}
					events := strings.Split(strings.TrimSpace(strings.ReplaceAll(w.Body.String(), string(keepalive), "")), "\n\n")
					last := events[len(events)-1]
					if c.ends != "" {
						if !strings.HasPrefix(last, c.ends) || !strings.Contains(last, `"error":{"code":"`+code+`"`) {
							t.Errorf("the last event is %s", last)
						}
						last = events[len(events)-2]
					}
					if !strings.HasPrefix(last, c.begins) || !strings.Contains(last, `"code":"`+code+`"`) || strings.Contains(w.Body.String(), "[DONE]") {
						t.Errorf("the stream ends with %s", last)
					}
					used, err := a.service.Usage(t.Context(), o.ID, svc.Page{})
					check(t, err)
					if len(used.Items) != 1 || used.Items[0].Use.OutputTokens == 0 {
						t.Errorf("it was charged %+v", used.Items)
					}
				})
			})
		}
	}
}
