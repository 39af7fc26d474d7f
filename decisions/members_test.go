package decisions

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// FuzzMembers reads members as package json's decoder does.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "a" : null , "b\u0061" : "x\\n" , "" : [ 1 , {"a":2} ], "\ud800":{}, "\ud800\u0041": "", "\ud83d\ude00": {"a" : "}" } }`,
		"{\"\xff\":null,\"\ufffd\":null}", `{"a":1}`, `{"a":null,"\u0061":null}`, `{"1":"","2":"","3":"","4":5}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		if !json.Valid(object) || !bytes.HasPrefix(bytes.TrimLeft(object, " \t\r\n"), []byte("{")) {
			return
		}
		const most = 3
		got, err := parseMembers("p", object, most)
		d := json.NewDecoder(bytes.NewReader(object))
		d.Token()
		var want []option
		wrong := false
		for d.More() && len(want) <= most && !wrong {
			key, _ := d.Token()
			o := option{name: key.(string)}
			d.Decode(&o.description)
			wrong = slices.ContainsFunc(want, func(other option) bool { return other.name == o.name })
			switch o.description[0] {
			case 'n':
				o.description = nil
			case '"', '[', '{':
			default:
				wrong = true
			}
			want = append(want, o)
		}
		if wrong != (err != nil) {
			t.Fatalf("%s: got %v", object, err)
		}
		same := func(a, b option) bool {
			return a.name == b.name && bytes.Equal(a.description, b.description) && (a.description == nil) == (b.description == nil)
		}
		if !wrong && !slices.EqualFunc(got, want, same) {
			t.Fatalf("%s: got %v, want %v", object, got, want)
		}
	})
}
