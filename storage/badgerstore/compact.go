package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	badgertable "github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

const (
	// newTables is how many tables of level 0 are compacted at once.
	newTables = 4

	// levelSize is how many bytes level 1 has before a table of it is moved down. Each
	// level below has levelGrowth times as many.
	levelSize   = 16 << 20
	levelGrowth = 10

	// tableSize is how large the tables of level 1 are, about. They grow by a factor of
	// two with each level up to maxTableSize.
	tableSize    = 2 << 20
	maxTableSize = 16 << 20

	// manyTombstones is how many tombstones make a table worth compacting on their
	// account, if they are a quarter of its entries: whoever reads a range in which they
	// are walks over each of them.
	manyTombstones = 500

	// tombstoneShare is the part of the time, one in so many, that compactions on account
	// of tombstones take at most.
	tombstoneShare = 10

	compactInterval = 30 * time.Second
)

// compaction merges tables of one level with those of the next that they overlap.
type compaction struct {
	from, to int // levels
	upper    []*table
	lower    []*table

	forTombstones bool
}

// inputs returns the tables that the compaction replaces.
func (c *compaction) inputs() []*table { return slices.Concat(c.upper, c.lower) }

// compactLoop compacts tables until ctx ends.
func (d *database) compactLoop(ctx context.Context) {
	var notBefore time.Time // for tombstones
	background.Every(ctx, compactInterval, d.changed, func() {
		for ctx.Err() == nil && d.failed.Load() == nil {
			begun := time.Now()
			c := d.pick(begun.After(notBefore))
			if c == nil {
				return
			}
			err := d.compact(ctx, c)
			switch {
			case mayPass(err):
				d.log.Warn("badgerstore: tables are not compacted", "error", err)
				return
			case ctx.Err() != nil && errors.Is(err, ctx.Err()):
				return
			case err != nil:
				d.fail(fmt.Errorf("badgerstore: tables could not be compacted: %w", err))
				return
			}
			if c.forTombstones {
				notBefore = time.Now().Add(tombstoneShare * time.Since(begun))
			}
		}
	})
}

// pick returns the compaction that is due, or nil.
func (d *database) pick(tombstones bool) *compaction {
	d.mu.Lock()
	set := d.tables
	d.mu.Unlock()
	if len(set.levels[0]) >= newTables {
		return set.compaction(0, nil)
	}
	limit := int64(levelSize)
	for level := 1; level < levels-1; level++ {
		var size int64
		for _, t := range set.levels[level] {
			size += t.size()
		}
		if size > limit {
			oldest := slices.MinFunc(set.levels[level], func(a, b *table) int { return int(int64(a.id) - int64(b.id)) })
			return set.compaction(level, oldest)
		}
		limit *= levelGrowth
	}
	if tombstones {
		return set.tombstoneCompaction()
	}
	return nil
}

// tombstoneCompaction returns the compaction of the table with the most tombstones, or
// nil where none has many.
func (s *tableSet) tombstoneCompaction() *compaction {
	var worst *table
	var level int
	for l, tables := range s.levels {
		for _, t := range tables {
			many := t.tombstones >= manyTombstones && 4*t.tombstones >= t.entries
			if many && (worst == nil || t.tombstones > worst.tombstones) {
				worst, level = t, l
			}
		}
	}
	if worst == nil {
		return nil
	}
	c := s.compaction(level, worst)
	c.forTombstones = true
	return c
}

// compaction returns the compaction of a table of a level with the next level. Of level
// 0 all tables are compacted, since they may overlap. The last level and those below
// which nothing overlaps are compacted in themselves.
func (s *tableSet) compaction(level int, t *table) *compaction {
	c := &compaction{from: level, to: min(level+1, levels-1), upper: []*table{t}}
	if level == 0 {
		c.upper = s.levels[0]
	}
	first, last := c.upper[0].first, c.upper[0].last
	for _, t := range c.upper {
		first, last = slices.MinFunc([][]byte{first, t.first}, bytes.Compare), slices.MaxFunc([][]byte{last, t.last}, bytes.Compare)
	}
	if c.to != c.from {
		c.lower = slices.Clone(s.overlapping(c.to, first, last))
	}
	return c
}

// compact runs a compaction.
func (d *database) compact(ctx context.Context, c *compaction) error {
	d.mu.Lock()
	set := d.tables
	d.mu.Unlock()
	if c.from > 0 && len(c.lower) == 0 && c.upper[0].tombstones == 0 && c.to != c.from {
		return d.install(edit{remove: c.upper, add: c.upper, level: c.to}, 0, func() {}) // it only changes its level
	}
	var need int64
	for _, t := range c.inputs() {
		need += t.size()
	}
	if err := d.disk.atLeast(d.dir, uint64(need)+compactReserve); err != nil {
		return err
	}
	w := &tableWriter{d: d, size: min(tableSize<<(c.to-1), maxTableSize, minBuilder+int(need)*compressionRatio)}
	dropped, err := c.merge(ctx, set, w)
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return w.abort(err)
	}
	return w.install(edit{remove: c.inputs(), level: c.to, dropped: dropped}, 0, func() {})
}

// merge writes the entries of a compaction that are still needed, and returns the large
// values that are not.
func (c *compaction) merge(ctx context.Context, set *tableSet, w *tableWriter) (dropped []uint64, err error) {
	var sources []txn.Source
	for _, t := range slices.Backward(c.upper) {
		source := t.source(nil, nil, false, reading{})
		defer source.close()
		sources = append(sources, source)
	}
	lower := &levelSource{tables: c.lower}
	defer lower.close()
	m := txn.NewMerge(false, append(sources, lower)...)
	var failed error
	m.Shadowed = func(s txn.Source) {
		if v := tableSourceOf(s).entry(); v.Meta&metaBlob != 0 {
			ref, err := parseBlobRef(v.Value)
			failed = errors.Join(failed, err)
			dropped = append(dropped, ref.id)
		}
	}
	for ctx.Err() == nil {
		more, err := m.Next()
		if !more || err != nil || failed != nil {
			return dropped, errors.Join(err, failed)
		}
		s := tableSourceOf(m.Current())
		if s.Deleted() && !set.anyBelow(c.to, s.Key(), s.Key()) {
			continue
		}
		if err := w.add(s.Key(), s.version(), s.entry()); err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

func tableSourceOf(s txn.Source) *tableSource {
	if level, ok := s.(*levelSource); ok {
		return level.tableSource
	}
	return s.(*tableSource)
}

// tableBuilder builds one table.
type tableBuilder struct {
	b          *badgertable.Builder
	tombstones int
}

func newTableBuilder(size int) *tableBuilder {
	return &tableBuilder{b: badgertable.NewTableBuilder(tableOptions(nil, size))}
}

func (b *tableBuilder) add(key []byte, version uint64, value y.ValueStruct) {
	if value.Meta&metaDeleted != 0 {
		b.tombstones++
	}
	b.b.Add(y.KeyWithTs(key, version), value, 0)
}

func (b *tableBuilder) full() bool { return b.b.ReachedCapacity() }

// finish returns the table's bytes and how many tombstones it has.
func (b *tableBuilder) finish() ([]byte, int) {
	defer b.b.Close()
	return b.b.Finish(), b.tombstones
}

// A pass over all tables takes at most one in scrubShare parts of the time, and an
// hour or more passes between two.
const (
	scrubShare    = 500
	scrubInterval = time.Hour
)

// scrubLoop reads all tables from time to time, until ctx ends, and logs what has become
// damaged. Reads of it fail without that, and so does a compaction, which ends writes.
func (d *database) scrubLoop(ctx context.Context) {
	told := map[string]bool{}
	for background.Sleep(ctx, scrubInterval) {
		err := d.verifyTables(ctx, scrubShare, func(err error) error {
			if !told[err.Error()] {
				told[err.Error()] = true
				d.log.Error("badgerstore: a table is damaged", "error", err)
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			d.log.Warn("badgerstore: the tables could not be verified", "error", err)
		}
	}
}

// verifyTables reads all tables and reports each damaged block. Behind each table it
// pauses for pause times as long as that took.
func (d *database) verifyTables(ctx context.Context, pause int, report func(error) error) error {
	s := d.Snapshot(0).(*snapshot)
	defer s.Close()
	for _, t := range s.tables.all() {
		begun := time.Now()
		if err := t.verify(report); err != nil {
			return err
		}
		if pause > 0 && !background.Sleep(ctx, time.Duration(pause)*time.Since(begun)) || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
