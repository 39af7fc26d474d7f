package webhooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// verified reports whether a request is signed with a secret, as the specification of
// Standard Webhooks has it.
func verified(r received, secret string) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", r.header.Get("webhook-id"), r.header.Get("webhook-timestamp"), r.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(r.header.Get("webhook-signature")) {
		if signature == want {
			return true
		}
	}
	return false
}

func TestEventsOfTurnsInTheBackgroundAreDelivered(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.script.Answers = []modeltest.Answer{modeltest.Text("Hi"), modeltest.Text("Hi"), modeltest.Fail(fmt.Errorf("broken"))}
		secret := e.do("POST", path, hook)["signing_secret"].(string)
		e.do("POST", "/v1/responses", `{"model":"svc-preview","input":"Hi"}`) // nobody is told of what somebody waits for
		done := e.do("POST", "/v1/responses", `{"model":"svc-preview","input":"Hi","background":true}`)["id"].(string)
		e.wait(2 * time.Second)
		got := e.taken()
		is.Equal(len(got), 1)
		is.Equal(got[0].body, fmt.Sprintf(`{"id":"evt_001","object":"event","created_at":%d,"type":"response.completed","data":{"id":%q}}`, time.Now().Unix()-2, done))
		is.Equal(got[0].header.Get("Content-Type"), "application/json")
		is.Equal(got[0].header.Get("webhook-id"), "evt_001")
		is.True(verified(got[0], secret))

		e.do("POST", "/v1/responses", `{"model":"svc-preview","input":"Hi","background":true}`)
		e.wait(2 * time.Second)
		got = e.taken()
		is.Equal(len(got), 1)
		is.True(strings.Contains(got[0].body, `"type":"response.failed"`))
	})
}

func TestEndpoints(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		made := e.do("POST", path, strings.Replace(hook, `"response.completed"`, `"response.failed"`, 1))
		secret := made["signing_secret"].(string)
		is.True(strings.HasPrefix(secret, "whsec_"))
		delete(made, "signing_secret")
		want := map[string]any{
			"id": "whe_001", "object": "webhook_endpoint", "name": "Mine", "url": "http://hook.example/in?x=1",
			"event_types": []any{"batch.completed", "response.failed"}, "created_at": float64(time.Now().Unix()), "updated_at": float64(time.Now().Unix()),
			"signing_secret_hint": "…" + secret[len(secret)-4:],
		}
		is.Equal(made, want)
		is.Equal(e.do("GET", path+"/whe_001", ""), want)
		is.Equal(e.do("GET", path, "")["data"], []any{want})
		time.Sleep(time.Second)
		want["name"], want["updated_at"] = "Yours", float64(time.Now().Unix())
		is.Equal(e.do("POST", path+"/whe_001", `{"name":"Yours"}`), want)
		is.Equal(e.do("GET", "/v1/webhook_event_types", "")["data"].([]any)[0], "response.completed")
		is.Equal(e.do("DELETE", path+"/whe_001", ""), map[string]any{"id": "whe_001", "object": "webhook_endpoint.deleted", "deleted": true})
		status, _ := e.send("GET", path+"/whe_001", "")
		is.Equal(status, 404)
		for range webhooks.MaxEndpoints {
			e.do("POST", path, hook)
		}
		status, answer := e.send("POST", path, hook)
		is.Equal(status, 400)
		is.True(strings.Contains(answer, "The organization has 20 webhook endpoints, which is the most."))
	})
}

func TestEndpointsThatAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		for body, want := range map[string]string{
			strings.Replace(hook, "Mine", "", 1):                                       "name must have 1 to 256 bytes.",
			strings.Replace(hook, `"response.completed"`, `"fine_tuning.done"`, 1):     "event_types has \"fine_tuning.done\", which is no event of this server",
			`{"name":"a","url":"https://hook.example","event_types":[]}`:               "event_types must name at least one event.",
			strings.Replace(hook, "hook.example", "public.example", 1):                 "url cannot be an endpoint: the URL must begin with https://.",
			strings.Replace(hook, "http://hook.example", "https://private.example", 1): "url cannot be an endpoint: the host private.example has no public address.",
			strings.Replace(hook, "http://hook.example", "https://127.0.0.1", 1):       "url cannot be an endpoint: 127.0.0.1 is not a public address.",
		} {
			status, answer := e.send("POST", path, body)
			var object struct{ Error struct{ Message string } }
			check(t, json.Unmarshal([]byte(answer), &object))
			if want = strings.ReplaceAll(want, `\"`, `"`); status != 400 || !strings.HasPrefix(object.Error.Message, want) {
				t.Errorf("%s: got %d %s, want %s", body, status, answer, want)
			}
		}
	})
}

func TestRotatingASecret(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		first := e.do("POST", path, hook)["signing_secret"].(string)
		second := e.do("POST", path+"/whe_001/rotate_secret", `{"keep_old_secret_active_for_24_hours":true}`)["signing_secret"].(string)
		signed := func(secrets ...string) {
			t.Helper()
			is.Equal(e.do("POST", path+"/whe_001/test", `{"event_type":"batch.completed"}`), map[string]any{
				"object": "webhook_endpoint.test", "webhook_endpoint_id": "whe_001", "event_type": "batch.completed", "status_code": 200.0, "success": true,
			})
			got := e.taken()
			is.Equal(len(got), 1)
			is.True(strings.Contains(got[0].body, `"data":{"id":"batch_test"}`))
			is.Equal(len(strings.Fields(got[0].header.Get("webhook-signature"))), len(secrets))
			for _, secret := range secrets {
				is.True(verified(got[0], secret))
			}
		}
		signed(first, second)
		time.Sleep(24 * time.Hour)
		signed(second)
		third := e.do("POST", path+"/whe_001/rotate_secret", "")["signing_secret"].(string)
		signed(third)
	})
}

func TestTries(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.do("POST", path, hook)
		e.statuses = []int{500, 302, 404, 429, 503, 500}
		e.put("batch.completed", "batch_1")
		began, at := time.Now(), []time.Duration{}
		var ids []string
		for range 26 * 3600 {
			e.wait(time.Second)
			for _, r := range e.taken() {
				at = append(at, time.Since(began).Round(time.Second))
				ids = append(ids, r.header.Get("webhook-id"))
				is.Equal(r.header.Get("webhook-timestamp"), fmt.Sprint(time.Now().Unix()))
			}
		}
		is.Equal(len(at), 6)
		is.Equal(len(slices.Compact(ids)), 1)
		is.True(at[1]-at[0] <= 38*time.Second) // within a minute
		is.True(at[5] > 18*time.Hour && at[5] < 29*time.Hour)
		d := e.do("GET", path+"/whe_001/deliveries", "")["data"].([]any)[0].(map[string]any)
		is.Equal(d["status"], "failed")
		is.Equal(d["tries"], 6.0)
		is.Equal(d["status_code"], 500.0)
		is.Equal(d["next_try_at"], nil)

		is.Equal(e.do("POST", path+"/whe_001/deliveries/whd_001/resend", "")["status"], "pending")
		e.wait(2 * time.Second)
		is.Equal(len(e.taken()), 1)
		d = e.do("GET", path+"/whe_001/deliveries", "")["data"].([]any)[0].(map[string]any)
		is.Equal(d["status"], "delivered")
		is.Equal(d["status_code"], 200.0)
	})
}

func TestAnEndpointThatIsDeadIsDisabled(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.do("POST", path, hook)
		e.statuses = slices.Repeat([]int{500}, 1000)
		for day := range 4 {
			e.put("batch.completed", fmt.Sprintf("batch_%d", day))
			e.wait(24 * time.Hour)
		}
		disabled := e.do("GET", path+"/whe_001", "")["disabled_at"]
		is.True(disabled != nil)
		log, err := e.service.AuditLog(t.Context(), page.Params{Desc: true, Limit: 1})
		is.NoErr(err)
		is.Equal(log.Items[0].Action, webhooks.ActionDisable)
		is.Equal(log.Items[0].Subject, e.caller.Organization)
		is.Equal(string(log.Items[0].Change), `{"url":"http://hook.example/in?x=1","webhook_endpoint":"whe_001"}`)
		e.taken()
		e.put("batch.completed", "batch_5")
		e.wait(time.Hour)
		is.Equal(len(e.taken()), 0)

		e.statuses = nil
		is.Equal(e.do("POST", path+"/whe_001", `{}`)["disabled_at"], nil)
		e.put("batch.completed", "batch_6")
		e.wait(2 * time.Second)
		is.Equal(len(e.taken()), 1)
	})
}

func TestWhatAProcessHadBegunIsDeliveredAgain(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.do("POST", path, hook)
		e.put("batch.completed", "batch_1")
		check(t, e.store.Update(t.Context(), e.caller.Namespace(), func(tx storage.Tx) error { return beginElsewhere(tx) }))
		e.wait(30 * time.Second)
		is.Equal(len(e.taken()), 0)
		e.wait(time.Minute)
		is.Equal(len(e.taken()), 1)
	})
}

// beginElsewhere leaves the one delivery as a process does that died while it waited
// for the answer: due in a minute.
func beginElsewhere(tx storage.Tx) error {
	queue := []byte("w/q/whe_001/")
	for entry, err := range tx.Scan(storage.Prefix(queue)) {
		if err != nil {
			return err
		}
		at := time.Now().Add(time.Minute).UnixMilli()
		key := append(binary.BigEndian.AppendUint64(slices.Clone(queue), uint64(at)), entry.Key[len(queue)+8:]...)
		if err := errors.Join(tx.Delete(entry.Key), tx.Set(key, entry.Value)); err != nil {
			return err
		}
	}
	return nil
}

// TestOrderPerObject holds that an event waits for the one before about the same
// object, however often that is tried, and for no other.
func TestOrderPerObject(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.do("POST", path, hook)
		bodies := func() (got []string) {
			for _, r := range e.taken() {
				var event struct {
					Type string
					Data struct{ ID string }
				}
				is.NoErr(json.Unmarshal([]byte(r.body), &event))
				got = append(got, event.Type+" "+event.Data.ID)
			}
			slices.Sort(got)
			return got
		}
		e.statuses = []int{500}
		e.put("response.failed", "a")
		e.wait(2 * time.Second)
		is.Equal(bodies(), []string{"response.failed a"})
		e.put("response.completed", "a")
		e.put("batch.completed", "a")
		e.put("response.completed", "b")
		e.wait(20 * time.Second)
		is.Equal(bodies(), []string{"response.completed b"})
		e.wait(time.Minute) // the second try
		is.Equal(bodies(), []string{"batch.completed a", "response.completed a", "response.failed a"})

		e.statuses = slices.Repeat([]int{500}, 6)
		e.put("response.failed", "c")
		e.put("response.completed", "c")
		e.wait(16 * time.Hour)
		is.Equal(slices.Compact(bodies()), []string{"response.failed c"})
		e.wait(14 * time.Hour) // the first one has been given up
		is.Equal(bodies(), []string{"response.completed c", "response.failed c"})
	})
}

// TestADeadEndpointDelaysNoOther has many events for an endpoint that does not answer:
// those of another endpoint of the organization arrive at once.
func TestADeadEndpointDelaysNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.do("POST", path, strings.Replace(hook, "http://hook.example", "https://late.example", 1))
		for n := range 1000 {
			e.put("batch.completed", fmt.Sprint(n))
		}
		e.do("POST", path, hook)
		e.wait(5 * time.Second)
		e.put("batch.completed", "mine")
		e.wait(2 * time.Second)
		is.Equal(len(e.taken()), 1)
	})
}

func TestDeletingAnEndpointRemovesAll(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.do("POST", path, hook)
		e.statuses = []int{500}
		for n := range 2500 {
			e.put("batch.completed", fmt.Sprint(n))
		}
		e.do("DELETE", path+"/whe_001", "")
		e.wait(time.Hour)
		check(t, e.store.View(t.Context(), e.caller.Namespace(), func(tx storage.Tx) error {
			for entry, err := range tx.Scan(storage.Prefix([]byte("w/"))) {
				t.Errorf("%q is left, %v", entry.Key, err)
			}
			return nil
		}))
		is.True(len(e.taken()) <= 32)
	})
}

func TestAnEndpointThatDoesNotAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, e *env) {
		is := is.New(t)
		e.do("POST", path, strings.Replace(hook, "http://hook.example", "https://late.example", 1))
		e.put("batch.completed", "batch_1")
		e.wait(20 * time.Second)
		d := e.do("GET", path+"/whe_001/deliveries", "")["data"].([]any)[0].(map[string]any)
		is.Equal(d["status"], "pending")
		is.Equal(d["status_code"], nil)
		is.True(d["error"] != nil)
		status, answer := e.send("POST", path+"/whe_001/test", `{"event_type":"batch.completed"}`)
		is.Equal(status, 502)
		is.True(strings.Contains(answer, `"code":"webhook_endpoint_unreachable"`))
	})
}
