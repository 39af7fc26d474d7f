package badgerstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// pointer is where the value of a key is in the value log.
type pointer struct{ file, length, offset uint32 }

// What badger's tables have for a value of the value log: this bit, and a pointer.
const (
	pointerBit  = 1 << 1
	pointerSize = 12
)

// eachPointer calls fn with the keys in tables whose values are in the value log,
// those among them that were replaced since and are still there. Where badger has the
// directory open the error may be an fs.ErrNotExist: a table was removed meanwhile.
func eachPointer(opts badger.Options, fn func(key []byte, version uint64, p pointer) error) error {
	tables, err := listTables(opts)
	if err != nil {
		return err
	}
	var buffer bytes.Buffer
	for id, m := range tables {
		data, err := readInto(&buffer, filepath.Join(opts.Dir, table.IDToFilename(id)))
		if err == nil {
			err = tablePointers(data, id, m.Compression, fn)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", table.IDToFilename(id), err)
		}
	}
	return nil
}

func tablePointers(data []byte, id uint64, compression badgeroptions.CompressionType, fn func([]byte, uint64, pointer) error) (err error) {
	defer recovered(&err)
	t, err := table.OpenInMemoryTable(data, id, &table.Options{
		BlockSize: 4 << 10, Compression: compression, ChkMode: badgeroptions.OnBlockRead,
	})
	if err != nil {
		return err
	}
	it := t.NewIterator(table.NOCACHE)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		v := it.Value()
		if v.Meta&pointerBit == 0 || len(v.Value) != pointerSize {
			continue
		}
		n := func(i int) uint32 { return binary.NativeEndian.Uint32(v.Value[4*i:]) }
		if err := fn(y.ParseKey(it.Key()), y.ParseTs(it.Key()), pointer{n(0), n(1), n(2)}); err != nil {
			return err
		}
	}
	return nil
}

// errFound ends a search.
var errFound = errors.New("found")

// searches is how often tables are read that badger compacts meanwhile.
const searches = 5

// needs reports whether something is to be found in a file of the value log at an
// offset or behind it. What a loss of power has torn is not: the log had it.
func (d *database) needs(file int, offset int64) (bool, error) {
	txn := d.db.NewTransactionAt(d.db.MaxVersion(), false)
	defer txn.Discard()
	needed := func(key []byte, version uint64, p pointer) error {
		if p.file != uint32(file) || int64(p.offset) < offset {
			return nil
		}
		item, err := txn.Get(key)
		if err == nil && item.Version() == version {
			return errFound
		}
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		return err
	}
	for n := 1; ; n++ {
		err := eachPointer(d.db.Opts(), needed)
		switch {
		case errors.Is(err, errFound):
			return true, nil
		case errors.Is(err, fs.ErrNotExist) && n < searches:
			time.Sleep(awaitEvery)
		default:
			return false, err
		}
	}
}
