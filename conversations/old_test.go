package conversations

import (
	"fmt"
	"slices"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// TestRecordsOfTheFirstVersion reads a conversation with two branches as it was
// stored when items were numbered through, and goes on with both.
func TestRecordsOfTheFirstVersion(t *testing.T) {
	is := is.New(t)
	s, store := newService(t)
	is.NoErr(store.Update(t.Context(), caller.Namespace(), func(tx storage.Tx) error {
		set := func(key []byte, value string) {
			is.NoErr(tx.Set(key, []byte(value)))
		}
		set(conversationKey("conv"), `{"created":1}`)
		set(headKey("conv"), `{"next":6,"turn":"resp_3","lineage":[[0,2],[4,6]]}`)
		for i := range uint64(6) {
			id := fmt.Sprint("msg_", i)
			set(itemKey("conv", i), fmt.Sprintf(`{"k":"m","id":%q,"turn":"resp_%d","status":"completed","role":"user","parts":[{"y":"input_text","t":"%d"}]}`, id, i/2+1, i))
			is.NoErr(tx.Set(indexKey(id), indexValue("conv", i)))
		}
		set(turnKey("resp_1"), `{"conversation":"conv","items":[0,2],"inputs":1,"body":{}}`)
		set(turnKey("resp_2"), `{"conversation":"conv","history":[[0,2]],"items":[2,4],"inputs":1,"body":{}}`)
		set(turnKey("resp_3"), `{"conversation":"conv","history":[[0,2]],"items":[4,6],"inputs":1,"body":{}}`)
		return nil
	}))
	history := func(previous, conversation string) (said []string) {
		p, err := s.Continue(t.Context(), caller, previous, conversation)
		is.NoErr(err)
		for _, e := range p.Entries {
			said = append(said, text(e))
		}
		return said
	}
	is.Equal(history("resp_2", ""), []string{"0", "1", "2", "3"})
	is.Equal(history("", "conv"), []string{"0", "1", "4", "5"})
	for i, previous := range []string{"resp_2", "resp_3", "resp_4", "resp_5"} {
		p, err := s.Continue(t.Context(), caller, previous, "")
		is.NoErr(err)
		put(t, s, &NewTurn{ID: fmt.Sprint("resp_", i+4), Parent: p, Input: []Item{WithID(UserMessage(fmt.Sprint(6+i)), s.newID)}})
	}
	is.Equal(history("resp_6", ""), []string{"0", "1", "2", "3", "6", "8"})
	is.Equal(history("", "conv"), []string{"0", "1", "4", "5", "7", "9"})
	_, input, output, err := s.GetTurn(t.Context(), caller, "resp_2")
	is.NoErr(err)
	is.Equal(len(input), 1)
	is.Equal(len(output), 1)
	items, err := s.ListItems(t.Context(), caller, "conv", page.Params{})
	is.NoErr(err)
	var listed []string
	for _, item := range items.Items {
		listed = append(listed, text(Entry{Item: item}))
	}
	is.True(slices.IsSorted(listed) && len(listed) == 10)
}
