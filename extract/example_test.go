package extract_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/doc"
	"github.com/seed-506d8e5d/svc/extract/docx"
	"github.com/seed-506d8e5d/svc/extract/pdf"
	"github.com/seed-506d8e5d/svc/extract/rtf"
)

// A file is read by what its bytes are, whatever it is called.
func ExampleAny() {
	f, err := os.Open("docx/testdata/manual.docx")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	reader := extract.Any(doc.Reader{}, rtf.Reader{}, pdf.Reader{}, docx.Reader{})
	document, err := reader.Read(context.Background(), f, info.Size())
	if err != nil {
		panic(err)
	}
	_, table, _ := strings.Cut(document.Text, "Table of strengths\n")
	table, _, _ = strings.Cut(table, "\n\nTerm")
	fmt.Println(table)
	// Output:
	// | Rope | Diameter | Strength |
	// | --- | --- | --- |
	// | hemp | 12 mm | 900 kg |
	// | sisal | 14 mm | |
}

// The error tells what to say to whoever sent the document.
func ExampleReader() {
	f, err := os.Open("pdf/testdata/password.pdf")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	_, err = pdf.Reader{}.Read(context.Background(), f, info.Size())
	if errors.Is(err, extract.ErrPassword) {
		fmt.Println("Please send the file without a password.")
	}
	// Output: Please send the file without a password.
}
