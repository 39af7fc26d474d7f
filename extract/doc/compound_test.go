package doc_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

const (
	sectorSize = 512
	smallest   = 4096 // of a stream outside the mini stream
	noSector   = 0xFFFFFFFF
	endOfChain = 0xFFFFFFFE
	fatSector  = 0xFFFFFFFD
)

// stream is a stream of a compound file that a test makes.
type stream struct {
	name string
	data []byte
	size uint64 // declared, if not 0
}

// compound makes a compound file of version 4 rules in sectors of 512 bytes:
// the FAT, the directory, the streams.
func compound(t testing.TB, streams ...stream) []byte {
	t.Helper()
	const entrySize, perSector = 128, sectorSize / 4
	dirSectors := (len(streams) + 1 + 3) / 4
	count := dirSectors
	for _, s := range streams {
		count += sectorsOf(s.data)
	}
	fatSectors := 1
	for fatSectors*perSector < fatSectors+count {
		fatSectors++
	}
	if fatSectors > 109 {
		t.Fatal("the file is too large for one table")
	}
	fat := make([]uint32, 0, fatSectors*perSector)
	for range fatSectors {
		fat = append(fat, fatSector)
	}
	fat = chain(fat, dirSectors)
	directory := entry("Root Entry", 5, endOfChain, 0)
	binary.LittleEndian.PutUint32(directory[76:], 1) // its first child
	var content bytes.Buffer
	for i, s := range streams {
		size := s.size
		if size == 0 {
			size = uint64(max(len(s.data), smallest))
		}
		e := entry(s.name, 2, uint32(len(fat)), size)
		if i+1 < len(streams) {
			binary.LittleEndian.PutUint32(e[72:], uint32(i+2)) // its right sibling
		}
		directory = append(directory, e...)
		n := sectorsOf(s.data)
		fat = chain(fat, n)
		content.Write(s.data)
		content.Write(make([]byte, n*sectorSize-len(s.data)))
	}
	for len(fat) < fatSectors*perSector {
		fat = append(fat, noSector)
	}
	directory = append(directory, make([]byte, dirSectors*4*entrySize-len(directory))...)
	return bytes.Join([][]byte{compoundHeader(fatSectors), words(fat), directory, content.Bytes()}, nil)
}

func sectorsOf(data []byte) int {
	return (max(len(data), smallest) + sectorSize - 1) / sectorSize
}

// chain adds n sectors that follow each other.
func chain(fat []uint32, n int) []uint32 {
	for range n - 1 {
		fat = append(fat, uint32(len(fat)+1))
	}
	return append(fat, endOfChain)
}

func words(numbers []uint32) []byte {
	b := make([]byte, 0, 4*len(numbers))
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func compoundHeader(fatSectors int) []byte {
	h := make([]byte, sectorSize)
	copy(h, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")
	le := binary.LittleEndian
	le.PutUint16(h[24:], 0x3E)
	le.PutUint16(h[26:], 4) // sizes have 64 bits
	le.PutUint16(h[28:], 0xFFFE)
	le.PutUint16(h[30:], 9)
	le.PutUint16(h[32:], 6)
	le.PutUint32(h[44:], uint32(fatSectors))
	le.PutUint32(h[48:], uint32(fatSectors)) // the directory follows the FAT
	le.PutUint32(h[56:], smallest)
	le.PutUint32(h[60:], endOfChain)
	le.PutUint32(h[68:], endOfChain)
	for i := range 109 {
		n := uint32(noSector)
		if i < fatSectors {
			n = uint32(i)
		}
		le.PutUint32(h[76+4*i:], n)
	}
	return h
}

func entry(name string, kind byte, start uint32, size uint64) []byte {
	e := make([]byte, 128)
	le := binary.LittleEndian
	chars := utf16.Encode([]rune(name + "\x00"))
	for i, c := range chars {
		le.PutUint16(e[2*i:], c)
	}
	le.PutUint16(e[64:], uint16(2*len(chars)))
	e[66], e[67] = kind, 1
	for at := 68; at < 80; at += 4 {
		le.PutUint32(e[at:], noSector)
	}
	le.PutUint32(e[116:], start)
	le.PutUint64(e[120:], size)
	return e
}
