package occ

// The log keeps the keys of this many commits and bytes. A transaction during
// which more was committed is run again.
const (
	logCommits = 1 << 12
	logBytes   = 8 << 20
)

// log is what was committed lately.
type log struct {
	entries []logEntry // by version
	size    int        // bytes of their keys
	floor   uint64     // versions up to this one may be missing
}

type logEntry struct {
	version uint64
	keys    [][]byte
	size    int
}

// add appends a commit. The log keeps the keys.
func (l *log) add(version uint64, writes []Write) {
	e := logEntry{version: version, keys: make([][]byte, len(writes))}
	for i, w := range writes {
		e.keys[i] = w.Key
		e.size += len(w.Key)
	}
	l.entries = append(l.entries, e)
	l.size += e.size
	for len(l.entries) > logCommits || l.size > logBytes {
		l.floor = l.entries[0].version
		l.size -= l.entries[0].size
		l.entries[0] = logEntry{}
		l.entries = l.entries[1:]
	}
}

// conflicts says whether something that c read was changed since its snapshot.
func (l *log) conflicts(c *commit) bool {
	if len(c.reads) == 0 && len(c.spans) == 0 {
		return false
	}
	if c.version < l.floor {
		return true
	}
	var reads map[string]struct{} // made when there is something to compare with
	for i := len(l.entries) - 1; i >= 0 && l.entries[i].version > c.version; i-- {
		if reads == nil {
			reads = keySet(c.reads)
		}
		for _, key := range l.entries[i].keys {
			if _, ok := reads[string(key)]; ok || c.scanned(key) {
				return true
			}
		}
	}
	return false
}

func keySet(keys [][]byte) map[string]struct{} {
	set := make(map[string]struct{}, len(keys))
	for _, key := range keys {
		set[string(key)] = struct{}{}
	}
	return set
}

// scanned says whether the key is in a range that c read.
func (c *commit) scanned(key []byte) bool {
	for _, s := range c.spans {
		if s.Contains(key) {
			return true
		}
	}
	return false
}
