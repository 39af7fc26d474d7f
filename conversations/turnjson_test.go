package conversations

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// TestTurnsAreWrittenAsTheirTagsSay holds what is written without reflection to
// what encoding/json writes, and reads it back.
func TestTurnsAreWrittenAsTheirTagsSay(t *testing.T) {
	body := json.RawMessage(`{"status":"completed","text":"]},\"\\","list":[1,{"a":[]}]}`)
	for _, test := range []struct {
		record jsonout.Appender
		empty  jsonout.Readable
	}{
		{turnRecord{Body: json.RawMessage(`0`)}, &turnRecord{}},
		{turnRecord{"conv_1", Lineage{{0, 4}, {1 << branchShift, math.MaxUint64}}, Range{5, 7}, 3, 1, true, true, body}, &turnRecord{}},
		{turnRecord{"a \"b\" <ü>", nil, Range{}, 0, -1, false, false, json.RawMessage(`"]"`)}, &turnRecord{}},
		{head{Lineage: Lineage{}}, &head{}},
		{head{4, 2, "resp_1", Lineage{{0, 4}}, Lineage{{4, 5}, {8, 9}}, 1_795_000_000}, &head{}},
		{conversationRecord{}, &conversationRecord{}},
		{conversationRecord{-1, map[string]string{"b": "<ü>", "a": "", "c\n": "\""}, math.MaxUint64}, &conversationRecord{}},
	} {
		want, err := jsonout.Marshal(test.record)
		if err != nil {
			t.Fatal(err)
		}
		got := test.record.AppendJSON(nil)
		if string(got) != string(want) {
			t.Errorf("wrote %s, want %s", got, want)
		}
		in := jsonout.Read(string(got))
		test.empty.ReadJSON(&in)
		if back := reflect.ValueOf(test.empty).Elem().Interface(); !in.End() || !reflect.DeepEqual(back, test.record) {
			t.Errorf("read %+v of %s, want %+v", back, got, test.record)
		}
	}
	for _, r := range []jsonout.Appender{turnRecord{}, head{}} { // which others may have written
		want, err := jsonout.Marshal(r)
		if got := r.AppendJSON(nil); string(got) != string(want) {
			t.Errorf("wrote %s, want %s, %v", got, want, err)
		}
	}
}

// FuzzReadTurn reads of what may be stored what encoding/json reads, or leaves it to
// that.
func FuzzReadTurn(f *testing.F) {
	for _, seed := range []string{
		`{"conversation":"conv_1","history":[[0,4],[5,9]],"items":[9,11],"from":5,"inputs":1,"body":{"a":"}"}}`,
		`{"conversation":null,"items":[1]}`, `{"items":[1,2,3]}`, `{"Conversation":"x"}`, `{"inputs":1.5}`, `{"body":null}`, `{"body":"\"]"}`, `{"body":[1],"dead":true,"running":false}`,
		`{"next":3,"branches":1,"turn":"resp_1","lineage":[[0,3]],"added":[],"at":7}`, `{"lineage":null}`,
		`{"created":7,"metadata":{"a":"b"},"removed":1}`, `{"metadata":{"a":null}}`, `null`, `{`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
			return // nobody has written it
		}
		for _, v := range []struct {
			got  jsonout.Readable
			want any
		}{{&turnRecord{}, &turnRecord{}}, {&head{}, &head{}}, {&conversationRecord{}, &conversationRecord{}}} {
			in := jsonout.Read(text)
			if v.got.ReadJSON(&in); !in.End() {
				continue
			}
			if err := json.Unmarshal([]byte(text), v.want); err != nil || !reflect.DeepEqual(v.got, v.want) {
				t.Errorf("%s: %+v, want %+v, %v", text, v.got, v.want, err)
			}
		}
	})
}
