// Package pdf reads the text of PDF files: those that office programs, TeX,
// browsers and scanners write, and the broken ones that people have all the
// same. [Extract] is all there is to call; its errors say what to tell whoever
// sent the file.
//
// A PDF does not hold text. It holds instructions to draw glyphs at places, in
// objects that refer to each other, packed and possibly encrypted in a file
// whose table of contents may be wrong. The package undoes this in two steps,
// and its files are best read in this order, that of ISO 32000-2 for the most
// part:
//
// First the objects are found, under limits on everything that a hostile file
// could blow up.
//
//   - object.go, lex.go, number.go: objects and their syntax (7.2, 7.3)
//   - filter.go, lzw.go, predictor.go: the filters of streams (7.4)
//   - file.go, xref.go, objstm.go: finding objects (7.5), and repair.go where
//     the file is damaged
//   - crypt.go: encryption with the empty password (7.6)
//   - pages.go: the page tree (7.7)
//   - reader.go: objects as the pages need them; meter.go: the limits
//
// Then the pages are drawn, on nothing but a list of glyphs with places.
//
//   - pagetext.go: a page (7.7.3); annotation.go: what is laid over it (12.5)
//   - content.go, form.go, ruling.go, marked.go, textstate.go, matrix.go: content streams
//     (7.8, 8.3 to 8.10, 9.3, 9.4, 14.6)
//   - font.go, simplefont.go, compositefont.go: fonts (9.5 to 9.7)
//   - encoding.go, glyphs.go, cmap.go, charset.go: from codes to characters (9.10),
//     with lists of Asian ones in cids.txt and gb1.txt, which gencids.go writes
//   - truetype.go, type1.go, cff.go, fontnames.go: what font programs know of it
//   - layout.go, columns.go, vertical.go, bidi.go, clean.go: from glyphs to words and lines
//
// Last the lines become Markdown, where it is certain what they are, without a word
// more or less. Headings are larger than the usual text, or bold and apart; tables
// are rows between bars; form fields and comments stand where they are on the page,
// and links have their addresses.
//
//   - inset.go: fields, comments and links in the lines
//   - table.go, grid.go, aligned.go: tables, drawn with rules or set in columns
//   - outline.go: headings
//
// What is not read: XFA forms, text outlines, and fonts that keep to themselves
// which characters their glyphs are; those glyphs are U+FFFD and are counted in
// [Result].
package pdf
