package conversations

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/matryer/is"
)

func TestLineageWith(t *testing.T) {
	for _, c := range []struct {
		name   string
		l      Lineage
		ranges []Range
		want   Lineage
	}{
		{"the first range", nil, []Range{{0, 3}}, Lineage{{0, 3}}},
		{"an empty range", Lineage{{0, 3}}, []Range{{7, 7}}, Lineage{{0, 3}}},
		{"ranges that touch are one", Lineage{{0, 3}}, []Range{{3, 5}}, Lineage{{0, 5}}},
		{"a gap", Lineage{{0, 3}}, []Range{{4, 5}}, Lineage{{0, 3}, {4, 5}}},
		{"an earlier range", Lineage{{5, 7}}, []Range{{3, 5}}, Lineage{{5, 7}, {3, 5}}},
		{"several", Lineage{{0, 3}}, []Range{{3, 4}, {6, 7}, {7, 9}}, Lineage{{0, 4}, {6, 9}}},
		{"none", Lineage{{0, 3}}, nil, Lineage{{0, 3}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			l := slices.Grow(slices.Clone(c.l), 4)
			got := l.With(c.ranges...)
			is.Equal(got, c.want)
			is.Equal(len(l), len(c.l))
			for i := range l {
				is.Equal(l[i], c.l[i]) // not changed
			}
		})
	}
}

func TestBranchesOfALineageShareNothing(t *testing.T) {
	is := is.New(t)
	root := make(Lineage, 0, 8).With(Range{0, 2})
	left, right := root.With(Range{5, 6}), root.With(Range{7, 8})
	is.Equal(left, Lineage{{0, 2}, {5, 6}})
	is.Equal(right, Lineage{{0, 2}, {7, 8}})
}

func TestLineagesAreStoredAsPairs(t *testing.T) {
	is := is.New(t)
	data, err := json.Marshal(Lineage{{0, 3}, {5, 1 << 60}})
	is.NoErr(err)
	is.Equal(string(data), `[[0,3],[5,1152921504606846976]]`)
	var l Lineage
	is.NoErr(json.Unmarshal(data, &l))
	is.Equal(l, Lineage{{0, 3}, {5, 1 << 60}})
}

func TestLineageWithout(t *testing.T) {
	for _, c := range []struct {
		name           string
		l, other, want Lineage
	}{
		{"nothing", Lineage{{10, 15}, {17, 20}}, nil, Lineage{{10, 15}, {17, 20}}},
		{"of nothing", nil, Lineage{{10, 15}}, nil},
		{"the beginning", Lineage{{10, 15}, {17, 20}}, Lineage{{0, 12}}, Lineage{{12, 15}, {17, 20}}},
		{"the end", Lineage{{10, 15}}, Lineage{{12, 30}}, Lineage{{10, 12}}},
		{"the middle", Lineage{{10, 15}}, Lineage{{11, 12}}, Lineage{{10, 11}, {12, 15}}},
		{"several", Lineage{{10, 15}, {17, 20}}, Lineage{{11, 18}, {19, 20}}, Lineage{{10, 11}, {18, 19}}},
		{"everything", Lineage{{10, 15}, {17, 20}}, Lineage{{15, 30}, {0, 15}}, nil},
		{"what lies elsewhere", Lineage{{10, 15}}, Lineage{{0, 10}, {15, 20}}, Lineage{{10, 15}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(c.l.Without(c.other), c.want)
		})
	}
}
