package badgerstore

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"crypto/rand"

	"github.com/dgraph-io/badger/v4"
)

// valueHeader is how many bytes of a file of the value log come before the first
// value: the number of a key, which is 0 without encryption, and 12 random bytes.
const valueHeader = 20

func memName(n int) string { return fmt.Sprintf("%05d%s", n, memExtension) }

func valueName(n int) string { return fmt.Sprintf("%06d%s", n, valueExtension) }

// guardValues protects the last file of the value log. Badger cuts off what is
// behind the first value in it that it cannot read, though it be one of many:
// here only the zeros at the end are cut off that a kill leaves, and an empty
// file becomes the last.
func guardValues(dir string) error {
	last, _, err := files(dir, valueExtension)
	if err != nil || last == 0 {
		return err
	}
	path := filepath.Join(dir, valueName(last))
	if err := cutZeros(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() == valueHeader {
		return err
	}
	header := make([]byte, valueHeader)
	rand.Read(header[8:])
	next := filepath.Join(dir, valueName(last+1))
	if err := os.WriteFile(next, header, 0o600); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return syncPath(next)
}

// cutZeros removes zeros from a file's end, but for those that may be of a
// checksum.
func cutZeros(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	end, err := lastByte(f, size)
	if err != nil {
		return err
	}
	if end > valueHeader {
		end += crc32.Size
	}
	if end = max(end, valueHeader); end >= size {
		return nil
	}
	return f.Truncate(end)
}

// lastByte returns the offset behind the last byte that is not zero.
func lastByte(f *os.File, end int64) (int64, error) {
	buffer := make([]byte, min(end, 128<<10))
	for end > 0 {
		b := buffer[:min(end, int64(len(buffer)))]
		if _, err := f.ReadAt(b, end-int64(len(b))); err != nil {
			return 0, err
		}
		for i := len(b); i > 0; i-- {
			if b[i-1] != 0 {
				return end - int64(len(b)-i), nil
			}
		}
		end -= int64(len(b))
	}
	return 0, nil
}

// checkValues reads a file of the value log. The error is a damage where a value
// is not as it was written and something follows it; what is behind the last
// whole value may be what a crash has left.
func checkValues(ctx context.Context, dir, name string) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(valueHeader, io.SeekStart); err != nil {
		return err
	}
	r := valueReader{in: bufio.NewReaderSize(f, 256<<10), sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	offset := int64(valueHeader)
	for ctx.Err() == nil {
		n, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damage{file: name, offset: offset, reason: err.Error()}
		}
		offset += n
	}
	return ctx.Err()
}

// valueReader reads the values of a file: two bytes, the lengths of key and value
// and an expiry as varints, key, value, CRC-32C.
type valueReader struct {
	in  *bufio.Reader
	sum hash.Hash32
	n   int64
}

// ReadByte implements io.ByteReader.
func (r *valueReader) ReadByte() (byte, error) {
	b, err := r.in.ReadByte()
	if err == nil {
		r.n++
		r.sum.Write([]byte{b})
	}
	return b, err
}

var errValue = errors.New("the checksum of a value is wrong")

// next reads a value and returns how many bytes it took. The error is io.EOF
// where there is none any more.
func (r *valueReader) next() (int64, error) {
	if r.zeros() {
		return 0, io.EOF
	}
	r.n = 0
	r.sum.Reset()
	var length [3]uint64
	if _, err := r.in.Peek(2); err != nil {
		return 0, io.EOF
	}
	r.ReadByte() // both are there
	r.ReadByte()
	for i := range length {
		var err error
		if length[i], err = binary.ReadUvarint(r); err != nil {
			return 0, errValue
		}
	}
	if length[0] > 1<<16 || length[1] > 1<<30 {
		return 0, errValue
	}
	n, err := io.CopyN(r.sum, r.in, int64(length[0]+length[1]))
	if err != nil {
		return 0, errValue
	}
	var sum [crc32.Size]byte
	if _, err := io.ReadFull(r.in, sum[:]); err != nil || binary.BigEndian.Uint32(sum[:]) != r.sum.Sum32() {
		return 0, errValue
	}
	return r.n + n + crc32.Size, nil
}

// zeros reports whether there are only zeros where the next value would be, as
// behind the last one.
func (r *valueReader) zeros() bool {
	head, err := r.in.Peek(32)
	for _, b := range head {
		if b != 0 {
			return false
		}
	}
	return len(head) > 0 || err != nil
}

// discardFile is where badger keeps how much of the files of the value log is unused:
// pairs of numbers, of a file and of its unused bytes, up to a zero.
const discardFile = "DISCARD"

// countUnused tells badger what is unused of the value log in a directory that nobody
// has open. Of the values that a crash has left, and that were replayed from the log,
// it would never know.
func countUnused(opts badger.Options) error {
	used := map[uint64]uint64{}
	err := eachPointer(opts, func(_ []byte, _ uint64, p pointer) error {
		used[uint64(p.file)] += uint64(p.length)
		return nil
	})
	if err != nil {
		return err
	}
	unused, err := readUnused(opts.Dir)
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(opts.Dir, "*"+valueExtension))
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		n, ok := number(filepath.Base(name), valueExtension)
		file, left := uint64(n), used[uint64(n)]+valueHeader
		if ok && uint64(info.Size()) > left {
			unused[file] = max(unused[file], uint64(info.Size())-left)
		}
	}
	var data []byte
	for _, file := range slices.Sorted(maps.Keys(unused)) {
		data = binary.BigEndian.AppendUint64(data, file)
		data = binary.BigEndian.AppendUint64(data, unused[file])
	}
	f, err := os.OpenFile(filepath.Join(opts.Dir, discardFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // without it badger begins a new one
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < int64(len(data)+16) {
		return err // badger makes it larger
	}
	_, err = f.WriteAt(append(data, make([]byte, 16)...), 0)
	return err
}

// readUnused returns what badger knows to be unused of the files of the value log.
func readUnused(dir string) (map[uint64]uint64, error) {
	unused := map[uint64]uint64{}
	data, err := os.ReadFile(filepath.Join(dir, discardFile))
	if errors.Is(err, fs.ErrNotExist) {
		return unused, nil
	}
	for ; len(data) >= 16; data = data[16:] {
		file := binary.BigEndian.Uint64(data)
		if file == 0 {
			break
		}
		unused[file] = binary.BigEndian.Uint64(data[8:])
	}
	return unused, err
}

// candidate returns the number of the file of the value log of which the most is
// unused, which is the one that badger would rewrite, or 0 where that is less than
// a part of it.
func candidate(dir string, ratio float64) (int, error) {
	files, err := readUnused(dir)
	if err != nil {
		return 0, err
	}
	var found, most uint64
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if files[file] > most {
			found, most = file, files[file]
		}
	}
	if found == 0 {
		return 0, nil
	}
	info, err := os.Stat(filepath.Join(dir, valueName(int(found))))
	if err == nil && float64(most) < ratio*float64(info.Size()) {
		return 0, nil
	}
	return int(found), nil // badger forgets a file that is not there
}
