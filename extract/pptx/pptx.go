// Package pptx reads the text of .pptx files, PowerPoint presentations in Office Open
// XML.
//
// The text is Markdown as models read it: each slide begins with its title as a
// heading, or with its number; the paragraphs of its body are list items, indented by
// their level, other text is lines; tables are rows between bars, pictures stand as they
// are described, and the speaker's notes follow behind "Notes:". Hidden slides and
// shapes are left out, and so are charts and diagrams.
package pptx

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
	"github.com/seed-506d8e5d/svc/extract/internal/rtl"
)

// Limits beside those of package ooxml.
const (
	maxText  = 64 << 20 // bytes of text
	maxDepth = 2_000    // open elements
)

// Reader is the [extract.Reader] of .pptx files and their kin with macros, templates and
// shows.
type Reader struct{}

var _ extract.Reader = Reader{}

// Types implements [extract.Reader].
func (Reader) Types() []extract.Type {
	const modern, macros = "application/vnd.openxmlformats-officedocument.presentationml.", "application/vnd.ms-powerpoint."
	return []extract.Type{
		{MIME: modern + "presentation", Extensions: []string{".pptx"}},
		{MIME: modern + "slideshow", Extensions: []string{".ppsx"}},
		{MIME: modern + "template", Extensions: []string{".potx"}},
		{MIME: macros + "presentation.macroenabled.12", Extensions: []string{".pptm"}},
		{MIME: macros + "slideshow.macroenabled.12", Extensions: []string{".ppsm"}},
	}
}

// Read implements [extract.Reader]. The error wraps one of package extract, or is that of
// ctx, which Read watches while it reads.
func (Reader) Read(ctx context.Context, r io.ReaderAt, size int64) (extract.Document, error) {
	c, err := ooxml.Open(ctx, r, size)
	if err != nil {
		return extract.Document{}, err
	}
	p := &presentation{ctx: ctx, c: c}
	if err := p.read(); err != nil {
		return extract.Document{}, err
	}
	return extract.Document{Text: rtl.Letters(p.text.String()), Pages: p.slides, Partial: c.Damaged}, nil
}

// presentation is a presentation that is being read.
type presentation struct {
	ctx    context.Context
	c      *ooxml.Container
	text   strings.Builder
	slides int // so far, with hidden ones
}

func (p *presentation) read() error {
	main, err := p.c.Main("ppt/presentation.xml")
	if err != nil {
		return err
	}
	part, err := p.c.Read(main, ooxml.MaxSide)
	if err != nil {
		return err
	}
	var list struct {
		XMLName xml.Name
		Slides  []struct {
			Attrs []xml.Attr `xml:",any,attr"`
		} `xml:"sldIdLst>sldId"`
	}
	whole := ooxml.Decode(part, &list)
	if list.XMLName.Local != "presentation" {
		return fmt.Errorf("%w: the main part is no presentation", extract.ErrFormat)
	}
	p.c.Damaged = p.c.Damaged || !whole
	names, err := p.c.Targets(main, "slide")
	if err != nil {
		return err
	}
	for _, s := range list.Slides {
		for _, a := range s.Attrs {
			if name, ok := names[a.Value]; ok && a.Name.Local == "id" && a.Name.Space != "" {
				if err := p.slide(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// slide reads a slide and its notes.
func (p *presentation) slide(name string) error {
	p.slides++
	part, err := p.c.ReadSide(name, ooxml.MaxPart)
	if err != nil || part == nil {
		return err
	}
	s := sheet{ctx: p.ctx, most: maxText - p.text.Len()}
	if err := p.walk(&s, part); err != nil || s.hidden {
		return err
	}
	title := s.title
	if title == "" {
		title = "Slide " + strconv.Itoa(p.slides)
	}
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	p.text.WriteString("# " + title + "\n" + s.text.String())
	notes, err := p.c.Targets(name, "notesSlide")
	if err != nil {
		return err
	}
	for _, of := range notes {
		return p.notes(of)
	}
	return nil
}

func (p *presentation) notes(name string) error {
	part, err := p.c.ReadSide(name, ooxml.MaxSide)
	if err != nil || part == nil {
		return err
	}
	s := sheet{ctx: p.ctx, most: maxText - p.text.Len(), notes: true}
	if err := p.walk(&s, part); err != nil {
		return err
	}
	if text := s.text.String(); text != "" {
		p.text.WriteString("\nNotes:\n" + text)
	}
	return nil
}

// walk reads a slide as far as it can be read.
func (p *presentation) walk(s *sheet, part []byte) error {
	err := s.walk(string(part))
	if errors.Is(err, extract.ErrDamaged) {
		p.c.Damaged = true
		return nil
	}
	return err
}
