package badgerstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	badgertable "github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	flatbuffers "github.com/google/flatbuffers/go"
	"google.golang.org/protobuf/proto"

	"github.com/seed-506d8e5d/svc/storage/backup"
)

// Salvage puts what can be read of a damaged store into a new one, in a directory that
// does not exist or is empty, and calls report for what cannot. It changes nothing in the
// damaged one. The new one is there when it is complete. Salvage returns how many records
// it has.
func Salvage(ctx context.Context, damaged, dir string, report func(error)) (records uint64, err error) {
	told := map[string]bool{}
	from, err := openDamaged(damaged, func(err error) {
		if !told[err.Error()] {
			told[err.Error()] = true
			report(err)
		}
	})
	if err != nil {
		return 0, err
	}
	partial := filepath.Clean(dir) + ".partial"
	if err := os.RemoveAll(partial); err != nil { // of a salvage that was cut short
		return 0, errors.Join(err, from.Close())
	}
	to, err := Open(Options{Dir: partial})
	if err != nil {
		return 0, errors.Join(err, from.Close())
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(backup.Write(ctx, from, w)) }()
	b, err := backup.NewReader(r)
	if err == nil {
		err = backup.Restore(ctx, to, b)
		records = b.Done()
	}
	r.CloseWithError(err) // ends the writer, whatever it does
	if err := errors.Join(err, from.Close(), to.Close()); err != nil {
		return 0, errors.Join(err, os.RemoveAll(partial))
	}
	if err := os.Rename(partial, dir); err != nil {
		return 0, err
	}
	return records, syncPath(filepath.Dir(filepath.Clean(dir)))
}

// openBeginning opens what stands in front of the last blocks of a table, of which it
// reports those that are left out: badger opens no table whose last block it cannot read.
func openBeginning(dir string, id uint64, cache *blockCache, report func(error)) (*table, error) {
	data, err := os.ReadFile(filepath.Join(dir, tableName(id)))
	if err != nil {
		return nil, err
	}
	var left []damage
	for {
		var blocks int
		if data, blocks, err = withoutLastBlock(data); err != nil {
			return nil, err
		}
		left = append(left, damage{file: tableName(id), block: blocks, reason: "the checksum of the block is wrong"})
		t, err := openInMemory(data, id, cache)
		if err != nil {
			continue
		}
		for _, d := range left {
			report(d)
		}
		return t, nil
	}
}

func openInMemory(data []byte, id uint64, cache *blockCache) (t *table, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%.200s", fmt.Sprint(r))
		}
	}()
	opts := tableOptions(cache, 0)
	opened, err := badgertable.OpenInMemoryTable(data, id, &opts)
	if err != nil {
		return nil, err
	}
	return newTable(opened, id), nil
}

// withoutLastBlock returns a table without its last block, and the number of blocks that
// are left: the index, behind which stand its length, its checksum and the length of
// that, gets one block less.
func withoutLastBlock(data []byte) (shorter []byte, blocks int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the index cannot be read: %.200s", fmt.Sprint(r))
		}
	}()
	checksumAt := len(data) - 4 - int(binary.BigEndian.Uint32(data[len(data)-4:]))
	indexAt := checksumAt - 4 - int(binary.BigEndian.Uint32(data[checksumAt-4:]))
	var checksum pb.Checksum
	if err := proto.Unmarshal(data[checksumAt:len(data)-4], &checksum); err != nil {
		return nil, 0, err
	}
	if err := y.VerifyChecksum(data[indexAt:checksumAt-4], &checksum); err != nil {
		return nil, 0, err
	}
	shorter = append(make([]byte, 0, len(data)), data[:checksumAt-4]...)
	index := fb.GetRootAsTableIndex(shorter[indexAt:], 0)
	if blocks = index.OffsetsLength() - 1; blocks < 1 {
		return nil, 0, errors.New("no block can be read")
	}
	root := index.Table()
	offsets := root.Vector(flatbuffers.UOffsetT(root.Offset(4))) // behind their number
	binary.LittleEndian.PutUint32(root.Bytes[offsets-4:], uint32(blocks))
	checksum.Sum = y.CalculateChecksum(shorter[indexAt:], checksum.Algo)
	sum, err := proto.Marshal(&checksum)
	if err != nil {
		return nil, 0, err
	}
	shorter = binary.BigEndian.AppendUint32(shorter, uint32(len(shorter)-indexAt))
	shorter = append(shorter, sum...)
	return binary.BigEndian.AppendUint32(shorter, uint32(len(sum))), blocks, nil
}
