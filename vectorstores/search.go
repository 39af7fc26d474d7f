package vectorstores

import (
	"context"
	"errors"
	"math"
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

	// How much the place of a chunk counts among the results by words and by vectors,
	// where the store has those. Both 0: the default.
	TextWeight, EmbeddingWeight float64
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
	if !(q.TextWeight >= 0 && q.EmbeddingWeight >= 0) || math.IsInf(q.TextWeight+q.EmbeddingWeight, 0) {
		return fault.Invalidf("ranking_options.hybrid_search", "The weights of hybrid_search must be at least 0.")
	}
	if q.TextWeight+q.EmbeddingWeight == 0 {
		q.TextWeight, q.EmbeddingWeight = defaultTextWeight, defaultEmbeddingWeight
	}
	return nil
}

// The rankers of [Results].
const (
	Words  = "words"  // BM25; a score is the share of what the words of the query are worth
	Hybrid = "hybrid" // words and vectors; a score is the share of what the first place in both is worth
)

// Results are what a search has found.
type Results struct {
	Ranker string
	Items  []Result // the best first
}

const (
	// fusionDepth is how many results by words and by vectors are fused, fusionBase the
	// constant of reciprocal rank fusion.
	fusionDepth = 100
	fusionBase  = 60

	defaultTextWeight, defaultEmbeddingWeight = 2, 1
)

// Search returns the chunks of a store that fit a query best. A phrase between
// quotation marks must be in them, unless no chunk has it. The error is NotFound for a
// store that does not exist, and Invalid for one that has expired or a query that is
// out of bounds.
func (s *Service) Search(ctx context.Context, caller accounts.Caller, store string, q Query) (Results, error) {
	if err := q.check(); err != nil {
		return Results{}, err
	}
	key := storeKey{caller.Namespace(), store}
	var v version
	var r *storeRecord
	err := s.o.Store.View(ctx, key.ns, func(tx storage.Tx) error {
		var err error
		if r, err = s.live(tx, store); err == nil {
			v = version{epoch: s.o.Store.Epoch(), next: r.Next, changed: r.Changed}
		}
		return err
	})
	if fault.Is(err, fault.NotFound) {
		s.forget(key)
	}
	if err != nil {
		return Results{}, err
	}
	c := s.cached(key)
	if err := s.sync(ctx, key, c, v); err != nil {
		return Results{}, err
	}
	if err := s.touch(ctx, key, c, r.Active); err != nil {
		return Results{}, err
	}
	results := Results{Ranker: Words}
	vectors, err := s.embedQuery(ctx, caller, r.Model, r.Dimensions, q.Texts)
	if err != nil {
		return Results{}, err
	}
	if vectors != nil {
		results.Ranker = Hybrid
	}
	found, err := s.find(ctx, c, &q, vectors)
	if err != nil {
		return Results{}, err
	}
	results.Items, err = s.read(ctx, key, found, &q)
	return results, err
}

// place is a chunk that a search has found, before it is read.
type place struct {
	*entry
	chunk int // of the file
	score float64
}

// find searches a cache for all texts of a query, and returns somewhat more places than
// are asked for, the best first. vectors are those of the texts, or nil.
func (s *Service) find(ctx context.Context, c *cache, q *Query, vectors [][]float32) ([]place, error) {
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
	for i, text := range q.Texts {
		words := c.index.Query(a, text)
		if vectors == nil {
			for _, hit := range c.index.Search(words, limit, accept) {
				best[hit.Chunk] = max(best[hit.Chunk], hit.Score)
			}
			continue
		}
		depth := max(fusionDepth, limit)
		for chunk, score := range q.fuse(c.index.Search(words, depth, accept), c.vectors.Search(vectors[i], depth, c.alive(accept))) {
			best[chunk] = max(best[chunk], score)
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

// alive returns which chunks are there and accepted.
func (c *cache) alive(accept func(chunk int) bool) func(chunk int) bool {
	return func(chunk int) bool { return !c.entryOf(chunk).gone && (accept == nil || accept(chunk)) }
}

// fuse returns the scores of chunks by reciprocal rank fusion of the results by words and
// by vectors: 1 is the first place in both. What a place is worth is multiplied by how
// near the score comes to that of the first: where the words fit one chunk far better than
// any other, as the number of a part does, a crowd of similar vectors does not outvote them.
func (q *Query) fuse(words, vectors []index.Hit) map[int]float32 {
	scores := map[int]float32{}
	unit := float32(fusionBase+1) / float32(q.TextWeight+q.EmbeddingWeight)
	for i, hit := range words {
		scores[hit.Chunk] += unit * float32(q.TextWeight) * hit.Score / words[0].Score / float32(fusionBase+1+i)
	}
	for i, hit := range vectors {
		least, share := vectors[len(vectors)-1].Score, float32(1)
		if vectors[0].Score > least {
			share = (hit.Score - least) / (vectors[0].Score - least)
		}
		scores[hit.Chunk] += unit * float32(q.EmbeddingWeight) * share / float32(fusionBase+1+i)
	}
	for chunk, score := range scores {
		scores[chunk] = min(score, 1)
	}
	return scores
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
