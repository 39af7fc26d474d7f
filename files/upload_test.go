package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

func TestATextFileIsProcessedAtOnce(t *testing.T) {
	e := newEnv(t, nil)
	want := File{ID: "file_00001", Bytes: 8, CreatedAt: start.Unix(), Filename: "a", MIMEType: "text/markdown", Purpose: "assistants", Status: Processed}
	equal(t, e.create("text/markdown", "# Title\n"), want)
	got, err := e.Get(t.Context(), one, "file_00001")
	ok(t, err)
	equal(t, got, want)
	equal(t, e.content("file_00001"), "# Title\n")
	text, err := e.Text(t.Context(), one, "file_00001")
	ok(t, err)
	equal(t, text, "# Title\n")
	equal(t, keys(t, e.store), []string{"f/b/blob_00001/\x00\x00\x00\x00", "f/m/file_00001"})
}

func TestTextInEveryEncoding(t *testing.T) {
	for _, c := range []struct{ rule, mimeType, kept, content, text string }{
		{"a byte order mark is not text", "text/csv", "text/csv", "\xef\xbb\xbfa,b", "a,b"},
		{"UTF-16 is converted", "text/plain", "text/plain", "\xff\xfeA\x00=\xd8\x00\xde", "A😀"},
		{"a charset says how to read", "Text/Plain; Charset=UTF-16LE; x=y", "text/plain; charset=utf-16le", "A\x00", "A"},
		{"nothing", "application/json", "application/json", "", ""},
	} {
		e := newEnv(t, nil)
		f := e.create(c.mimeType, c.content)
		text, err := e.Text(t.Context(), one, f.ID)
		if f.MIMEType != c.kept || f.Status != Processed || text != c.text || err != nil || e.content(f.ID) != c.content {
			t.Errorf("%s: got %+v with the text %q, %v", c.rule, f, text, err)
		}
	}
}

func TestATextFileThatIsNoTextFails(t *testing.T) {
	e := newEnv(t, nil)
	f := e.create("text/plain", "Z\xfcrich")
	equal(t, f, File{ID: "file_00001", Bytes: 6, CreatedAt: start.Unix(), Filename: "a", MIMEType: "text/plain", Purpose: Purpose, Status: Failed, Reason: NotText})
	_, err := e.Text(t.Context(), one, f.ID)
	equal(t, err, error(fault.Invalidf("", `The file "file_00001" could not be read. It is not text in UTF-8, nor in UTF-16 with a byte order mark.`)))
}

// TestContentOfEverySize stores files around the sizes of chunks and batches.
func TestContentOfEverySize(t *testing.T) {
	e := newEnv(t, nil)
	data := strings.Repeat("0123456789abcde\n", 2*batchSize/16)
	for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, batchSize - 1, batchSize, batchSize + 1, 2 * batchSize} {
		f := e.create("text/plain", data[:size])
		if got := e.content(f.ID); f.Bytes != int64(size) || got != data[:size] {
			t.Errorf("%d bytes: got %d bytes, %+v", size, len(got), f)
		}
	}
}

// zeros are n bytes and count how many of them were read.
type zeros struct{ n, read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.read == z.n {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.n-z.read)
	for i := range p[:n] {
		p[i] = '0'
	}
	z.read += n
	return int(n), nil
}

func TestTheLargestFile(t *testing.T) {
	e := newEnv(t, nil)
	u := upload("text/plain", "")
	u.Content = &zeros{n: MaxBytes}
	f, err := e.Create(t.Context(), one, u)
	ok(t, err)
	equal(t, f.Bytes, 50_000_000)
}

func TestAByteMoreIsTooLarge(t *testing.T) {
	e := newEnv(t, nil)
	u, content := upload("application/pdf", ""), &zeros{n: 2 * MaxBytes}
	u.Content = content
	_, err := e.Create(t.Context(), one, u)
	equal(t, err, error(&fault.Error{Kind: fault.TooLarge, Code: "file_too_large", Param: "file", Message: "The file is larger than 50 MB (50,000,000 bytes)."}))
	equal(t, content.read, MaxBytes+1)
	equal(t, keys(t, e.store), []string{})
}

func TestWhatRefusesAnUploadLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		rule   string
		change func(u *Upload)
		want   error
	}{
		{"no purpose", func(u *Upload) { u.Purpose = "" }, fault.Invalidf("purpose", `purpose is required; it must be "assistants" or "batch".`)},
		{"another purpose", func(u *Upload) { u.Purpose = "vision" }, fault.Invalidf("purpose", `purpose must be "assistants" or "batch", not "vision".`)},
		{"no type", func(u *Upload) { u.MIMEType = "" }, withParam(unsupported(`Files of the type "" are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.`), "file")},
		{"a short life", func(u *Upload) { u.ExpiresAfter = time.Hour - 1 }, fault.Invalidf("expires_after[seconds]", "expires_after[seconds] must be between 3600 and 2592000.")},
		{"a long life", func(u *Upload) { u.ExpiresAfter = 30*24*time.Hour + 1 }, fault.Invalidf("expires_after[seconds]", "expires_after[seconds] must be between 3600 and 2592000.")},
		{"content that breaks off", func(u *Upload) {
			u.Content = io.MultiReader(&zeros{n: 3 * batchSize}, brokenReader{io.ErrUnexpectedEOF})
		}, io.ErrUnexpectedEOF},
		{"content that fails at once", func(u *Upload) { u.Content = brokenReader{errBroken} }, errBroken},
	} {
		e := newEnv(t, nil)
		u := upload("text/plain", "x")
		c.change(&u)
		_, err := e.Create(t.Context(), one, u)
		if fmt.Sprint(err) != fmt.Sprint(c.want) || fault.From(err).Param != fault.From(c.want).Param {
			t.Errorf("%s: got %v, want %v", c.rule, err, c.want)
		}
		equal(t, keys(t, e.store), []string{})
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

func TestAnUploadEndsWithItsContext(t *testing.T) {
	e := newEnv(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u := upload("text/plain", "")
	u.Content = io.MultiReader(&zeros{n: 2 * batchSize}, canceler{cancel}, &zeros{n: batchSize})
	_, err := e.Create(ctx, one, u)
	equal(t, fault.From(err).Kind, fault.Canceled)
	equal(t, keys(t, e.store), []string{})
}

// canceler is an empty reader that cancels.
type canceler struct{ cancel func() }

func (c canceler) Read([]byte) (int, error) {
	c.cancel()
	return 0, io.EOF
}

func TestADraftCannotBeSeen(t *testing.T) {
	e := newEnv(t, nil)
	d, err := e.Stage(t.Context(), one, "a.txt", "text/plain", strings.NewReader("x"))
	ok(t, err)
	equal(t, keys(t, e.store), []string{"f/b/blob_00001/\x00\x00\x00\x00", "f/g/blob_00001"})
	d.Discard(t.Context())
	equal(t, keys(t, e.store), []string{})
	_, err = d.Commit(t.Context(), Purpose, 0)
	equal(t, err, error(errEnded))
	equal(t, fault.From(err).Kind, fault.Unavailable)
	equal(t, keys(t, e.store), []string{})
}

// TestADraftThatOthersRemove stands still in the middle of an upload, until another
// process takes its own for dead and removes what there is: no byte comes after that.
func TestADraftThatOthersRemove(t *testing.T) {
	e := newEnv(t, nil)
	rest := readerFunc(func([]byte) (int, error) {
		ok(t, e.sweepBlob(t.Context(), one.Namespace(), "blob_00001"))
		return 0, io.EOF
	})
	content := io.MultiReader(strings.NewReader(strings.Repeat("x", 2*batchSize)), rest, strings.NewReader("y"))
	_, err := e.Stage(t.Context(), one, "a.txt", "text/plain", content)
	equal(t, err, error(errEnded))
	equal(t, keys(t, e.store), []string{})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestACommittedDraftHasEnded(t *testing.T) {
	e := newEnv(t, nil)
	d, err := e.Stage(t.Context(), one, "a.txt", "text/plain", strings.NewReader("x"))
	ok(t, err)
	f, err := d.Commit(t.Context(), Purpose, 0)
	ok(t, err)
	_, err = d.Commit(t.Context(), Purpose, 0)
	equal(t, err, error(errEnded))
	d.Discard(t.Context())
	equal(t, e.content(f.ID), "x")
}

func TestADraftWithAWrongPurposeIsDiscarded(t *testing.T) {
	e := newEnv(t, nil)
	d, err := e.Stage(t.Context(), one, "a.txt", "text/plain", strings.NewReader("x"))
	ok(t, err)
	_, err = d.Commit(t.Context(), "", 0)
	equal(t, fault.From(err).Param, "purpose")
	equal(t, keys(t, e.store), []string{})
}

func TestDisplayName(t *testing.T) {
	long := strings.Repeat("ä", 200)
	for name, want := range map[string]string{
		"report.pdf":             "report.pdf",
		"/etc/../secret/a b.txt": "a b.txt",
		`C:\Users\me\Ä.doc`:      "Ä.doc",
		"a\r\nb\x00\u0085\u2028": "ab",
		"bad\xff.txt":            "bad\ufffd.txt",
		"  ":                     "file",
		"":                       "file",
		"..":                     "file",
		"dir/":                   "file",
		long + ".docx":           strings.Repeat("ä", 125) + ".docx",
		"x" + long:               "x" + strings.Repeat("ä", 127),
		"x." + long:              "x." + strings.Repeat("ä", 126),
	} {
		if got := displayName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func FuzzDisplayName(f *testing.F) {
	f.Add("a/b\\" + strings.Repeat("é", 200) + ".docx")
	f.Fuzz(func(t *testing.T, name string) {
		got := displayName(name)
		if got == "" || len(got) > MaxFilename || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\r\n\x00") {
			t.Errorf("%q becomes %q", name, got)
		}
	})
}

// FuzzTextChecker holds the checker against Text, whatever the pieces.
func FuzzTextChecker(f *testing.F) {
	f.Add("text/plain", []byte("Zürich 😀"), uint16(1))
	f.Add("text/plain", []byte("\xff\xfeA\x00=\xd8\x00\xde"), uint16(3))
	f.Add("text/plain;charset=utf-16be", []byte("\xd8=\xde"), uint16(1))
	f.Add("text/plain", bytes.Repeat([]byte("a\xf0\x9f\x98\x80"), 2000), uint16(4096))
	f.Fuzz(func(t *testing.T, mimeType string, data []byte, piece uint16) {
		c := newTextChecker(mimeType)
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(piece)+1)
			if wrote, err := c.Write(rest[:n]); wrote != n || err != nil {
				t.Fatalf("wrote %d of %d, %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		_, err := Text(mimeType, data)
		if got := c.text(); got != (err == nil) {
			t.Errorf("the checker says %v, Text %v", got, err)
		}
	})
}

func TestTheLinesOfABatchMayBeLarger(t *testing.T) {
	e := newEnv(t, nil)
	u := upload("application/jsonl", "")
	u.Purpose, u.Content = Batch, &zeros{n: MaxBytes + 1}
	f, err := e.Create(t.Context(), one, u)
	ok(t, err)
	equal(t, f.Bytes, MaxBytes+1)
	_, err = e.Text(t.Context(), one, f.ID)
	equal(t, err, error(fault.Invalidf("", "The file %q has the purpose batch, which no prompt reads; upload it with the purpose assistants.", f.ID)))
	content, err := e.ContentFrom(t.Context(), one, f.ID, MaxBytes-2)
	ok(t, err)
	rest, err := io.ReadAll(content)
	ok(t, err)
	equal(t, len(rest), 3)

	u.Purpose, u.Content = Purpose, &zeros{n: MaxBytes + 1}
	_, err = e.Create(t.Context(), one, u)
	equal(t, fault.From(err).Message, "The file is larger than 50 MB (50,000,000 bytes).")
	u.Purpose, u.Content = Batch, &zeros{n: MaxBatch + 1}
	_, err = e.Create(t.Context(), one, u)
	equal(t, fault.From(err).Message, "The file is larger than 200 MB (200,000,000 bytes).")
}

func TestOutputsBecomeVisibleInATransaction(t *testing.T) {
	e := newEnv(t, nil)
	d, err := e.StageOutput(t.Context(), one, "out.jsonl", strings.NewReader("{}\n"))
	ok(t, err)
	refusal := errors.New("the batch has ended")
	_, err = d.CommitOutput(t.Context(), 0, func(storage.Tx, string) error { return refusal })
	equal(t, err, refusal)
	equal(t, keys(t, e.store), []string{})

	d, err = e.StageOutput(t.Context(), one, "out.jsonl", strings.NewReader("{}\n"))
	ok(t, err)
	noted := ""
	f, err := d.CommitOutput(t.Context(), time.Hour, func(_ storage.Tx, id string) error { noted = id; return nil })
	ok(t, err)
	equal(t, noted, f.ID)
	equal(t, f.Purpose, BatchOutput)
	equal(t, f.ExpiresAt, f.CreatedAt+3600)
}
