package cli

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/vectorstores"
)

func searchCommands() []command {
	return []command{{words: "search", args: "DIR QUERY…", access: local, help: "find passages in the documents of a folder, without a server", prepare: searchCommand}}
}

func searchCommand(flags *flag.FlagSet) action {
	limit := flags.Int("n", vectorstores.DefaultResults, "how many `passages` to print")
	return func(ctx context.Context, s *session, args []string) error {
		f, err := newFolderSearch(ctx)
		if err != nil {
			return err
		}
		defer f.close()
		if err := f.add(ctx, s, args[0]); err != nil {
			return err
		}
		found, err := f.stores.Search(ctx, f.caller, f.store, vectorstores.Query{Texts: []string{strings.Join(args[1:], " ")}, Limit: *limit})
		if err != nil {
			return sentence(err)
		}
		return printFound(s, found.Items)
	}
}

// folderSearch is a service in memory with one vector store.
type folderSearch struct {
	service *svc.Service
	stores  *vectorstores.Service
	caller  svc.Caller
	store   string            // ID
	paths   map[string]string // of files by their IDs
}

func newFolderSearch(ctx context.Context) (*folderSearch, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	service, err := svc.New(ctx, svc.Options{Store: memstore.New(), Logger: quiet, Extractor: &files.Process{Command: []string{self, ReaderCommand}}})
	if err != nil {
		return nil, err
	}
	p := service.Parts()
	f := &folderSearch{service: service, paths: map[string]string{}}
	f.stores = vectorstores.New(vectorstores.Options{
		Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: quiet,
	})
	key, err := service.Bootstrap(ctx, "")
	if err == nil {
		f.caller, err = service.Authenticate(ctx, key)
	}
	if err == nil {
		var store vectorstores.Store
		store, err = f.stores.Create(ctx, f.caller, vectorstores.NewStore{})
		f.store = store.ID
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// close ends the service. Nothing of it is kept, so that nobody needs its errors.
func (f *folderSearch) close() {
	_ = f.stores.Close()
	_ = f.service.Close()
}

// add indexes the documents of a folder, and says on the error output which of them
// cannot be read.
func (f *folderSearch) add(ctx context.Context, s *session, dir string) error {
	var added []vectorstores.NewFile
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != dir {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || files.TypeByName(path) == "" {
			return nil
		}
		id, err := f.upload(ctx, path)
		if err != nil {
			fmt.Fprintf(s.Stderr, "%s: %v\n", path, sentence(err))
			return ctx.Err()
		}
		f.paths[id] = path
		added = append(added, vectorstores.NewFile{ID: id})
		return nil
	})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(added, vectorstores.MaxBatch) {
		batch, err := f.stores.CreateBatch(ctx, f.caller, f.store, part)
		for err == nil && batch.Status == vectorstores.InProgress {
			if !background.Sleep(ctx, 20*time.Millisecond) {
				return ctx.Err()
			}
			batch, err = f.stores.Batch(ctx, f.caller, f.store, batch.ID)
		}
		if err != nil {
			return sentence(err)
		}
	}
	return f.sayFailed(ctx, s)
}

func (f *folderSearch) upload(ctx context.Context, path string) (id string, err error) {
	content, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer content.Close()
	file, err := f.service.UploadFile(ctx, f.caller, files.Upload{Filename: path, MIMEType: files.TypeByName(path), Purpose: files.Purpose, Content: content})
	return file.ID, err
}

// sayFailed says which documents could not be indexed.
func (f *folderSearch) sayFailed(ctx context.Context, s *session) error {
	p := page.Params{Limit: vectorstores.MaxPage}
	for {
		failed, err := f.stores.Files(ctx, f.caller, f.store, vectorstores.Failed, p)
		if err != nil {
			return err
		}
		for _, file := range failed.Items {
			fmt.Fprintf(s.Stderr, "%s: %s\n", f.paths[file.ID], file.Error.Message)
		}
		if !failed.HasMore {
			return nil
		}
		p.After = failed.Items[len(failed.Items)-1].ID
	}
}

// printFound prints passages: a line about each, and its text indented.
func printFound(s *session, found []vectorstores.Result) error {
	w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range found {
		place := ""
		if r.Page > 0 {
			place = fmt.Sprintf("page %d", r.Page)
		}
		fmt.Fprintf(w, "%.2f\t%s\t%s\t%s\n", r.Score, r.Filename, place, strings.Join(r.Headings, " > "))
		if err := w.Flush(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Stdout, "    %s\n", strings.ReplaceAll(r.Text, "\n", "\n    ")); err != nil {
			return err
		}
	}
	return nil
}
