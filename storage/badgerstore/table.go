package badgerstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/dgraph-io/badger/v4/options"
	badgertable "github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// What the meta byte of an entry in a table says.
const (
	metaDeleted = 1 << 0 // a tombstone
	metaBlob    = 1 << 2 // the value is a blobRef
)

// blockSize is how many bytes of a table are compressed, verified and cached at once.
const blockSize = 4 << 10

type blockCache = ristretto.Cache[[]byte, *badgertable.Block]

// newBlockCache returns a cache of uncompressed blocks of tables.
func newBlockCache(size int64) (*blockCache, error) {
	return ristretto.NewCache(&ristretto.Config[[]byte, *badgertable.Block]{
		NumCounters: max(size/blockSize, 1) * 8,
		MaxCost:     size,
		BufferItems: 64,
		OnExit:      badgertable.BlockEvictHandler,
	})
}

// tableOptions returns how tables of that many bytes are written and read.
func tableOptions(cache *blockCache, size int) badgertable.Options {
	return badgertable.Options{
		ReadOnly:           true,
		TableSize:          uint64(size),
		ChkMode:            options.OnBlockRead,
		BloomFalsePositive: 0.01,
		BlockSize:          blockSize,
		Compression:        options.Snappy,
		BlockCache:         cache,
	}
}

// table is an immutable, sorted file of entries, one for each key.
type table struct {
	t           *badgertable.Table
	id          uint64
	first, last []byte // keys
	entries     int
	tombstones  int

	refs int // table sets that have it, guarded by database.mu
}

func tableName(id uint64) string { return badgertable.IDToFilename(id) }

// openTable opens a table and verifies its index.
func openTable(dir string, id uint64, cache *blockCache) (t *table, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%.200s", fmt.Sprint(r))
		}
		if err != nil {
			t, err = nil, damage{file: tableName(id), block: -1, reason: err.Error()}
		}
	}()
	file, err := z.OpenMmapFile(filepath.Join(dir, tableName(id)), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	opened, err := badgertable.OpenTable(file, tableOptions(cache, 0))
	if err != nil {
		return nil, errors.Join(err, file.Close(-1))
	}
	return newTable(opened, id), nil
}

func newTable(t *badgertable.Table, id uint64) *table {
	return &table{t: t, id: id, entries: int(t.KeyCount()), first: y.ParseKey(t.Smallest()), last: y.ParseKey(t.Biggest())}
}

// close gives up the table's file, which stays.
func (t *table) close() error { return t.t.Close(-1) }

// size returns the bytes of the table's file.
func (t *table) size() int64 { return t.t.Size() }

// overlaps reports whether the table may have keys from first to last, both included.
func (t *table) overlaps(first, last []byte) bool {
	return bytes.Compare(t.first, last) <= 0 && bytes.Compare(first, t.last) <= 0
}

// mayHave reports whether the table may have a key, also where its filter cannot be read.
// The hash is that of keyHash.
func (t *table) mayHave(key []byte, hash uint32) (found bool) {
	if !t.overlaps(key, key) {
		return false
	}
	var err error // which a read of the table has, too
	defer t.recovered(&err, debug.SetPanicOnFault(true))
	found = true
	return !t.t.DoesNotHave(hash)
}

func keyHash(key []byte) uint32 { return y.Hash(key) }

// get returns the entry of a key. Its bytes are the caller's.
func (t *table) get(key []byte) (value y.ValueStruct, found bool, err error) {
	s := t.source(key, append(bytes.Clone(key), 0), false, reading{})
	defer s.close()
	if found, err = s.Next(); found {
		value = s.entry()
		value.Value = bytes.Clone(value.Value)
	}
	return value, found, err
}

// verify reads all blocks of the table and reports those that are damaged.
func (t *table) verify(report func(error) error) (err error) {
	defer t.recovered(&err, debug.SetPanicOnFault(true))
	for i, key := range t.blocks() {
		if err := t.verifyBlock(i, key); err != nil {
			if err := report(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// blocks returns the first key of each block, with its version.
func (t *table) blocks() []string { return t.t.KeySplits(math.MaxInt, nil) }

func (t *table) verifyBlock(i int, key string) (err error) {
	defer t.recovered(&err, debug.SetPanicOnFault(true))
	it := t.t.NewIterator(badgertable.NOCACHE)
	defer it.Close()
	if it.Seek([]byte(key)); !it.Valid() || string(it.Key()) != key {
		return damage{file: tableName(t.id), block: i, reason: "the checksum of the block is wrong"}
	}
	return nil
}

// recovered turns a panic, badger's reaction to what it does not expect in a table, into
// an error, and a fault as well: files are mapped, and one that cannot be read ends the
// process otherwise. It is deferred with debug.SetPanicOnFault(true), which it takes back.
func (t *table) recovered(err *error, onFault bool) {
	debug.SetPanicOnFault(onFault)
	if r := recover(); r != nil {
		*err = damage{file: tableName(t.id), block: -1, reason: fmt.Sprintf("it cannot be read: %.200s", fmt.Sprint(r))}
	}
}

// source returns the entries from start up to and without end, or all where both are
// nil. It must be closed.
func (t *table) source(start, end []byte, reverse bool, r reading) *tableSource {
	mode := 0
	if reverse {
		mode = badgertable.REVERSED
	}
	if start == nil && end == nil {
		mode |= badgertable.NOCACHE
	}
	return &tableSource{reading: r, table: t, it: t.t.NewIterator(mode), start: start, end: end, reverse: reverse}
}

// reading is how a source is read.
type reading struct {
	blobs func(blobRef) ([]byte, error) // returns large values
	lost  func(error)                   // if set, is called with a block that is damaged, which is left out
}

// tableSource walks over a part of a table. It is a txn.Source.
type tableSource struct {
	reading
	table      *table
	it         *badgertable.Iterator
	start, end []byte
	reverse    bool
	key        []byte // the present one
}

// Next implements txn.Source. The iterator of badger ends at a block that it cannot
// read as it does behind the last: where it ends tells them apart.
func (s *tableSource) Next() (more bool, err error) {
	defer s.table.recovered(&err, debug.SetPanicOnFault(true))
	first := s.key == nil
	switch {
	case !first:
		s.it.Next()
	case s.reverse && s.end != nil:
		s.it.Seek(y.KeyWithTs(s.end, math.MaxUint64))
	case !s.reverse && s.start != nil:
		s.it.Seek(y.KeyWithTs(s.start, math.MaxUint64))
	default:
		s.it.Rewind()
	}
	if !s.it.Valid() {
		if err := s.ended(first); err == nil || s.lost == nil || s.reverse {
			return false, err
		}
		if !s.skip() {
			return false, nil
		}
	}
	s.key = append(s.key[:0], y.ParseKey(s.it.Key())...)
	if s.reverse {
		return s.start == nil || bytes.Compare(s.key, s.start) >= 0, nil
	}
	return s.end == nil || bytes.Compare(s.key, s.end) < 0, nil
}

// skip goes to the block behind the one that could not be read, in which the next key
// was, and to those behind it as long as they cannot be read either. It reports whether
// there is one.
func (s *tableSource) skip() bool {
	blocks := s.table.blocks()
	for i, block := range blocks {
		if s.key != nil && bytes.Compare(y.ParseKey([]byte(block)), s.key) <= 0 {
			continue
		}
		if err := s.table.verifyBlock(i, block); err != nil {
			s.lost(err)
			continue
		}
		s.it.Seek([]byte(block))
		return s.it.Valid()
	}
	return false
}

// ended returns an error unless the table has nothing more in this direction.
func (s *tableSource) ended(first bool) error {
	var complete bool
	switch {
	case first && s.reverse:
		complete = s.end != nil && bytes.Compare(s.end, s.table.first) <= 0
	case first:
		complete = s.start != nil && bytes.Compare(s.start, s.table.last) > 0
	case s.reverse:
		complete = bytes.Equal(s.key, s.table.first)
	default:
		complete = bytes.Equal(s.key, s.table.last)
	}
	if complete {
		return nil
	}
	return damage{file: tableName(s.table.id), block: -1, reason: fmt.Sprintf("a block behind the key %q cannot be read", s.key)}
}

// Key implements txn.Source.
func (s *tableSource) Key() []byte { return s.key }

// Deleted implements txn.Source.
func (s *tableSource) Deleted() bool { return s.entry().Meta&metaDeleted != 0 }

// Value implements txn.Source.
func (s *tableSource) Value() ([]byte, error) { return valueOf(s.entry(), s.blobs) }

// entry returns the present entry, valid until the next call of Next.
func (s *tableSource) entry() y.ValueStruct { return s.it.Value() }

// version returns the version of the present entry.
func (s *tableSource) version() uint64 { return y.ParseTs(s.it.Key()) }

func (s *tableSource) close() { s.it.Close() }

// valueOf returns an entry's value as bytes of the caller's, never nil.
func valueOf(v y.ValueStruct, blobs func(blobRef) ([]byte, error)) ([]byte, error) {
	if v.Meta&metaBlob == 0 {
		return append(make([]byte, 0, len(v.Value)), v.Value...), nil
	}
	ref, err := parseBlobRef(v.Value)
	if err != nil {
		return nil, err
	}
	return blobs(ref)
}

// A blob is a large value in a file of its own, which is written once. Tables have a
// blobRef in its place.
type blobRef struct {
	id       uint64
	length   uint32
	checksum uint32 // CRC-32C
}

const blobExtension = ".blob"

func blobName(id uint64) string { return fmt.Sprintf("%06d%s", id, blobExtension) }

func (r blobRef) encode() []byte {
	b := binary.LittleEndian.AppendUint64(nil, r.id)
	b = binary.LittleEndian.AppendUint32(b, r.length)
	return binary.LittleEndian.AppendUint32(b, r.checksum)
}

func newBlobRef(id uint64, value []byte) blobRef {
	return blobRef{id, uint32(len(value)), crc32.Checksum(value, castagnoli)}
}

func parseBlobRef(b []byte) (blobRef, error) {
	if len(b) != 16 {
		return blobRef{}, fmt.Errorf("badgerstore: %w: a reference to a large value has %d bytes", storage.ErrDamaged, len(b))
	}
	return blobRef{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])}, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readBlob reads and verifies a large value.
func readBlob(dir string, ref blobRef) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, blobName(ref.id)))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, damage{file: blobName(ref.id), block: -1, reason: "the file is missing"}
	case err != nil:
		return nil, err
	case len(data) != int(ref.length) || crc32.Checksum(data, castagnoli) != ref.checksum:
		return nil, damage{file: blobName(ref.id), block: -1, reason: "the checksum of a value is wrong"}
	}
	return data, nil
}

// levelSource walks over tables of one level, in which no two overlap. It is a
// txn.Source.
type levelSource struct {
	*tableSource // of the present table, nil before the first
	tables       []*table
	start, end   []byte
	reverse      bool
	reading      reading
}

// Next implements txn.Source.
func (s *levelSource) Next() (bool, error) {
	for {
		if s.tableSource != nil {
			if more, err := s.tableSource.Next(); more || err != nil {
				return more, err
			}
			s.tableSource.close()
			s.tableSource = nil
		}
		if len(s.tables) == 0 {
			return false, nil
		}
		next := s.tables[0]
		if s.reverse {
			next = s.tables[len(s.tables)-1]
			s.tables = s.tables[:len(s.tables)-1]
		} else {
			s.tables = s.tables[1:]
		}
		s.tableSource = next.source(s.start, s.end, s.reverse, s.reading)
	}
}

func (s *levelSource) close() {
	if s.tableSource != nil {
		s.tableSource.close()
	}
}

// damage is a place in a file that is not as it was written.
type damage struct {
	file   string // its name in the directory
	block  int    // of a table, -1 where it is the whole file or the block is not known
	reason string
}

func (d damage) Error() string {
	if d.block < 0 {
		return fmt.Sprintf("%v: %s: %s", storage.ErrDamaged, d.file, d.reason)
	}
	return fmt.Sprintf("%v: %s, block %d: %s", storage.ErrDamaged, d.file, d.block, d.reason)
}

func (d damage) Unwrap() error { return storage.ErrDamaged }

var (
	_ txn.Source = (*tableSource)(nil)
	_ txn.Source = (*levelSource)(nil)
)
