package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// uploadTo runs svcd files upload with a server's API key.
func uploadTo(t *testing.T, s *killable, key string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	variables := map[string]string{"SVC_URL": s.url, "SVC_API_KEY": key}
	var out, errs bytes.Buffer
	e := environment{
		args: append([]string{"files", "upload"}, args...), getenv: func(name string) string { return variables[name] },
		stdout: &out, stderr: &errs,
	}
	err = e.run(t.Context())
	return fileID.ReplaceAllString(out.String(), "FILE"), errs.String(), err
}

var fileID = regexp.MustCompile(`file_[0-9a-z]{26}`)

// TestUploadedDocuments uploads real documents to a server, which reads them in
// processes of its own.
func TestUploadedDocuments(t *testing.T) {
	is := is.New(t)
	server := startServer(t, t.TempDir())
	defer server.kill()
	notes := filepath.Join(t.TempDir(), "no\x1btes.md")
	is.NoErr(os.WriteFile(notes, []byte("# Notes"), 0o600))

	out, errs, err := uploadTo(t, server, killKey, "../../extract/docx/testdata/manual.docx", "../../extract/doc/testdata/manual.doc", notes)
	is.NoErr(err)
	is.Equal(out, "FILE\tprocessed\tmanual.docx\nFILE\tprocessed\tmanual.doc\nFILE\tprocessed\tno�tes.md\n")
	is.Equal(errs, "") // no terminal, no bar

	out, _, err = uploadTo(t, server, killKey, "-json", "-type", "text/csv", notes)
	is.NoErr(err)
	is.Equal(regexp.MustCompile(`"created_at":\d+`).ReplaceAllString(out, `"created_at":0`),
		`{"id":"FILE","object":"file","bytes":7,"created_at":0,"expires_at":null,"filename":"no�tes.md","purpose":"assistants","status":"processed"}`+"\n")
}

func TestUploadsThatFail(t *testing.T) {
	server := startServer(t, t.TempDir())
	defer server.kill()
	dir := t.TempDir()
	unknown, big := filepath.Join(dir, "a.bin"), filepath.Join(dir, "b.txt")
	for path, size := range map[string]int64{unknown: 1, big: 50_000_001} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
	const locked = "../../extract/docx/testdata/password.docx"
	for _, c := range []struct {
		key  string
		args []string
		out  string
		want string
	}{
		{killKey, []string{locked}, "FILE\terror\tpassword.docx\n", locked + ": the server could not read the file; its log says why"},
		{killKey, []string{unknown}, "", unknown + ": the name does not tell the type of the file; set -type"},
		{killKey, []string{"-type", "image/png", unknown}, "", unknown + `: Files of the type "image/png" are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are. (unsupported_file_type)`},
		{killKey, []string{big}, "", big + ": The file is larger than 50 MB (50,000,000 bytes). (file_too_large)"},
		{killKey, []string{"-type", "text/plain", dir}, "", dir + ": it is not a file"},
		{killKey, []string{"no.txt"}, "", "no.txt: no such file or directory"},
		{killKey, nil, "", "it is called as: svcd files upload PATH…"},
		{"", []string{unknown}, "", "no API key: set -key or SVC_API_KEY"},
		{"wrong", []string{big}, "", big + ": "},
	} {
		out, _, err := uploadTo(t, server, c.key, c.args...)
		if out != c.out || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: got %q, %v, want %q, %s", c.args, out, err, c.out, c.want)
		}
	}
}
