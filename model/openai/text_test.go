package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestThinkFilter(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"text":                  {"Hello <think>x</think>.", "Hello <think>x</think>."},
		"thoughts":              {"<think>\nhm\n</think>\n\nHello.", "Hello."},
		"blanks before":         {"\n <think>hm</think>Hello.", "Hello."},
		"two blocks":            {"<think>a</think>\n<think>b</think> Hello.", "Hello."},
		"nothing but thoughts":  {"<think>hm</think>\n", ""},
		"thoughts without end":  {"<think>hm</thin", ""},
		"empty block":           {"<think></think>Hello.", "Hello."},
		"another tag":           {"<thing>x", "<thing>x"},
		"a tag that only began": {"<thi", "<thi"},
		"blank":                 {"  ", "  "},
		"indented text":         {"  Hello.", "  Hello."},
		"nearly the end":        {"<think>a </think b></think>Hello.", "Hello."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(tt.text); size++ {
				var f thinkFilter
				got := ""
				for rest := tt.text; rest != ""; {
					n := min(size, len(rest))
					got += f.add(rest[:n])
					rest = rest[n:]
				}
				if got += f.end(); got != tt.want {
					t.Errorf("in pieces of %d: got %q, want %q", size, got, tt.want)
				}
			}
		})
	}
}

func TestJSONEnd(t *testing.T) {
	blank := strings.Repeat(" ", trailingBlanks)
	tests := map[string]bool{
		`{"a":1}`:                      false,
		`{"a":1}` + blank:              true,
		blank + blank + `{"a":1}`:      false,
		`{"a":"}` + blank + blank:      false,
		`{"a":"\"}"}` + blank:          true,
		`{"a":{"b":[1,2]}}` + blank:    true,
		`{"a":{"b":[1,2]}` + blank:     false,
		`Sure: {"a":1}` + blank:        false,
		`{"a":1}` + blank + `{"b":2}`:  true, // was over before
		`{"a":1} {"b":2}` + blank:      false,
		blank + blank:                  false,
		`[1,2]` + blank:                true,
		`{"a":"\\"}` + blank:           true,
		`{"a":1}` + blank[1:] + "text": false,
	}
	for text, want := range tests {
		var j jsonEnd
		over := false
		for i := range len(text) {
			j.add(text[i : i+1])
			over = over || j.over()
		}
		if over != want {
			t.Errorf("%q: got %v", text, over)
		}
	}
}

func TestRelax(t *testing.T) {
	tests := map[string]struct{ schema, want string }{
		"nothing to do": {`{"type": "object"}`, `{"type": "object"}`},
		"small":         {`{"minItems":2000}`, `{"minItems":2000}`},
		"large":         {`{"type":"array","minItems":2001,"items":{}}`, `{"type":"array","minItems":2000,"items":{}}`},
		"nested":        {`{"properties":{"a":{"anyOf":[{"minItems":1e9}]}}}`, `{"properties":{"a":{"anyOf":[{"minItems":2000}]}}}`},
		"in $defs":      {`{"$defs":{"x":{"minItems":3000}},"items":[]}`, `{"$defs":{"x":{"minItems":2000}},"items":[]}`},
		"escaped":       {`{"min\u0049tems":3000}`, `{"min\u0049tems":2000}`},
		"a property":    {`{"properties":{"minItems":{"minItems":3000}}}`, `{"properties":{"minItems":{"minItems":2000}}}`},
		"data":          {`{"enum":[{"minItems":3000}],"const":{"minItems":3000}}`, `{"enum":[{"minItems":3000}],"const":{"minItems":3000}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := relax(json.RawMessage(tt.schema))
			if string(got) != tt.want || !json.Valid(got) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
