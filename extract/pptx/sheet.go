package pptx

import (
	"context"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// sheet is a slide, or a page of notes, that is being read.
type sheet struct {
	ctx   context.Context
	notes bool // of which the body alone is read
	most  int  // bytes of text

	text   strings.Builder
	title  string
	hidden bool // a slide that is not shown
	open   []string
	skip   int // how many elements were open before the shape that is left out, and one; 0: nothing is

	shape     string // what the open shape is for: its kind of placeholder
	holder    bool   // it is one
	line      strings.Builder
	level     int
	inText    bool
	tables    []*markdown.Table // that are open
	cell      strings.Builder   // of the open table
	span      int
	above     bool
	beside    bool // the open cell is one with the cell to its left
	described string
}

// maxTables is how many tables may be in each other: PowerPoint has none in another.
const maxTables = 4

func (s *sheet) walk(markup string) error {
	dec, err := ooxml.NewDecoder(markup)
	if err != nil {
		return err
	}
	for token, err := range ooxml.Tokens(s.ctx, dec) {
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(s.open) >= maxDepth {
				return fmt.Errorf("%w: elements nest over %d deep", extract.ErrTooLarge, maxDepth)
			}
			s.open = append(s.open, t.Name.Local)
			if s.skip == 0 {
				s.start(t)
			}
		case xml.EndElement:
			s.end()
		case xml.CharData:
			if s.inText && s.skip == 0 {
				s.line.Write(t)
			}
		}
		if s.text.Len()+s.cell.Len()+s.line.Len() > s.most {
			return fmt.Errorf("%w: text", extract.ErrTooLarge)
		}
	}
	return nil
}

func (s *sheet) start(e xml.StartElement) {
	switch e.Name.Local {
	case "sld":
		show := ooxml.Attr(e, "show")
		s.hidden = show == "0" || show == "false"
	case "sp", "pic", "graphicFrame", "cxnSp":
		s.shape, s.holder, s.described = "", false, ""
	case "cNvPr":
		if hidden := ooxml.Attr(e, "hidden"); hidden == "1" || hidden == "true" {
			s.skip = len(s.open) - 2 // the shape around this and its own properties
		}
		s.described = ooxml.Attr(e, "descr")
	case "Fallback": // says the same for older programs
		s.skip = len(s.open)
	case "ph":
		s.shape, s.holder = ooxml.Attr(e, "type"), true
	case "blip":
		if s.described != "" && !s.notes {
			s.put(markdown.Picture(s.described))
			s.described = ""
		}
	case "pPr":
		s.level, _ = strconv.Atoi(ooxml.Attr(e, "lvl"))
	case "t":
		s.inText = true
	case "br":
		s.line.WriteByte('\n')
	case "tab":
		s.line.WriteByte('\t')
	case "tbl":
		if len(s.tables) < maxTables {
			s.tables = append(s.tables, &markdown.Table{})
		}
	case "tr":
		if n := len(s.tables); n > 0 {
			s.tables[n-1].StartRow()
		}
	case "tc":
		s.cell.Reset()
		s.span, _ = strconv.Atoi(ooxml.Attr(e, "gridSpan"))
		s.above = on(ooxml.Attr(e, "vMerge"))
		s.beside = on(ooxml.Attr(e, "hMerge"))
	}
}

func on(value string) bool { return value == "1" || value == "true" }

func (s *sheet) end() {
	n := len(s.open)
	if n == 0 {
		return // an end without a beginning, which lenient decoding passes on
	}
	name := s.open[n-1]
	s.open = s.open[:n-1]
	if s.skip > 0 {
		if len(s.open) < s.skip {
			s.skip = 0
		}
		return
	}
	switch name {
	case "t":
		s.inText = false
	case "p":
		s.paragraph()
	case "tc":
		if k := len(s.tables); k > 0 && !s.beside {
			s.tables[k-1].Add(markdown.Cell{Text: s.cell.String(), Span: s.span, Above: s.above})
		}
	case "tr":
		if k := len(s.tables); k > 0 {
			s.tables[k-1].EndRow()
		}
	case "tbl":
		if k := len(s.tables); k > 0 {
			t := s.tables[k-1]
			if s.tables = s.tables[:k-1]; k == 1 {
				s.put(t.String())
			}
		}
	}
}

// put adds lines of text.
func (s *sheet) put(text string) {
	if text != "" && !s.hidden {
		s.text.WriteString(text + "\n")
	}
}

// paragraph ends a paragraph.
func (s *sheet) paragraph() {
	text := strings.Trim(s.line.String(), " \t\r\n\v")
	level := s.level
	s.line.Reset()
	s.level, s.inText = 0, false
	switch {
	case text == "":
	case len(s.tables) > 0:
		if s.cell.Len() > 0 {
			s.cell.WriteByte('\n')
		}
		s.cell.WriteString(text)
	case s.notes:
		if s.shape == "body" {
			s.put(text)
		}
	case s.shape == "title" || s.shape == "ctrTitle":
		if s.title != "" {
			s.title += " "
		}
		s.title += strings.Join(strings.Fields(text), " ")
	case s.shape == "sldNum" || s.shape == "dt" || s.shape == "ftr":
	case s.holder && s.shape != "subTitle":
		const most = 9 // levels in PowerPoint
		s.put(strings.Repeat("  ", min(max(level, 0), most)) + "- " + strings.ReplaceAll(text, "\n", " "))
	default:
		s.put(text)
	}
}
