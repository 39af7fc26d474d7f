package chunk

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/model"
)

func split(text string, o Options) []Chunk { return slices.Collect(Split(text, o)) }

// TestSplit has whole documents.
func TestSplit(t *testing.T) {
	long := strings.Repeat("This is a sentence of some words. ", 30) // 255 tokens
	for name, test := range map[string]struct {
		text string
		o    Options
		want []Chunk
	}{
		"nothing":     {" \n\f\n", Options{MaxTokens: 100}, nil},
		"one":         {"One.\n\nTwo.", Options{MaxTokens: 100}, []Chunk{{Text: "One.\n\nTwo."}}},
		"small parts": {"# A\n\nOne.\n\n## B\n\nTwo.", Options{MaxTokens: 100}, []Chunk{{Text: "# A\n\nOne.\n\n## B\n\nTwo."}}},
		"headings": {"# A\n\n" + long[:200] + "\n\n## B\n\n" + long[:200] + "\n\n# C\n\nThe end.", Options{MaxTokens: 100}, []Chunk{
			{Text: "# A\n\n" + long[:200]},
			{Text: "## B\n\n" + long[:200], Headings: []string{"A"}},
			{Text: "# C\n\nThe end."},
		}},
		"under a heading": {"# A\n\n" + long[:340] + "\n\nA paragraph of its own.", Options{MaxTokens: 96}, []Chunk{
			{Text: "# A\n\n" + strings.TrimSpace(long[:340])},
			{Text: "A paragraph of its own.", Headings: []string{"A"}},
		}},
		"overlap": {long[:34*4], Options{MaxTokens: 20, Overlap: 10}, []Chunk{
			{Text: long[:34*2-1]}, {Text: long[34 : 34*3-1]}, {Text: long[34*2 : 34*4-1]},
		}},
		"pages": {"One page.\n\fAnother page.\n\f" + long[:300] + "\n\f", Options{MaxTokens: 76, Overlap: 10}, []Chunk{
			{Text: "One page.\n\nAnother page.\n\n" + long[:34*7-1], Page: 1}, {Text: long[34*6:34*8-1] + long[33:34] + long[34*8:300], Page: 3},
		}},
		"a table": {"| a | b |\n|---|---|\n| 1 | first row |\n| 2 | second row |\n| 3 | third row |\n", Options{MaxTokens: 20}, []Chunk{
			{Text: "| a | b |\n|---|---|\n| 1 | first row |\n| 2 | second row |"}, {Text: "| a | b |\n|---|---|\n| 3 | third row |"},
		}},
		"rows": {"a,b\n1,\"first\nrow\"\n2,second row\n3,third row\n", Options{MaxTokens: 10, Layout: Rows}, []Chunk{
			{Text: "a,b\n1,\"first\nrow\"\n2,second row"}, {Text: "a,b\n3,third row"},
		}},
		"records": {"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", Options{MaxTokens: 4, Layout: Lines}, []Chunk{
			{Text: "{\"a\":1}\n{\"a\":2}"}, {Text: "{\"a\":3}"},
		}},
		"a fence": {"```\n# no heading\n\nx\n```\nText.", Options{MaxTokens: 100}, []Chunk{{Text: "```\n# no heading\n\nx\n```\nText."}}},
		"a word":  {strings.Repeat("x", 100), Options{MaxTokens: 10}, []Chunk{{Text: strings.Repeat("x", 40)}, {Text: strings.Repeat("x", 40)}, {Text: strings.Repeat("x", 20)}}},
		"Chinese": {"这是第一个句子。这是第二个句子。", Options{MaxTokens: 8}, []Chunk{{Text: "这是第一个句子。"}, {Text: "这是第二个句子。"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := split(test.text, test.o); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// FuzzSplit holds that chunks are within their bounds and that no word is lost.
func FuzzSplit(f *testing.F) {
	f.Add("# A\n\nOne. Two? 三。\n\n| a |\n|--|\n| b |\n\f```\nx\n```\n- item\n1. item", uint8(20), uint8(5), uint8(0))
	f.Add("a,b\n\"1\n\",2", uint8(1), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, text string, most, overlap, layout uint8) {
		if !utf8.ValidString(text) {
			return
		}
		o := Options{MaxTokens: int(most) + 8, Layout: Layout(layout % 3)}
		o.Overlap = int(overlap) % (o.MaxTokens/2 + 1)
		var all strings.Builder
		for c := range Split(text, o) {
			if n := model.EstimateTokens(c.Text); n > o.MaxTokens+o.MaxTokens/4+1 {
				t.Fatalf("%d tokens in %q, want up to %d", n, c.Text, o.MaxTokens)
			}
			all.WriteString(c.Text)
		}
		got := all.String()
		for word := range strings.FieldsSeq(text) {
			if len(word) < int(most) && !strings.Contains(got, word) {
				t.Fatalf("%q is in no chunk of %q", word, text)
			}
		}
	})
}
