package responses

import (
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		arguments string
		want      []string
	}{
		{`{"queries":["a","b"]}`, []string{"a", "b"}},
		{`{"query":"a"}`, []string{"a"}},
		{`{"queries":[" a ","a","","b"],"query":"c"}`, []string{"a", "b", "c"}},
		{`{"queries":["1","2","3","4","5","6"]}`, []string{"1", "2", "3", "4", "5"}},
		{`{"queries":"a"}`, nil},
		{`{"queries":[1]}`, nil},
		{`["a"]`, nil}, {`null`, nil}, {`{`, nil}, {``, nil}, {`{}`, nil},
	} {
		t.Run(c.arguments, func(t *testing.T) { is.New(t).Equal(queries(c.arguments), c.want) })
	}
}

// FuzzQueries reads what models write as arguments: up to five queries come
// out, none empty or twice, and they can be read again.
func FuzzQueries(f *testing.F) {
	f.Add(`{"queries":["a","b"],"query":"c"}`)
	f.Add(`{"queries":["\ud800","\u2028"]}`)
	f.Fuzz(func(t *testing.T, arguments string) {
		list := queries(arguments)
		if len(list) > maxQueries {
			t.Fatalf("got %d queries", len(list))
		}
		for i, q := range list {
			if q == "" || strings.TrimSpace(q) != q || slices.Index(list, q) < i {
				t.Fatalf("got %q", list)
			}
		}
		if again := queries(searchArguments(list)); !slices.Equal(again, list) {
			t.Fatalf("got %q, and then %q", list, again)
		}
	})
}
