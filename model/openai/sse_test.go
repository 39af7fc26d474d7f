package openai

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// readEvents returns the data of all events and the error at their end, nil for
// io.EOF.
func readEvents(r io.Reader, limit int) ([]string, error) {
	e := newEventReader(r)
	e.limit = limit
	var got []string
	for {
		data, named, err := e.next()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		if named != "" {
			named += "|"
		}
		got = append(got, named+string(data))
	}
}

func TestEventReader(t *testing.T) {
	long := strings.Repeat("x", 3*largeBuffer)
	tests := map[string]struct {
		stream string
		want   []string
	}{
		"nothing":               {"", nil},
		"events":                {"data: a\n\ndata: b\n\n", []string{"a", "b"}},
		"CRLF":                  {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		"comments":              {": hi\n\n:\ndata: a\n: between\n\n: end\n", []string{"a"}},
		"several lines":         {"data: a\ndata: b\ndata\n\n", []string{"a\nb\n"}},
		"no space":              {"data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		"other fields":          {"id: 1\nretry: 5\ndata: a\nwhat: b\n\n", []string{"a"}},
		"named":                 {"event: error\ndata: a\n\ndata: b\n\n", []string{"error|a", "b"}},
		"a name without data":   {"event: error\n\ndata: b\n\n", []string{"b"}},
		"no blank line at end":  {"data: a\n\ndata: b", []string{"a", "b"}},
		"byte order mark":       {"\uFEFFdata: a\n\n", []string{"a"}},
		"many blank lines":      {"\n\n\ndata: a\n\n\n\ndata: b\n\n", []string{"a", "b"}},
		"a long line":           {"data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		"lines over the buffer": {"data: " + long[:2*smallBuffer] + "\n\ndata: " + long[:largeBuffer-7] + "\n\ndata: " + long[:largeBuffer-6] + "\n\ndata: b\n\n", []string{long[:2*smallBuffer], long[:largeBuffer-7], long[:largeBuffer-6], "b"}},
		"empty data":            {"data:\n\ndata: a\n\n", []string{"", "a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole": strings.NewReader(tt.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.stream)),
			} {
				if got, err := readEvents(r, maxEvent); err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("%s: got %q, %v\nwant %q", how, got, err, tt.want)
				}
			}
		})
	}
}

func TestEventReaderHasBounds(t *testing.T) {
	for name, stream := range map[string]string{
		"line":  "data: " + strings.Repeat("x", 5*largeBuffer) + "\n\n",
		"lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 5*largeBuffer/1000),
		"name":  strings.Repeat("x", 5*largeBuffer),
	} {
		if _, err := readEvents(strings.NewReader(stream), 4*largeBuffer); err != errTooLong {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestEventReaderPassesErrorsOn(t *testing.T) {
	r := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := readEvents(r, maxEvent); err != io.ErrUnexpectedEOF || !reflect.DeepEqual(got, []string{"a"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzEventReader reads a stream whole and in pieces, and chunks of what it
// finds: both must be the same and nothing may panic.
func FuzzEventReader(f *testing.F) {
	f.Add([]byte("data: "+delta(`{"content":"x"}`)+"\n\ndata: [DONE]\n\n"), 3)
	f.Add([]byte("event: error\r\ndata: {\"error\":{\"code\":503}}\r\n\r\n"), 1)
	f.Add([]byte("data: "+delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`)), 7)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		const limit = 1 << 12
		whole, wholeErr := readEvents(bytes.NewReader(stream), limit)
		pieces, err := readEvents(&pieceReader{stream, 1 + max(size, 0)%64}, limit)
		if !reflect.DeepEqual(whole, pieces) || err != wholeErr {
			t.Errorf("whole: %q, %v\npieces: %q, %v", whole, wholeErr, pieces, err)
		}
		var think thinkFilter
		calls := toolCalls{tools: tools("f")}
		for _, data := range whole {
			if c := new(chunk); c.parse([]byte(data)) {
				think.add(c.text)
				if err := calls.add(c.calls, func(event) {}); err != nil {
					return
				}
			}
		}
	})
}

// pieceReader reads at most size bytes at once.
type pieceReader struct {
	data []byte
	size int
}

func (p *pieceReader) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.data)
	p.data = p.data[n:]
	return n, nil
}
