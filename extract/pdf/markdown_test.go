package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/extract"
)

// at shows a text at a place of the page.
func at(x, y, size float64, s string) string {
	return fmt.Sprintf("BT /F %g Tf %g %g Td (%s) Tj ET\n", size, x, y, s)
}

// bold shows a text with heavier letters.
func bold(x, y, size float64, s string) string { return "q 2 Tr " + at(x, y, size, s) + "Q\n" }

// rows shows texts at the given distances from the left, row below row.
func rows(y, down float64, xs []float64, table ...[]string) string {
	var b strings.Builder
	for _, row := range table {
		for i, s := range row {
			if s != "" {
				b.WriteString(at(xs[i], y, 10, s))
			}
		}
		y -= down
	}
	return b.String()
}

// body is usual text, of so many lines from a height on.
func body(y float64, lines int) string {
	var b strings.Builder
	for range lines {
		b.WriteString(at(50, y, 10, "It goes on and on like this, as text does in a report."))
		y -= 12
	}
	return b.String()
}

const bodyLine = "It goes on and on like this, as text does in a report.\n"

// ruled draws the rules of a table between edges.
func ruled(xs, ys []float64) string {
	var b strings.Builder
	for _, x := range xs {
		fmt.Fprintf(&b, "%g %g m %g %g l S\n", x, ys[0], x, ys[len(ys)-1])
	}
	for _, y := range ys {
		fmt.Fprintf(&b, "%g %g m %g %g l S\n", xs[0], y, xs[len(xs)-1], y)
	}
	return b.String()
}

// TestHeadings has lines of other sizes and weights than the usual text's.
func TestHeadings(t *testing.T) {
	usual := strings.Repeat(bodyLine, 3)
	for _, c := range []struct{ name, content, want string }{
		{"levels by size", at(50, 740, 20, "Report") + body(700, 3) + at(50, 640, 14, "1 Results") + body(620, 3), "# Report\n\n" + usual + "## 1 Results\n" + usual},
		{"two lines", at(50, 740, 20, "Report on") + at(50, 716, 20, "everything") + body(690, 3), "# Report on everything\n" + usual},
		{"four lines are text", at(50, 750, 14, "One") + at(50, 734, 14, "Two") + at(50, 718, 14, "Three") + at(50, 702, 14, "Four") + body(686, 3), "One\nTwo\nThree\nFour\n" + usual},
		{"much of a size is text", at(50, 740, 13, strings.Repeat("large text ", 8)) + body(720, 3), strings.TrimSpace(strings.Repeat("large text ", 8)) + "\n" + usual},
		{"bold and apart", body(740, 3) + bold(50, 690, 10, "Results") + body(678, 3), usual + "## Results\n" + usual},
		{"bold in the text", body(740, 3) + bold(50, 704, 10, "Results") + body(692, 3), usual + "Results\n" + usual},
		{"bold with a colon", body(740, 3) + bold(50, 690, 10, "Results:") + body(678, 3), usual + "Results:\n" + usual},
		{"no letters", at(50, 740, 20, "12") + body(700, 3), "12\n\n" + usual},
		{"a bullet", at(50, 740, 20, "- Report") + body(700, 3), "- Report\n\n" + usual},
		{"contents", at(50, 740, 14, "Results . . . . . 3") + body(720, 3), "Results . . . . . 3\n" + usual},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, sample{content: c.content}.bytes())
			want := strings.Replace(c.want, "## Results\n", "# Results\n", 1)
			if text := strings.ReplaceAll(got.Text, "\n\n", "\n"); err != nil || text != strings.ReplaceAll(want, "\n\n", "\n")+"\f" {
				t.Errorf("got %q, %v, want %q", got.Text, err, want)
			}
		})
	}
}

// TestTables has text in rows, with rules and without.
func TestTables(t *testing.T) {
	xs, ys := []float64{50, 150, 250, 350}, []float64{720, 700, 680, 660}
	in := []float64{55, 155, 255}
	full := rows(706, 20, in, []string{"Name", "Count", "Price"}, []string{"Apples", "12", "3.40"}, []string{"Pears", "7", "2.15"})
	const table = "| Name | Count | Price |\n| --- | --- | --- |\n| Apples | 12 | 3.40 |\n| Pears | 7 | 2.15 |\n\n\f"
	thin := ""
	for _, x := range xs {
		thin += fmt.Sprintf("%g 660 0.5 60 re f\n", x)
	}
	for _, y := range ys {
		thin += fmt.Sprintf("50 %g 300 0.5 re f\n", y)
	}
	byColumn := rows(706, 20, in, []string{"Name"}, []string{"Apples"}, []string{"Pears"}) + rows(706, 20, in, []string{"", "Count"}, []string{"", "12"}, []string{"", "7"}) +
		rows(706, 20, in, []string{"", "", "Price"}, []string{"", "", "3.40"}, []string{"", "", "2.15"})
	wide := []float64{50, 200, 300}
	for _, c := range []struct{ name, content, want string }{
		{"rules", ruled(xs, ys) + full, table},
		{"thin shapes", thin + full, table},
		{"drawn by columns", ruled(xs, ys) + byColumn, table},
		{"between text", at(50, 740, 10, "before") + ruled(xs, ys) + full + at(50, 640, 10, "after"), "before\n\n" + strings.TrimSuffix(table, "\f") + "after\n\f"},
		{"beside text", ruled(xs, ys) + full + at(400, 686, 10, "beside"), strings.TrimSuffix(table, "\f") + "beside\n\f"},
		{"lines in a cell", ruled(xs, ys) + full + at(55, 664, 10, "and plums"), strings.Replace(table, "Pears", "Pears and plums", 1)},
		{"a word divided in a cell", ruled(xs, []float64{720, 700, 680, 640}) + strings.Replace(full, "Pears", "Pear-", 1) + at(55, 650, 10, "lings"), strings.Replace(table, "Pears", "Pearlings", 1)},
		{"bars in a cell", ruled(xs, ys) + strings.Replace(full, "Pears", "a|b", 1), strings.Replace(table, "Pears", `a\|b`, 1)},
		{"a merged cell", "150 700 m 150 660 l S 50 720 m 50 660 l S 350 720 m 350 660 l S 250 720 m 250 660 l S\n" + ruled([]float64{50, 350}, ys) +
			strings.Replace(strings.Replace(full, "(Name)", "(Name and count of it)", 1), "(Count)", "()", 1), strings.Replace(table, "Name | Count", "Name and count of it |", 1)},
		{"a word across a rule", ruled(xs, ys) + strings.Replace(full, "(Pears)", "(Pearsandapplesandplums)", 1), "Name\tCount\tPrice\nApples\t12\t3.40\nPearsandapplesandplums7\t2.15\n\f"},
		{"no rules", rows(700, 14, wide, []string{"Name", "Count", "Price"}, []string{"Apples", "12", "3.40"}, []string{"Pears", "7", "2.15"}), table},
		{"a frame", ruled([]float64{40, 560}, []float64{760, 40}) + rows(700, 14, wide, []string{"one"}, []string{"two"}), "one\ntwo\n\f"},
		{"boxes at the ends of lines", ruled([]float64{400, 430, 500}, ys) + rows(706, 20, []float64{50, 405, 435}, []string{"Wages . . . .", "1a", "52"}, []string{"Tips . . . .", "1b", "3"}, []string{"Interest . . . .", "2", "0"}),
			"Wages . . . .\t1a 52\nTips . . . .\t1b 3\nInterest . . . .\t2 0\n\f"},
		{"boxes beside the names of rows", ruled([]float64{200, 300, 400}, ys) + rows(706, 20, []float64{50, 205, 305}, []string{"Wages", "1a", "52"}, []string{"Tips", "1b", "3"}, []string{"Interest", "2", "0"}),
			"| Wages | 1a | 52 |\n| --- | --- | --- |\n| Tips | 1b | 3 |\n| Interest | 2 | 0 |\n\n\f"},
		{"two rows are lines", rows(700, 14, wide, []string{"Name", "Count", "Price"}, []string{"Apples", "12", "3.40"}), "Name\tCount\tPrice\nApples\t12\t3.40\n\f"},
		{"a list", rows(700, 14, []float64{50, 70}, []string{"1.", "one"}, []string{"2.", "two"}, []string{"3.", "three"}, []string{"4.", "four"}), "1. one\n2. two\n3. three\n4. four\n\f"},
		{"contents", rows(700, 14, wide, []string{"1 One . . . .", "3"}, []string{"2 Two . . . .", "5"}, []string{"3 Three . . . .", "8"}, []string{"4 Four . . . .", "9"}),
			"1 One . . . .\t3\n2 Two . . . .\t5\n3 Three . . . .\t8\n4 Four . . . .\t9\n\f"},
		{"prose beside prose", rows(700, 14, []float64{50, 300}, []string{"It goes on and on, as text does here", "and so does that in the next column"}, []string{"It goes on and on, as text does here", "and so does that in the next column"},
			[]string{"It goes on and on, as text does here", "and so does that in the next column"}, []string{"It goes on and on, as text does here", "and so does that in the next column"}),
			strings.Repeat("It goes on and on, as text does here\tand so does that in the next column\n", 4) + "\f"},
		{"ragged", rows(700, 14, wide, []string{"Name", "Count"}, []string{"a name that is far too long for that"}, []string{"Pears", "7", "2.15"}), "Name\tCount\na name that is far too long for that\nPears\t7\t2.15\n\f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, sample{content: c.content}.bytes())
			if err != nil || strings.TrimLeft(got.Text, "\n") != c.want {
				t.Errorf("got %q, %v, want %q", got.Text, err, c.want)
			}
			turned, err := textOf(t, sample{content: "0 1 -1 0 800 0 cm\n" + c.content, page: "/Rotate 90"}.bytes())
			if err != nil || strings.TrimLeft(turned.Text, "\n") != c.want {
				t.Errorf("on a page that is turned: got %q, %v, want %q", turned.Text, err, c.want)
			}
		})
	}
}

// TestAnnotations has form fields, comments and links on a page.
func TestAnnotations(t *testing.T) {
	field := func(x, y float64, value string) string {
		return fmt.Sprintf("<</Subtype/Widget/FT/Tx/Rect[%g %g %g %g]/V(%s)>>", x, y, x+100, y+16, value)
	}
	box := func(x, y float64, state string) string {
		return fmt.Sprintf("<</Subtype/Widget/FT/Btn/Rect[%g %g %g %g]/AS/%s>>", x, y, x+10, y+10, state)
	}
	link := func(left, bottom, right, top float64, url string) string {
		return fmt.Sprintf("<</Subtype/Link/Rect[%g %g %g %g]/A<</S/URI/URI(%s)>>>>", left, bottom, right, top, url)
	}
	note := func(entries string) string { return "<</Contents(really?)/T(Ann)" + entries + ">>" }
	xs, ys := []float64{50, 150, 300}, []float64{720, 700, 680}
	for _, c := range []struct {
		name, content string
		annots        []string
		want          string
	}{
		{"fields beside their names", at(50, 700, 10, "Name:") + at(50, 680, 10, "City:"), []string{field(100, 676, "London"), field(100, 696, "Ada")}, "Name: Ada\nCity: London\n"},
		{"a field in a sentence", at(50, 700, 10, "I, the") + at(150, 700, 10, "owner"), []string{field(90, 696, "happy")}, "I, the happy owner\n"},
		{"a field below its name", at(50, 700, 10, "Name") + at(50, 640, 10, "end"), []string{field(50, 670, "Ada")}, "Name\nAda\n\nend\n"},
		{"fields in a row", at(50, 700, 10, "Name"), []string{field(170, 650, "Lovelace"), field(50, 650, "Ada")}, "Name\nAda Lovelace\n"},
		{"a field of several lines", at(50, 700, 10, "Text") + at(200, 700, 10, "more"), []string{field(90, 690, `one\rtwo`)}, "Text\tmore\none\ntwo\n"},
		{"fields in a table", ruled(xs, ys) + rows(706, 20, []float64{55, 155}, []string{"Name"}, []string{"City"}), []string{field(155, 702, "Ada"), field(155, 682, "London")}, "| Name | Ada |\n| --- | --- |\n| City | London |\n\n"},
		{"check boxes", at(70, 700, 10, "yes") + at(120, 700, 10, "no"), []string{box(50, 698, "On"), box(105, 698, "Off")}, "☒ yes ☐ no\n"},
		{"what is chosen in a combo box", at(50, 700, 10, "Fruit:"), []string{"<</Subtype/Widget/FT/Ch/Ff 131072/Rect[100 696 200 712]/V(2)/Opt[[(1)(Apple)][(2)(Pear)]]>>"}, "Fruit: Pear\n"},
		{"a combo box to write into", at(50, 700, 10, "Fruit:"), []string{"<</Subtype/Widget/FT/Ch/Ff 393216/Rect[100 696 200 712]/V(Fig)/Opt[(Apple)(Pear)]>>"}, "Fruit: Fig\n"},
		{"a list", at(50, 700, 10, "Fruits:"), []string{"<</Subtype/Widget/FT/Ch/Rect[50 630 200 690]/V[(Pear)(Fig)]/Opt[(Apple)(Pear)(Fig)]>>"}, "Fruits:\n☐ Apple\n☒ Pear\n☒ Fig\n"},
		{"a note", at(50, 700, 10, "one two"), []string{note("/Subtype/Text/Rect[200 695 220 715]")}, "one two [Comment (Ann): really?]\n"},
		{"a comment on words", at(50, 700, 10, "one two three"), []string{note("/Subtype/Highlight/Rect[50 695 88 710]/QuadPoints[71 710 88 710 71 697 88 697]")}, "one two [Comment (Ann): really?] three\n"},
		{"a comment of what it marks", at(50, 700, 10, "one two three"), []string{strings.Replace(note("/Subtype/Highlight/Rect[50 695 88 710]/QuadPoints[71 710 88 710 71 697 88 697]"), "really?", "Two.", 1)}, "one two three\n"},
		{"a comment of what two lines have", at(50, 700, 10, "one two") + at(50, 686, 10, "three four"), []string{strings.Replace(note("/Subtype/Underline/Rect[50 680 88 710]/QuadPoints[71 710 88 710 71 697 88 697 50 696 74 696 50 683 74 683]"), "really?", "two three", 1)}, "one two\nthree four\n"},
		{"a comment of more than it marks", at(50, 700, 10, "one two three"), []string{strings.Replace(note("/Subtype/Highlight/Rect[50 695 88 710]/QuadPoints[71 710 88 710 71 697 88 697]"), "really?", "two?  No.", 1)}, "one two [Comment (Ann): two? No.] three\n"},
		{"a comment of what is in its frame", at(50, 700, 10, "one two three"), []string{strings.Replace(note("/Subtype/Square/Rect[70 695 88 712]"), "really?", "two", 1)}, "one two three\n"},
		{"a comment accepted", at(50, 700, 10, "one"), []string{note("/Subtype/Text/Rect[200 695 220 715]"), "<</Subtype/Text/Rect[200 695 220 715]/IRT 5 0 R/StateModel(Review)/State(Accepted)/T(Bob)/Contents(Accepted set by Bob)>>"}, "one [Comment (Ann): really?]\n"},
		{"a note's window", at(50, 700, 10, "one"), []string{note("/Subtype/Text/Rect[200 695 220 715]/Popup 6 0 R"), note("/Subtype/Popup/Rect[300 600 400 700]/Parent 5 0 R")}, "one [Comment (Ann): really?]\n"},
		{"a note that repeats its author", at(50, 700, 10, "one two"), []string{strings.Replace(note("/Subtype/Text/Rect[200 695 220 715]"), "really?", "Ann", 1)}, "one two\n"},
		{"a comment twice", at(50, 700, 10, "one"), []string{note("/Subtype/Text/Rect[200 695 220 715]"), note("/Subtype/Text/Rect[200 695 220 715]/M(x)")}, "one [Comment (Ann): really?]\n"},
		{"a hidden note", at(50, 700, 10, "one"), []string{note("/Subtype/Text/F 2/Rect[200 695 220 715]")}, "one\n"},
		{"a note without words", at(50, 700, 10, "one"), []string{"<</Subtype/Text/Rect[200 695 220 715]>>"}, "one\n"},
		{"a link", at(50, 700, 10, "see the page, please"), []string{link(69, 697, 110, 710, "https://example.org/a")}, "see [the page](https://example.org/a), please\n"},
		{"a link to the middle of a word", at(50, 700, 10, "see chapters, please"), []string{link(80, 697, 90, 710, "https://example.org/a")}, "see [chapters](https://example.org/a), please\n"},
		{"two links", at(50, 700, 10, "one two"), []string{link(49, 697, 67, 710, "https://example.org/a"), link(69, 697, 90, 710, "https://example.org/b")}, "[one](https://example.org/a) [two](https://example.org/b)\n"},
		{"a link of two lines", at(50, 700, 10, "one") + at(50, 688, 10, "two"), []string{link(49, 697, 67, 710, "https://example.org/a"), link(49, 685, 67, 697, "https://example.org/a")}, "[one](https://example.org/a)\ntwo\n"},
		{"a link of two lines from the second on", at(50, 688, 10, "two") + at(50, 700, 10, "one"), []string{link(49, 685, 67, 697, "https://example.org/a"), link(49, 697, 67, 710, "https://example.org/a")}, "[two](https://example.org/a)\none\n"},
		{"two links to one page", at(50, 700, 10, "one two three"), []string{link(49, 697, 67, 710, "https://example.org/a"), link(89, 697, 110, 710, "https://example.org/b"), link(69, 697, 87, 710, "https://example.org/a")}, "[one](https://example.org/a) two [three](https://example.org/b)\n"},
		{"an address without its scheme", at(50, 700, 10, "example.org/a"), []string{link(49, 697, 120, 710, "https://www.example.org/a")}, "example.org/a\n"},
		{"an address of two lines", at(50, 700, 10, "example.org/a/very") + at(50, 688, 10, "long/address"), []string{link(49, 697, 150, 710, "https://example.org/a/very/long/address"), link(49, 685, 150, 697, "https://example.org/a/very/long/address")}, "example.org/a/very\nlong/address\n"},
		{"an address in other letters", at(50, 700, 10, "Example.ORG"), []string{link(49, 697, 120, 710, "https://example.org/")}, "Example.ORG\n"},
		{"a mail address", at(50, 700, 10, "ada@example.org"), []string{link(49, 697, 140, 710, "mailto:ada@example.org?subject=hi")}, "ada@example.org\n"},
		{"the name of a host is no word", at(50, 700, 10, "example"), []string{link(49, 697, 100, 710, "https://example.org/a")}, "[example](https://example.org/a)\n"},
		{"a link within the document", at(50, 700, 10, "one"), []string{"<</Subtype/Link/Rect[49 697 67 710]/Dest[3 0 R/Fit]>>", "<</Subtype/Link/Rect[49 697 67 710]/A<</S/GoTo/D(chapter)>>>>", link(49, 697, 67, 710, "#chapter")}, "one\n"},
		{"an address", at(50, 700, 10, "at www.example.org/a now"), []string{link(60, 697, 145, 710, "https://example.org/a")}, "at www.example.org/a now\n"},
		{"a link to a file", at(50, 700, 10, "one"), []string{link(49, 697, 67, 710, "file:///etc/passwd")}, "one\n"},
		{"a link with brackets", at(50, 700, 10, "one"), []string{link(49, 697, 67, 710, `https://example.org/\(a\)`)}, "[one](<https://example.org/(a)>)\n"},
		{"a link around nothing", at(50, 700, 10, "one"), []string{link(49, 597, 67, 610, "https://example.org/a")}, "one\n"},
		{"too long an address", at(50, 700, 10, "one"), []string{link(49, 697, 67, 710, "https://example.org/"+strings.Repeat("a", 500))}, "one\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refs := ""
			for i := range c.annots {
				refs += fmt.Sprintf("%d 0 R ", 5+i)
			}
			got, err := textOf(t, sample{content: c.content, page: "/Annots[" + refs + "]", extra: c.annots}.bytes())
			if err != nil || strings.TrimLeft(got.Text, "\n") != c.want+"\f" {
				t.Errorf("got %q, %v, want %q", got.Text, err, c.want)
			}
		})
	}
}

// TestPageOfTooManyLines has a page whose lines would take the memory of a document of
// many thousand pages, as content and in fields.
func TestPageOfTooManyLines(t *testing.T) {
	many := strings.Repeat
	for name, data := range map[string][]byte{
		"content": sample{content: "BT /F 0.001 Tf 50 400 Td " + many("0.001 1 Td(a)Tj 0.001 -1 Td(b)Tj ", maxPageLines/2+9)}.bytes(),
		"fields":  sample{page: "/Annots[" + many("<</Subtype/Widget/FT/Tx/V 5 0 R/Rect[0 0 600 50]>>", 100) + "]", extra: []string{"(" + many(`x\n`, 9000) + ")"}}.bytes(),
	} {
		_, err := Extract(t.Context(), bytes.NewReader(data), int64(len(data)), Limits{})
		if !errors.Is(err, extract.ErrTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestPagesOfNothingButTables has pages that ask for much work: none may take long.
func TestPagesOfNothingButTables(t *testing.T) {
	many := strings.Repeat
	row := ""
	for i := range 40 {
		row += at(float64(14*i), 700, 5, "x")
	}
	annots := ""
	for i := range 3000 {
		annots += fmt.Sprintf("<</Subtype/Widget/FT/Tx/V(v)/Rect[%d 700 %d 716]>>", i%600, i%600+10)
		annots += fmt.Sprintf("<</Subtype/Link/Rect[0 %d 600 %d]/A<</URI(http://a/%d)>>>>", i%700, i%700+20, i)
	}
	for name, data := range map[string][]byte{
		"rules":       sample{content: many("0 0 m 600 0 l 600 800 l S 1 0 0 1 0.1 0.1 cm\n", 20_000) + row}.bytes(),
		"one path":    sample{content: many("0 0 m 600 0 l 600 800 l\n", 100_000) + "S"}.bytes(),
		"cells":       sample{content: many("1 0 0 1 0 -0.01 cm\n"+row, 1500)}.bytes(),
		"annotations": sample{content: many(at(0, 700, 5, many("word ", 100)), 30), page: "/Annots[" + annots + "]"}.bytes(),
		"lists":       sample{page: "/Annots[" + many("<</Subtype/Widget/FT/Ch/Opt 5 0 R/V(q)/Rect[0 0 600 50]>>", 20_000) + "]", extra: []string{"[" + many("(option)", 200) + "]"}}.bytes(),
		"appearances": sample{page: "/Annots[" + many("<</Subtype/Widget/AP<</N 5 0 R>>/Rect[0 0 600 700]>>", 20_000) + "]", extra: []string{flateStream("/Subtype/Form/BBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>", at(50, 700, 10, "a")+at(50, 600, 10, "b"))}}.bytes(),
		"frames":      sample{content: many(at(0, 700, 5, "word"), 3000), page: "/Annots[" + many("<</Subtype/Square/Contents(x)/Rect[0 0 600 800]>>", 20_000) + "]"}.bytes(),
		"same height": sample{content: many(at(0, 700, 5, "a")+at(0, 701, 5, "b"), 5000), page: "/Annots[" + annots + "]"}.bytes(),
	} {
		start := time.Now()
		_, err := Extract(t.Context(), bytes.NewReader(data), int64(len(data)), Limits{})
		if took := time.Since(start); err != nil || took > 20*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}
