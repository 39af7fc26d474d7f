package compat_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	otherpdf "github.com/ledongthuc/pdf"
	otherdocx "github.com/nguyenthenguyen/docx"

	"github.com/seed-506d8e5d/svc/extract/docx"
	"github.com/seed-506d8e5d/svc/extract/pdf"
)

// Independent readers of documents have to find the same words as ours do, in
// files that both can read. They lose spaces, so that letters are compared.

// pdfs are the files of package pdf that the other library reads right: it has no
// character collections, knows few encodings, and draws no forms.
var pdfs = []string{"libreoffice.pdf", "rotated.pdf", "groff.pdf", "columns.pdf", "weasyprint.pdf", "linearized.pdf"}

func TestTheTextOfPDFsIsWhatAnotherReaderFinds(t *testing.T) {
	for _, name := range pdfs {
		data, err := os.ReadFile(filepath.Join("../extract/pdf/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := pdf.Extract(context.Background(), bytes.NewReader(data), int64(len(data)), pdf.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := otherpdf.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := theirs.GetPlainText()
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(text)
		if err != nil {
			t.Fatal(err)
		}
		compareLetters(t, name, ours.Text, string(want))
	}
}

func TestTheTextOfWordDocumentsIsWhatAnotherReaderFinds(t *testing.T) {
	for _, name := range []string{"manual.docx"} {
		data, err := os.ReadFile(filepath.Join("../extract/docx/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := docx.Reader{}.Read(context.Background(), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := otherdocx.ReadDocxFromMemory(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		compareLetters(t, name, ours.Text, charactersOf(t, theirs.Editable().GetContent()))
	}
}

// charactersOf is the text of markup without its tags.
func charactersOf(t *testing.T, markup string) string {
	t.Helper()
	var text strings.Builder
	decoder := xml.NewDecoder(strings.NewReader(markup))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return text.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if chars, ok := token.(xml.CharData); ok {
			text.Write(chars)
		}
	}
}

// compareLetters counts letters: every one that the other reader finds has to be
// in our text as often. Ours may have more, such as the numbers of lists.
func compareLetters(t *testing.T, name, ours, theirs string) {
	t.Helper()
	count := map[rune]int{}
	for _, r := range ours {
		count[r]++
	}
	found := 0
	for _, r := range theirs {
		if !unicode.IsLetter(r) {
			continue
		}
		found++
		if count[r]--; count[r] == -1 {
			t.Errorf("%s: %q occurs more often in the other reader's text", name, r)
		}
	}
	if found < 50 {
		t.Errorf("%s: the other reader finds %d letters", name, found)
	}
}
