package files

import "encoding/binary"

// The keys of files in an organization's namespace:
//
//	f/m/{file}         a file that can be seen: its record. IDs sort by creation, and so do lists
//	f/q/{file}         a file whose text is still to be extracted: the process that does it
//	f/x/{time}{file}   when a file expires: Unix seconds in 8 bytes, big-endian
//	f/b/{blob}/{n}     a chunk of a blob, which is the bytes or the text of a file; n in 4 bytes, big-endian
//	f/g/{blob}         a blob of no file: one that is being written, by the process named, or whose chunks are still to be removed
const (
	recordPrefix  = "f/m/"
	queuePrefix   = "f/q/"
	expiryPrefix  = "f/x/"
	blobPrefix    = "f/b/"
	garbagePrefix = "f/g/"
)

// maxID is the length in bytes that no ID of a file reaches.
const maxID = 256

func recordKey(id string) []byte    { return []byte(recordPrefix + id) }
func queueKey(id string) []byte     { return []byte(queuePrefix + id) }
func garbageKey(blob string) []byte { return []byte(garbagePrefix + blob) }

// chunksOf is the prefix of a blob's chunks.
func chunksOf(blob string) []byte { return []byte(blobPrefix + blob + "/") }

func chunkKey(blob string, n uint32) []byte {
	return binary.BigEndian.AppendUint32(chunksOf(blob), n)
}

func expiryKey(at int64, id string) []byte {
	key := binary.BigEndian.AppendUint64([]byte(expiryPrefix), uint64(at))
	return append(key, id...)
}

// parseExpiryKey takes a key that expiryKey made apart.
func parseExpiryKey(key []byte) (at int64, id string) {
	rest := key[len(expiryPrefix):]
	return int64(binary.BigEndian.Uint64(rest)), string(rest[8:])
}
