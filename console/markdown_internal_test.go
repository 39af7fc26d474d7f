package console

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"One\ntwo":                          "<p>One<br>\ntwo</p>\n",
		"**bold** `code`":                   "<p><strong>bold</strong> <code>code</code></p>\n",
		"# Title":                           "<h4>Title</h4>\n",
		"<b onclick=x>hi</b>":               "<p>&lt;b onclick=x&gt;hi&lt;/b&gt;</p>\n",
		"<script>\nalert(1)\n</script>":     "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>\n",
		"[a](https://example.com/?a=1&b=2)": `<p><a href="https://example.com/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer nofollow">a</a></p>` + "\n",
		"[a](javascript:alert(1))":          "<p><span>a</span></p>\n",
		"[a](JaVaScRiPt:alert(1))":          "<p><span>a</span></p>\n",
		"[a](data:text/html,x)":             "<p><span>a</span></p>\n",
		"[a](//example.com)":                "<p><span>a</span></p>\n",
		"[a](/console/signout)":             "<p><span>a</span></p>\n",
		"![cat](https://example.com/c.png)": `<p><a href="https://example.com/c.png" target="_blank" rel="noopener noreferrer nofollow">cat</a></p>` + "\n",
		"<javascript:alert(1)>":             "<p><span>javascript:alert(1)</span></p>\n",
		"```go\nif a < b {}\n```":           `<div class="code"><div><span>go</span><button type="button" class="quiet" data-copy>Copy</button></div><pre><code>if a &lt; b {}` + "\n</code></pre></div>\n",
		"|a|\n|:-|\n|1|":                    "<table>\n<thead>\n<tr>\n<th align=\"left\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"left\">1</td>\n</tr>\n</tbody>\n</table>\n",
	} {
		if got := string(renderMarkdown(text)); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// allowed are the elements of rendered Markdown with their attributes.
var allowed = map[string][]string{
	"p": nil, "br": nil, "strong": nil, "em": nil, "code": nil, "pre": nil, "del": nil, "span": nil, "hr": nil, "blockquote": nil,
	"ul": nil, "ol": {"start"}, "li": nil, "h4": nil, "h5": nil, "h6": nil, "table": nil, "thead": nil, "tbody": nil, "tr": nil,
	"th": {"align"}, "td": {"align"}, "a": {"href", "target", "rel"}, "div": {"class"}, "button": {"type", "class", "data-copy"},
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"# a", "<img src=x onerror=alert(1)>", "[a](javascript:b)", "![a](b \"c\")", "```\"><script>\n```", "<a@b.c>", "http://x.y/<\"'>",
		"[a]: javascript:alert(1)\n[a]", "<!-- -->", "&lt;script&gt;", "&#106;avascript:", "[x](https://a\"onclick=b)", "| a |\n|-|\n| <b> |", "<div\n\n", "1. a\n2. b", "<![CDATA[x]]>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := string(renderMarkdown(text))
		for z := html.NewTokenizer(strings.NewReader(got)); ; {
			kind := z.Next()
			if kind == html.ErrorToken {
				return
			}
			if kind == html.CommentToken || kind == html.DoctypeToken {
				t.Fatalf("%q has %q", text, z.Token())
			}
			if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
				continue
			}
			token := z.Token()
			attributes, ok := allowed[token.Data]
			if !ok {
				t.Fatalf("%q has the element %q: %s", text, token.Data, got)
			}
			for _, a := range token.Attr {
				if !slices.Contains(attributes, a.Key) || a.Key == "href" && safeURL([]byte(a.Val)) == "" {
					t.Fatalf("%q has the attribute %s=%q: %s", text, a.Key, a.Val, got)
				}
			}
		}
	})
}
