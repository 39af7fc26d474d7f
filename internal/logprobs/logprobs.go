// Package logprobs writes the log-probabilities of an answer's tokens: in the
// form that the interfaces have in common, and in the one in which they are
// stored.
package logprobs

import (
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// Write writes tokens as a list, with their bytes where they are wanted. No
// tokens are an empty list.
func Write(w *jsonout.Writer, tokens []model.Logprob, withBytes bool) {
	w.Array()
	for i := range tokens {
		t := &tokens[i]
		w.Object()
		write(w, t, withBytes)
		w.Name("top_logprobs").Array()
		for j := range t.Top {
			w.Object()
			write(w, &t.Top[j], withBytes)
			w.EndObject()
		}
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
}

func write(w *jsonout.Writer, t *model.Logprob, withBytes bool) {
	w.Name("token").String(t.Token)
	if withBytes {
		w.Name("bytes").Array()
		for _, b := range bytesOf(t) {
			w.Int(int64(b))
		}
		w.EndArray()
	}
	w.Name("logprob").Float(t.Logprob)
}

func bytesOf(t *model.Logprob) []byte {
	if t.Bytes == nil {
		return []byte(t.Token)
	}
	return t.Bytes
}

// Record is how a token is stored.
type Record struct {
	Token   string   `json:"t"`
	Bytes   []byte   `json:"b,omitempty"`
	Logprob float64  `json:"p"`
	Top     []Record `json:"top,omitempty"`
}

// Records returns tokens as they are stored; no tokens are nil.
func Records(tokens []model.Logprob) []Record {
	if len(tokens) == 0 {
		return nil
	}
	records := make([]Record, len(tokens))
	for i, t := range tokens {
		records[i] = Record{t.Token, t.Bytes, t.Logprob, Records(t.Top)}
	}
	return records
}

// Tokens returns what Records was given.
func Tokens(records []Record) []model.Logprob {
	if records == nil {
		return nil
	}
	tokens := make([]model.Logprob, len(records))
	for i, r := range records {
		tokens[i] = model.Logprob{Token: r.Token, Bytes: r.Bytes, Logprob: r.Logprob, Top: Tokens(r.Top)}
	}
	return tokens
}
