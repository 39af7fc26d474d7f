package pgstore

import (
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// How many entries are asked for at once. Where nobody knows how many will be
// wanted the first question is a small one, and later ones are as large as
// entries of that size allow.
const (
	firstPage = 32
	firstKeys = 256     // where only keys are read
	pageBytes = 1 << 20 // of a later page, about
	maxPage   = 2000
)

// pages walks over a range, one statement for each page.
type pages struct {
	read func(r storage.Range, limit int) ([]storage.Entry, error)
	r    storage.Range // what is left; its Limit, too, where it has one
	page []storage.Entry
	at   int // the next of the page, the one before it being the present one
	next int // entries to ask for
	done bool
}

var _ txn.Iterator = (*pages)(nil)

// Next implements txn.Iterator.
func (p *pages) Next() (bool, error) {
	if p.at < len(p.page) {
		p.at++
		return true, nil
	}
	if p.done {
		return false, nil
	}
	if err := p.fetch(); err != nil {
		p.done = true
		return false, err
	}
	return p.Next()
}

// fetch reads the next page and narrows the range to what comes after it.
func (p *pages) fetch() error {
	n := p.size()
	entries, err := p.read(p.r, n)
	if err != nil {
		return err
	}
	p.page, p.at = entries, 0
	if len(entries) < n {
		p.done = true
		return nil
	}
	last := entries[len(entries)-1].Key
	if p.r.Reverse {
		p.r.End = last
	} else {
		p.r.Start = append(append(make([]byte, 0, len(last)+1), last...), 0)
	}
	if p.r.Limit > 0 {
		p.r.Limit -= n
		p.done = p.r.Limit == 0
	}
	size := 0
	for _, e := range entries {
		size += len(e.Key) + len(e.Value)
	}
	p.next = pageBytes * n / max(size, 1)
	return nil
}

// size returns how many entries to ask for.
func (p *pages) size() int {
	n := p.next
	switch {
	case n > 0:
	case p.r.Limit > 0:
		n = p.r.Limit
	case p.r.KeysOnly:
		n = firstKeys
	default:
		n = firstPage
	}
	n = max(1, min(n, maxPage))
	if p.r.Limit > 0 {
		n = min(n, p.r.Limit)
	}
	return n
}

// Key implements txn.Iterator.
func (p *pages) Key() []byte { return p.page[p.at-1].Key }

// Value implements txn.Iterator. It is called once for an entry.
func (p *pages) Value() ([]byte, error) { return p.page[p.at-1].Value, nil }

// Close implements txn.Iterator. What was read is for the database to know.
func (p *pages) Close(txn.Span) {}
