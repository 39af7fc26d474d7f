package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

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
		return dropTable(opts.Dir, id)
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

// dropTable writes into the manifest that a table is gone. A change there is its
// length and CRC-32C, big-endian, and a message with one field, a list of
// messages with the number of the table and, for a deletion, the number 1.
func dropTable(dir string, id uint64) error {
	change := binary.AppendUvarint([]byte{1 << 3}, id)
	change = append(change, 2<<3, 1)
	set := append(binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(change))), change...)
	record := binary.BigEndian.AppendUint32(nil, uint32(len(set)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(set, crc32.MakeTable(crc32.Castagnoli)))
	f, err := os.OpenFile(filepath.Join(dir, manifestFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(record, set...))
	return errors.Join(err, f.Sync(), f.Close())
}
