package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/vectorstores/internal/sets"
)

// indexed returns the index of texts, some in a segment.
func indexed(t testing.TB, perSegment int, l Language, texts ...string) *Index {
	t.Helper()
	a, x := NewAnalyzer(), New()
	for part := range slices.Chunk(texts, perSegment) {
		b := NewBuilder(a)
		for _, text := range part {
			b.Add(l, text)
		}
		if err := x.Add(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func chunks(hits []Hit) (found []int) {
	for _, h := range hits {
		found = append(found, h.Chunk)
	}
	return found
}

// TestTerms has words of many kinds become terms.
func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"The Dogs' running, a dog's bone":  "the dog running/run a dog bone",
		"queries classes gas bus analyses": "query/queri classe/class gas bus analyse/analys",
		"AB-1234/x":                        "(ab-1234/x) ab 1234 x",
		"well-known":                       "well known",
		"getUserName":                      "getusername/getusernam (get) (user) (name)",
		"snake_case_2":                     "(snake_case_2) snake case 2",
		"v1.2.3 and 1,234.5":               "(v1.2.3) v1 2 3 and (1,234.5) 1 234 5",
		"12,500":                           "(12500) 12 500",
		"a@b.com":                          "(a@b.com) a b com",
		"Café naïve":                       "cafe naive/naiv",
		"全文検索 A":                           "全文 文検 検索 a",
		"水":                                "水",
		"Ｆｕｌｌ":                             "full",
		"- -- _":                           "",
		strings.Repeat("x", 70):            strings.Repeat("x", 64),
	} {
		var got []string
		NewAnalyzer().tokens(text, English, func(tok token) {
			s := tok.form
			if tok.stem != "" {
				s += "/" + tok.stem
			}
			if tok.extra {
				s = "(" + s + ")"
			}
			got = append(got, s)
		})
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestDetect has a sentence in each language.
func TestDetect(t *testing.T) {
	for text, want := range map[string]Language{
		"All that glitters is not gold, and nothing lasts.":       English,
		"Le chat est dans la maison et les chiens sont au jardin": French,
		"El perro y los gatos están en la casa de su madre":       Spanish,
		"Det är en bok som jag har läst och inte glömt":           Swedish,
		"Der Hund ist nicht im Haus und die Katze auf dem Dach":   None,
		"A shark is a fish.": English,
		"x 1":                English,
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// TestScores compares scores with those of BM25 as it is written in books, over words
// that have no stem but themselves.
func TestScores(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 200)
	for i := range texts {
		words := make([]string, 5+random.IntN(40))
		for j := range words {
			words[j] = fmt.Sprintf("w%d", int(random.ExpFloat64()*20))
		}
		texts[i] = strings.Join(words, " ")
	}
	want := sets.BM25(texts)([]string{"w1", "w7", "w40", "w999"})
	for _, perSegment := range []int{1, 7, 200} {
		x := indexed(t, perSegment, None, texts...)
		hits := x.Search(x.Query(NewAnalyzer(), "w1 w7 w40 w999"), 20, nil)
		for i, h := range hits {
			if math.Abs(float64(h.Score)-want[h.Chunk]) > 1e-5 {
				t.Errorf("chunk %d: got %v, want %v", h.Chunk, h.Score, want[h.Chunk])
			}
			if i > 0 && h.Score > hits[i-1].Score {
				t.Errorf("out of order: %v", hits)
			}
		}
		least, better := hits[len(hits)-1], 0
		for _, w := range want {
			if w > float64(least.Score)+1e-5 {
				better++
			}
		}
		if better >= 20 {
			t.Errorf("%d chunks have better scores than the last hit", better)
		}
	}
}

// TestForms has the form of a word count more than its stem alone.
func TestForms(t *testing.T) {
	x := indexed(t, 2, English, "he organizes it", "an organization", "the organ", "nothing at all")
	if got := chunks(x.Search(x.Query(NewAnalyzer(), "organizations"), 9, nil)); !reflect.DeepEqual(got, []int{1, 0, 2}) && !reflect.DeepEqual(got, []int{1, 2, 0}) {
		t.Errorf("got %v", got)
	}
}

// TestRemove has chunks that were removed not found.
func TestRemove(t *testing.T) {
	x := indexed(t, 2, English, "a whale", "a whale", "a whale")
	x.Remove(1, 1)
	x.Remove(1, 1)
	q := x.Query(NewAnalyzer(), "whale")
	if got := chunks(x.Search(q, 9, nil)); !reflect.DeepEqual(got, []int{0, 2}) || x.Dead() != 1 {
		t.Errorf("got %v, %d dead", got, x.Dead())
	}
	if got := chunks(x.Search(q, 9, func(chunk int) bool { return chunk == 2 })); !reflect.DeepEqual(got, []int{2}) {
		t.Errorf("with a filter: got %v", got)
	}
	if got := x.Search(x.Query(NewAnalyzer(), "?!"), 9, nil); len(got) > 0 {
		t.Errorf("without words: got %v", got)
	}
}

// FuzzAdd adds bytes that may be no segment: an index must not break on them, and what
// it takes can be searched.
func FuzzAdd(f *testing.F) {
	b := NewBuilder(NewAnalyzer())
	b.Add(English, "one two two three")
	b.Add(French, "deux trois")
	good := b.Bytes()
	f.Add(good)
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x81
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := New()
		if x.Add(good) != nil {
			t.Fatal("the good segment was refused")
		}
		before := x.Len()
		if err := x.Add(data); err != nil {
			if x.Len() != before {
				t.Fatal("something was added")
			}
			return
		}
		x.Search(x.Query(NewAnalyzer(), "one two three deux"), 5, nil)
	})
}
