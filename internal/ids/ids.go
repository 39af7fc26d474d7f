// Package ids makes the identifiers of objects: a prefix that names the noun,
// as in resp_ and conv_, and 26 characters that nobody can guess. IDs made later
// sort after IDs made earlier, so that they can be keys of ordered ranges.
package ids

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// encoding keeps the order of the bytes: its alphabet is in ASCII order.
var encoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Clock is what IDs take their order from. The zero value is the machine's. It must
// not be copied.
type Clock struct {
	Now func() time.Time // nil: time.Now. IDs keep their order where it goes back.

	last atomic.Uint64 // the tick of the ID made last
}

// machine is the clock of [New].
var machine Clock

// tick returns a number that is larger than all it returned before: the time in
// parts of 65,536 of a millisecond.
func (c *Clock) tick() uint64 {
	at := time.Now
	if c.Now != nil {
		at = c.Now
	}
	t := at()
	now := uint64(t.UnixMilli())<<16 | uint64(t.Nanosecond()%1e6)<<16/1e6
	for {
		before := c.last.Load()
		next := max(now, before+1)
		if c.last.CompareAndSwap(before, next) {
			return next
		}
	}
}

// New returns a fresh ID by the machine's clock, see [Clock.New].
func New(prefix string) string { return machine.New(prefix) }

// New returns a fresh ID with the prefix: 64 bits of order and 64 of chance. It
// is safe for concurrent use.
func (c *Clock) New(prefix string) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], c.tick())
	rand.Read(b[8:])
	return prefix + "_" + encoding.EncodeToString(b[:])
}

// Before returns a cursor that stands where an ID with the prefix that is made at a
// time would be: IDs made earlier sort before it.
func Before(prefix string, at time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(max(at.UnixMilli(), 0))<<16)
	return prefix + "_" + encoding.EncodeToString(b[:])
}
