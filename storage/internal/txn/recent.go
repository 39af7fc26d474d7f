package txn

// The keys of this many recent commits and bytes. A transaction during
// which more was committed is run again.
const (
	recentCount = 1 << 12
	recentBytes = 8 << 20
)

// recentCommits is what was committed last.
type recentCommits struct {
	entries []recentCommit // by version
	size    int            // bytes of their keys
	floor   uint64         // versions up to this one may be missing
}

type recentCommit struct {
	version uint64
	keys    [][]byte
	size    int
}

// add appends a commit. It keeps the keys.
func (r *recentCommits) add(version uint64, writes []Write) {
	e := recentCommit{version: version, keys: make([][]byte, len(writes))}
	for i, w := range writes {
		e.keys[i] = w.Key
		e.size += len(w.Key)
	}
	r.entries = append(r.entries, e)
	r.size += e.size
	for len(r.entries) > recentCount || r.size > recentBytes {
		r.floor = r.entries[0].version
		r.size -= r.entries[0].size
		r.entries[0] = recentCommit{}
		r.entries = r.entries[1:]
	}
}

// conflicts says whether something that c read was changed since its snapshot.
func (r *recentCommits) conflicts(c *commit) bool {
	if len(c.reads) == 0 && len(c.spans) == 0 {
		return false
	}
	if c.version < r.floor {
		return true
	}
	var reads map[string]struct{} // made when there is something to compare with
	for i := len(r.entries) - 1; i >= 0 && r.entries[i].version > c.version; i-- {
		if reads == nil {
			reads = keySet(c.reads)
		}
		for _, key := range r.entries[i].keys {
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
