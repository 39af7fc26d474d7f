package pdf

import (
	"fmt"
	"testing"
)

// TestChineseCIDs has fonts that tell nothing but CIDs of Adobe-GB1. The characters are
// those of Adobe's CMap UniGB-UTF32-H.
func TestChineseCIDs(t *testing.T) {
	font := "<</Type/Font/Subtype/Type0/BaseFont/STSong/Encoding/Identity-H/DescendantFonts[<</Subtype/CIDFontType0" +
		"/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 5>>>>]>>"
	for cid, want := range map[int]string{
		4559: "中", 7703: "〇", 7717: "皚", 7720: "愛", 9500: "銬", 10072: "丂", 10073: "丄", 15000: "濗", 16000: "痲",
		20000: "釠", 22126: "龻", 22428: "⺀", 22529: "㐀", 23000: "㗚", 29064: "ꀀ", 30000: "ꎨ",
	} {
		got, err := textOf(t, sample{font: font, content: fmt.Sprintf("BT /F 10 Tf 50 700 Td <%04x> Tj ET", cid)}.bytes())
		if err != nil || got.Text != want+"\n\f" || got.Unmapped != 0 {
			t.Errorf("CID %d: got %q, %v, want %q", cid, got.Text, err, want)
		}
	}
}
