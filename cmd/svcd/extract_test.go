package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExtractPrintsWhatAModelSees(t *testing.T) {
	dir := t.TempDir()
	notes, empty := filepath.Join(dir, "notes.txt"), filepath.Join(dir, "odd.txt")
	for name, content := range map[string]string{notes: "Some notes.", empty: "\xff"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const scan, locked = "../../extract/pdf/testdata/scan.pdf", "../../extract/docx/testdata/password.docx"
	var out, complaints bytes.Buffer
	e := environment{getenv: func(string) string { return "" }, stdout: &out, stderr: &complaints}
	e.args = []string{"extract", notes, scan, locked, empty}
	err := e.run(t.Context())
	if err == nil || err.Error() != "2 of 4 documents could not be read" {
		t.Errorf("got %v", err)
	}
	want := "The file \"notes.txt\":\n\"\"\"\nSome notes.\n\"\"\"\n" +
		"The file \"scan.pdf\":\n(No text was found in this file. It may be a scan: pictures of pages.)\n"
	if out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
	wantErr := locked + ": It is protected by a password.\n" + empty + ": The file is not text in UTF-8, nor in UTF-16 with a byte order mark.\n"
	if complaints.String() != wantErr {
		t.Errorf("got  %q\nwant %q", complaints.String(), wantErr)
	}
}

func TestExtractAsJSON(t *testing.T) {
	const scan = "../../extract/pdf/testdata/scan.pdf"
	var out bytes.Buffer
	e := environment{getenv: func(string) string { return "" }, stdout: &out, stderr: &bytes.Buffer{}}
	e.args = append([]string{"extract", "-json", "-jobs", "2"}, scan, scan, scan, "nowhere.pdf")
	if err := e.run(t.Context()); err == nil {
		t.Error("a file that is not there is no error")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("got %q", lines)
	}
	for i, line := range lines {
		var got struct {
			File, Format, Error string
			Pages               int
			Warnings            []string
			Millis              float64 `json:"milliseconds"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if i == 3 && (got.Error == "" || got.File != "nowhere.pdf") {
			t.Errorf("got %s", line)
		}
		if i < 3 && (got.File != scan || got.Format != "pdf" || got.Pages != 2 || len(got.Warnings) != 1 || got.Millis <= 0) {
			t.Errorf("got %s", line)
		}
	}
}
