package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Quote returns text between two equal lines, as material stands in a prompt
// that a model is not to take for the prompt itself. The lines are """, or where
// the text has these quotation marks, the marks and letters after them that the
// text does not have: nothing in the text can look like its end. Equal texts are
// quoted alike, so that a model server can keep the beginning of a prompt.
func Quote(text string) string { return QuoteWithin("", text, "") }

// QuoteWithin is Quote with something before and behind it, without a copy of the
// text between.
func QuoteWithin(before, text, behind string) string {
	boundary := `"""`
	for sum := [sha256.Size]byte{}; strings.Contains(text, boundary); {
		sum = sha256.Sum256(append(sum[:], text...))
		boundary = `"""` + hex.EncodeToString(sum[:6])
	}
	return before + boundary + "\n" + text + "\n" + boundary + behind
}

// Quoted returns the document as it stands in a prompt: its name, of which
// nothing can break out either, what is to be said about it, and its text by
// [Quote]. A document without text that a note explains is not quoted.
func (d Document) Quoted() string {
	var b strings.Builder
	b.WriteString("The file " + strconv.Quote(d.Name) + ":\n")
	if d.Note != "" {
		b.WriteString("(" + d.Note + ")")
		if strings.TrimSpace(d.Text) == "" {
			return b.String()
		}
		b.WriteByte('\n')
	}
	b.WriteString(Quote(d.Text))
	return b.String()
}
