package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/backup"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
)

func backupCommands() []command {
	return []command{
		{words: "backup", args: "FILE", help: "copy everything that a running server keeps to a new file", prepare: plain(saveBackup)},
		{words: "restore", args: "FILE", access: local, help: "make a data directory or fill a database from a backup, without a server", prepare: restoreCommand},
	}
}

// saveBackup writes a backup of the server to a file, which is there once it is
// whole and on the disk.
func saveBackup(ctx context.Context, s *session, args []string) (err error) {
	path := args[0]
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already", path)
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(s.server.Backup(ctx, out)) }()
	defer in.Close()
	file, err := os.OpenFile(path+".partial", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	records, size, err := s.copyBackup(file, in)
	if err := errors.Join(sentence(err), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	if err := syncDirectory(filepath.Dir(path)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Stdout, "%s has %d records in %s.\n", path, records, byteText(size))
	return err
}

// copyBackup copies a backup, reading it to see that it is whole.
func (s *session) copyBackup(to io.Writer, from io.Reader) (records uint64, size int64, err error) {
	r, bar, err := openBackup(io.TeeReader(from, to), s.Stderr)
	if err != nil {
		return 0, 0, err
	}
	defer bar.end()
	for {
		if _, err := r.Next(); err == io.EOF {
			return r.Done(), bar.size, nil
		} else if err != nil {
			return 0, 0, err
		}
	}
}

func restoreCommand(flags *flag.FlagSet) action {
	data := flags.String("data", "./svc-data", "`directory` to make, which must not exist or be empty, or postgres://… of a database without data")
	return func(ctx context.Context, s *session, args []string) error {
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		r, bar, err := openBackup(file, s.Stderr)
		if err != nil {
			return err
		}
		what := *data
		if IsDatabase(*data) {
			what = "The database" // its URL may have a password
			err = pgstore.Load(ctx, pgstore.Options{URL: *data}, func(store storage.Store) error { return backup.Restore(ctx, store, r) })
		} else {
			err = s.restore(ctx, r, *data)
		}
		bar.end()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Stdout, "%s has the %d records of %s.\n", what, r.Total(), args[0])
		return err
	}
}

// restore makes a data directory of a backup: beside its place first, so that
// what is there in the end is whole.
func (s *session) restore(ctx context.Context, r *backup.Reader, dir string) (err error) {
	dir = filepath.Clean(dir)
	if entries, err := os.ReadDir(dir); len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".restore-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(draft))
		}
	}()
	store, err := badgerstore.Open(badgerstore.Options{Dir: draft, Logger: slog.New(slog.NewTextHandler(s.Stderr, nil))})
	if err != nil {
		return err
	}
	err = backup.Restore(ctx, store, r)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(draft, dir); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(dir))
}

// syncDirectory makes the names of files in a directory as durable as the files.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// progress reads a backup for somebody else and draws how far it is, on a
// terminal.
type progress struct {
	from    io.Reader
	backup  *backup.Reader // nil until its head is read
	size    int64          // bytes read
	line    *statusLine
	started time.Time
	drawn   time.Time
}

// drawEvery is how often the progress is drawn at most.
const drawEvery = 100 * time.Millisecond

// openBackup returns a reader of a backup that shows its progress.
func openBackup(from io.Reader, stderr io.Writer) (*backup.Reader, *progress, error) {
	p := &progress{from: from, line: newStatusLine(stderr), started: time.Now()}
	var err error
	p.backup, err = backup.NewReader(p)
	return p.backup, p, err
}

// Read implements io.Reader.
func (p *progress) Read(data []byte) (int, error) {
	n, err := p.from.Read(data)
	p.size += int64(n)
	if p.backup != nil && time.Since(p.drawn) >= drawEvery {
		p.draw()
	}
	return n, err
}

func (p *progress) draw() {
	p.drawn = time.Now()
	p.line.show(progressText(p.backup.Done(), p.backup.Total(), p.size, p.drawn.Sub(p.started)))
}

// progressText says in one line how far a backup is.
func progressText(done, total uint64, size int64, took time.Duration) string {
	return fmt.Sprintf("%s  %d of %d records  %s  %s/s", bar(share(int64(done), int64(total))), done, total,
		byteText(size), byteText(int64(float64(size)/max(took.Seconds(), 0.001))))
}

// end draws the last state and leaves the line.
func (p *progress) end() {
	p.draw()
	p.line.keep()
}

// byteText writes a number of bytes for people.
func byteText(n int64) string {
	value, unit := float64(n), 0
	for value >= 1000 && unit < 4 {
		value /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGT"[unit-1])
}

// IsDatabase says whether -data is the URL of a database and no directory.
func IsDatabase(data string) bool {
	return strings.HasPrefix(data, "postgres://") || strings.HasPrefix(data, "postgresql://")
}
