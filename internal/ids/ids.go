// Package ids makes the identifiers of objects: a prefix that names the noun,
// as in resp_ and conv_, and 26 characters that nobody can guess. IDs made later
// sort after IDs made earlier, so that they can be keys of ordered ranges.
//
// Package conversations is the next to read, most of whose keys end with them.
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

// last is the tick of the ID made last.
var last atomic.Uint64

// tick returns a number that is larger than all it returned before: the time in
// milliseconds, and in the lower 16 bits a count of those within one.
func tick() uint64 {
	now := uint64(time.Now().UnixMilli()) << 16
	for {
		before := last.Load()
		next := max(now, before+1)
		if last.CompareAndSwap(before, next) {
			return next
		}
	}
}

// New returns a fresh ID with the prefix: 64 bits of order and 64 of chance. It
// is safe for concurrent use.
func New(prefix string) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], tick())
	rand.Read(b[8:])
	return prefix + "_" + encoding.EncodeToString(b[:])
}
