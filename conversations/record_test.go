package conversations

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// TestRecordsKeepTheirForm holds the records of turns and conversations to the text
// that stores have of them since the first version.
func TestRecordsKeepTheirForm(t *testing.T) {
	for want, record := range map[string]any{
		`{"conversation":"","items":[0,0],"inputs":0,"body":0}`: &turnRecord{Body: json.RawMessage(`0`)},
		`{"conversation":"conv_1","history":[[0,4],[4294967296,18446744073709551615]],"items":[5,7],"from":3,"inputs":1,"dead":true,"running":true,"body":{"text":"]},\"\\","list":[1,{"a":[]}]}}`: &turnRecord{
			"conv_1", Lineage{{0, 4}, {1 << branchShift, math.MaxUint64}}, Range{5, 7}, 3, 1, true, true, json.RawMessage(`{"text":"]},\"\\","list":[1,{"a":[]}]}`)},
		`{"next":0,"lineage":null}`: &branchHead{},
		`{"next":4,"branches":2,"turn":"resp_1","lineage":[[0,4]],"added":[[4,5],[8,9]],"at":1795000000}`: &branchHead{4, 2, "resp_1", Lineage{{0, 4}}, Lineage{{4, 5}, {8, 9}}, 1_795_000_000},
		`{"created":0}`: &conversationRecord{},
		`{"created":-1,"metadata":{"a":"","b":"<ü>","c\n":"\""},"removed":18446744073709551615}`: &conversationRecord{-1, map[string]string{"b": "<ü>", "a": "", "c\n": "\""}, math.MaxUint64},
	} {
		got, err := jsonout.Marshal(record)
		if err != nil || string(got) != want {
			t.Errorf("wrote %s, %v, want %s", got, err, want)
		}
		back := reflect.New(reflect.TypeOf(record).Elem())
		if err := json.Unmarshal([]byte(want), back.Interface()); err != nil || !reflect.DeepEqual(back.Interface(), record) {
			t.Errorf("read %+v of %s, %v, want %+v", back, want, err, record)
		}
	}
}
