package httpapi

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
)

func someItems(n int) (items page.Page[conversations.Item]) {
	for range n {
		items.Items = append(items.Items, &conversations.Message{ID: "msg_1", Status: conversations.Completed, Role: model.User,
			Content: []conversations.Part{{Type: conversations.InputText, Text: "What came of the order that I asked about?"}}})
	}
	return items
}

// BenchmarkItemList writes a page of 100 items.
func BenchmarkItemList(b *testing.B) {
	items := someItems(100)
	for b.Loop() {
		appendJSON(nil, convert.ToItemList(items))
	}
}

// TestAfterIsAnIDOfTheList asks each list for what comes after an ID that is gone,
// and after what can be none of its IDs.
func TestAfterIsAnIDOfTheList(t *testing.T) {
	is := is.New(t)
	a := newAdminAPI(t, svc.Options{}, Options{})
	key, err := a.service.Bootstrap(t.Context(), "")
	is.NoErr(err)
	_, err = a.service.CreateConversation(t.Context(), svc.Caller{Organization: svc.DefaultOrganization}, nil, nil)
	is.NoErr(err)
	const conversation = "/v1/conversations/conv_0001/items"
	for _, list := range []struct {
		key, path, gone string
		status          int // after one that is gone, or never was
	}{
		{key, "/v1/files", "file_0000", 200},
		{key, "/v1/chat/completions", "chatcmpl_0000", 200},
		{key, "/v1/calibrations", "calib_0000", 200},
		{key, conversation, "msg_0000", 400},
		{adminKey, "/admin/v1/organizations", "org_0000", 200},
		{adminKey, "/admin/v1/organizations/" + svc.DefaultOrganization + "/usage", "use_0000", 400},
		{adminKey, "/admin/v1/api_keys", "key_0000", 200},
		{adminKey, "/admin/v1/audit_log", "audit_0000", 200},
	} {
		if w := send(a, list.key, "GET", list.path+"?order=asc&after="+list.gone, ""); w.Code != list.status {
			t.Errorf("%s after %s: got %d %s, want %d", list.path, list.gone, w.Code, w.Body, list.status)
		}
		want := 400
		if list.path == "/admin/v1/organizations" { // whose IDs may be a program's own
			want = 200
		}
		if w := send(a, list.key, "GET", list.path+"?after=garbage", ""); w.Code != want {
			t.Errorf("%s after garbage: got %d %s, want %d", list.path, w.Code, w.Body, want)
		}
	}
}
