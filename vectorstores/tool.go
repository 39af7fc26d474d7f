package vectorstores

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/responses/filesearch"
	"github.com/seed-506d8e5d/svc/storage"
)

var _ filesearch.Searcher = (*Service)(nil)

// toolQuery returns the query of a tool.
func toolQuery(q *filesearch.Query) (Query, error) {
	filter, err := ParseFilter(q.Filters, "filters")
	return Query{Texts: q.Texts, Limit: q.Limit, Threshold: q.Threshold, Filter: filter, TextWeight: q.TextWeight, EmbeddingWeight: q.EmbeddingWeight}, err
}

// CheckSearch implements [filesearch.Searcher].
func (s *Service) CheckSearch(ctx context.Context, caller accounts.Caller, q filesearch.Query) error {
	q.Texts = []string{"any"}
	checked, err := toolQuery(&q)
	if err = errors.Join(err, checked.check()); err != nil {
		return err
	}
	return s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		for _, id := range q.Stores {
			if _, err := s.live(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// SearchFiles implements [filesearch.Searcher].
func (s *Service) SearchFiles(ctx context.Context, caller accounts.Caller, q filesearch.Query) ([]filesearch.Passage, error) {
	query, err := toolQuery(&q)
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, store := range q.Stores {
		found, err := s.Search(ctx, caller, store, query)
		if err != nil {
			return nil, err
		}
		all = append(all, found.Items...)
	}
	slices.SortStableFunc(all, func(x, y Result) int { return cmp.Compare(y.Score, x.Score) })
	passages := make([]filesearch.Passage, 0, q.Limit)
	for _, r := range all[:min(len(all), q.Limit)] {
		passages = append(passages, filesearch.Passage{
			File: r.File, Filename: r.Filename, Score: r.Score, Text: r.Text, Attributes: r.Attributes, Page: r.Page, Headings: r.Headings,
		})
	}
	return passages, nil
}
