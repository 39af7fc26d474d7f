package word

import (
	"strings"

	"github.com/seed-506d8e5d/svc/files/internal/markdown"
)

// FieldLink returns the address of a HYPERLINK field, "" of any other.
func FieldLink(code string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(code), "HYPERLINK")
	if !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if url, ok := strings.CutPrefix(rest, `"`); ok {
		url, _, _ = strings.Cut(url, `"`)
		return markdown.Address(url)
	}
	url, _, _ := strings.Cut(rest, " ")
	return markdown.Address(url)
}
