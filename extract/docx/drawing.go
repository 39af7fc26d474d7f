package docx

import (
	"bytes"
	"encoding/xml"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// startDrawing handles what a drawing shows that is not text of the document: the
// description of a picture, a chart, a diagram.
func (w *walker) startDrawing(e xml.StartElement) {
	switch e.Name.Local {
	case "docPr": // of every drawing
		w.picture(ooxml.Attr(e, "descr"))
	case "shape", "imagedata": // VML
		w.picture(ooxml.Attr(e, "alt"))
	case "chart":
		w.block(w.doc.chart(ooxml.Attr(e, "id")))
	case "relIds":
		w.block(w.doc.diagram(ooxml.Attr(e, "dm")))
	}
}

// picture writes the description of a picture as its author gave it.
func (w *walker) picture(description string) {
	if text := markdown.Picture(description); text != "" {
		w.put(text)
	}
}

// block writes text that stands alone unless it is hidden.
func (w *walker) block(text string) {
	if text == "" || w.story.hidden || w.story.codes > 0 {
		return
	}
	w.story.block(text)
	w.wrote += len(text)
}

// lineBreak writes the break of a line or a page.
func (w *walker) lineBreak(e xml.StartElement) {
	switch {
	case ooxml.Attr(e, "type") == "page" && w.story.cell == nil && len(w.outer) == 0:
		w.block("---")
	case w.story.inHeading():
		w.put(" ") // a heading is one line
	default:
		w.put("\n")
	}
}

// inHeading reports whether the line that is being written is a heading's.
func (s *story) inHeading() bool {
	line := s.text[bytes.LastIndexByte(s.text, '\n')+1:]
	return s.paragraph.heading && bytes.HasPrefix(line, []byte("#"))
}

// comment writes a comment where it is anchored, the first time.
func (w *walker) comment(id string) {
	text := w.doc.comments[id]
	if text == "" || w.story.hidden || w.story.codes > 0 {
		return
	}
	w.put(" [" + strings.ReplaceAll(text, "\n", " ") + "]")
	delete(w.doc.comments, id)
}

// partOf returns the part that a relationship of the part being read leads to.
func (d *document) partOf(id string) []byte {
	for _, r := range d.partRels {
		if r.ID == id {
			part, err := d.c.ReadSide(r.Target(d.dir), ooxml.MaxSide)
			if err != nil {
				return nil // the context has ended, which the walk finds
			}
			return part
		}
	}
	return nil
}

// diagram returns the text of a diagram (SmartArt) as a list.
func (d *document) diagram(id string) string {
	var data struct {
		Points []struct {
			Texts []string `xml:"t>p>r>t"`
		} `xml:"ptLst>pt"`
	}
	if !ooxml.Decode(d.partOf(id), &data) {
		d.c.Damaged = true
	}
	var lines []string
	for _, p := range data.Points {
		if text := strings.TrimSpace(strings.Join(p.Texts, "")); text != "" {
			lines = append(lines, "- "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// chartPart is what a chart shows (DrawingML, 21.2).
type chartPart struct {
	Title []string `xml:"chart>title>tx>rich>p>r>t"`
	Plots struct {
		Plot []struct {
			Series []chartSeries `xml:"ser"`
		} `xml:",any"`
	} `xml:"chart>plotArea"`
}

type chartSeries struct {
	Name       []chartPoint `xml:"tx>strRef>strCache>pt"`
	Given      string       `xml:"tx>v"`
	Categories []chartPoint `xml:"cat>strRef>strCache>pt"`
	Numbers    []chartPoint `xml:"cat>numRef>numCache>pt"`
	X          []chartPoint `xml:"xVal>numRef>numCache>pt"`
	Values     []chartPoint `xml:"val>numRef>numCache>pt"`
	Y          []chartPoint `xml:"yVal>numRef>numCache>pt"`
}

type chartPoint struct {
	Value string `xml:"v"`
}

// maxPoints bounds the rows of a chart.
const maxPoints = 1000

// chart returns the title of a chart and a table of its series.
func (d *document) chart(id string) string {
	var part chartPart
	if !ooxml.Decode(d.partOf(id), &part) {
		d.c.Damaged = true
	}
	var series []chartSeries
	for _, plot := range part.Plots.Plot {
		series = append(series, plot.Series...)
	}
	title := strings.TrimSpace("Chart: " + strings.Join(part.Title, ""))
	if len(series) == 0 {
		if len(part.Title) == 0 {
			return ""
		}
		return title
	}
	return title + "\n\n" + seriesTable(series)
}

// seriesTable has a row for each category of the first series.
func seriesTable(series []chartSeries) string {
	rows := 0
	var t markdown.Table
	t.StartRow()
	t.Add(markdown.Cell{})
	for _, s := range series {
		name := s.Given
		if len(s.Name) > 0 {
			name = s.Name[0].Value
		}
		t.Add(markdown.Cell{Text: name})
		rows = max(rows, len(s.Values), len(s.Y))
	}
	t.EndRow()
	at := func(i int, lists ...[]chartPoint) string {
		for _, list := range lists {
			if i < len(list) {
				return list[i].Value
			}
		}
		return ""
	}
	for i := range min(rows, maxPoints) {
		t.StartRow()
		t.Add(markdown.Cell{Text: at(i, series[0].Categories, series[0].Numbers, series[0].X)})
		for _, s := range series {
			t.Add(markdown.Cell{Text: at(i, s.Values, s.Y)})
		}
		t.EndRow()
	}
	return t.String()
}
