package cli

import (
	"testing"
	"time"
)

func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, total uint64
		size        int64
		took        time.Duration
		want        string
	}{
		{0, 0, 53, time.Second, "[==============================] 100%  0 of 0 records  53 B  53 B/s"},
		{0, 10, 0, 0, "[                              ]   0%  0 of 10 records  0 B  0 B/s"},
		{5, 10, 2_500_000, 2 * time.Second, "[===============               ]  50%  5 of 10 records  2.5 MB  1.2 MB/s"},
	} {
		if got := progressText(c.done, c.total, c.size, c.took); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
