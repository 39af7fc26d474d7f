package rtf

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/extract"
)

func textOf(t testing.TB, data string) (extract.Document, error) {
	t.Helper()
	return Reader{}.Read(t.Context(), strings.NewReader(data), int64(len(data)))
}

func TestExtract(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"paragraphs", `\pard one\par\pard two\line three\par`, "one\ntwo\nthree\n"},
		{"line ends of the file", "one \r\ntwo\\\nthree", "one two\nthree\n"},
		{"symbols", `a\{b\}c\\d\~e\_f\-g\tab h`, "a{b}c\\d e-fg\th\n"},
		{"quotes", `\ldblquote x\rdblquote\emdash y\rquote s`, "“x”—y’s\n"},
		{"bytes of the code page", `\ansicpg1251 \'cf\'f0\'e8`, "При\n"},
		{"bytes of a font", `{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}{\f1 \'cf\'f0\'e8} \'e9`, "При é\n"},
		{"a code page of a font", `{\fonttbl{\f1\fcharset0\cpg1253 Arial;}{\f2\cpg1251\fcharset161 Arial;}{\f3\fcharset161\cpg1251 Arial;}}\f1\'c1\f2\'c1\f3\'c1`, "ΑΑΑ\n"},
		{"characters of two bytes", `\ansicpg932 \'93\'fa\'96{\'7b}`, "日{\n"},
		{"two bytes, one of them plain", `\ansicpg932 \'83\'5c\'83`, "ソ\n"},
		{"Macintosh", `\mac\'8e`, "é\n"},
		{"Unicode", `\u1055?\u-10179?\u-8704?!`, "П😀!\n"},
		{"Unicode with two stand-ins", `\uc2\u233 ab\u233\'65\'65{\uc0\u233 c}\u233\tab\tab d`, "ééécéd\n"},
		{"Arabic forms", `\uc0\u-333\u-260\u-287`, "سلام\n"},
		{"half of a pair", `\u55357?x\u55357?\u233?`, "\ufffdx\ufffdé\n"},
		{"hidden text", `a{\v secret}b\v c\v0 d\v e\plain f`, "abdf\n"},
		{"deleted text", `a{\deleted gone}{\revised new}b`, "anewb\n"},
		{"unknown destinations", `a{\*\unknown gone{\b gone}}{\info{\title gone}}{\pict\bin4 }}{{}c`, "ac\n"},
		{"unknown words", `a\foo1\bar b`, "ab\n"},
		{"list numbers", `{\listtext\pard 1.\tab}one\par{\pntext 2.\tab}two\par`, "1.\tone\n2.\ttwo\n"},
		{"headings", `{\stylesheet{\s1\outlinelevel0 heading 1;}}\pard\s1\outlinelevel0 Top\par\pard\outlinelevel1 Next\par\pard text\par`, "# Top\n## Next\ntext\n"},
		{"headings by the name of their style", `{\stylesheet{\ql Normal;}{\s7\b\sbasedon0 heading 2;}{\*\cs8 heading 3;}{\s9\outlinelevel2 Mine;}}\pard\s7 Top\par\pard\s9 Next\par\pard\s7\outlinelevel9 no\par\pard\s8 text\par`, "## Top\n### Next\nno\ntext\n"},
		{"a star that begins no destination", `{\b\*\cs12 kept}{\*\cs12 gone}`, "kept\n"},
		{"merged cells", `\trowd\clmgf\cellx1\clmrg\cellx2\clvmgf\cellx3\pard\intbl a\cell\cell b\cell\row\trowd\cellx1\cellx2\clvmrg\cellx3 c\cell d\cell\cell\row\pard`, "| a | a | b |\n| --- | --- | --- |\n| c | d | b |\n\n"},
		{"cells whose row is described behind them", `\pard\intbl a\cell\cell\trowd\clmgf\cellx1\clmrg\cellx2\row\pard\intbl c\cell d\cell\trowd\cellx1\cellx2\row\pard`, "| a | a |\n| --- | --- |\n| c | d |\n\n"},
		{"a table in a cell", `\trowd\cellx1\cellx2\pard\intbl\itap2 a\nestcell{\nonesttables\par}b\nestcell{\nonesttables\par}{\*\nesttableprops\trowd\cellx1\clvmrg\cellx2\nestrow}{\nonesttables\par}c\nestcell d\nestcell{\*\nesttableprops\trowd\nestrow}\pard\intbl\cell e\cell\row`, "| a; b<br>c; d | e |\n| --- | --- |\n\n"},
		{"a table", `\trowd\cellx1\cellx2\pard\intbl a\cell b\line c\cell\row\trowd\pard\intbl d\cell e|f\cell\row\pard after\par`, "| a | b<br>c |\n| --- | --- |\n| d | e\\|f |\n\nafter\n"},
		{"a table that never says so", `\trowd a\cell b\cell\row\trowd c\cell d\cell\row\pard after`, "| a | b |\n| --- | --- |\n| c | d |\n\nafter\n"},
		{"a link", `see {\field{\*\fldinst{HYPERLINK "https://example.org/a"}}{\fldrslt{\ul the page}}}, please`, "see [the page](https://example.org/a), please\n"},
		{"a field with two texts", `{\field{\*\fldinst HYPERLINK "http://a/b"}{\fldrslt one}{\fldrslt two}}`, "[one](http://a/b)two\n"},
		{"an address", `{\field{\*\fldinst HYPERLINK https://example.org/a}{\fldrslt https://example.org/a}}`, "https://example.org/a\n"},
		{"a link to a file", `{\field{\*\fldinst HYPERLINK "file:///etc"}{\fldrslt x}}`, "x\n"},
		{"another field", `{\field{\*\fldinst PAGE}{\fldrslt 7}}`, "7\n"},
		{"an equation", `gate {\field{\*\fldinst EQ \\* jc2 \\o\\ad(\\s\\up 9(ki),\u39740?)}{\fldrslt }} {\field{\*\fldinst EQ \\f(1,2)}{\fldrslt half}}`, "gate 鬼 half\n"},
		{"a footnote", `one{\super\chftn{\footnote\pard{\super\chftn} note\par}} two\par`, "one[^1] two\n[^1]: note\n"},
		{"headers", `{\header\pard top\par}{\headerf top\par}{\footerl end\par}body\par`, "body\ntop\nend\n"},
		{"a comment", `one{\*\atnid A}{\*\atnauthor Ann}\chatn{\*\annotation{\*\atnref 1}\pard really?\par} two`, "one [Comment (Ann): really?] two\n"},
		{"a hidden comment", `one{\v{\*\annotation no}}`, "one\n"},
		{"a text box", `{\shp{\*\shpinst\shpleft1{\sp{\sn a}{\sv gone}}{\shptxt\pard in a box\par}}{\shprslt gone}}after`, "in a box\nafter\n"},
		{"in Unicode, too", `{\upr{gone}{\*\ud{\u1055?}}}`, "П\n"},
		{"an object", `{\object{\*\objdata 00ff}{\result shown}}`, "shown\n"},
		{"a picture in two formats", `{\*\shppict{\pict 00ff}}{\nonshppict{\pict 00ff}}x`, "x\n"},
		{"behind the end", `a\par}b`, "a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, `{\rtf1\ansi `+c.in+`}`)
			if err != nil || got.Text != c.want {
				t.Errorf("got %q, %v, want %q", got.Text, err, c.want)
			}
		})
	}
}

func TestNotWhole(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		partial        bool
	}{
		{"whole", `{\rtf1 a{\b b}}`, "ab\n", false},
		{"cut short", `{\rtf1 a{\b b`, "ab\n", true},
		{"cut in a word", `{\rtf1 a\`, "a\n", true},
		{"a brace too many", `{\rtf1 a}\par b\par}c`, "a\nb\n", true},
		{"cut in a byte", `{\rtf1 a\'e`, "a\n", true},
		{"cut in a footnote", `{\rtf1 a{\footnote b`, "a[^1]\n[^1]: b\n", true},
		{"deep", `{\rtf1 a` + strings.Repeat("{", maxDepth) + "b" + strings.Repeat("}", maxDepth) + "c}", "ac\n", true},
		{"long binary", `{\rtf1 a\bin999999999 b}`, "a\n", true},
	} {
		if got, err := textOf(t, c.in); err != nil || got.Text != c.want || got.Partial != c.partial {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
	if _, err := textOf(t, "text"); !errors.Is(err, extract.ErrFormat) {
		t.Errorf("no RTF: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Reader{}).Read(ctx, strings.NewReader(Magic), int64(len(Magic))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// TestHostile has files that ask for much: none may take long.
func TestHostile(t *testing.T) {
	many := strings.Repeat
	for name, in := range map[string]string{
		"groups":    many("{", 1<<20),
		"footnotes": many(`{\footnote `, 200_000),
		"stories":   many(`{\header x}`, 200_000),
		"fields":    many(`{\field{\*\fldinst HYPERLINK "http://a"}{\fldrslt `, 100_000),
		"texts":     `{\field{\*\fldinst HYPERLINK ` + many("a", 1<<20) + `}` + many(`{\fldrslt x}`, 200_000),
		"comments":  many(`{\*\annotation x`, 100_000),
		"cells":     many(`\cell`, 1<<19) + `\row` + many(`\cell\row`, 1<<17),
		"bytes":     many(`\'e9`, 1<<19),
		"words":     many(`\u-10179`, 1<<18),
		"fonts":     many(`{\fonttbl\f1\fcharset204}`, 1<<16),
		"merged":    `\trowd\cellx0` + many(`\clmrg\cellx1`, 62) + many("a", 1000) + `\cell\row\trowd\clvmrg\cellx0` + many(`\clmrg\cellx1`, 62) + many(many(`\cell`, 63)+`\row`, 500),
		"styles":    `{\stylesheet` + many(`{\s1 heading 1;}`, 1<<16),
		"ends":      many("}", 1<<20) + `\par`,
		"links":     many("a", 1<<20) + many(`{\field{\*\fldinst HYPERLINK "http://a/b"}{\fldrslt x}}`, 2000),
	} {
		start := time.Now()
		if _, err := textOf(t, Magic+" "+in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(`{\rtf1\ansi\ansicpg932{\fonttbl{\f1\fcharset204 A;}}\trowd\pard\intbl a\cell\row\pard\outlinelevel1 \'93\'fa\u55357?\u-8704?{\field{\*\fldinst HYPERLINK "http://a"}{\fldrslt b}}{\footnote c}{\*\annotation d}\v\bin2 }}}`)
	f.Add(`{\rtf1{\upr{a}{\*\ud{b}}}{\shp{\*\shpinst{\shptxt c\par}}}\uc0\u10 x`)
	f.Fuzz(func(t *testing.T, data string) {
		got, err := textOf(t, data)
		if err == nil && strings.ToValidUTF8(got.Text, "") != got.Text {
			t.Errorf("not UTF-8: %q", got.Text)
		}
	})
}
