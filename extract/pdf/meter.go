package pdf

import (
	"context"
	"fmt"

	"github.com/seed-506d8e5d/svc/extract"
)

// meter counts what an extraction has spent and stops it when a limit is
// reached or the caller gave up. The first error sticks; every loop over the
// file asks alive before it goes on.
type meter struct {
	ctx       context.Context
	limits    Limits
	size      int64 // of the file
	err       error
	ticks     int
	unpacked  int64 // bytes decoded from streams
	parsed    int64 // bytes of objects lexed
	operators int
	forms     int
}

// alive reports whether to go on.
func (m *meter) alive() bool {
	if m.err != nil {
		return false
	}
	if m.ticks++; m.ticks%16 == 0 && m.ctx.Err() != nil {
		m.err = context.Cause(m.ctx)
	}
	return m.err == nil
}

// exceed stops the extraction with extract.ErrTooLarge.
func (m *meter) exceed(what string) {
	if m.err == nil {
		m.err = fmt.Errorf("%w: %s", extract.ErrTooLarge, what)
	}
}

// room is how many bytes the next stream may decode to.
func (m *meter) room() int64 {
	return min(m.limits.Stream, m.limits.Total-m.unpacked)
}

// unpack counts decoded bytes.
func (m *meter) unpack(n int) {
	if m.unpacked += int64(n); m.unpacked > m.limits.Total {
		m.exceed("decoded streams")
	}
}

// Bounds on the bytes of objects lexed: a fixed part, for object streams, and
// a multiple of the file's size.
const (
	parseBase   = 256 << 20
	parseFactor = 4
)

// parse counts bytes of objects lexed, which a file can ask for again and
// again by referring to the same large object.
func (m *meter) parse(n int) {
	m.parsed += int64(n)
	if m.parsed > parseBase+parseFactor*m.size {
		m.exceed("objects read")
	}
	if n > 1<<16 { // worth a look at the clock
		m.ticks |= 15
	}
}

// operator counts one content stream operator.
func (m *meter) operator() {
	if m.operators++; m.operators > m.limits.Operators {
		m.exceed("operators")
	}
}

// form counts one form XObject drawn.
func (m *meter) form() {
	if m.forms++; m.forms > m.limits.Forms {
		m.exceed("form XObjects")
	}
}
