package html_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/html"
)

func read(data string) (extract.Document, error) {
	return html.Reader{}.Read(context.Background(), strings.NewReader(data), int64(len(data)))
}

func TestPages(t *testing.T) {
	for name, c := range map[string][2]string{
		"a page":             {"<!DOCTYPE html><html><head><title>A &amp; B</title><style>p{}</style></head><body><p>One\n two<p>three<br>four</body></html>", "# A & B\nOne two\nthree\nfour\n"},
		"headings":           {"<title>T</title><h1>Top</h1><h2>Be<b>low</b></h2><h3></h3>text", "# Top\n## Below\ntext\n"},
		"lists":              {"<ul><li>a<li><p>b</p><ol start=3><li>c</li><li>d</ol></ul>e", "- a\n- b\n  3. c\n  4. d\ne\n"},
		"a table":            {"<table><tr><th>Name<th>Size</tr><tr><td colspan=2>x|y</table>after", "| Name | Size |\n| --- | --- |\n| x\\|y | x\\|y |\nafter\n"},
		"a table in one":     {"<table><tr><td>a<table><tr><td>b<td>c</table></td><td>d</table>", "| a<br>b; c | d |\n| --- | --- |\n"},
		"a list in a cell":   {"<ul><li>x<table><tr><td><ul><li>a<li>b</ul><td>c</table></ul>", "- x\n| - a<br>- b | c |\n| --- | --- |\n"},
		"links":              {`see <a href="https://example.org/a?b=1&amp;c=2">this  page</a>, <a href=/x>that</a> and <a href="https://example.org">https://example.org</a>`, "see [this page](https://example.org/a?b=1&c=2), that and https://example.org\n"},
		"pictures":           {`a <img src="x" alt="A cat"> <img src=y> b`, "a ![A cat]() b\n"},
		"preformatted":       {"<pre>a\n  b\n\nc</pre>d", "a\n  b\n\nc\nd\n"},
		"hidden":             {`a<div hidden>b<div>c</div>d</div>e<p style="Display : None">f</p><span style="visibility:hidden">g</span><template>h</template><noscript>i</noscript>j<svg><title>k</title></svg>`, "a\ne\nj\n"},
		"scripts":            {"a<script>if (a < b) '</p>'</script>b<SCRIPT>c</Script >d", "abd\n"},
		"comments":           {"a<!-- <p>b --> c<!x>d<?y>e</>f", "a cdef\n"},
		"signs":              {"1 < 2 & 3 &lt; 4 <", "1 < 2 & 3 < 4 <\n"},
		"quotes in a tag":    {`<a title="a>b" href='https://example.org/'>c d</a><p class="x'>e`, "[c d](https://example.org/)\n"},
		"a tag cut":          {"a<p class=", "a\n"},
		"a comment cut":      {"a<!-- b", "a\n"},
		"a script cut":       {"a<script>b", "a\n"},
		"text areas":         {"<textarea>a <b></textarea>", "a <b>\n"},
		"plain text":         {"no markup", "no markup\n"},
		"nothing":            {"", ""},
		"Latin-1":            {"<p>caf\xe9 \x80", "café €\n"},
		"declared":           {`<meta charset="iso-8859-2"><p>` + "\xb1", "ą\n"},
		"an unknown charset": {`<meta charset="x-y"><p>` + "\xe9", "é\n"},
		"UTF-16":             {"\xFF\xFE<\x00p\x00>\x00a\x00", "a\n"},
		"a mark":             {"\xEF\xBB\xBFa", "a\n"},
	} {
		got, err := read(c[0])
		if err != nil || got != (extract.Document{Text: c[1]}) {
			t.Errorf("%s: got %q, %v, want %q", name, got.Text, err, c[1])
		}
	}
}

func TestPagesThatAreNone(t *testing.T) {
	if _, err := read("\x00\x01\x02"); !errors.Is(err, extract.ErrFormat) {
		t.Errorf("bytes: %v", err)
	}
	if _, err := (html.Reader{}).Read(t.Context(), bytes.NewReader(nil), 1<<30); !errors.Is(err, extract.ErrTooLarge) {
		t.Errorf("a gigabyte: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (html.Reader{}).Read(ctx, strings.NewReader("<p>"), 3); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

// TestHostilePages has pages that are made to take long or to grow: each is read within
// bounds.
func TestHostilePages(t *testing.T) {
	const n = 50_000
	for name, data := range map[string]string{
		"links in a line":    strings.Repeat(`<a href="https://a.b">x y</a> `, n),
		"open comments":      strings.Repeat("<!--", n),
		"open tags":          strings.Repeat("<a ", n),
		"open quotes":        strings.Repeat(`<a b="`, n),
		"tables":             strings.Repeat("<table><tr><td>", n),
		"lists":              strings.Repeat("<ul><li>x", n),
		"scripts":            strings.Repeat("<script></scrip", n),
		"hidden elements":    strings.Repeat("<div hidden>", n),
		"attributes":         "<p " + strings.Repeat(" a=b", n) + ">x",
		"signs":              strings.Repeat("<", n),
		"wide cells":         "<table>" + strings.Repeat("<tr><td colspan=1000000000>"+strings.Repeat("x", 900), 2000),
		"cells":              "<table><tr>" + strings.Repeat("<td>", n),
		"links without ends": strings.Repeat(`<a href="https://a.b">x `, n),
	} {
		start := time.Now()
		got, err := read(data)
		if err != nil && !errors.Is(err, extract.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 20*time.Second || len(got.Text) > 100*(len(data)+1000) {
			t.Errorf("%s: %d bytes of %d in %v", name, len(got.Text), len(data), took)
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, seed := range []string{"<p>a<table><tr><td colspan=3>b<ul><li>c", `<a href="https://x.y">z</a>`, "<pre>\n", "<!--", "</", "\xFF\xFEa", "<script></script"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		got, err := read(data)
		if err != nil && !errors.Is(err, extract.ErrFormat) && !errors.Is(err, extract.ErrTooLarge) {
			t.Error(err)
		}
		if err == nil && strings.ToValidUTF8(got.Text, "") != got.Text {
			t.Errorf("the text is no UTF-8: %q", got.Text)
		}
	})
}
