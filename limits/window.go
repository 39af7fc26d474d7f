package limits

import "time"

const (
	// A window has a slot for each second of a minute, and one for the second that
	// has begun: in no minute is more let through than the limit.
	windowSlots = 61

	// collectedAfter is how many seconds pass at most until all processes have
	// collected what one has let through.
	collectedAfter = 2

	// maxDebt is how many minutes of its token limit a subject can owe.
	maxDebt = 60
)

// window counts what was used of a limit in the last minute, by any process. The
// zero value has counted nothing. It is not safe for concurrent use.
type window struct {
	limit int64
	used  [windowSlots]int64 // by second
	at    int64              // the second of the newest slot
	sum   int64              // of all slots
	debt  int64              // what was used over the limit: it takes up the minutes to come

	own   [collectedAfter + 1]int64 // what this process used in the last seconds, which others may not know of
	total int64                     // what this process has used since it began
}

// advance brings the window to a second.
func (w *window) advance(now int64) {
	gone := now - w.at
	if gone <= 0 {
		return
	}
	if w.debt > 0 && gone >= windowSlots { // each minute took up what it could
		w.debt = max(0, w.debt-(gone/windowSlots-1)*w.limit)
	}
	for n := range min(gone, windowSlots) {
		slot := &w.used[(w.at+1+n)%windowSlots]
		w.sum -= *slot
		*slot = 0
	}
	for n := range min(gone, int64(len(w.own))) {
		w.own[(w.at+1+n)%int64(len(w.own))] = 0
	}
	w.at = now
	w.repay()
}

// repay takes up what is free for what is owed.
func (w *window) repay() {
	if part := min(w.debt, w.limit-w.sum); part > 0 {
		w.debt -= part
		w.sum += part
		w.used[w.at%windowSlots] += part
	}
}

// add counts what was used.
func (w *window) add(n int64) {
	if n <= 0 {
		return
	}
	w.debt = min(w.debt+n, max(w.limit, 1)*maxDebt)
	if w.limit == 0 {
		w.debt = 0 // nobody has asked for it yet: the limit is not known
		w.sum += n
		w.used[w.at%windowSlots] += n
		return
	}
	w.repay()
}

// use counts what this process used.
func (w *window) use(n int64) {
	w.add(n)
	w.total += n
	w.own[w.at%int64(len(w.own))] += n
}

// left returns how much may be used.
func (w *window) left() int64 { return max(0, w.limit-w.sum) }

// mayUse says whether this process may let something through. One of several may,
// while the others may not know of it, use its part of what is left, and a little
// in any case: as much as all of them together may use over the limit, a tenth.
func (w *window) mayUse(processes int) bool {
	left := w.left()
	if left < 1 || processes == 1 {
		return left >= 1
	}
	var own int64
	for _, n := range w.own {
		own += n
	}
	n := int64(processes)
	return own < max(1, (left+own)/n, w.limit/(10*(n-1)))
}

// until returns when n more may be used, if nothing is used meanwhile.
func (w *window) until(n int64, now time.Time) time.Duration {
	n = min(n, w.limit)
	free := w.left()
	if free >= n {
		return 0
	}
	for age := int64(windowSlots - 1); age >= 0; age-- { // the oldest first
		second := w.at - age
		free += w.used[((second%windowSlots)+windowSlots)%windowSlots]
		if free-w.debt >= n {
			return time.Unix(second+windowSlots, 0).Sub(now)
		}
	}
	minutes := (w.debt + n + w.limit - 1) / w.limit
	return time.Unix(w.at+minutes*windowSlots, 0).Sub(now)
}

// quota is what is left, the zero value where there is no limit.
func (w *window) quota(limit int, now time.Time) Quota {
	if limit == 0 {
		return Quota{}
	}
	return Quota{Limit: limit, Remaining: int(w.left()), Reset: w.until(w.limit, now).Truncate(time.Millisecond)}
}
