package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestGroupMemory(t *testing.T) {
	for _, test := range []struct {
		name, self string
		files      map[string]string
		want       int64
	}{
		{"none", "0::/a\n", map[string]string{"a/memory.max": "max\n"}, math.MaxInt64},
		{"its own", "0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n"}, 1000},
		{"the one around it", "0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n", "a/memory.max": "700\n"}, 700},
		{"the high mark", "0::/\n", map[string]string{"memory.max": "1000\n", "memory.high": "900\n"}, 900},
		{"the old kind", "7:memory:/x\n", map[string]string{"memory/memory.limit_in_bytes": "5000\n"}, 5000},
		{"the old kind without", "7:memory:/x\n", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, math.MaxInt64},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			self := filepath.Join(root, "self")
			write := func(path, text string) {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(self, test.self)
			for name, text := range test.files {
				write(filepath.Join(root, "cgroup", name), text)
			}
			if got := groupMemory(self, filepath.Join(root, "cgroup")); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}
