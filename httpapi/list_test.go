package httpapi

import (
	"testing"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
)

func someItems(n int) (items itemList) {
	for range n {
		items.Items = append(items.Items, &conversations.Message{ID: "msg_1", Status: conversations.Completed, Role: model.User,
			Content: []conversations.Part{{Type: conversations.InputText, Text: "What came of the order that I asked about?"}}})
	}
	return items
}

// TestItemListsAreListsLikeAllOthers compares them with what encoding/json makes.
func TestItemListsAreListsLikeAllOthers(t *testing.T) {
	for n := range 3 {
		items := someItems(n)
		items.HasMore = n == 2
		want, err := encode(newList(page.Page[conversations.Item](items), func(i conversations.Item) (conversations.Item, string) { return i, i.ItemID() }))
		if got := string(items.AppendJSON(nil)); err != nil || got != string(want) {
			t.Errorf("got  %s\nwant %s, %v", got, want, err)
		}
	}
}

// BenchmarkItemList writes a page of 100 items.
func BenchmarkItemList(b *testing.B) {
	items := someItems(100)
	for b.Loop() {
		items.AppendJSON(nil)
	}
}
