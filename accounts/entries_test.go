package accounts

import (
	"encoding/json"
	"testing"
)

// TestEntriesAsTheyAreStored reads an entry of each kind as stores have it, and
// writes it again.
func TestEntriesAsTheyAreStored(t *testing.T) {
	for _, text := range []string{
		`{"type":"credit","amount":"12.5","created_at":1795000000,"by":"a\nb"}`,
		`{"type":"credit","amount":"1","created_at":1795000000,"audited":true}`,
		`{"type":"charge","amount":"-0.000001","key":"key_1","use":{"endpoint":"responses","model":"m","object":"resp_1","kind":1,"input_tokens":1,"cached_tokens":2,"output_tokens":3,"reasoning_tokens":4},"created_at":-1}`,
		`{"type":"charge","amount":"-9223372036854.775808","use":{"endpoint":"x","model":"","input_tokens":0},"created_at":0,"lane":"r1","number":18446744073709551615}`,
	} {
		e, err := readEntry([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(e)
		if err != nil || string(got) != text {
			t.Errorf("wrote %s, %v, want %s", got, err, text)
		}
	}
}
