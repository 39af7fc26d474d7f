package model

import (
	"sync"
	"sync/atomic"
)

// Memo keeps what is worked out once for several requests. It may be used
// concurrently, what is kept there as far as it allows it; the zero value is empty.
type Memo struct {
	values sync.Map
	held   atomic.Int64
}

// Once returns what is kept under a key, which is made where there is nothing. Of
// two that are made at once one is kept. A nil Memo always makes it.
func (m *Memo) Once(key any, make func() any) any {
	if m == nil {
		return make()
	}
	if v, ok := m.values.Load(key); ok {
		return v
	}
	v, _ := m.values.LoadOrStore(key, make())
	return v
}

// Hold says that what is kept takes so many bytes more than it did, or fewer.
func (m *Memo) Hold(more int) {
	if m != nil {
		m.held.Add(int64(more))
	}
}

// Held returns how many bytes what is kept takes, as far as backends have said it.
func (m *Memo) Held() int { return int(m.held.Load()) }

// Sum adds up a number over a prompt: of returns it for a request that has some of
// the messages, the last of which come with the tools and the format, and whether
// it is the number, or just as much of it as matters. The messages that requests
// with the same [Memo] have in common are asked about once for each key.
func (r *Request) Sum(key any, of func(part *Request) (n int, whole bool)) int {
	if r.Memo == nil {
		n, _ := of(r)
		return n
	}
	first := r.Memo.Once(key, func() any { return new(sum) }).(*sum)
	if first.messages > r.Same {
		*first = sum{}
	}
	if first.messages < r.Same {
		n, whole := of(&Request{Model: r.Model, Messages: r.Messages[first.messages:r.Same]})
		if !whole {
			return first.value + n
		}
		*first = sum{r.Same, first.value + n}
	}
	rest := *r
	rest.Memo, rest.Messages = nil, r.Messages[r.Same:]
	n, _ := of(&rest)
	return first.value + n
}

// sum is the number for the first messages.
type sum struct{ messages, value int }
