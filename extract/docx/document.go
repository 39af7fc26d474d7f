package docx

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

// document is what the parts of one document share while they are read.
type document struct {
	ctx       context.Context
	c         *ooxml.Container
	dir       string               // of the main part, which targets are relative to
	rels      []ooxml.Relationship // of the main part
	partRels  []ooxml.Relationship // of the part that is being read
	links     map[string]string    // addresses by the ID of one of those
	lists     lists
	footnotes references
	endnotes  references
	headers   set
	footers   set
	root      string            // the root element of the first part read
	written   int               // bytes of text so far
	comments  map[string]string // not yet written, by ID
	chunks    int               // documents that this one is in, and has had in it
}

// readDocument finds the main part, reads it and what it refers to, and puts
// the text together.
func readDocument(ctx context.Context, c *ooxml.Container) (string, error) {
	return readPart(ctx, c, 0, 0)
}

// readPart reads a document that may stand in others, as so many did before it,
// which have had so many bytes of text.
func readPart(ctx context.Context, c *ooxml.Container, chunks, written int) (string, error) {
	main, err := c.Main("word/document.xml")
	if err != nil {
		return "", err
	}
	d := &document{ctx: ctx, c: c, dir: path.Dir(main), chunks: chunks, written: written}
	d.endnotes.format = "lowerRoman"
	markup, err := d.mainMarkup(main)
	if err != nil {
		return "", err
	}
	rels, err := c.ReadSide(ooxml.RelationshipsOf(main), ooxml.MaxSide)
	if err != nil {
		return "", err
	}
	d.rels = ooxml.Relationships(c, rels)
	d.partRels, d.links = d.rels, ooxml.Links(rels)
	if err := d.readLists(); err != nil {
		return "", err
	}
	comments, err := d.readComments()
	if err != nil {
		return "", err
	}
	d.root = ""
	d.partRels, d.links = d.rels, ooxml.Links(rels)
	body, err := d.walk(markup, nil)
	if err != nil && (body == "" || !errors.Is(err, extract.ErrDamaged)) {
		return "", err
	}
	if d.root != "document" {
		return "", fmt.Errorf("%w: the main part is a %q", extract.ErrFormat, d.root)
	}
	c.Damaged = c.Damaged || err != nil
	sections := []string{body}
	for _, read := range []func() ([]string, error){
		func() ([]string, error) { return d.readNotes("footnotes", d.footnotes) },
		func() ([]string, error) { return d.readNotes("endnotes", d.endnotes) },
		func() ([]string, error) { return d.unanchored(comments), nil },
		func() ([]string, error) { return d.readMargins(d.headers) },
		func() ([]string, error) { return d.readMargins(d.footers) },
	} {
		texts, err := read()
		if err != nil {
			return "", err
		}
		sections = append(sections, strings.Join(texts, "\n"))
	}
	sections = slices.DeleteFunc(sections, func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(sections) == 0 {
		return "", nil
	}
	return strings.Join(sections, "\n\n") + "\n", nil
}

func (d *document) mainMarkup(main string) (string, error) {
	body, err := d.c.Read(main, ooxml.MaxPart)
	if err != nil {
		return "", err
	}
	return string(body), nil
}

// tolerate makes an error of damage a note of it, and returns other errors.
func (d *document) tolerate(err error) error {
	if errors.Is(err, extract.ErrDamaged) {
		d.c.Damaged = true
		return nil
	}
	return err
}

// story reads a side part that holds text. What is damaged is left out.
func (d *document) story(name string, onNote func(note)) (string, error) {
	part, err := d.c.ReadSide(name, ooxml.MaxPart)
	if err != nil || part == nil {
		return "", err
	}
	rels, err := d.c.ReadSide(ooxml.RelationshipsOf(name), ooxml.MaxSide)
	if err != nil {
		return "", err
	}
	d.partRels, d.links = ooxml.Relationships(d.c, rels), ooxml.Links(rels)
	text, err := d.walk(string(part), onNote)
	return text, d.tolerate(err)
}

// note is a footnote, an endnote or a comment.
type note struct {
	id     string
	author string
	text   string
}

// readNotes returns the notes of a kind in the order of their references. The
// lines between notes and text are in the part too, but nothing refers to them.
func (d *document) readNotes(kind string, refs references) ([]string, error) {
	notes := map[string]string{}
	err := d.eachNote(kind, func(n note) {
		notes[n.id] = n.text
	})
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, id := range refs.ids {
		text := notes[id]
		if mark := refs.marks[id]; mark != "" && text != "" {
			text = "[^" + mark + "]: " + strings.TrimLeft(text, " \t")
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

// readComments reads the comments, for where they are anchored, and returns all of
// them in order.
func (d *document) readComments() (all []note, err error) {
	d.comments = map[string]string{}
	err = d.eachNote("comments", func(n note) {
		if n.text == "" {
			return
		}
		by := ""
		if n.author != "" {
			by = " (" + n.author + ")"
		}
		n.text = "Comment" + by + ": " + n.text
		if n.id != "" {
			d.comments[n.id] = n.text
		}
		all = append(all, n)
	})
	return all, err
}

// unanchored returns the comments that nothing refers to.
func (d *document) unanchored(all []note) (texts []string) {
	for _, n := range all {
		if n.id == "" || d.comments[n.id] != "" {
			texts = append(texts, n.text)
		}
	}
	return texts
}

func (d *document) eachNote(kind string, onNote func(note)) error {
	for _, r := range d.rels {
		if r.Kind != kind {
			continue
		}
		_, err := d.story(r.Target(d.dir), onNote)
		return err // a document has one part of each kind
	}
	return nil
}

// readMargins returns the headers or footers that the sections name, each text
// once.
func (d *document) readMargins(ids set) ([]string, error) {
	names := map[string]string{}
	for _, r := range d.rels {
		names[r.ID] = r.Target(d.dir)
	}
	var parts, texts set
	for _, id := range ids.items {
		if name, ok := names[id]; ok {
			parts.add(ooxml.PartKey(name))
		}
	}
	for _, name := range parts.items {
		text, err := d.story(name, nil)
		if err != nil {
			return nil, err
		}
		if text != "" {
			texts.add(text)
		}
	}
	return texts.items, nil
}

// set is a list of different strings in the order they came.
type set struct {
	items []string
	known map[string]bool
}

func (s *set) add(item string) {
	if s.known == nil {
		s.known = map[string]bool{}
	}
	if !s.known[item] {
		s.known[item] = true
		s.items = append(s.items, item)
	}
}

// references numbers the notes of one kind in the order they are referred to.
type references struct {
	format  string // of the numbers
	ids     []string
	marks   map[string]string // by id; "" for a mark of the author's own
	counted int
}

// refer returns the mark of a note, "" if it has one of its own.
func (r *references) refer(id string, custom bool) string {
	if r.marks == nil {
		r.marks = map[string]string{}
	}
	mark, known := r.marks[id]
	if known {
		return mark
	}
	if !custom {
		r.counted++
		mark = word.Number(r.counted, r.format)
	}
	r.marks[id] = mark
	r.ids = append(r.ids, id)
	return mark
}

// readLists reads the styles and list definitions.
func (d *document) readLists() error {
	side := func(kind string) ([]byte, error) {
		for _, r := range d.rels {
			if r.Kind == kind {
				return d.c.ReadSide(r.Target(d.dir), ooxml.MaxSide)
			}
		}
		return nil, nil
	}
	styles, err := side("styles")
	if err != nil {
		return err
	}
	numbering, err := side("numbering")
	if err != nil {
		return err
	}
	sheet, whole := parseStyles(styles)
	var ok bool
	d.lists, ok = parseLists(sheet, numbering)
	d.c.Damaged = d.c.Damaged || !ok || !whole
	return nil
}

// level reads a list level, which is counted from 0.
func level(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n >= levels {
		return 0
	}
	return n
}
