package docx

import (
	"bytes"
	"html"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/rtf"

	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// chunk returns the text of a part in another format that Word takes in when it
// opens the document (altChunk): a document of its own kind, RTF, HTML or plain text.
func (d *document) chunk(id string) string {
	part := d.partOf(id)
	switch {
	case part == nil || d.chunks >= maxChunks:
		return ""
	case bytes.HasPrefix(part, []byte("PK")):
		d.chunks++
		c, err := ooxml.Open(d.ctx, bytes.NewReader(part), int64(len(part)))
		if err != nil {
			d.c.Damaged = true
			return ""
		}
		c.Spent = d.c.Spent
		text, err := readPart(d.ctx, c, d.chunks, d.written)
		d.c.Spent, d.c.Damaged = c.Spent, d.c.Damaged || c.Damaged || err != nil
		return text
	}
	if bytes.HasPrefix(part, []byte(rtf.Magic)) {
		found, err := rtf.Reader{}.Read(d.ctx, bytes.NewReader(part), int64(len(part)))
		d.c.Damaged = d.c.Damaged || found.Partial || err != nil
		return strings.TrimSpace(found.Text)
	}
	text, err := ooxml.PlainUTF8(string(part))
	if err != nil {
		d.c.Damaged = true
		return ""
	}
	if head := strings.ToLower(text[:min(len(text), 1024)]); strings.Contains(head, "<html") || strings.Contains(head, "<body") || strings.Contains(head, "<p") {
		return htmlText(text)
	}
	return strings.TrimSpace(text)
}

// maxChunks bounds the documents in documents.
const maxChunks = 8

// breaking are the elements of HTML that begin a line.
var breaking = map[string]bool{"p": true, "br": true, "div": true, "li": true, "tr": true, "table": true,
	"h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true}

// htmlText returns the text of HTML: its words in lines, without what stands in the
// head.
func htmlText(markup string) string {
	var b strings.Builder
	for skip := ""; markup != ""; {
		text, rest, _ := strings.Cut(markup, "<")
		if skip == "" {
			b.WriteString(strings.Join(strings.Fields(" "+text+" "), " "))
			if text != "" && strings.TrimRight(text, " \t\r\n") != text {
				b.WriteByte(' ')
			}
		}
		tag, after, _ := strings.Cut(rest, ">")
		markup = after
		name := strings.ToLower(strings.TrimPrefix(tag, "/"))
		name = name[:len(name)-len(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz123456"))]
		switch {
		case skip != "":
			if name == skip && strings.HasPrefix(tag, "/") {
				skip = ""
			}
		case name == "head" || name == "script" || name == "style":
			skip = name
		case breaking[name]:
			b.WriteByte('\n')
		case name == "td" || name == "th":
			b.WriteByte('\t')
		}
	}
	var lines []string
	for line := range strings.SplitSeq(html.UnescapeString(b.String()), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
