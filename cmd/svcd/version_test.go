package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	defer func(was string) { commit = was }(commit)
	commit = "0123abcd"
	var out bytes.Buffer
	if err := (environment{args: []string{"version"}, stdout: &out}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "svcd ") || !strings.Contains(got, "commit 0123abcd") || !strings.Contains(got, "\nbuilt with ") || !strings.Contains(got, "GOOS=") {
		t.Errorf("got %q", got)
	}
}
