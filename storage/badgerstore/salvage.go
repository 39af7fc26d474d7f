package badgerstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/seed-506d8e5d/svc/storage"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// repairTable puts a table without its damaged blocks in the place of one, or
// takes one of which nothing can be read out of the manifest.
func repairTable(opts badger.Options, name string) error {
	id, ok := table.ParseFileID(name)
	if !ok {
		return fmt.Errorf("badgerstore: %s cannot be repaired", name)
	}
	tables, err := listTables(opts)
	if err != nil {
		return err
	}
	compression := tables[id].Compression
	data, err := os.ReadFile(filepath.Join(opts.Dir, name))
	if err == nil {
		data, err = rebuilt(data, id, compression)
	}
	if err != nil {
		return changeTable(opts.Dir, id, deleteTable, byte(compression))
	}
	return writeFile(filepath.Join(opts.Dir, name), data)
}

// rebuilt returns a table with what can be read of one. The error is that nothing
// can.
func rebuilt(data []byte, id uint64, compression badgeroptions.CompressionType) (out []byte, err error) {
	defer recovered(&err)
	blocks, err := readBlocks(data, id, compression)
	if err != nil {
		return nil, err
	}
	t, err := table.OpenInMemoryTable(data, id, &table.Options{
		BlockSize: 4 << 10, Compression: compression, ChkMode: badgeroptions.OnBlockRead,
	})
	if err != nil {
		return nil, err
	}
	b := table.NewTableBuilder(table.Options{
		TableSize: uint64(2 * len(data)), BlockSize: 4 << 10, BloomFalsePositive: 0.01, Compression: compression,
	})
	defer b.Close()
	it := t.NewIterator(table.NOCACHE)
	defer it.Close()
	for i, block := range blocks {
		if block.err != nil {
			continue
		}
		for it.Seek(block.key); it.Valid(); it.Next() {
			if i+1 < len(blocks) && y.CompareKeys(it.Key(), blocks[i+1].key) >= 0 {
				break
			}
			b.Add(y.Copy(it.Key()), it.ValueCopy(), 0)
		}
	}
	if b.Empty() {
		return nil, errors.New("badgerstore: no block can be read")
	}
	return b.Finish(), nil
}

// readable cuts off a manifest that badger cannot read, where that begins.
func (d *database) readable(s settings) error {
	_, err := listTables(s.badger)
	if !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	if err := d.cutManifest(s.dir); err != nil {
		return err
	}
	return d.listTables(s)
}

// cutManifest leaves the changes of the manifest that can be read.
func (d *database) cutManifest(dir string) error {
	path := filepath.Join(dir, manifestFile)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	kept := wholeChanges(data)
	if len(kept) > 0 && len(kept) == len(data) {
		return nil
	}
	d.lost(damage{file: manifestFile, offset: int64(len(kept)), reason: "it cannot be read from here on"})
	if len(kept) == 0 {
		kept = []byte(emptyManifest)
	}
	return writeFile(path, kept)
}

// wholeChanges returns the beginning of a manifest up to its first damage.
func wholeChanges(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte(emptyManifest)) {
		return nil
	}
	at := len(emptyManifest)
	for at+8 <= len(data) {
		size := int(binary.BigEndian.Uint32(data[at:]))
		if size > len(data)-at-8 || crc32.Checksum(data[at+8:at+8+size], castagnoli) != binary.BigEndian.Uint32(data[at+4:]) {
			break
		}
		at += 8 + size
	}
	return data[:at]
}

// listTables puts the tables that the manifest does not have into it, those that can
// be read, and tells of them. A manifest that is cut off goes on where it was.
func (d *database) listTables(s settings) error {
	names, err := filepath.Glob(filepath.Join(s.dir, "*"+tableExtension))
	if err != nil || len(names) == 0 {
		return err
	}
	if err := d.cutManifest(s.dir); err != nil {
		return err
	}
	listed, err := listTables(s.badger)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, path := range names {
		name := filepath.Base(path)
		id, ok := table.ParseFileID(name)
		if _, there := listed[id]; !ok || there {
			continue
		}
		d.lost(damage{file: manifestFile, offset: -1, reason: "it does not have " + name + ", which is taken up again"})
		data, err := os.ReadFile(path)
		if err == nil {
			data, err = rebuilt(data, id, s.badger.Compression)
		}
		if err != nil {
			d.lost(damage{file: name, offset: -1, reason: err.Error()})
			continue
		}
		if err := writeFile(path, data); err != nil {
			return err
		}
		if err := changeTable(s.dir, id, createTable, byte(s.badger.Compression)); err != nil {
			return err
		}
	}
	return nil
}

// What a change of the manifest does to a table.
const (
	createTable = 0
	deleteTable = 1
)

// changeTable writes into the manifest that a table is gone, or there, among the newest
// ones. A change there is its length and CRC-32C, big-endian, and a message with one
// field, a list of messages with the number of the table, what is done, the level, and
// in the sixth field the compression.
func changeTable(dir string, id uint64, do, compression byte) error {
	change := binary.AppendUvarint([]byte{1 << 3}, id)
	change = append(change, 2<<3, do, 3<<3, 0, 6<<3, compression)
	set := append(binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(change))), change...)
	record := binary.BigEndian.AppendUint32(nil, uint32(len(set)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(set, castagnoli))
	f, err := os.OpenFile(filepath.Join(dir, manifestFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(record, set...))
	return errors.Join(err, f.Sync(), f.Close())
}
