package markdown

import "strings"

// Address returns an address as it stands in a link, "" for one that leads nowhere
// outside of its author's machine.
func Address(url string) string {
	scheme, rest, ok := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto", "ftp":
	default:
		return ""
	}
	const most = 2048
	if !ok || rest == "" || len(url) > most || strings.ContainsAny(url, "<>\n") {
		return ""
	}
	if strings.ContainsAny(url, " ()") {
		return "<" + url + ">"
	}
	return url
}

// Picture returns a picture that is described as its author did, "" for one that is
// not.
func Picture(description string) string {
	text := strings.Join(strings.Fields(description), " ")
	if text == "" {
		return ""
	}
	return "![" + text + "]()"
}

// IsLink reports whether text can stand for an address: it has words of its own,
// on one line, and is not the address itself, in full or without its beginning.
func IsLink(text, address string) bool {
	text = strings.TrimSpace(text)
	if address == "" || text == "" || strings.ContainsAny(text, "\n[]") {
		return false
	}
	short, full := strings.TrimSuffix(text, "/"), strings.TrimSuffix(address, "/")
	return !strings.HasSuffix(full, short) || len(full)-len(short) > len("https://www.")
}
