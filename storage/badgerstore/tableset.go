package badgerstore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// levels is how many levels of tables there are.
const levels = 7

// tableSet is the tables that a store has at one moment. Those of level 0 are in the
// order in which they were written and may overlap. In every other level they are in
// the order of their keys and do not overlap. An entry in one level hides those with
// its key in deeper ones.
type tableSet struct {
	levels [levels][]*table

	// Guarded by database.mu.
	refs    int
	dropped []uint64 // large values that later sets do not refer to
}

// all returns all tables.
func (s *tableSet) all() []*table { return slices.Concat(s.levels[:]...) }

// edit is a change of a table set.
type edit struct {
	remove []*table
	add    []*table // to level
	level  int

	dropped []uint64 // large values that nothing refers to after it
}

// with returns the set after a change.
func (s *tableSet) with(e edit) *tableSet {
	next := &tableSet{refs: 1}
	for level, tables := range s.levels {
		for _, t := range tables {
			if !slices.Contains(e.remove, t) {
				next.levels[level] = append(next.levels[level], t)
			}
		}
	}
	next.levels[e.level] = append(next.levels[e.level], e.add...)
	if e.level > 0 {
		sortTables(next.levels[e.level])
	}
	return next
}

func sortTables(tables []*table) {
	slices.SortFunc(tables, func(a, b *table) int { return bytes.Compare(a.first, b.first) })
}

// overlapping returns the tables of a level that may have keys from first to last, both
// included.
func (s *tableSet) overlapping(level int, first, last []byte) []*table {
	tables := s.levels[level]
	if level == 0 {
		return slices.DeleteFunc(slices.Clone(tables), func(t *table) bool { return !t.overlaps(first, last) })
	}
	from := sort.Search(len(tables), func(i int) bool { return bytes.Compare(tables[i].last, first) >= 0 })
	to := from + sort.Search(len(tables)-from, func(i int) bool { return bytes.Compare(tables[from+i].first, last) > 0 })
	return tables[from:to]
}

// anyBelow reports whether tables deeper than a level may have keys from first to last.
func (s *tableSet) anyBelow(level int, first, last []byte) bool {
	for deeper := level + 1; deeper < levels; deeper++ {
		if len(s.overlapping(deeper, first, last)) > 0 {
			return true
		}
	}
	return false
}

// candidates yields the tables that may have a key, those that count first, until
// yield returns false.
func (s *tableSet) candidates(key []byte, yield func(*table) bool) {
	hash := keyHash(key)
	for _, t := range slices.Backward(s.levels[0]) {
		if t.mayHave(key, hash) && !yield(t) {
			return
		}
	}
	for level := 1; level < levels; level++ {
		for _, t := range s.overlapping(level, key, key) {
			if t.mayHave(key, hash) && !yield(t) {
				return
			}
		}
	}
}

// mayHave reports whether a table may have a key.
func (s *tableSet) mayHave(key []byte) bool {
	found := false
	s.candidates(key, func(*table) bool { found = true; return false })
	return found
}

// closer is a txn.Source of tables.
type closer interface {
	txn.Source
	close()
}

// sources returns the entries of all tables from start up to and without end, those
// that count first.
func (s *tableSet) sources(start, end []byte, reverse bool, r reading) []closer {
	var sources []closer
	for _, t := range slices.Backward(s.overlapping(0, start, end)) {
		sources = append(sources, t.source(start, end, reverse, r))
	}
	for level := 1; level < levels; level++ {
		if tables := s.overlapping(level, start, end); len(tables) > 0 {
			sources = append(sources, &levelSource{tables: tables, start: start, end: end, reverse: reverse, reading: r})
		}
	}
	return sources
}

// The list of tables is a file of lines, which is replaced as a whole: what it is with
// the CRC-32C of all that follows, the version up to which the tables have everything,
// and for each table, in order, its number, level and tombstones.
const (
	listName  = "TABLES"
	listMagic = "svc tables 1"
)

// errNoList says that a directory has no list of tables.
var errNoList = errors.New("badgerstore: there is no list of tables")

// encodeList returns the list of the tables of a set.
func encodeList(s *tableSet, version uint64) []byte {
	var body strings.Builder
	fmt.Fprintf(&body, "version %d\n", version)
	for level, tables := range s.levels {
		for _, t := range tables {
			fmt.Fprintf(&body, "table %d %d %d\n", t.id, level, t.tombstones)
		}
	}
	sum := crc32.Checksum([]byte(body.String()), castagnoli)
	return fmt.Appendf(nil, "%s %08x\n%s", listMagic, sum, body.String())
}

// listed is a table in the list.
type listed struct {
	id         uint64
	level      int
	tombstones int
}

// readList reads the list of tables of a directory. The error is errNoList where there
// is none, and a damage where it is not as it was written.
func readList(dir string) (tables []listed, version uint64, err error) {
	data, err := os.ReadFile(filepath.Join(dir, listName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, errNoList
	}
	if err != nil {
		return nil, 0, err
	}
	broken := damage{file: listName, block: -1, reason: "its checksum is wrong"}
	head, body, _ := strings.Cut(string(data), "\n")
	if head != fmt.Sprintf("%s %08x", listMagic, crc32.Checksum([]byte(body), castagnoli)) {
		return nil, 0, broken
	}
	for line := range strings.Lines(body) {
		var l listed
		if n, _ := fmt.Sscanf(line, "table %d %d %d\n", &l.id, &l.level, &l.tombstones); n == 3 && l.level < levels {
			tables = append(tables, l)
		} else if n, _ := fmt.Sscanf(line, "version %d\n", &version); n != 1 {
			return nil, 0, broken
		}
	}
	return tables, version, nil
}

// writeFile puts a file in the place of another, durably. After an error that mayPass
// the other one is still there.
func writeFile(path string, data []byte) error {
	if err := createFile(path+".new", data); err != nil {
		os.Remove(path + ".new") // or the next start does
		return exhausted(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncPath(filepath.Dir(path))
}

// createFile writes a file that must not exist, but for one with the extension .new,
// and syncs it.
func createFile(path string, data []byte) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if filepath.Ext(path) == ".new" {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if synced != nil {
		synced(path)
	}
	return nil
}

// syncPath makes a file or the names in a directory durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if synced != nil {
		synced(path)
	}
	return nil
}

// synced is called with each path that was synced, by tests that lose power.
var synced func(path string)
