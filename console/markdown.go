package console

import (
	"bytes"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// markdown turns what a model has said into HTML. HTML in it is text, links lead to
// the web or to an address for mail alone, and pictures are links: nothing is fetched.
var markdown = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), // the policy allows no styles
		extension.Strikethrough, extension.Linkify,
	),
	goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(safeRenderer{}, 1))),
)

// A text is rendered that has so many bytes at most, and so many of the characters that
// take the parser long: any other is shown as it is.
const (
	maxMarkdown = 32_000
	maxMarks    = 3000
)

// renderMarkdown returns a text as HTML, empty where it is too long or too intricate.
func renderMarkdown(text string) template.HTML {
	marks := 0
	for _, c := range []byte(text) {
		if c == '[' || c == '*' || c == '_' || c == '>' {
			marks++
		}
	}
	if len(text) > maxMarkdown || marks > maxMarks {
		return ""
	}
	var b bytes.Buffer
	if err := markdown.Convert([]byte(text), &b); err != nil {
		return "" // a buffer takes everything, so that there is none
	}
	return template.HTML(b.String()) // of markdown alone, which writes no HTML of the text
}

// safeRenderer renders the nodes that need care.
type safeRenderer struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (safeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindLink, link)
	r.Register(ast.KindImage, image)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindHeading, heading)
	r.Register(ast.KindCodeBlock, codeBlock)
	r.Register(ast.KindFencedCodeBlock, codeBlock)
}

func escape(w util.BufWriter, text []byte) { _, _ = w.Write(util.EscapeHTML(text)) }

func rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		segments := node.(*ast.RawHTML).Segments
		for i := range segments.Len() {
			s := segments.At(i)
			escape(w, s.Value(source))
		}
	}
	return ast.WalkSkipChildren, nil
}

func htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString("</p>\n")
		return ast.WalkContinue, nil
	}
	block := node.(*ast.HTMLBlock)
	_, _ = w.WriteString("<p>")
	writeLines(w, source, node)
	if block.HasClosure() {
		escape(w, block.ClosureLine.Value(source))
	}
	return ast.WalkContinue, nil
}

func writeLines(w util.BufWriter, source []byte, node ast.Node) {
	for i := range node.Lines().Len() {
		s := node.Lines().At(i)
		escape(w, s.Value(source))
	}
}

// safeURL returns where a link leads, empty where it must not lead there.
func safeURL(text []byte) string {
	u, err := url.Parse(string(text))
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
	case "mailto":
	default:
		return ""
	}
	return u.String()
}

// openLink begins a link, or what stands for one that leads nowhere.
func openLink(w util.BufWriter, target string) {
	if target == "" {
		_, _ = w.WriteString("<span>")
		return
	}
	_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString(target) + `" target="_blank" rel="noopener noreferrer nofollow">`)
}

func closeLink(w util.BufWriter, target string) {
	if target == "" {
		_, _ = w.WriteString("</span>")
		return
	}
	_, _ = w.WriteString("</a>")
}

func link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	target := safeURL(node.(*ast.Link).Destination)
	if entering {
		openLink(w, target)
	} else {
		closeLink(w, target)
	}
	return ast.WalkContinue, nil
}

func image(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	target := safeURL(node.(*ast.Image).Destination)
	if entering {
		openLink(w, target)
		if !node.HasChildren() {
			escape(w, node.(*ast.Image).Destination)
		}
	} else {
		closeLink(w, target)
	}
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.AutoLink)
	address := n.URL(source)
	if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(address), []byte("mailto:")) {
		address = append([]byte("mailto:"), address...)
	}
	target := safeURL(address)
	openLink(w, target)
	escape(w, n.Label(source))
	closeLink(w, target)
	return ast.WalkContinue, nil
}

// heading renders headings below those of the page.
func heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := []string{"h4", "h5", "h6"}[min(node.(*ast.Heading).Level, 3)-1]
	if entering {
		_, _ = w.WriteString("<" + tag + ">")
	} else {
		_, _ = w.WriteString("</" + tag + ">\n")
	}
	return ast.WalkContinue, nil
}

// codeBlock renders code with its language and a button to copy it.
func codeBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<div class="code"><div><span>`)
	if fenced, ok := node.(*ast.FencedCodeBlock); ok {
		escape(w, fenced.Language(source))
	}
	_, _ = w.WriteString(`</span><button type="button" class="quiet" data-copy>Copy</button></div><pre><code>`)
	writeLines(w, source, node)
	_, _ = w.WriteString("</code></pre></div>\n")
	return ast.WalkSkipChildren, nil
}
