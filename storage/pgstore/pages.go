package pgstore

import (
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// The number of entries that a page has. Without a limit the first page is small, and
// later pages have as many entries as fit pageBytes at the size seen so far.
const (
	firstPage = 32
	firstKeys = 256 // if only keys are read
	pageBytes = 1 << 20
	maxPage   = 2000
)

// nextPage returns the size of the page behind one with n entries of some bytes.
func nextPage(n, bytes int) int { return max(1, min(pageBytes*n/max(bytes, 1), maxPage)) }

// pages iterates over a range with one statement for each page.
type pages struct {
	read func(r storage.Range, limit int) ([]storage.Entry, error)
	r    storage.Range // the part of the range, and of its limit, that was not read yet
	page []storage.Entry
	at   int // index behind the current entry
	next int // size of the next page; 0 for the first
	done bool
}

var _ txn.Iterator = (*pages)(nil)

// Next implements txn.Iterator.
func (p *pages) Next() (bool, error) {
	if p.at == len(p.page) {
		if p.done {
			return false, nil
		}
		if err := p.fetch(); err != nil || len(p.page) == 0 {
			p.done = true
			return false, err
		}
	}
	p.at++
	return true, nil
}

// fetch reads the next page and removes it from the range.
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
	p.next = nextPage(n, size)
	return nil
}

// size returns how many entries to read.
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
	n = min(n, maxPage)
	if p.r.Limit > 0 {
		n = min(n, p.r.Limit)
	}
	return n
}

// Key implements txn.Iterator.
func (p *pages) Key() []byte { return p.page[p.at-1].Key }

// Value implements txn.Iterator. It is called once for each entry.
func (p *pages) Value() ([]byte, error) { return p.page[p.at-1].Value, nil }

// Close implements txn.Iterator.
func (p *pages) Close() {}
