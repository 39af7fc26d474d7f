// Package ids makes the identifiers of objects: a prefix that names the noun,
// as in resp_ and conv_, and 26 characters that nobody can guess. IDs made later
// sort after IDs made earlier, to the millisecond, so that they can be keys of
// ordered ranges.
package ids

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// encoding keeps the order of the bytes: its alphabet is in ASCII order.
var encoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// New returns a fresh ID with the prefix. The first 48 bits after it are the
// time in milliseconds, the other 80 are random. It is safe for concurrent use.
func New(prefix string) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMilli())<<16)
	rand.Read(b[6:])
	return prefix + "_" + encoding.EncodeToString(b[:])
}
