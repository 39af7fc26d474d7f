package badgerstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

// damage is a place in a file that is not as it was written.
type damage struct {
	file   string // its name in the directory
	offset int64  // -1 where the whole file cannot be read
	reason string
	part   *part // of a table; nil elsewhere
}

// part is a part of a table: a block from its first key to that of the next one,
// which are nil at the ends of the table.
type part struct {
	table       uint64 // its number
	first, next []byte
}

func (d damage) Error() string {
	if d.offset < 0 {
		return fmt.Sprintf("%v: %s: %s", storage.ErrDamaged, d.file, d.reason)
	}
	return fmt.Sprintf("%v: %s at offset %d: %s", storage.ErrDamaged, d.file, d.offset, d.reason)
}

func (d damage) Unwrap() error { return storage.ErrDamaged }

// checkTables reads all of badger's tables and calls report with what is damaged.
// Badger itself takes a damaged block for one without keys, when it reads as well
// as when it compacts: nothing may be opened or kept that has not been through
// here. Where badger has the directory open what is reported may be gone.
func checkTables(opts badger.Options, report func(damage) error) error {
	tables, err := listTables(opts)
	if err != nil {
		return err
	}
	var buffer bytes.Buffer
	for _, id := range slices.Sorted(keys(tables)) {
		name := table.IDToFilename(id)
		data, err := readInto(&buffer, filepath.Join(opts.Dir, name))
		if err != nil {
			if err := report(damage{file: name, offset: -1, reason: err.Error(), part: &part{table: id}}); err != nil {
				return err
			}
			continue
		}
		blocks, err := readBlocks(data, id, tables[id].Compression)
		if err != nil {
			if err := report(damage{file: name, offset: -1, reason: err.Error(), part: &part{table: id}}); err != nil {
				return err
			}
		}
		for i, b := range blocks {
			if b.err == nil {
				continue
			}
			found := damage{file: name, offset: b.offset, reason: b.err.Error(), part: &part{table: id, first: y.ParseKey(b.key)}}
			if i+1 < len(blocks) {
				found.part.next = y.ParseKey(blocks[i+1].key)
			}
			if err := report(found); err != nil {
				return err
			}
		}
	}
	return nil
}

// readInto returns the contents of a file, in the buffer's memory.
func readInto(b *bytes.Buffer, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b.Reset()
	if info, err := f.Stat(); err == nil {
		b.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = b.ReadFrom(f)
	return b.Bytes(), err
}

// All tables are read again and again, at most so often that it takes a five
// hundredth of the time, and once an hour at least: between two times Badger takes
// what was in a block that has become damaged for missing.
const (
	scrubEvery = 30 * time.Second
	scrubPart  = 500
	scrubLeast = time.Hour
)

// scrubAlways verifies the tables from time to time, until ctx ends.
func (d *database) scrubAlways(ctx context.Context) {
	told := map[string]bool{}
	due := time.Now().Add(scrubEvery)
	background.Every(ctx, scrubEvery, nil, func() {
		begun := time.Now()
		if begun.Before(due) {
			return
		}
		d.scrub(ctx, told)
		due = begun.Add(scrubPause(time.Since(begun)))
	})
}

// scrubPause returns when the tables are read again that took so long to be read.
func scrubPause(took time.Duration) time.Duration { return min(scrubPart*took, scrubLeast) }

// scrub tells of tables that have become damaged, each place once, and has reads
// of what was in it fail from then on.
func (d *database) scrub(ctx context.Context, told map[string]bool) {
	err := d.verifyOpen(ctx, func(found damage) error {
		if place := found.Error(); !told[place] {
			told[place] = true
			d.log.Error("badgerstore: a table is damaged", "file", found.file, "offset", found.offset, "reason", found.reason)
			d.gone.add(found, d.db.Tables())
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		d.log.Warn("badgerstore: the tables could not be verified", "error", err)
	}
}

// verifyOpen is checkTables while badger has the directory open and may remove
// tables meanwhile.
func (d *database) verifyOpen(ctx context.Context, report func(damage) error) error {
	return checkTables(d.db.Opts(), func(found damage) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		tables, err := listTables(d.db.Opts())
		if id, ok := table.ParseFileID(found.file); err == nil && ok {
			if _, ok := tables[id]; !ok {
				return nil // compacted away
			}
		}
		return report(found)
	})
}

// listTables returns the tables that the manifest has, none where there is no
// manifest.
func listTables(opts badger.Options) (map[uint64]badger.TableManifest, error) {
	f, err := os.Open(filepath.Join(opts.Dir, manifestFile))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, _, err := badger.ReplayManifestFile(f, opts.ExternalMagicVersion, opts)
	if err != nil {
		return nil, damage{file: manifestFile, offset: -1, reason: err.Error()}
	}
	return m.Tables, nil
}

// tableMark returns the last mark that the tables of the manifest have, 0 where they
// have none.
func tableMark(opts badger.Options) (mark uint64, err error) {
	tables, err := listTables(opts)
	if err != nil {
		return 0, err
	}
	var buffer bytes.Buffer
	for _, id := range slices.Sorted(keys(tables)) {
		path := filepath.Join(opts.Dir, table.IDToFilename(id))
		if begins, err := beginsUpTo(path, markKey); err != nil {
			return 0, err
		} else if !begins {
			continue
		}
		data, err := readInto(&buffer, path)
		if err != nil {
			return 0, err
		}
		found, err := markOf(data, id, tables[id].Compression)
		if err != nil {
			return 0, damage{file: filepath.Base(path), offset: -1, reason: err.Error()}
		}
		mark = max(mark, found)
	}
	return mark, nil
}

// beginsUpTo reports whether a table's first key is not behind a key.
func beginsUpTo(path string, key []byte) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	index, err := readIndex(f, info.Size())
	if err != nil {
		return false, damage{file: filepath.Base(path), offset: -1, reason: err.Error()}
	}
	var first fb.BlockOffset
	return index.Offsets(&first, 0) && bytes.Compare(y.ParseKey(first.KeyBytes()), key) <= 0, nil
}

// markOf returns the last mark that a table has, or 0.
func markOf(data []byte, id uint64, compression badgeroptions.CompressionType) (mark uint64, err error) {
	defer recovered(&err)
	t, err := table.OpenInMemoryTable(data, id, &table.Options{
		BlockSize: 4 << 10, Compression: compression, ChkMode: badgeroptions.OnBlockRead,
	})
	if err != nil {
		return 0, err
	}
	it := t.NewIterator(table.NOCACHE)
	defer it.Close()
	it.Seek(y.KeyWithTs(markKey, math.MaxUint64))
	for ; it.Valid() && bytes.Equal(y.ParseKey(it.Key()), markKey); it.Next() {
		if value := it.Value().Value; len(value) == 8 {
			mark = max(mark, binary.BigEndian.Uint64(value))
		}
	}
	return mark, nil
}

func keys[V any](m map[uint64]V) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// tableBlock is a block of a table.
type tableBlock struct {
	key    []byte // the first one, with its version
	offset int64
	err    error // why it cannot be read
}

// readBlocks reads and verifies each block of a table. The error is of what is
// not in blocks.
func readBlocks(data []byte, id uint64, compression badgeroptions.CompressionType) (blocks []tableBlock, err error) {
	defer recovered(&err)
	t, err := table.OpenInMemoryTable(data, id, &table.Options{
		BlockSize: 4 << 10, Compression: compression, ChkMode: badgeroptions.OnBlockRead,
	})
	if err != nil {
		// The last block is read when a table is opened. Where it is the one that
		// is damaged, the index is not.
		if blocks = indexedBlocks(data); blocks == nil {
			return nil, err
		}
		last := len(blocks) - 1
		blocks[last].err = err
		return blocks, nil
	}
	blocks = indexedBlocks(data)
	for i := range blocks {
		blocks[i].err = readBlock(t, blocks[i].key)
	}
	return blocks, nil
}

// indexedBlocks returns the blocks that a table's index names, or nil where it
// cannot be read.
func indexedBlocks(data []byte) (blocks []tableBlock) {
	defer func() {
		if recover() != nil {
			blocks = nil
		}
	}()
	index, err := readIndex(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil
	}
	var offset fb.BlockOffset
	for i := range index.OffsetsLength() {
		if index.Offsets(&offset, i) {
			blocks = append(blocks, tableBlock{key: y.Copy(offset.KeyBytes()), offset: int64(offset.Offset())})
		}
	}
	return blocks
}

// readIndex reads the index of a table of that many bytes. At the end of a table are
// the index, its length, a checksum of it, and that one's length.
func readIndex(r io.ReaderAt, end int64) (*fb.TableIndex, error) {
	var parts [2][]byte // checksum and index
	for i := range parts {
		var length [4]byte
		if _, err := r.ReadAt(length[:], end-4); err != nil {
			return nil, err
		}
		n := int64(y.BytesToU32(length[:]))
		if end -= 4 + n; end < 0 {
			return nil, errors.New("it has no index")
		}
		parts[i] = make([]byte, n)
		if _, err := r.ReadAt(parts[i], end); err != nil {
			return nil, err
		}
	}
	if !sumIs(parts[0], parts[1]) {
		return nil, errors.New("the checksum of the index is wrong")
	}
	return fb.GetRootAsTableIndex(parts[1], 0), nil
}

// sumIs reports whether a checksum, as badger writes it, is that of data: a
// protocol buffer whose second field is the CRC32C.
func sumIs(checksum, data []byte) bool {
	const sumField = 2 << 3 // a varint
	rest, ok := bytes.CutPrefix(checksum, []byte{sumField})
	sum, n := binary.Uvarint(rest)
	return ok && n == len(rest) && sum == uint64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// readBlock reads the block that begins with a key.
func readBlock(t *table.Table, key []byte) (err error) {
	defer recovered(&err)
	it := t.NewIterator(table.NOCACHE)
	defer it.Close()
	it.Seek(key)
	if !it.Valid() || !y.SameKey(it.Key(), key) {
		return fmt.Errorf("the checksum of the block is wrong")
	}
	return nil
}

// recovered makes a panic the error: badger's reaction to what it does not expect.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("it cannot be read: %.200s", fmt.Sprint(r))
	}
}
