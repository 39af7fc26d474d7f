//go:build unix

package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary a child of the tests where its first argument
// says so.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			if err := child(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// children are what a child can do.
var children = map[string]func(args []string) error{
	"child-extract": func(args []string) error {
		return RunProcess(context.Background(), args, os.Stdin, os.Stdout)
	},
	"child-panics": func([]string) error { panic("a bad page") },
	"child-exits":  func([]string) error { return errors.New("no idea") },
	"child-eats": func([]string) error {
		if err := boundProcess(); err != nil {
			return err
		}
		return eat(make([]byte, processMemory))
	},
	"child-tells": func([]string) error {
		if err := boundProcess(); err != nil {
			return err
		}
		adj, err := os.ReadFile("/proc/self/oom_score_adj")
		return errors.Join(err, fmt.Errorf("oom_score_adj is %s", adj))
	},
	"child-dies": func([]string) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"child-babbles": func([]string) error {
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<20)); err != nil {
				return err
			}
		}
	},
	"child-lies":   func([]string) error { _, err := fmt.Printf(`{"bytes":%d}`+"\nx", MaxText+1); return err },
	"child-breaks": func([]string) error { _, err := fmt.Println(`{"bytes":10}` + "\nshort"); return err },
	"child-hangs": func(args []string) error {
		// The process that it starts has the pipes, too, as a hostile one would.
		fifo, err := os.OpenFile(args[0], os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		grandchild := exec.Command(os.Args[0], "child-sleeps")
		grandchild.Stdout, grandchild.Stderr, grandchild.ExtraFiles = os.Stdout, os.Stderr, []*os.File{fifo}
		if err := grandchild.Start(); err != nil {
			return err
		}
		if _, err := fifo.WriteString("."); err != nil {
			return err
		}
		select {}
	},
	"child-sleeps": func([]string) error { time.Sleep(time.Hour); return nil },
	"child-upload": uploadForever,
	"child-reads":  readForever,
}

func eat(b []byte) error {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return nil
}

func child(name string) *Process { return &Process{Command: []string{os.Args[0], name}} }

// documents are small real documents and their text.
func documents(t testing.TB) map[string]struct {
	data, text string
	format     Format
} {
	t.Helper()
	found := map[string]struct {
		data, text string
		format     Format
	}{}
	read := func(path string) string {
		data, err := os.ReadFile(path)
		ok(t, err)
		return string(data)
	}
	for dir, format := range map[string]Format{"doc": Word, "docx": Word, "pdf": PDF} {
		names := []string{"manual", "features"}
		if format == PDF {
			names = []string{"libreoffice", "pdftex", "cjk", "columns", "form"}
		}
		for _, name := range names {
			path := filepath.Join("../extract", dir, "testdata", name)
			end := "." + dir
			found[name+end] = struct {
				data, text string
				format     Format
			}{read(path + end), marked(read(path + ".txt")), format}
		}
	}
	found["hello.pdf"] = struct {
		data, text string
		format     Format
	}{pdfOf("Hello, files!"), "Hello, files!\n", PDF}
	return found
}

// marked has the numbers of pages where a form feed ends each.
func marked(text string) string {
	pages := strings.SplitAfter(text, "\f")
	if len(pages) <= 2 {
		return strings.TrimSuffix(text, "\f")
	}
	for i, page := range pages[:len(pages)-1] {
		pages[i] = fmt.Sprintf("[page %d]\n%s", i+1, strings.TrimSuffix(page, "\f"))
	}
	return strings.Join(pages[:len(pages)-1], "\n")
}

// pdfOf returns a PDF with a line of text.
func pdfOf(line string) string {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	stream := "BT /F1 12 Tf 72 720 Td (" + line + ") Tj ET"
	var at []int
	for i, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(stream), stream),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 6\n0000000000 65535 f \n")
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", xref)
	return b.String()
}

// TestRealDocuments reads them in the program and in a process of their own.
func TestRealDocuments(t *testing.T) {
	for kind, extractor := range map[string]Extractor{"in process": InProcess{}, "process": child("child-extract")} {
		for name, d := range documents(t) {
			got, err := extractor.Extract(t.Context(), strings.NewReader(d.data), int64(len(d.data)), d.format)
			if got.Text != d.text || got.Partial || err != nil {
				t.Errorf("%s, %s: got %+v, %v\nwant %q", kind, name, got, err, d.text)
			}
		}
	}
}

// TestFilesOfRealDocuments uploads some to a service with processes.
func TestFilesOfRealDocuments(t *testing.T) {
	e := newEnv(t, child("child-extract"))
	for _, c := range []struct {
		path, mimeType string
		status         Status
		reason         Reason
		note           Note
	}{
		{"../extract/pdf/testdata/libreoffice.pdf", "application/pdf", Processed, "", ""},
		{"../extract/pdf/testdata/scan.pdf", "application/pdf", Processed, "", NoText},
		{"../extract/pdf/testdata/password.pdf", "application/pdf", Failed, Password, ""},
		{"../extract/docx/testdata/manual.docx", "application/pdf", Failed, Mislabelled, ""},
	} {
		data, err := os.ReadFile(c.path)
		ok(t, err)
		f := e.settle(e.create(c.mimeType, string(data)).ID)
		if f.Status != c.status || f.Reason != c.reason || f.Note != c.note || e.content(f.ID) != string(data) {
			t.Errorf("%s: got %+v", c.path, f)
		}
	}
}

// FuzzReadResult reads what a process may write: it ends in a result within the
// bounds or in an error that says that the process has crashed.
func FuzzReadResult(f *testing.F) {
	f.Add([]byte(`{"pages":2,"bytes":5}` + "\nhello"))
	f.Add([]byte(`{"reason":"password","detail":"x"}` + "\n"))
	f.Add([]byte(`{"bytes":-1}` + "\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		read, err := readResult(bytes.NewReader(out))
		u, _ := errors.AsType[*Unreadable](err)
		if (err == nil) != (u == nil) || err != nil && read != (Extracted{}) || len(read.Text) > len(out) {
			t.Errorf("got %+v, %v", read, err)
		}
	})
}

func TestUnreadableDocuments(t *testing.T) {
	files := documents(t)
	locked, err := os.ReadFile("../extract/docx/testdata/password.docx")
	ok(t, err)
	lockedDoc, err := os.ReadFile("../extract/doc/testdata/password.doc")
	ok(t, err)
	lockedPDF, err := os.ReadFile("../extract/pdf/testdata/password.pdf")
	ok(t, err)
	for kind, extractor := range map[string]Extractor{"in process": InProcess{}, "process": child("child-extract")} {
		for _, c := range []struct {
			rule, data string
			format     Format
			want       Reason
		}{
			{"an encrypted .docx", string(locked), Word, Password},
			{"an encrypted .doc", string(lockedDoc), Word, Password},
			{"an encrypted PDF", string(lockedPDF), PDF, Password},
			{"a PDF that is a .docx", files["manual.docx"].data, PDF, Mislabelled},
			{"a .docx that is a PDF", files["hello.pdf"].data, Word, Mislabelled},
			{"a PDF that is text", "Dear Sir or Madam", PDF, Mislabelled},
			{"an empty .docx", "", Word, Mislabelled},
			{"a cut .docx", files["manual.docx"].data[:4000], Word, Damaged},
		} {
			got, err := extractor.Extract(t.Context(), strings.NewReader(c.data), int64(len(c.data)), c.format)
			u, _ := errors.AsType[*Unreadable](err)
			if u == nil || u.Reason != c.want || u.Err == nil || got != (Extracted{}) {
				t.Errorf("%s, %s: got %+v, %v, want the reason %s", kind, c.rule, got, err, c.want)
			}
		}
	}
}

// TestAProcessThatFails ends in the reason that says why, or in an error that
// can pass.
func TestAProcessThatFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason Reason // empty where the cause can pass
		detail string
	}{
		{"child-panics", Crashed, "a bad page"},
		{"child-exits", Crashed, "no idea"},
		{"child-babbles", Crashed, "buffer full"},
		{"child-lies", Crashed, "over the limit"},
		{"child-breaks", Crashed, "EOF"},
		{"child-dies", "", "killed"},
	} {
		_, err := child(c.name).Extract(t.Context(), &zeros{n: 1 << 20}, 1<<20, PDF)
		reason := Reason("")
		if u, ok := errors.AsType[*Unreadable](err); ok {
			reason = u.Reason
		}
		if err == nil || reason != c.reason || !strings.Contains(err.Error(), c.detail) {
			t.Errorf("%s: got %v, want %q with %q", c.name, err, c.reason, c.detail)
		}
	}
	for _, p := range []*Process{{}, {Command: []string{"/no/such/program"}}} {
		_, err := p.Extract(t.Context(), strings.NewReader(""), 0, PDF)
		if _, final := errors.AsType[*Unreadable](err); err == nil || final {
			t.Errorf("%q: got %v, want an error that can pass", p.Command, err)
		}
	}
}

// TestADocumentThatCannotBeReadFromTheStore is no fault of the document.
func TestADocumentThatCannotBeReadFromTheStore(t *testing.T) {
	for _, extractor := range []Extractor{InProcess{}, child("child-extract")} {
		_, err := extractor.Extract(t.Context(), brokenReader{errBroken}, 10, PDF)
		if _, final := errors.AsType[*Unreadable](err); final || !errors.Is(err, errBroken) {
			t.Errorf("%T: got %v, want %v", extractor, err, errBroken)
		}
	}
}

// TestAHangingProcessIsKilled kills a process and the one that it started: both
// hold a named pipe, which ends when both are gone.
func TestAHangingProcessIsKilled(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	ok(t, syscall.Mkfifo(name, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := (&Process{Command: []string{os.Args[0], "child-hangs", name}}).Extract(ctx, strings.NewReader("x"), 1, PDF)
		done <- err
	}()
	pipe, err := os.Open(name)
	ok(t, err)
	defer pipe.Close()
	_, err = pipe.Read(make([]byte, 1))
	ok(t, err)
	cancel()
	equal(t, <-done, context.Canceled)
	rest, err := io.ReadAll(pipe)
	ok(t, err)
	equal(t, rest, []byte{})
}
