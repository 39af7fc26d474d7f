package jsonout

import (
	"testing"

	"github.com/matryer/is"
)

type selfMade struct{ text string }

func (s selfMade) MarshalJSON() ([]byte, error) { return Marshal(map[string]string{"text": s.text}) }

func TestMarshalKeepsWhatHTMLWouldEscape(t *testing.T) {
	is := is.New(t)
	data, err := Marshal([]any{"<a href=\"x\">&</a>", selfMade{"1 < 2"}})
	is.NoErr(err)
	is.Equal(string(data), `["<a href=\"x\">&</a>",{"text":"1 < 2"}]`)
}

func TestMarshalReportsWhatCannotBeEncoded(t *testing.T) {
	is := is.New(t)
	_, err := Marshal(func() {})
	is.True(err != nil)
}
