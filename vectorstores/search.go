package vectorstores

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/vectorstores/internal/index"
)

// Query is what to search a store for.
type Query struct {
	Texts     []string // 1 to [MaxQueries]; a chunk counts for that which it fits best
	Limit     int      // results, 1 to [MaxResults]; 0 is [DefaultResults]
	Threshold float64  // of scores, 0 to 1
	Filter    *Filter  // nil: all files
}

// Result is a chunk that was found.
type Result struct {
	Store      string
	File       string
	Filename   string
	Attributes Attributes
	Score      float64 // 0 to 1
	Text       string
	Page       int      // from 1; 0 where the document has no pages
	Headings   []string // that the chunk stands under, the outermost first
}

// phraseCandidates is how many chunks are looked at for the phrases of a query.
const phraseCandidates = 200

func (q *Query) check() error {
	if len(q.Texts) == 0 || len(q.Texts) > MaxQueries {
		return fault.Invalidf("query", "query must be a string or an array of 1 to %d strings.", MaxQueries)
	}
	for _, text := range q.Texts {
		if strings.TrimSpace(text) == "" || len(text) > MaxQuery {
			return fault.Invalidf("query", "query must not be empty or longer than %d bytes.", MaxQuery)
		}
	}
	if q.Limit < 0 || q.Limit > MaxResults {
		return fault.Invalidf("max_num_results", "max_num_results must be between 1 and %d.", MaxResults)
	}
	if q.Limit == 0 {
		q.Limit = DefaultResults
	}
	if !(q.Threshold >= 0 && q.Threshold <= 1) {
		return fault.Invalidf("ranking_options.score_threshold", "score_threshold must be between 0 and 1.")
	}
	return nil
}

// Search returns the chunks of a store that fit a query best. A phrase between
// quotation marks must be in them, unless no chunk has it. The error is NotFound for a
// store that does not exist, and Invalid for one that has expired or a query that is
// out of bounds.
func (s *Service) Search(ctx context.Context, caller accounts.Caller, store string, q Query) ([]Result, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	key := storeKey{caller.Namespace(), store}
	var v version
	var active int64
	err := s.o.Store.View(ctx, key.ns, func(tx storage.Tx) error {
		r, err := s.live(tx, store)
		if err == nil {
			v = version{epoch: s.o.Store.Epoch(), next: r.Next, changed: r.Changed}
			active = r.Active
		}
		return err
	})
	if fault.Is(err, fault.NotFound) {
		s.forget(key)
	}
	if err != nil {
		return nil, err
	}
	c := s.cached(key)
	if err := s.sync(ctx, key, c, v); err != nil {
		return nil, err
	}
	if err := s.touch(ctx, key, c, active); err != nil {
		return nil, err
	}
	found, err := s.find(ctx, c, &q)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, key, found, &q)
}

// place is a chunk that a search has found, before it is read.
type place struct {
	*entry
	chunk int // of the file
	score float64
}

// find searches a cache for all texts of a query, and returns somewhat more places than
// are asked for, the best first.
func (s *Service) find(ctx context.Context, c *cache, q *Query) ([]place, error) {
	select {
	case s.searches <- struct{}{}:
		defer func() { <-s.searches }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a := s.analyzer()
	defer s.analyzers.Put(a)
	limit := q.Limit + 10 // some may have been deleted meanwhile
	if len(q.phrases()) > 0 {
		limit = phraseCandidates
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	accept := c.accept(q.Filter)
	best := map[int]float32{}
	for _, text := range q.Texts {
		for _, hit := range c.index.Search(c.index.Query(a, text), limit, accept) {
			best[hit.Chunk] = max(best[hit.Chunk], hit.Score)
		}
	}
	var found []place
	for chunk, score := range best {
		if float64(score) < q.Threshold {
			continue
		}
		e := *c.entryOf(chunk)
		found = append(found, place{&e, chunk - e.first, float64(score)})
	}
	slices.SortFunc(found, func(x, y place) int {
		switch {
		case x.score > y.score, x.score == y.score && (x.seq < y.seq || x.seq == y.seq && x.chunk < y.chunk):
			return -1
		}
		return 1
	})
	return found[:min(len(found), limit)], nil
}

// phrases are those of all texts of the query.
func (q *Query) phrases() (all []string) {
	for _, text := range q.Texts {
		all = append(all, index.Phrases(text)...)
	}
	return all
}

// accept returns which chunks are of files that a filter accepts, nil for all.
func (c *cache) accept(f *Filter) func(chunk int) bool {
	if f == nil {
		return nil
	}
	accepted := map[*entry]bool{}
	for i := range c.entries {
		if e := &c.entries[i]; !e.gone {
			accepted[e] = f.Accepts(e.Attributes)
		}
	}
	return func(chunk int) bool { return accepted[c.entryOf(chunk)] }
}

// read reads the chunks that were found, as many as are asked for.
func (s *Service) read(ctx context.Context, key storeKey, found []place, q *Query) (results []Result, err error) {
	phrases := q.phrases()
	err = s.o.Store.View(ctx, key.ns, func(tx storage.Tx) error {
		results = nil
		var others []Result
		blocks := make([][]byte, len(found))
		for i, p := range found {
			blocks[i] = blockKey(key.id, p.Data, p.chunk/perBlock)
		}
		storage.Prefetch(tx, blocks[:min(len(blocks), q.Limit)]...)
		for i, p := range found {
			var block blockRecord
			err := storage.GetJSON(tx, blocks[i], &block)
			if errors.Is(err, storage.ErrNotFound) || err == nil && p.chunk%perBlock >= len(block.Chunks) {
				continue // deleted since
			}
			if err != nil {
				return err
			}
			text := block.Chunks[p.chunk%perBlock]
			result := Result{key.id, p.File, p.Name, p.Attributes, p.score, text.Text, text.Page, text.Headings}
			if has(text.Text, phrases) {
				results = append(results, result)
			} else if len(others) < q.Limit {
				others = append(others, result)
			}
			if len(results) == q.Limit {
				break
			}
		}
		if len(results) == 0 {
			results = others
		}
		return nil
	})
	return results, err
}

// has reports whether a text has all phrases.
func has(text string, phrases []string) bool {
	if len(phrases) == 0 {
		return true
	}
	text = index.Normalize(text)
	return !slices.ContainsFunc(phrases, func(p string) bool { return !strings.Contains(text, p) })
}

// touchEvery is how often a search notes that a store is in use, in seconds.
const touchEvery = 60

// touch notes now and then that a store is in use, which puts off that it expires.
func (s *Service) touch(ctx context.Context, key storeKey, c *cache, active int64) error {
	now := s.o.Now().Unix()
	s.mu.Lock()
	due := now-max(active, c.touched) >= touchEvery
	if due {
		c.touched = now
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	return s.o.Store.Update(ctx, key.ns, func(tx storage.Tx) error {
		r, err := s.live(tx, key.id)
		if err != nil {
			return err
		}
		r.Active = now
		return r.set(tx, key.id)
	})
}
