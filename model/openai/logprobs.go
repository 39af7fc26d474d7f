package openai

import (
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// logprobs are the tokens of an answer whose text has not been passed on yet:
// text may be held back, and what is reasoning is never shown. The zero value has
// none.
type logprobs struct {
	pending []model.Logprob
	given   bool // the server has sent some
}

// add takes the tokens of a chunk and reports whether the server gives them at
// all: text must not come without.
func (l *logprobs) add(c *chunk) bool {
	content := c.logprobs.Get("content")
	content.ForEach(func(_, token gjson.Result) bool {
		l.given = true
		t := parseLogprob(token)
		token.Get("top_logprobs").ForEach(func(_, top gjson.Result) bool {
			t.Top = append(t.Top, parseLogprob(top))
			return len(t.Top) < model.MaxTopLogprobs
		})
		l.pending = append(l.pending, t)
		return true
	})
	return c.text == "" || l.given
}

// take returns the tokens of a text that is passed on, which are the last ones.
// Those before it were of what is not shown.
func (l *logprobs) take(text string) []model.Logprob {
	pending := l.pending
	l.pending = nil
	left := len(text)
	first := len(pending)
	for first > 0 && left > 0 && len(pending[first-1].Token) <= left {
		first--
		left -= len(pending[first].Token)
	}
	return pending[first:]
}

func parseLogprob(token gjson.Result) model.Logprob {
	t := model.Logprob{Token: token.Get("token").String(), Logprob: token.Get("logprob").Float()}
	bytes := token.Get("bytes")
	if !bytes.IsArray() {
		return t
	}
	t.Bytes = []byte{}
	bytes.ForEach(func(_, b gjson.Result) bool {
		t.Bytes = append(t.Bytes, byte(b.Uint()))
		return true
	})
	if string(t.Bytes) == t.Token {
		t.Bytes = nil
	}
	return t
}
