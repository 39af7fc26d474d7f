package conversations

import (
	linked "container/list"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
)

// The bounds of the history cache in bytes, for all organizations and for one.
const (
	historyCacheBytes     = 32 << 20
	historyCacheOfOne     = historyCacheBytes / 2
	historyCacheEntrySize = 300 // what an entry takes beside its texts
)

// historyCache caches the decoded history of recently read conversations, one per
// conversation, so that the next turn decodes only what is new. A cached history is
// valid while the version of its conversation matches: items are only ever added and
// removed, and each removal changes the version. Histories from before a failover of
// the store (another epoch) are discarded. Safe for concurrent use.
//
// It halves the CPU time of a whole request behind 200 turns, as does the transcript
// that package responses keeps in it: see BenchmarkChainedTurn in package httpapi.
type historyCache struct {
	mu       sync.Mutex // guards everything below, and what it leads to
	byTenant map[storage.Namespace]*tenantHistories
	order    linked.List // of *cachedHistory, most recently used first
	bytes    int
}

// tenantHistories are the cached histories of one organization.
type tenantHistories struct {
	byConversation map[string]*cachedHistory
	order          linked.List // of *cachedHistory, most recently used first
	bytes          int
}

// Derived is what the reader of a history has computed from its first entries, for
// the next reader of a history that begins with them. The next reader takes
// ownership; later readers get nothing.
type Derived struct {
	Value   any
	Entries int // how many entries it was computed from
	Bytes   int // about what it takes
}

// cachedHistory is the history at one version of its conversation.
type cachedHistory struct {
	ns           storage.Namespace
	conversation string
	version      uint64 // of the conversation: how often items were removed
	epoch        uint64 // of the store
	lineage      Lineage
	entries      []Entry
	extended     bool // a reader appends to entries in place
	derived      Derived
	bytes        int

	inAll, inTenant *linked.Element
}

// lookup returns the cached beginning of a history, the rest of its lineage, and
// what was derived from the beginning. The caller may append to the entries.
func (h *historyCache) lookup(ns storage.Namespace, c Conversation, l Lineage, epoch uint64) (entries []Entry, rest Lineage, derived Derived) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var cached *cachedHistory
	if tenant := h.byTenant[ns]; tenant != nil {
		cached = tenant.byConversation[c.ID]
	}
	if cached == nil || cached.version != c.removed || cached.epoch != epoch {
		return nil, l, Derived{}
	}
	n, rest := cached.common(l)
	if cached.derived.Entries <= n {
		derived = cached.derived
		h.replaceDerived(cached, Derived{})
	}
	if n < len(cached.entries) || cached.extended {
		return cached.entries[:n:n], rest, derived
	}
	cached.extended = true
	return cached.entries, rest, derived
}

// replaceDerived is called with the lock held.
func (h *historyCache) replaceDerived(cached *cachedHistory, derived Derived) {
	more := derived.Bytes - cached.derived.Bytes
	cached.derived = derived
	cached.bytes += more
	h.bytes += more
	h.byTenant[cached.ns].bytes += more
}

// CacheDerived caches what was derived from the entries of a parent, for as long as
// its history is cached.
func (s *Service) CacheDerived(p *Parent, derived Derived) { s.histories.setDerived(p.cached, derived) }

func (h *historyCache) setDerived(cached *cachedHistory, derived Derived) {
	if cached == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	tenant := h.byTenant[cached.ns]
	if tenant == nil || tenant.byConversation[cached.conversation] != cached {
		return
	}
	if cached.bytes-cached.derived.Bytes+derived.Bytes > historyCacheOfOne {
		derived = Derived{}
	}
	h.replaceDerived(cached, derived)
	h.evict(tenant)
}

// common returns how many of the cached entries a history begins with, and the rest
// of its lineage.
func (cached *cachedHistory) common(l Lineage) (n int, rest Lineage) {
	for i, want := range l {
		if i == len(cached.lineage) || cached.lineage[i].First != want.First {
			return n, l[i:]
		}
		end := min(cached.lineage[i].End, want.End)
		for n < len(cached.entries) && cached.entries[n].Seq >= want.First && cached.entries[n].Seq < end {
			n++
		}
		if cached.lineage[i] != want {
			return n, Lineage{}.With(Range{end, want.End}).With(l[i+1:]...)
		}
	}
	return n, nil
}

// add caches a history, read at a version of its conversation and an epoch of the
// store, in place of the cached one. It returns nil where the history is too large.
func (h *historyCache) add(ns storage.Namespace, c Conversation, l Lineage, entries []Entry, epoch uint64) *cachedHistory {
	cached := &cachedHistory{ns: ns, conversation: c.ID, version: c.removed, epoch: epoch, lineage: l, entries: entries}
	for i := range entries {
		cached.bytes += entries[i].size + historyCacheEntrySize
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	tenant := h.byTenant[ns]
	if tenant == nil {
		tenant = &tenantHistories{byConversation: map[string]*cachedHistory{}}
	}
	if before := tenant.byConversation[c.ID]; before != nil {
		h.remove(tenant, before)
	}
	if cached.bytes == 0 || cached.bytes > historyCacheOfOne {
		return nil
	}
	if h.byTenant == nil {
		h.byTenant = map[storage.Namespace]*tenantHistories{}
	}
	h.byTenant[ns] = tenant
	tenant.byConversation[c.ID] = cached
	cached.inAll, cached.inTenant = h.order.PushFront(cached), tenant.order.PushFront(cached)
	h.bytes, tenant.bytes = h.bytes+cached.bytes, tenant.bytes+cached.bytes
	h.evict(tenant)
	return cached
}

// evict removes the least recently used histories while the organization, or all
// together, are over their bound. It is called with the lock held.
func (h *historyCache) evict(tenant *tenantHistories) {
	for tenant.bytes > historyCacheOfOne {
		h.remove(tenant, tenant.order.Back().Value.(*cachedHistory))
	}
	for h.bytes > historyCacheBytes {
		oldest := h.order.Back().Value.(*cachedHistory)
		h.remove(h.byTenant[oldest.ns], oldest)
	}
}

// remove is called with the lock held.
func (h *historyCache) remove(tenant *tenantHistories, cached *cachedHistory) {
	h.order.Remove(cached.inAll)
	tenant.order.Remove(cached.inTenant)
	h.bytes, tenant.bytes = h.bytes-cached.bytes, tenant.bytes-cached.bytes
	if delete(tenant.byConversation, cached.conversation); len(tenant.byConversation) == 0 {
		delete(h.byTenant, cached.ns)
	}
}

// forget removes the history of a conversation that was deleted.
func (h *historyCache) forget(ns storage.Namespace, conversation string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if tenant := h.byTenant[ns]; tenant != nil && tenant.byConversation[conversation] != nil {
		h.remove(tenant, tenant.byConversation[conversation])
	}
}
