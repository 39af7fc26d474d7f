package conversations

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// FuzzRecord stores items of every kind and reads them back.
func FuzzRecord(f *testing.F) {
	f.Add("msg_1", "resp_1", "completed", "user", "Hi <b>\u2028", "x", uint8(2))
	f.Add("", "", "", "", "", "", uint8(0))
	f.Fuzz(func(t *testing.T, id, turn, status, role, text, other string, n uint8) {
		for _, s := range []string{id, turn, status, role, text, other} {
			if !utf8.ValidString(s) {
				return
			}
		}
		m := &Message{ID: id, Status: Status(status), Role: model.Role(role), Phase: other, Content: []Part{}}
		var queries []string
		sources := [][]string{nil, {}, {text}, {other, text}}[n%4]
		for i := range n % 4 {
			m.Content = append(m.Content, []Part{{OutputText, text, "", nil, nil, []model.Logprob{{Token: other, Logprob: -1, Top: []model.Logprob{{Token: text, Bytes: []byte{1}}}}}, []Citation{{File: id, Filename: text, Index: int(n)}}, other}, {InputText, other, "", nil, &InlineFile{Name: text, Digest: other, Text: text, Note: other}, nil, nil, ""}, {InputImage, "", "", &model.Image{MediaType: other, Data: []byte(text + "1"), Width: 3, Height: 4}, nil, nil, nil, ""}}[i])
			queries = append(queries, text)
		}
		for _, item := range []Item{
			m,
			&Message{ID: id, Role: model.User, Content: []Part{{Type: InputText, Text: text}, {Type: InputFile, FileID: other}}},
			&FunctionCall{ID: id, Status: Status(status), CallID: other, Name: role, Arguments: text, Custom: n%2 == 0, Namespace: other, Thought: Thought{Model: role, Text: text}},
			&FunctionCallOutput{ID: id, CallID: other, Output: text, Call: role, Listed: n%2 == 0, Custom: n%3 == 0},
			&FunctionCallOutput{ID: id, CallID: other, Call: role, Content: []Part{{Type: InputText, Text: text}}},
			&FileSearch{ID: id, Status: Status(status), CallID: other, Queries: queries, Passages: []Passage{{Number: int(n), File: id, Filename: other, Score: 0.5, Text: text, Attributes: map[string]any{"a": true}, Page: int(n), Headings: queries}}, Failure: other, Shown: n%2 == 0, Thought: Thought{Model: other, Text: text}},
			&WebSearch{ID: id, Status: Status(status), CallID: other, Queries: queries, Results: text, Sources: sources},
			&Compaction{ID: id, Sealed: other, Summary: text},
			&Reasoning{ID: id, Sealed: text},
		} {
			want := Entry{Seq: uint64(n), Turn: turn, Item: item}
			data, err := encodeEntry(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeEntry(uint64(n), data)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %+v, %v\nwant %+v", got, err, want)
			}
		}
	})
}

// FuzzDecodeEntry decodes what a damaged store could hold.
func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte(`{"k":"m","id":"msg_1","parts":[{"y":"input_text","t":"x"}]}`))
	f.Add([]byte(`{"k":"?"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEntry(1, data)
		if (err == nil) != (e.Item != nil) {
			t.Fatalf("got %+v, %v", e, err)
		}
	})
}

func FuzzParseIndexValue(f *testing.F) {
	f.Add("conv_1", uint64(7))
	f.Fuzz(func(t *testing.T, conversation string, seq uint64) {
		if conversation == "" {
			return
		}
		gotConversation, gotSeq, err := parseIndexValue(indexValue(conversation, seq))
		if err != nil || gotConversation != conversation || gotSeq != seq {
			t.Fatalf("got %q, %d, %v", gotConversation, gotSeq, err)
		}
		parseIndexValue([]byte(conversation)) // must not panic
	})
}

func TestCheckSize(t *testing.T) {
	fits := UserMessage(strings.Repeat("<", storage.MaxValue-2<<10)) // one byte each
	is := is.New(t)
	is.NoErr(CheckSize([]Item{fits}))
	is.NoErr(CheckSize(nil))
	for name, items := range map[string][]Item{
		"one":     {UserMessage(strings.Repeat("x", storage.MaxValue))},
		"escapes": {UserMessage(strings.Repeat("\x01", storage.MaxValue/6))},
		"all":     {fits, fits, fits, fits, fits},
	} {
		err := CheckSize(items)
		if !fault.Is(err, fault.TooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// BenchmarkRecord stores and reads a message of the user's.
func BenchmarkRecord(b *testing.B) {
	e := Entry{Turn: "resp_06h01s0ahc01an", Item: &Message{ID: "msg_06h01s0ahc01an", Status: Completed, Role: model.User,
		Content: []Part{{Type: InputText, Text: "What came of the order that I asked about?\n"}}}}
	data, err := encodeEntry(e)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := encodeEntry(e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeEntry(1, data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
