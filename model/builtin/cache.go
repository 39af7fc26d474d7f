package builtin

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/seed-506d8e5d/svc/model"
)

// cached is how many analyses are kept: the questions about one state follow
// one another.
const cached = 4

// cache keeps the analyses of the last states.
type cache struct {
	mu      sync.Mutex
	entries []entry // guarded by mu, the latest first
}

type entry struct {
	key      [sha256.Size]byte
	analysis *analysis
}

func newCache() *cache { return &cache{} }

// get returns the analysis of a state. Two calls at once may both make it.
func (c *cache) get(parts []model.Part, l *lexicon) *analysis {
	key := hashParts(parts)
	if a := c.find(key); a != nil {
		return a
	}
	a := analyse(parts, l)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = slices.Insert(c.entries, 0, entry{key, a})
	if len(c.entries) > cached {
		c.entries[cached] = entry{}
		c.entries = c.entries[:cached]
	}
	return a
}

func (c *cache) find(key [sha256.Size]byte) *analysis {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(e entry) bool { return e.key == key })
	if i < 0 {
		return nil
	}
	found := c.entries[i]
	copy(c.entries[1:i+1], c.entries[:i])
	c.entries[0] = found
	return found.analysis
}

// hashParts identifies a state. Each part is preceded by its kind and lengths, so
// that different states have different texts to hash.
func hashParts(parts []model.Part) [sha256.Size]byte {
	h := sha256.New()
	write := func(kind byte, fields ...[]byte) {
		h.Write([]byte{kind}) // a hash never fails
		for _, field := range fields {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
			h.Write(field)
		}
	}
	for _, part := range parts {
		switch p := part.(type) {
		case model.Text:
			write('t', []byte(p))
		case model.Document:
			write('d', []byte(p.Name), []byte(p.Text))
		case model.Image:
			size := binary.BigEndian.AppendUint64(nil, uint64(p.Width))
			write('i', []byte(p.MediaType), binary.BigEndian.AppendUint64(size, uint64(p.Height)), p.Data)
		}
	}
	var key [sha256.Size]byte
	h.Sum(key[:0])
	return key
}
