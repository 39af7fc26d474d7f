package pdf

import "testing"

func TestCMap(t *testing.T) {
	m := parseCMap([]byte(`/CIDInit /ProcSet findresource begin
2 begincodespacerange <00> <7f> <8140> <9ffc> endcodespacerange
2 beginbfchar <01> <0041> <02> /eacute endbfchar
3 beginbfrange <10> <12> <0061> <20> <21> [<0078> <00790079>] <8140> <8150> <4e00> endbfrange
1 begincidrange <8140> <817e> 633 endcidrange
1 begincidchar <20> 231 endcidchar
/WMode 1 def
/Base usecmap`))
	texts := map[uint32]string{0x01: "A", 0x02: "é", 0x10: "a", 0x12: "c", 0x20: "x", 0x21: "yy", 0x8141: "丁", 0x13: "", 0x8151: ""}
	for code, want := range texts {
		if got, ok := m.text(code); got != want || ok != (want != "") {
			t.Errorf("text of %x: got %q, %v; want %q", code, got, ok, want)
		}
	}
	cids := map[uint32]uint32{0x20: 231, 0x8140: 633, 0x817e: 695, 0x817f: 0}
	for code, want := range cids {
		if got, _ := m.cid(code); got != want {
			t.Errorf("CID of %x: got %d, want %d", code, got, want)
		}
	}
	if m.base != "Base" || !m.vertical {
		t.Errorf("base %q, vertical %v", m.base, m.vertical)
	}
}

func TestCMapTakesCodesByTheirSpace(t *testing.T) {
	m := parseCMap([]byte("2 begincodespacerange <00> <7f> <8140> <9ffc> endcodespacerange"))
	in := "A\x81\x40\xffB\x81"
	var got []uint32
	for rest := in; rest != ""; {
		code, length := m.next(rest)
		got = append(got, code)
		rest = rest[length:]
	}
	want := []uint32{'A', 0x8140, 0xff, 'B', 0x81}
	if len(got) != len(want) {
		t.Fatalf("got %x, want %x", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got %x, want %x", got, want)
		}
	}
}

func TestDecodeText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\x80": "plain•", "\xfe\xff\x04\x16\xd8\x3d\xde\x00": "Ж😀", "\xff\xfeA\x00": "A", "\xef\xbb\xbfé": "é", "a\rb": "a\rb", "": "",
	} {
		if got := decodeText(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
