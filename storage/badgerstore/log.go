package badgerstore

import (
	"encoding/binary"
	"errors"

	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// encode appends writes as the log has them: for each the length of the key, 0
// for a deletion and otherwise the length of the value and 1, the key, the value.
func encode(b []byte, writes []txn.Write) []byte {
	for _, w := range writes {
		b = binary.AppendUvarint(b, uint64(len(w.Key)))
		if w.Deleted {
			b = binary.AppendUvarint(b, 0)
		} else {
			b = binary.AppendUvarint(b, uint64(len(w.Value))+1)
		}
		b = append(b, w.Key...)
		if !w.Deleted {
			b = append(b, w.Value...)
		}
	}
	return b
}

// encodedSize returns how many bytes encode appends.
func encodedSize(writes []txn.Write) (size int) {
	var number [binary.MaxVarintLen64]byte
	for _, w := range writes {
		value := uint64(0)
		if !w.Deleted {
			value = uint64(len(w.Value)) + 1
		}
		size += binary.PutUvarint(number[:], uint64(len(w.Key))) + binary.PutUvarint(number[:], value) + len(w.Key)
		if !w.Deleted {
			size += len(w.Value)
		}
	}
	return size
}

// errRecord: a record of the log has a right checksum and makes no sense.
var errRecord = errors.New("badgerstore: a record of the log was written by something else")

// decode reads what encode has written. Keys and values are parts of b.
func decode(b []byte) ([]txn.Write, error) {
	var writes []txn.Write
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errRecord
		}
		value, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return nil, errRecord
		}
		b = b[n+m:]
		w := txn.Write{Deleted: value == 0}
		value -= min(value, 1)
		if key > uint64(len(b)) || value > uint64(len(b))-key {
			return nil, errRecord
		}
		w.Key, w.Value, b = b[:key:key], b[key:key+value:key+value], b[key+value:]
		writes = append(writes, w)
	}
	return writes, nil
}
