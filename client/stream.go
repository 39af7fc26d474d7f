package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
)

// errBroken says that a stream ended before its last event.
var errBroken = errors.New("client: the stream broke off")

// maxEvent is how long a line of a stream may be, in bytes.
const maxEvent = 32 << 20

// events is an event stream that is being read.
type events struct{ body io.ReadCloser }

// stream makes a request that is answered with an event stream.
func (c *Client) stream(ctx context.Context, method, path string, body any) (*events, error) {
	data, err := jsonContent(body)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(ctx, method, path, data, "")
	if err != nil {
		return nil, err
	}
	return &events{resp.Body}, nil
}

func (e *events) close() { e.body.Close() }

// all yields the data of each event, valid until the next.
func (e *events) all() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(e.body)
		lines.Buffer(make([]byte, 0, 4<<10), maxEvent)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
			if ok && !yield(bytes.TrimSpace(data), nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}
