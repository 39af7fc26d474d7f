package pdf

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/extract"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// extract reads a PDF with the default limits.
func textOf(t *testing.T, data []byte) (Result, error) {
	t.Helper()
	return Extract(t.Context(), bytes.NewReader(data), int64(len(data)), Limits{})
}

func readTestdata(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The files in testdata were written by LibreOffice, pdfTeX, WeasyPrint, groff
// with Ghostscript, ReportLab, and qpdf from groff.pdf.
func TestExtract(t *testing.T) {
	tests := []struct {
		file   string
		golden string
		pages  int
	}{
		{"libreoffice.pdf", "libreoffice.txt", 2},
		{"pdftex.pdf", "pdftex.txt", 2},
		{"weasyprint.pdf", "weasyprint.txt", 3},
		{"groff.pdf", "groff.txt", 1},
		{"cjk.pdf", "cjk.txt", 1},
		{"form.pdf", "form.txt", 1},
		{"columns.pdf", "columns.txt", 1},
		{"rotated.pdf", "rotated.txt", 2},
		{"linearized.pdf", "groff.txt", 1},
		{"object-streams.pdf", "groff.txt", 1},
		{"encrypted-40.pdf", "groff.txt", 1},
		{"encrypted-128.pdf", "groff.txt", 1},
		{"encrypted-aes128.pdf", "groff.txt", 1},
		{"encrypted-256.pdf", "groff.txt", 1},
		{"owner-empty.pdf", "groff.txt", 1},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			got, err := textOf(t, readTestdata(t, test.file))
			if err != nil {
				t.Fatal(err)
			}
			if *update && strings.TrimSuffix(test.file, ".pdf") == strings.TrimSuffix(test.golden, ".txt") {
				if err := os.WriteFile(filepath.Join("testdata", test.golden), []byte(got.Text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(readTestdata(t, test.golden)); got.Text != want {
				t.Errorf("text:\n%s\nwant:\n%s", got.Text, want)
			}
			if got.Pages != test.pages || got.Repaired {
				t.Errorf("pages %d, repaired %v; want %d, false", got.Pages, got.Repaired, test.pages)
			}
		})
	}
}

func TestScanHasNoText(t *testing.T) {
	got, err := textOf(t, readTestdata(t, "scan.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Result{Pages: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestErrors(t *testing.T) {
	groff := readTestdata(t, "groff.pdf")
	tests := []struct {
		name   string
		data   []byte
		limits Limits
		want   error
	}{
		{"password", readTestdata(t, "password.pdf"), Limits{}, extract.ErrPassword},
		{"empty", nil, Limits{}, extract.ErrFormat},
		{"text", []byte("Dear Sir or Madam"), Limits{}, extract.ErrFormat},
		{"header only", []byte("%PDF-1.7\n"), Limits{}, extract.ErrDamaged},
		{"no page left", groff[:500], Limits{}, extract.ErrDamaged},
		{"file limit", groff, Limits{File: 1000}, extract.ErrTooLarge},
		{"stream limit", groff, Limits{Stream: 100}, extract.ErrTooLarge},
		{"total limit", groff, Limits{Total: 100}, extract.ErrTooLarge},
		{"page limit", readTestdata(t, "weasyprint.pdf"), Limits{Pages: 2}, extract.ErrTooLarge},
		{"object limit", bytes.ReplaceAll(groff, []byte("startxref"), []byte("lost xref")), Limits{Objects: 2}, extract.ErrTooLarge},
		{"operator limit", groff, Limits{Operators: 5}, extract.ErrTooLarge},
		{"text limit", groff, Limits{Text: 20}, extract.ErrTooLarge},
		{"unmapped", sample{
			font:    "<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</Subtype/CIDFontType2>>]>>",
			content: "BT /F 12 Tf 50 700 Td <00010002> Tj ET",
		}.bytes(), Limits{}, extract.ErrUndecodable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Extract(t.Context(), bytes.NewReader(test.data), int64(len(test.data)), test.limits)
			if !errors.Is(err, test.want) || got.Text != "" {
				t.Errorf("got %q, %v; want \"\", %v", got.Text, err, test.want)
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	cause := errors.New("the caller went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	data := readTestdata(t, "pdftex.pdf")
	if _, err := Extract(ctx, bytes.NewReader(data), int64(len(data)), Limits{}); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

func TestReadError(t *testing.T) {
	data := readTestdata(t, "groff.pdf")
	_, err := Extract(t.Context(), bytes.NewReader(data), int64(len(data))+1, Limits{})
	if err == nil || errors.Is(err, extract.ErrDamaged) || errors.Is(err, extract.ErrFormat) {
		t.Errorf("got %v, want the error of reading", err)
	}
}

func TestDamagedFilesGiveWhatIsThere(t *testing.T) {
	web := readTestdata(t, "weasyprint.pdf")
	whole := string(readTestdata(t, "weasyprint.txt"))
	packed := readTestdata(t, "object-streams.pdf")
	groff := string(readTestdata(t, "groff.txt"))
	plain := readTestdata(t, "groff.pdf")
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"end cut off", web[:len(web)-100], whole},
		{"startxref elsewhere", bytes.Replace(web, []byte("startxref\n"), []byte("startxref\n7"), 1), whole},
		{"offsets moved", append([]byte("%PDF-1.7\n%moved\n"), web...), whole},
		{"object streams, end cut off", packed[:len(packed)-60], groff},
		{"no header", plain[9:], groff},
		{"stream length wrong", bytes.ReplaceAll(plain, []byte("/Length "), []byte("/Length 9")), groff},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := textOf(t, test.data)
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != test.want {
				t.Errorf("text:\n%s\nwant:\n%s", got.Text, test.want)
			}
		})
	}
}

func TestTruncatedFileKeepsItsFirstPages(t *testing.T) {
	data := sample{pages: []string{"BT /F 12 Tf 50 700 Td (one) Tj ET", "BT /F 12 Tf 50 700 Td (two) Tj ET"}}.bytes()
	cut := bytes.Index(data, []byte("(two)"))
	got, err := textOf(t, data[:cut])
	if err != nil {
		t.Fatal(err)
	}
	want := Result{Text: "one\n\f\f", Pages: 2, Repaired: true, Glyphs: 3}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Files that are made to hang or to crash a reader: each has to end soon, with
// or without text.
func TestHostileFilesEnd(t *testing.T) {
	for name, data := range hostileFiles() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := Extract(ctx, bytes.NewReader(data), int64(len(data)), Limits{Total: 32 << 20, Forms: 2000, Operators: 1_000_000})
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d bytes: %v", len(data), err)
			}
		})
	}
}

func TestDynamicForms(t *testing.T) {
	const wait, real = "BT /F 12 Tf 50 700 Td (Please wait...) Tj ET", "BT /F 12 Tf 50 700 Td (Name:) Tj ET"
	for _, c := range []struct {
		name, content, catalog string
		want                   bool
	}{
		{"only asks to wait", wait, "/AcroForm<</XFA 5 0 R>>", true},
		{"says so itself", real, "/AcroForm<</XFA 5 0 R>>/NeedsRendering true", true},
		{"with pages of its own", real, "/AcroForm<</XFA 5 0 R>>", false},
		{"no XFA", wait, "", false},
	} {
		got, err := textOf(t, sample{content: c.content, catalog: c.catalog, extra: []string{stringStream("", "<xdp/>")}}.bytes())
		if err != nil || got.Dynamic != c.want {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

// TestUnknownGlyphs has letters that the font does not tell.
func TestUnknownGlyphs(t *testing.T) {
	const font = "<</Subtype/Type1/BaseFont/X/FontDescriptor<</FontFile 6 0 R>>/Encoding<</Differences[64/@x 65/nobody]>>>>"
	extra := []string{"null", stringStream("", "no font program")}
	words := strings.Repeat("fur das ", 40)
	for _, c := range []struct {
		name, shown, want string
		partial           bool
		err               error
	}{
		{"one among many", words + "fAr", words + "f\ufffdr\n", false, nil},
		{"over one in a hundred", "the Spatenstich fAr", "the Spatenstich f\ufffdr\n", true, nil},
		{"over half", "AAAb", "", false, extract.ErrUndecodable},
	} {
		data := sample{font: font, extra: extra, content: "BT /F 2 Tf 1 0 0 1 0 700 Tm (" + c.shown + ") Tj ET"}
		got, err := Reader{}.Read(t.Context(), bytes.NewReader(data.bytes()), int64(len(data.bytes())))
		if got.Text != c.want || got.Partial != c.partial && err == nil || !errors.Is(err, c.err) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

// TestWhatIsShownIsJudged has files of which most glyphs are not known, but not
// seen either, or replaced.
func TestWhatIsShownIsJudged(t *testing.T) {
	const font = "<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</Subtype/CIDFontType2>>]>>"
	layers := []string{"null", "<</Type/OCG/Name(layer)>>"}
	const off = "/OCProperties<</OCGs[6 0 R]/D<</OFF[6 0 R]>>>>"
	for _, c := range []struct{ name, content, want string }{
		{"replaced", "BT /F 12 Tf 50 700 Td /Span<</ActualText(right)>>BDC <0001000200030004> Tj EMC ET", "right\n\f"},
		{"off the page", "BT /F 12 Tf 50 900 Td <0001000200030004> Tj ET BT /G 12 Tf 50 700 Td (seen) Tj ET", "seen\n\f"},
		{"on a hidden layer", "/OC/P BDC BT /F 12 Tf 50 700 Td <0001000200030004> Tj ET EMC BT /G 12 Tf 50 600 Td (seen) Tj ET", "seen\n\f"},
	} {
		got, err := textOf(t, sample{font: font, content: c.content, extra: layers, catalog: off}.bytes())
		if err != nil || got.Text != c.want {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

func TestPagesAreMarked(t *testing.T) {
	show := func(text string) string { return "BT /F 12 Tf 50 700 Td (" + text + ") Tj ET" }
	for _, c := range []struct {
		pages []string
		want  string
	}{
		{[]string{show("one")}, "one\n"},
		{[]string{show("one"), show("two"), "", show("four")}, "[page 1]\none\n\n[page 2]\ntwo\n\n[page 3]\n\n[page 4]\nfour\n"},
		{[]string{"", ""}, ""},
	} {
		data := sample{pages: c.pages}.bytes()
		got, err := Reader{}.Read(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil || got.Text != c.want || got.Pages != len(c.pages) {
			t.Errorf("got %+v, %v, want %q", got, err, c.want)
		}
	}
}

// rules is a page of 29,000 glyphs, each placed by itself, as the lines of tables
// and forms are drawn by some programs.
func rules() []byte {
	var b strings.Builder
	b.WriteString("BT /F 4 Tf\n")
	for i := range 29_000 {
		fmt.Fprintf(&b, "1 0 0 1 %d %d Tm (%c) Tj\n", 20+i%145*4, 780-i/145*3, "_-|"[i%3])
	}
	b.WriteString("ET")
	return sample{content: b.String()}.bytes()
}

// TestMemoryOfAFullPage counts all bytes that are allocated, which the peak is
// below.
func TestMemoryOfAFullPage(t *testing.T) {
	data := rules()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := textOf(t, data)
	runtime.ReadMemStats(&after)
	if err != nil || got.Glyphs != 29_000 {
		t.Fatalf("got %d glyphs, %v", got.Glyphs, err)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 30<<20 {
		t.Errorf("a page of 29,000 glyphs took %d bytes", spent)
	}
}

// BenchmarkPages shows the pages per second and the bytes per page, beside
// pdftotext on the same files, which is started for each.
func BenchmarkPages(b *testing.B) {
	tool, _ := exec.LookPath("pdftotext")
	for _, name := range []string{"libreoffice.pdf", "pdftex.pdf", "weasyprint.pdf", "groff.pdf", "columns.pdf"} {
		data := readTestdata(b, name)
		b.Run("pdf/"+name, func(b *testing.B) {
			b.ReportAllocs()
			pages := 0
			for b.Loop() {
				got, err := Extract(b.Context(), bytes.NewReader(data), int64(len(data)), Limits{})
				if err != nil {
					b.Fatal(err)
				}
				pages += got.Pages
			}
			b.ReportMetric(float64(pages)/b.Elapsed().Seconds(), "pages/s")
		})
		b.Run("pdftotext/"+name, func(b *testing.B) {
			if tool == "" {
				b.Skip("pdftotext is not installed")
			}
			got, err := Extract(b.Context(), bytes.NewReader(data), int64(len(data)), Limits{})
			if err != nil {
				b.Fatal(err)
			}
			pages := 0
			for b.Loop() {
				if err := exec.Command(tool, filepath.Join("testdata", name), os.DevNull).Run(); err != nil {
					b.Fatal(err)
				}
				pages += got.Pages
			}
			b.ReportMetric(float64(pages)/b.Elapsed().Seconds(), "pages/s")
		})
	}
	b.Run("pdf/29,000 glyphs", func(b *testing.B) {
		b.ReportAllocs()
		data := rules()
		for b.Loop() {
			if _, err := Extract(b.Context(), bytes.NewReader(data), int64(len(data)), Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
