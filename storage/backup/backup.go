// Package backup copies a whole store into a stream of bytes and back. [Write]
// writes a backup of a store that is in use; [Restore] puts one into an empty
// store. A backup that was cut short or damaged is an error, [ErrDamaged], at the
// latest at its end.
//
// A backup is a line that says what it is, the number of records, the records,
// and the SHA-256 hash of all that. Numbers are big-endian or, before what has
// that many bytes, unsigned varints:
//
//	"svc backup 1\n"
//	number of records, 8 bytes
//	for each record: length, namespace, length, key, length, value
//	hash, 32 bytes
package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/seed-506d8e5d/svc/storage"
)

// ErrDamaged is the error of a backup that is not as it was written.
var ErrDamaged = errors.New("backup: cut short or damaged")

const (
	magic = "svc backup 1\n"

	bufferSize = 256 << 10 // of what is written and read
)

// attempts is how often a backup is begun where the database fails before its first
// byte is written. Over a network that fails one in ten that is enough.
const attempts = 8

// Write writes a backup of everything that the store holds at the moment. It
// reads the keys twice, first to count them. The error of a store that cannot be
// read as a whole is [errors.ErrUnsupported], before anything is written. Where the
// database fails while it is read and nothing is written yet, it begins again.
func Write(ctx context.Context, s storage.Store, w io.Writer) error {
	for n := 1; ; n++ {
		out, reading := &begun{Writer: w}, false
		err := storage.ReadAll(ctx, s, func(scan storage.ScanAll) error {
			reading = true
			return write(scan, out)
		})
		again := errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrUnavailable)
		if !again || !reading || out.begun || n == attempts {
			return err
		}
	}
}

// begun is a writer that knows whether anything was written.
type begun struct {
	io.Writer
	begun bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.begun = true
	return b.Writer.Write(p)
}

func write(scan storage.ScanAll, w io.Writer) error {
	var count uint64
	for _, err := range scan(true) {
		if err != nil {
			return err
		}
		count++
	}
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), bufferSize)
	out.WriteString(magic) // a bufio.Writer remembers its first error for Flush
	out.Write(binary.BigEndian.AppendUint64(nil, count))
	for r, err := range scan(false) {
		if err != nil {
			return err
		}
		if err := writeRecord(out, r); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

func writeRecord(w *bufio.Writer, r storage.Record) error {
	var length []byte
	for _, field := range [][]byte{[]byte(r.Namespace), r.Key, r.Value} {
		length = binary.AppendUvarint(length[:0], uint64(len(field)))
		w.Write(length)
		if _, err := w.Write(field); err != nil {
			return err
		}
	}
	return nil
}

// Reader reads a backup record by record.
type Reader struct {
	in    *bufio.Reader
	sum   hash.Hash
	total uint64
	done  uint64
}

// NewReader returns a Reader of a backup. The error is ErrDamaged, or says that
// it is none.
func NewReader(r io.Reader) (*Reader, error) {
	b := &Reader{in: bufio.NewReaderSize(r, bufferSize), sum: sha256.New()}
	head := make([]byte, len(magic)+8)
	if err := b.read(head); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(head, []byte(magic)) {
		return nil, errors.New("backup: this is no backup, or one of another version")
	}
	b.total = binary.BigEndian.Uint64(head[len(magic):])
	return b, nil
}

// Total returns how many records the backup has, and Done how many of them have
// been read.
func (b *Reader) Total() uint64 { return b.total }

// Done returns how many records have been read.
func (b *Reader) Done() uint64 { return b.done }

// Next returns the next record. After the last one, and a look at the hash, the
// error is io.EOF: what was read before it is only known to be right then.
func (b *Reader) Next() (storage.Record, error) {
	if b.done == b.total {
		return storage.Record{}, b.end()
	}
	var r storage.Record
	namespace, err := b.field(1, storage.MaxNamespace)
	if err != nil {
		return r, err
	}
	r.Namespace = storage.Namespace(namespace)
	if r.Key, err = b.field(1, storage.MaxKey); err != nil {
		return r, err
	}
	if r.Value, err = b.field(0, storage.MaxValue); err != nil {
		return r, err
	}
	b.done++
	return r, nil
}

// end checks the hash and that nothing follows.
func (b *Reader) end() error {
	want := b.sum.Sum(nil)
	var got [sha256.Size]byte
	if err := b.read(got[:]); err != nil {
		return err
	}
	if _, err := b.in.ReadByte(); !bytes.Equal(got[:], want) || err != io.EOF {
		return ErrDamaged
	}
	return io.EOF
}

// field reads a length and that many bytes.
func (b *Reader) field(least, most uint64) ([]byte, error) {
	length, err := binary.ReadUvarint(lengthReader{b})
	if err != nil {
		return nil, damaged(err)
	}
	if length < least || length > most {
		return nil, ErrDamaged
	}
	data := make([]byte, length)
	return data, b.read(data)
}

// read fills p from the backup and adds it to the hash.
func (b *Reader) read(p []byte) error {
	_, err := io.ReadFull(b.in, p)
	b.sum.Write(p)
	return damaged(err)
}

// lengthReader reads the bytes of a length and adds them to the hash.
type lengthReader struct{ b *Reader }

// ReadByte implements io.ByteReader.
func (l lengthReader) ReadByte() (byte, error) {
	c, err := l.b.in.ReadByte()
	if err == nil {
		l.b.sum.Write([]byte{c})
	}
	return c, err
}

// damaged turns an end that came too early into ErrDamaged. Other errors are
// those of what the backup is read from.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrDamaged
	}
	return err
}

// The size of the transactions of a restore.
const (
	batchBytes = 4 << 20
	batchCount = 2000
)

// Restore puts a backup into an empty store. After an error the store holds part
// of it and must be thrown away.
func Restore(ctx context.Context, s storage.Store, b *Reader) error {
	var batch []storage.Record
	size := 0
	for {
		r, err := b.Next()
		last := err == io.EOF
		if err != nil && !last {
			return err
		}
		if n := len(batch); n > 0 && (last || r.Namespace != batch[0].Namespace || n == batchCount || size+len(r.Value) > batchBytes) {
			if err := put(ctx, s, batch); err != nil {
				return err
			}
			batch, size = batch[:0], 0
		}
		if last {
			return nil
		}
		batch = append(batch, r)
		size += len(r.Value)
	}
}

// put writes records of one namespace.
func put(ctx context.Context, s storage.Store, batch []storage.Record) error {
	err := s.Update(ctx, batch[0].Namespace, func(tx storage.Tx) error {
		for _, r := range batch {
			if err := tx.Set(r.Key, r.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("backup: writing %d records of %s: %w", len(batch), batch[0].Namespace, err)
	}
	return nil
}
