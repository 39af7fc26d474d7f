package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuide runs the commands of the operator's guide.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	url := newServer(t)
	first := func(line string) string {
		stdout, _, err := svcd(t, url, line)
		var object struct{ ID string }
		if err != nil || json.Unmarshal([]byte(stdout), &object) != nil {
			t.Fatalf("svcd %s: %v %s", line, err, stdout)
		}
		return object.ID
	}
	organization := first("org create -json -credits 100 A")
	key := first("key create -json -org " + organization)
	dir := t.TempDir()
	replace := strings.NewReplacer("$ORG", organization, "$KEY", key, "svc.backup", filepath.Join(dir, "svc.backup"), "./restored", filepath.Join(dir, "data"), "./salvaged", filepath.Join(dir, "salvaged"))
	quoted := regexp.MustCompile(`"[^"]*"`)
	known := map[string]bool{}
	help, _, err := svcd(t, url, "help")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(help) {
		switch word := strings.Fields(line)[1]; word {
		case "[flags]", "extract", "check-config", "completion", "man", "version", "help":
		default:
			known[word] = true
		}
	}
	count := 0
	for line := range strings.Lines(string(guide)) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "svcd ")
		if !ok || !known[strings.Fields(args)[0]] {
			continue
		}
		count++
		args = quoted.ReplaceAllStringFunc(replace.Replace(args), func(text string) string {
			return strings.ReplaceAll(strings.Trim(text, `"`), " ", "~")
		})
		if _, _, err := svcd(t, url, args); err != nil {
			t.Errorf("svcd %s: %v", args, err)
		}
	}
	if count < 15 {
		t.Errorf("the guide has only %d commands", count)
	}
}
