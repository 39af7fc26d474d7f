package accounts

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// TestEntriesAreWrittenAsTheirTagsSay holds what is written without reflection to
// what encoding/json writes, and reads it back.
func TestEntriesAreWrittenAsTheirTagsSay(t *testing.T) {
	use := useRecord{Endpoint: "responses", Model: "a \"b\" <ü>", Object: "resp_1", Kind: Decision, InputTokens: 1, CachedTokens: 2, OutputTokens: 3, ReasoningTokens: 4}
	for _, r := range []entryRecord{
		{},
		{Type: EntryCredit, Amount: 12_500_000, CreatedAt: 1_795_000_000, By: "a\nb"},
		{Type: EntryCharge, Amount: -1, Key: "key_1", Use: use, CreatedAt: -1},
		{Type: EntryCharge, Amount: math.MinInt64, Use: useRecord{Endpoint: "x"}, Lane: "r1", Number: math.MaxUint64},
	} {
		want, err := jsonout.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		got := r.AppendJSON(nil)
		if string(got) != string(want) {
			t.Errorf("wrote %s, want %s", got, want)
		}
		in := jsonout.Read(string(got))
		if back, ok := parseEntry(&in); !ok || back != r {
			t.Errorf("read %+v of %s, want %+v", back, got, r)
		}
	}
}

// FuzzReadEntry reads what may be stored as encoding/json reads it, whoever wrote it.
func FuzzReadEntry(f *testing.F) {
	for _, seed := range []string{
		`{"type":"charge","amount":"-0.5","use":{"endpoint":"x","model":"m","kind":1,"input_tokens":3},"created_at":7,"lane":"a","number":9}`,
		`{"type":"charge","amount":1.5,"created_at":7}`, `{"amount":null,"later":[1]}`, `{"Type":"credit","use":{"kind":256}}`, `{"amount":"1e3"}`, `null`, `{`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			return // nobody has written it
		}
		var want entryRecord
		failed := json.Unmarshal([]byte(text), &want)
		got, err := readEntry([]byte(text))
		if (err != nil) != (failed != nil) || err == nil && got != want {
			t.Errorf("%s: %+v %v, want %+v %v", text, got, err, want, failed)
		}
	})
}
