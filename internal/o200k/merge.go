package o200k

import (
	"container/heap"
	"math"
)

// part is a piece of a piece: at first a byte, later a token.
type part struct {
	end        int // where it ends; 0 once it was merged into the one before it
	prev, next int // the parts before and behind it, by where they begin
	rank       int32
}

// pair is a part and the one behind it, which make a token.
type pair struct {
	rank int32
	at   int // where the first part begins
}

// pairs is a heap, the lowest rank first and of those the first in the text.
type pairs []pair

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	return p[i].rank < p[j].rank || p[i].rank == p[j].rank && p[i].at < p[j].at
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// shortPiece is the length in bytes up to which looking at all pairs for each merge is
// faster than a heap of them.
const shortPiece = 64

// merge returns how many tokens a piece has that is none itself.
func merge(v map[string]int32, text string) int {
	if len(text) <= shortPiece {
		return mergeShort(v, text)
	}
	return mergeLong(v, text)
}

// mergeLong is merge with a heap.
func mergeLong(v map[string]int32, text string) int {
	parts := make([]part, len(text))
	for i := range parts {
		parts[i] = part{end: i + 1, prev: i - 1, next: i + 1}
	}
	var queue pairs
	// look notes what the part at i and the one behind it make.
	look := func(i int) {
		p := &parts[i]
		p.rank = math.MaxInt32
		if p.next >= len(text) {
			return
		}
		if rank, ok := v[text[i:parts[p.next].end]]; ok {
			p.rank = rank
			heap.Push(&queue, pair{rank, i})
		}
	}
	for i := range parts {
		look(i)
	}
	count := len(text)
	for len(queue) > 0 {
		best := heap.Pop(&queue).(pair)
		p := &parts[best.at]
		if p.end == 0 || p.rank != best.rank {
			continue // it was merged with another since
		}
		behind := &parts[p.next]
		p.end, p.next, behind.end = behind.end, behind.next, 0
		if p.next < len(text) {
			parts[p.next].prev = best.at
		}
		count--
		look(best.at)
		if p.prev >= 0 {
			look(p.prev)
		}
	}
	return count
}

// mergeShort is merge for a piece of at most shortPiece bytes.
func mergeShort(v map[string]int32, text string) int {
	var begins [shortPiece + 1]int // of the parts, and where the last one ends
	var ranks [shortPiece]int32    // of each part and the one behind it
	n := len(text)
	look := func(i int) {
		ranks[i] = math.MaxInt32
		if i+2 <= n {
			if rank, ok := v[text[begins[i]:begins[i+2]]]; ok {
				ranks[i] = rank
			}
		}
	}
	for i := range n + 1 {
		begins[i] = i
	}
	for i := range n {
		look(i)
	}
	for {
		best := 0
		for i := range n {
			if ranks[i] < ranks[best] {
				best = i
			}
		}
		if ranks[best] == math.MaxInt32 {
			return n
		}
		copy(begins[best+1:n], begins[best+2:n+1])
		copy(ranks[best+1:n-1], ranks[best+2:n])
		n--
		look(best)
		if best > 0 {
			look(best - 1)
		}
	}
}
