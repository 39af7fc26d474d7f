package httpapi

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-506d8e5d/svc/fault"
)

// maxWindow bounds what a zstd body may have the server remember of it: the
// window that RFC 8878 asks every decoder to support.
const maxWindow = 8 << 20

// codeEncoding is the code of a body in an encoding that nobody here reads.
const codeEncoding = "unsupported_encoding"

// encoded reports whether the body comes in an encoding.
func (c *call) encoded() bool {
	encoding := c.r.Header.Get("Content-Encoding")
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// decoded returns the reader of a body, read from r, without its encoding. The
// close function frees what the decoder holds. Limits of what comes out are the
// caller's: a few bytes may stand for gigabytes.
func (c *call) decoded(r io.Reader) (plain io.Reader, close func(), err error) {
	if !c.encoded() {
		return r, func() {}, nil
	}
	switch strings.ToLower(strings.TrimSpace(c.r.Header.Get("Content-Encoding"))) {
	case "gzip", "x-gzip":
		g, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return g, func() { _ = g.Close() }, nil // what is wrong has been read
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	c.w.Header().Set("Accept-Encoding", "gzip, zstd")
	return nil, nil, &fault.Error{Kind: fault.Unsupported, Code: codeEncoding, Message: "The Content-Encoding of the request must be gzip or zstd, or left out."}
}

// limited returns a reader that fails over the limit, as one of the raw body does.
func (c *call) limited(r io.Reader, limit int64) io.Reader {
	return http.MaxBytesReader(c.w, io.NopCloser(r), limit)
}
