package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

const (
	block = 512 // bytes that a disk writes as one

	segmentMagic = "svc log 1\n"
	recordMagic  = "svcr"
	recordHeader = 32

	extension         = ".log"
	recycledExtension = ".spare" // of a file that was a segment's and is none now
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is what the header of a file says.
type segment struct {
	number, first, mark, nonce uint64
	size                       int64 // of the file
}

func (s segment) name() string { return fmt.Sprintf("%08d%s", s.number, extension) }

// recycledName returns the name of the segment's file once it is no segment any more.
func (s segment) recycledName() string { return fmt.Sprintf("%08d%s", s.number, recycledExtension) }

// isNumbered reports whether a file's name is a number with an extension.
func isNumbered(name, extension string) bool {
	digits, ok := strings.CutSuffix(name, extension)
	return ok && len(digits) >= 8 && strings.Trim(digits, "0123456789") == ""
}

// header fills a block of zeros.
func (s segment) header(b []byte) []byte {
	copy(b, segmentMagic)
	for i, n := range []uint64{s.number, s.first, s.mark, s.nonce} {
		binary.LittleEndian.PutUint64(b[16+8*i:], n)
	}
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[16:block], castagnoli))
	return b
}

// parseHeader reads the header of a file, false where it is none.
func parseHeader(data []byte) (segment, bool) {
	if len(data) < block || string(data[:len(segmentMagic)]) != segmentMagic ||
		binary.LittleEndian.Uint32(data[12:]) != crc32.Checksum(data[16:block], castagnoli) {
		return segment{}, false
	}
	n := func(i int) uint64 { return binary.LittleEndian.Uint64(data[16+8*i:]) }
	return segment{number: n(0), first: n(1), mark: n(2), nonce: n(3), size: int64(len(data))}, true
}

// recordSize returns how many bytes of a file a record takes.
func recordSize(payload int) int64 {
	return (recordHeader + int64(payload) + block - 1) / block * block
}

// record fills zeros of a record's size. The payload is what encode appends.
func (s segment) record(b []byte, version uint64, size int, encode func([]byte) []byte) []byte {
	copy(b, recordMagic)
	binary.LittleEndian.PutUint32(b[8:], uint32(size))
	binary.LittleEndian.PutUint64(b[16:], version)
	binary.LittleEndian.PutUint64(b[24:], s.nonce)
	end := recordHeader + size
	if written := encode(b[recordHeader:recordHeader:end]); len(written) != size {
		panic(fmt.Sprintf("wal: a payload of %d bytes was announced with %d", len(written), size))
	}
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:end], castagnoli))
	return b
}

// found is a record in a file.
type found struct {
	version, nonce uint64
	payload        []byte
	end            int64 // where the next one is
}

// parseRecord reads the record at an offset, false where there is none that is
// whole.
func parseRecord(data []byte, at int64) (found, bool) {
	if at+block > int64(len(data)) || string(data[at:at+4]) != recordMagic {
		return found{}, false
	}
	b := data[at:]
	length := int(binary.LittleEndian.Uint32(b[8:]))
	size := recordSize(length)
	if size > int64(len(b)) || binary.LittleEndian.Uint32(b[4:]) != crc32.Checksum(b[8:recordHeader+length], castagnoli) {
		return found{}, false
	}
	return found{
		version: binary.LittleEndian.Uint64(b[16:]),
		nonce:   binary.LittleEndian.Uint64(b[24:]),
		payload: b[recordHeader : recordHeader+length],
		end:     at + size,
	}, true
}
