package conversations

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/seed-506d8e5d/svc/storage"
)

// The number of an item is its branch in the upper half and its order in the
// lower: the order is counted through the whole conversation, the branch is the
// order of the first item that was written to it. A conversation begins in
// branch 0. What is written behind an item that others have been written behind
// already opens a branch; so the items of a branch lie side by side, and a
// history has one range for each branch that it goes through, however turns on
// different branches alternate.
const branchShift = 32

// orderOf returns where an item comes among all of its conversation.
func orderOf(number uint64) uint64 { return number & (1<<branchShift - 1) }

// branchOf returns the number that the branch of an item begins at.
func branchOf(number uint64) uint64 { return number &^ (1<<branchShift - 1) }

// branchesOf returns where the branches of a conversation begin, each of which
// has an item. It costs a scan for each.
func branchesOf(tx storage.Tx, conversation string) ([]uint64, error) {
	h, err := readHead(tx, conversation)
	if err != nil || h.Branches == 0 {
		return []uint64{0}, err
	}
	var branches []uint64
	r := storage.Range{Start: itemKey(conversation, 0), End: storage.After(itemsOf(conversation))}
	for {
		number, found, err := firstOf(tx, r)
		if err != nil || !found {
			return branches, err
		}
		branches = append(branches, branchOf(number))
		r.Start = itemKey(conversation, branchOf(number)+1<<branchShift)
	}
}

// firstOf returns the number of the first item in a range of keys, if there is
// one.
func firstOf(tx storage.Tx, r storage.Range) (number uint64, found bool, err error) {
	r.KeysOnly = true
	for entry, err := range tx.Scan(r) {
		if err != nil {
			return 0, false, err
		}
		number, err = seqOf(entry.Key)
		return number, true, err
	}
	return 0, false, nil
}

// Range is a run of numbers in one branch: First is in it, End is not.
type Range struct{ First, End uint64 }

// MarshalJSON writes a range as a pair.
func (r Range) MarshalJSON() ([]byte, error) { return json.Marshal([2]uint64{r.First, r.End}) }

// UnmarshalJSON reads a pair.
func (r *Range) UnmarshalJSON(data []byte) error {
	var pair [2]uint64
	err := json.Unmarshal(data, &pair)
	r.First, r.End = pair[0], pair[1]
	return err
}

// Lineage is the history at some point of a conversation: the ranges of its
// items, in order.
type Lineage []Range

// With returns the lineage with ranges behind it, as one range where they
// touch. l is not changed.
func (l Lineage) With(ranges ...Range) Lineage {
	joined := slices.Clone(l)
	for _, r := range ranges {
		n := len(joined)
		switch {
		case r.First == r.End:
		case n > 0 && joined[n-1].End == r.First:
			joined[n-1].End = r.End
		default:
			joined = append(joined, r)
		}
	}
	return joined
}

// near returns how many ranges of a lineage, which has one, lie behind each other
// with few items between them: what was written beside the history before it went
// on. That is so where a turn was asked for again, whichever answer it goes on from.
func (l Lineage) near() int {
	n := 1
	for n < len(l) && l[n].First >= l[n-1].End && orderOf(l[n].First)-orderOf(l[n-1].End) <= maxBeside {
		n++
	}
	return n
}

// Without returns what is in l and not in other. l is not changed.
func (l Lineage) Without(other Lineage) Lineage {
	left := l
	for _, o := range other {
		var next Lineage
		for _, r := range left {
			next = next.With(Range{r.First, max(r.First, min(r.End, o.First))}, Range{min(r.End, max(r.First, o.End)), r.End})
		}
		left = next
	}
	return left
}

// branchHead is where a conversation goes on.
type branchHead struct {
	Next     uint64  `json:"next"`               // order of the next item
	Branches int     `json:"branches,omitempty"` // opened beside the first
	Turn     string  `json:"turn,omitempty"`     // ID of the response written last
	Lineage  Lineage `json:"lineage"`            // the history after that turn
	Added    Lineage `json:"added,omitempty"`    // the items that were added and are in no turn's history since
	At       int64   `json:"at,omitempty"`       // when something was written last, Unix seconds; 0 where an earlier version did
}

// history is what a turn that continues from the conversation continues from.
func (h *branchHead) history() Lineage { return h.Lineage.With(h.Added...) }

func readHead(tx storage.Tx, conversation string) (branchHead, error) {
	var h branchHead
	err := storage.GetJSON(tx, headKey(conversation), &h)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil // a new conversation
	}
	return h, err
}

// write numbers and stores entries that come behind a history. It returns their
// own range, and the run that they lengthen the history by: from its end where
// they are the first behind it.
func (h *branchHead) write(tx storage.Tx, conversation string, history Lineage, entries []Entry) (own, run Range, err error) {
	begin, next, err := h.onward(tx, conversation, history)
	own.First = next
	for i := range entries {
		if err != nil {
			return own, run, err
		}
		e := entries[i]
		e.Seq = next
		next++
		err = writeEntry(tx, conversation, e)
	}
	own.End = next
	h.Next += own.End - own.First
	return own, Range{begin, own.End}, err
}

// onward returns the number of the next item behind a history, and the first one
// that could have been in its place: where other items follow the history
// already the item opens a branch.
func (h *branchHead) onward(tx storage.Tx, conversation string, history Lineage) (begin, next uint64, err error) {
	end := uint64(0)
	if n := len(history); n > 0 {
		end = history[n-1].End
	}
	if orderOf(end) == h.Next {
		return end, end, nil
	}
	branch := branchOf(end)
	r := storage.Range{Start: itemKey(conversation, end), End: itemKey(conversation, branch+1<<branchShift)}
	_, taken, err := firstOf(tx, r)
	if err != nil || !taken {
		return end, branch | h.Next, err
	}
	h.Branches++
	next = h.Next<<branchShift | h.Next
	return next, next, nil
}

func writeEntry(tx storage.Tx, conversation string, e Entry) error {
	data, err := encodeEntry(e)
	if err != nil {
		return err
	}
	if err := tx.Set(itemKey(conversation, e.Seq), data); err != nil || !e.listed() {
		return err
	}
	return tx.Set(indexKey(e.Item.ItemID()), indexValue(conversation, e.Seq))
}
