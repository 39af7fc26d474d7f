package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// morePages is how many pages the longer document has more than the other.
const morePages = 20

// documents measures the reading of a PDF in the process that svcd starts for it,
// beside pdftotext: all of a document with one page, and each page more.
func (b *bench) documents(dir, program string) error {
	pdftotext, err := exec.LookPath("pdftotext")
	if err != nil {
		fmt.Println("PDF: left out, there is no pdftotext (apt install poppler-utils)")
		return nil
	}
	var short, long [2][]float64 // svcd, pdftotext
	one, more := filepath.Join(dir, "one.pdf"), filepath.Join(dir, "more.pdf")
	for name, pages := range map[string]int{one: 1, more: 1 + morePages} {
		if err := os.WriteFile(name, pdf(pages), 0o600); err != nil {
			return err
		}
	}
	for round := range 2*b.rounds + 1 {
		for i, read := range []func(string) (float64, error){
			func(name string) (float64, error) { return extracted(program, name) },
			func(name string) (float64, error) { return costOfCommand(nil, pdftotext, name, "-") },
		} {
			first, err := read(one)
			if err != nil {
				return err
			}
			all, err := read(more)
			if err != nil {
				return err
			}
			if round > 0 { // the first warms up
				short[i] = append(short[i], first)
				long[i] = append(long[i], max(all-first, 1)/morePages)
			}
		}
	}
	for _, line := range []struct {
		name string
		cost [2][]float64
	}{{"PDF with one page", short}, {"each page more", long}} {
		ours, theirs := median(line.cost[0]), median(line.cost[1])
		fmt.Printf("%-28s %9.1f us %9.1f us %8.2f %8s   beside pdftotext\n", line.name, ours, theirs, ours/theirs, aim(2))
	}
	return nil
}

// extracted is what it costs svcd to have a document read.
func extracted(program, name string) (float64, error) {
	doc, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer doc.Close()
	info, err := doc.Stat()
	if err != nil {
		return 0, err
	}
	return costOfCommand(doc, program, "extract-text", "pdf", strconv.FormatInt(info.Size(), 10))
}

// costOfCommand runs a program and returns its CPU time in microseconds.
func costOfCommand(in io.Reader, program string, args ...string) (float64, error) {
	cmd := exec.Command(program, args...)
	cmd.Stdin = in
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", program, err)
	}
	if !bytes.Contains(out, []byte("page 1, line 1 ")) {
		return 0, fmt.Errorf("%s has not read the text: %.200q", program, out)
	}
	return float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / float64(time.Microsecond), nil
}

// pdf returns a document of pages with fifty lines each, as plain as PDF can be.
func pdf(pages int) []byte {
	var b bytes.Buffer
	var places []int
	object := func(content string) {
		places = append(places, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(places), content)
	}
	b.WriteString("%PDF-1.4\n")
	var kids []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object(fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", pages, strings.Join(kids, " ")))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	for i := range pages {
		var text strings.Builder
		text.WriteString("BT /F 11 Tf 14 TL 50 780 Td\n")
		for line := range 50 {
			fmt.Fprintf(&text, "(page %d, line %d of what a page of an ordinary letter has to say) Tj T*\n", i+1, line+1)
		}
		text.WriteString("ET")
		object(fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>", 5+2*i))
		object(fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", text.Len(), text.String()))
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(places)+1)
	for _, at := range places {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(places)+1, table)
	return b.Bytes()
}
