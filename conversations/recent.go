package conversations

import (
	linked "container/list"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
)

// The bounds of what is kept decoded, in bytes: of all organizations, and of one.
const (
	recentBytes     = 32 << 20
	recentOfOne     = recentBytes / 2
	recentEntrySize = 300 // what an entry takes beside its texts
)

// recent keeps histories that were read lately, so that the next turn decodes
// only what is new: one of each conversation. What is kept is what the store said
// at one version of the conversation, which the reader compares with the one that
// it finds; items are only ever added and removed, and each removal makes a new
// version, whoever makes it. Of a store of another age, which may have lost what was
// written last, nothing is known. It may be used concurrently.
type recent struct {
	mu    sync.Mutex
	of    map[storage.Namespace]*shelf // guarded by mu, and all that it leads to
	order linked.List                  // of *known, the one used last first
	bytes int
}

// shelf is what is kept of one organization.
type shelf struct {
	of    map[string]*known // by conversation
	order linked.List       // of *known, the one used last first
	bytes int
}

// Kept is what the reader of a history has made of its first entries, for the next
// one who reads a history that begins with them. It is given to one reader, whose
// it is from then on.
type Kept struct {
	Made    any
	Entries int // of how many it is
	Bytes   int // about what it takes
}

// known is a history at a version of its conversation.
type known struct {
	ns           storage.Namespace
	conversation string
	removed      uint64
	age          uint64 // of the store
	lineage      Lineage
	entries      []Entry
	lent         bool // somebody appends to entries in place
	kept         Kept
	bytes        int

	inAll, inShelf *linked.Element
}

// begin returns as much of a history's beginning as is known, what remains to be
// read, and what is kept of the beginning. The caller may append to the entries.
func (r *recent) begin(ns storage.Namespace, c Conversation, l Lineage, age uint64) (entries []Entry, rest Lineage, kept Kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var k *known
	if s := r.of[ns]; s != nil {
		k = s.of[c.ID]
	}
	if k == nil || k.removed != c.removed || k.age != age {
		return nil, l, Kept{}
	}
	n, rest := k.common(l)
	if k.kept.Entries <= n {
		kept = k.kept
		r.hold(k, Kept{})
	}
	if n < len(k.entries) || k.lent {
		return k.entries[:n:n], rest, kept
	}
	k.lent = true
	return k.entries, rest, kept
}

// hold keeps something with a history that is on its shelf. It is called with the
// lock held.
func (r *recent) hold(k *known, kept Kept) {
	more := kept.Bytes - k.kept.Bytes
	k.kept = kept
	k.bytes, r.bytes, r.of[k.ns].bytes = k.bytes+more, r.bytes+more, r.of[k.ns].bytes+more
}

// Keep keeps what was made of the entries of a point, as long as the history is
// known that the point has been read with.
func (s *Service) Keep(p *Point, kept Kept) { s.recent.keepMade(p.known, kept) }

func (r *recent) keepMade(k *known, kept Kept) {
	if k == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.of[k.ns]
	if s == nil || s.of[k.conversation] != k {
		return
	}
	if k.bytes-k.kept.Bytes+kept.Bytes > recentOfOne {
		kept = Kept{}
	}
	r.hold(k, kept)
	r.bound(s)
}

// common returns how many of the entries a history begins with, and the rest of
// it.
func (k *known) common(l Lineage) (n int, rest Lineage) {
	for i, want := range l {
		if i == len(k.lineage) || k.lineage[i].First != want.First {
			return n, l[i:]
		}
		end := min(k.lineage[i].End, want.End)
		for n < len(k.entries) && k.entries[n].Seq >= want.First && k.entries[n].Seq < end {
			n++
		}
		if k.lineage[i] != want {
			return n, Lineage{}.With(Range{end, want.End}).With(l[i+1:]...)
		}
	}
	return n, nil
}

// keep keeps a history that was read at a version of its conversation and an age of
// the store, in the place of the one that is known. It returns nil where it does not.
func (r *recent) keep(ns storage.Namespace, c Conversation, l Lineage, entries []Entry, age uint64) *known {
	k := &known{ns: ns, conversation: c.ID, removed: c.removed, age: age, lineage: l, entries: entries}
	for i := range entries {
		k.bytes += entries[i].size + recentEntrySize
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.of[ns]
	if s == nil {
		s = &shelf{of: map[string]*known{}}
	}
	if before := s.of[c.ID]; before != nil {
		r.drop(s, before)
	}
	if k.bytes == 0 || k.bytes > recentOfOne {
		return nil
	}
	if r.of == nil {
		r.of = map[storage.Namespace]*shelf{}
	}
	r.of[ns] = s
	s.of[c.ID] = k
	k.inAll, k.inShelf = r.order.PushFront(k), s.order.PushFront(k)
	r.bytes, s.bytes = r.bytes+k.bytes, s.bytes+k.bytes
	r.bound(s)
	return k
}

// bound drops what was used last where there is more than there may be, of an
// organization or of all. It is called with the lock held.
func (r *recent) bound(s *shelf) {
	for s.bytes > recentOfOne {
		r.drop(s, s.order.Back().Value.(*known))
	}
	for r.bytes > recentBytes {
		oldest := r.order.Back().Value.(*known)
		r.drop(r.of[oldest.ns], oldest)
	}
}

// drop forgets a history. It is called with the lock held.
func (r *recent) drop(s *shelf, k *known) {
	r.order.Remove(k.inAll)
	s.order.Remove(k.inShelf)
	r.bytes, s.bytes = r.bytes-k.bytes, s.bytes-k.bytes
	if delete(s.of, k.conversation); len(s.of) == 0 {
		delete(r.of, k.ns)
	}
}

// forget drops what is known of a conversation that is deleted.
func (r *recent) forget(ns storage.Namespace, conversation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.of[ns]; s != nil && s.of[conversation] != nil {
		r.drop(s, s.of[conversation])
	}
}
