package vectorstores

import (
	"context"
	"encoding/binary"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/vectorstores/internal/index"
)

// storeKey names a store among those of all organizations.
type storeKey struct {
	ns storage.Namespace
	id string
}

// cache is the words of a store in memory. It is made of the entries and segments that
// are stored, and brought up to date by them.
type cache struct {
	syncing chan struct{} // has an element while the cache is brought up to date

	mu      sync.RWMutex
	version version // guarded by mu, as are the others
	index   *index.Index
	vectors *index.Vectors // of the same chunks
	entries []entry        // by the numbers of their chunks

	used    time.Time // guarded by the mutex of the service
	size    int       // as above: bytes of the index
	touched int64     // as above: when the store was noted to be in use, in Unix seconds
}

// version says which state of a store a cache has.
type version struct {
	epoch         uint64 // of the database; another one may have lost what was read
	next, changed uint64 // as in a storeRecord
}

// entry is a file in a cache.
type entry struct {
	entryRecord
	seq   uint64
	first int // its first chunk in the index
	gone  bool
}

// cached returns the cache of a store, which may be old.
func (s *Service) cached(key storeKey) *cache {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cache[key]
	if c == nil {
		c = &cache{syncing: make(chan struct{}, 1), index: index.New(), vectors: &index.Vectors{}}
		s.cache[key] = c
	}
	c.used = time.Now()
	return c
}

// account notes what a cache takes, and drops those that were not used lately while
// all take more than they may.
func (s *Service) account(key storeKey, c *cache, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.size = size
	total := 0
	for _, other := range s.cache {
		total += other.size
	}
	for total > s.o.Memory && len(s.cache) > 1 {
		var oldest storeKey
		for k, other := range s.cache {
			if k != key && (oldest == storeKey{} || other.used.Before(s.cache[oldest].used)) {
				oldest = k
			}
		}
		total -= s.cache[oldest].size
		delete(s.cache, oldest)
	}
}

// forget drops the cache of a store that does not exist.
func (s *Service) forget(key storeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cache, key)
}

// current reports whether the cache has what a version has.
func (c *cache) current(v version) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.version.epoch == v.epoch && c.version.changed >= v.changed && c.version.next >= v.next
}

// sync brings a cache up to date: to a version or a later one.
func (s *Service) sync(ctx context.Context, key storeKey, c *cache, v version) error {
	if c.current(v) {
		return nil
	}
	select {
	case c.syncing <- struct{}{}:
		defer func() { <-c.syncing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.current(v) {
		return nil
	}
	known := c.version // only who syncs writes it
	fresh := known.epoch != v.epoch
	var found []entry
	all := false
	err := s.o.Store.View(ctx, key.ns, func(tx storage.Tx) error {
		r, err := getStore(tx, key.id)
		if err != nil {
			return err
		}
		v = version{epoch: s.o.Store.Epoch(), next: r.Next, changed: r.Changed}
		from := known.next
		if all = fresh || r.Changed != known.changed; all {
			from = 0
		}
		found, err = readEntries(tx, key.id, from)
		return err
	})
	if err != nil {
		return err
	}
	if fresh || all && c.garbage(found) {
		c.reset(v.epoch)
		return s.extend(ctx, key, c, found, v)
	}
	if all {
		c.prune(found)
		found = slices.DeleteFunc(found, func(e entry) bool { return e.seq < known.next })
	}
	return s.extend(ctx, key, c, found, v)
}

// readEntries reads the entries of a store from a number on.
func readEntries(tx storage.Tx, store string, from uint64) (found []entry, err error) {
	for e, err := range tx.Scan(storage.Range{Start: entryKey(store, from), End: storage.After(entriesOf(store))}) {
		if err != nil {
			return nil, err
		}
		next := entry{seq: binary.BigEndian.Uint64(e.Key[len(e.Key)-8:])}
		if err := decode(e.Value, &next.entryRecord); err != nil {
			return nil, err
		}
		found = append(found, next)
	}
	return found, nil
}

// garbage reports whether a good part of the chunks in the cache are of files that are
// not among those that were found.
func (c *cache) garbage(found []entry) bool {
	left := 0
	for _, e := range found {
		left += e.Chunks
	}
	dead := c.index.Len() - left // those to come count less
	return dead > 1000 && 8*dead > c.index.Len()
}

// prune removes the files that are not among those that were found, and takes the
// attributes of the others.
func (c *cache) prune(found []entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := 0
	for at := range c.entries {
		e := &c.entries[at]
		for i < len(found) && found[i].seq < e.seq {
			i++
		}
		if i < len(found) && found[i].seq == e.seq {
			e.Attributes = found[i].Attributes
		} else if !e.gone {
			e.gone = true
			c.index.Remove(e.first, e.Chunks)
		}
	}
}

// reset empties a cache, to be filled anew.
func (c *cache) reset(epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index, c.vectors, c.entries, c.version = index.New(), &index.Vectors{}, nil, version{epoch: epoch}
}

// extend adds files to a cache.
func (s *Service) extend(ctx context.Context, key storeKey, c *cache, found []entry, v version) error {
	for _, e := range found {
		segments, err := s.records(ctx, key, segmentsOf(key.id, e.Data))
		if err != nil {
			return err
		}
		var vectors [][]byte
		if e.Vectors {
			if vectors, err = s.records(ctx, key, vectorsOf(key.id, e.Data)); err != nil {
				return err
			}
		}
		if err := c.add(e, segments, vectors); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.version = v
	size := c.index.Size() + c.vectors.Size()
	c.mu.Unlock()
	s.account(key, c, size)
	return nil
}

// records reads the words or vectors of a file. They are not all there where it was
// deleted meanwhile.
func (s *Service) records(ctx context.Context, key storeKey, prefix []byte) (found [][]byte, err error) {
	err = s.o.Store.View(ctx, key.ns, func(tx storage.Tx) error {
		found = nil
		for e, err := range tx.Scan(storage.Prefix(prefix)) {
			if err != nil {
				return err
			}
			found = append(found, e.Value)
		}
		return nil
	})
	return found, err
}

// add adds a file. One whose words are not all there was deleted meanwhile.
func (c *cache) add(e entry, segments, vectors [][]byte) error {
	chunks := 0
	for _, segment := range segments {
		n, err := index.Chunks(segment)
		if err != nil {
			return err
		}
		chunks += n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.first = c.index.Len()
	if chunks != e.Chunks {
		e.Chunks, e.gone, segments, vectors = 0, true, nil, nil
	}
	for _, segment := range segments {
		if err := c.index.Add(segment); err != nil {
			return err
		}
	}
	left := e.Chunks
	for _, data := range vectors {
		n, err := c.vectors.Add(data)
		if left -= n; err != nil {
			return err
		}
	}
	c.vectors.Skip(max(left, 0))
	c.entries = append(c.entries, e)
	c.version.next = e.seq + 1 // what follows may fail
	return nil
}

// entryOf returns the file that a chunk is of.
func (c *cache) entryOf(chunk int) *entry {
	i := sort.Search(len(c.entries), func(i int) bool { return c.entries[i].first > chunk }) - 1
	for c.entries[i].Chunks == 0 {
		i-- // files without chunks begin where the next one does
	}
	return &c.entries[i]
}
