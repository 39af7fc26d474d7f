package docx

import "testing"

const numberingPart = `<w:numbering>
<w:abstractNum w:abstractNumId="0">
 <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:pStyle w:val="Heading1"/><w:lvlText w:val="%1."/></w:lvl>
 <w:lvl w:ilvl="1"><w:start w:val="3"/><w:numFmt w:val="lowerLetter"/><w:pStyle w:val="Heading2"/><w:lvlText w:val="%1.%2)"/></w:lvl>
 <w:lvl w:ilvl="2"><w:numFmt w:val="upperRoman"/><w:isLgl/><w:lvlText w:val="%1.%2.%3"/></w:lvl>
 <w:lvl w:ilvl="3"><w:numFmt w:val="bullet"/><w:lvlText w:val="&#xF0B7;"/></w:lvl>
 <w:lvl w:ilvl="4"><w:numFmt w:val="none"/><w:lvlText w:val="%5"/></w:lvl>
 <w:lvl w:ilvl="5"><w:lvlRestart w:val="0"/><w:lvlText w:val="%6"/></w:lvl>
 <w:lvl w:ilvl="6"><mc:AlternateContent><mc:Choice><w:numFmt w:val="custom"/></mc:Choice><mc:Fallback><w:numFmt w:val="lowerRoman"/></mc:Fallback></mc:AlternateContent><w:lvlText w:val="%7"/></w:lvl>
 <w:lvl w:ilvl="7"><mc:AlternateContent><mc:Choice><w:numFmt w:val="custom" w:format="001, 002, 003, ..."/></mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback></mc:AlternateContent><w:lvlText w:val="%8"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="ListStyle"/></w:abstractNum>
<w:abstractNum w:abstractNumId="2"><w:numStyleLink w:val="Loop"/></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="8"/></w:lvlOverride>
 <w:lvlOverride w:ilvl="1"><w:lvl w:ilvl="1"><w:lvlText w:val="(%2)"/></w:lvl></w:lvlOverride></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="2"/></w:num>
<w:num w:numId="5"><w:abstractNumId w:val="99"/></w:num>
</w:numbering>`

const stylesPart = `<w:styles>
<w:style w:styleId="Heading1"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Heading2"><w:basedOn w:val="Heading1"/></w:style>
<w:style w:styleId="Deep"><w:pPr><w:numPr><w:ilvl w:val="2"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="ListStyle"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/><w:pPr><w:numPr><w:numId w:val="4"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Ring"><w:basedOn w:val="Ring"/></w:style>
</w:styles>`

func TestLabels(t *testing.T) {
	type item struct {
		p    paragraph
		want string
	}
	direct := func(id, level, want string) item { return item{paragraph{numID: id, level: level}, want} }
	styled := func(style, want string) item { return item{paragraph{style: style}, want} }
	for _, c := range []struct {
		name  string
		items []item
	}{
		{"levels count and start anew", []item{
			direct("1", "0", "1. "), direct("1", "1", "1.c) "), direct("1", "1", "1.d) "), direct("1", "", "2. "), direct("1", "1", "2.c) "),
		}},
		{"a level that goes on", []item{direct("1", "5", "1 "), direct("1", "0", "1. "), direct("1", "5", "2 ")}},
		{"legal numbers", []item{direct("1", "2", "1.3.1 ")}},
		{"bullets and nothing", []item{direct("1", "3", "- "), direct("1", "4", "")}},
		{"a format for newer readers", []item{direct("1", "6", "i ")}},
		{"zeros in front", []item{direct("1", "7", "001 "), direct("1", "7", "002 ")}},
		{"an override starts the same count again", []item{
			direct("1", "0", "1. "), direct("2", "0", "8. "), direct("2", "0", "9. "), direct("2", "1", "(1) "), direct("1", "0", "10. "),
		}},
		{"styles", []item{styled("Heading1", "1. "), styled("Heading2", "1.c) "), styled("Deep", "1.3.1 "), styled("Normal", "")}},
		{"none in spite of the style", []item{{paragraph{style: "Heading1", numID: "0"}, ""}, styled("Heading1", "1. ")}},
		{"a list of a style", []item{direct("3", "0", "1. ")}},
		{"what refers to itself or to nothing", []item{direct("4", "0", ""), direct("5", "0", ""), direct("6", "0", ""), styled("Ring", ""), direct("1", "99", "1. ")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sheet, whole := parseStyles([]byte(stylesPart))
			if !whole {
				t.Fatal("the styles are not whole")
			}
			l, ok := parseLists(sheet, []byte(numberingPart))
			if !ok {
				t.Fatal("the parts were not read whole")
			}
			for i, item := range c.items {
				if got := l.item(item.p).label; got != item.want {
					t.Errorf("item %d: got %q, want %q", i, got, item.want)
				}
			}
		})
	}
}
