package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
)

// extracted is what svcd extract says about a file, as JSON with -json.
type extracted struct {
	File     string   `json:"file"`
	Format   string   `json:"format,omitempty"`
	Pages    int      `json:"pages,omitempty"` // of formats that have them
	Text     string   `json:"text,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"error,omitempty"`
	Millis   float64  `json:"milliseconds"`
}

// extractTimeout bounds the reading of one document, as the server does.
const extractTimeout = time.Minute

// extract prints documents as a model would see them, without a server. Each is
// read in a process of its own, several at the same time, and printed in order.
func (e Environment) extract(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("svcd extract", flag.ContinueOnError)
	flags.SetOutput(e.Stderr)
	asJSON := flags.Bool("json", false, "print an object for each file, with its pages, warnings and time")
	jobs := flags.Int("jobs", runtime.NumCPU(), "how many `documents` to read at the same time")
	flags.Usage = func() {
		fmt.Fprintln(e.Stderr, "svcd extract [flags] FILE…: print documents as a model sees them")
		flags.PrintDefaults()
	}
	names, err := parse(flags, args)
	if err != nil {
		return err
	}
	if len(names) == 0 || *jobs < 1 {
		return errors.New("it is called as: svcd extract [-json] [-jobs N] FILE…")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	process := &files.Process{Command: []string{self, ReaderCommand}}
	results := make([]chan extracted, len(names))
	for i := range results {
		results[i] = make(chan extracted, 1)
	}
	var work errgroup.Group
	work.SetLimit(*jobs + 1) // one hands out the others
	work.Go(func() error {
		for i := range results {
			work.Go(func() error {
				results[i] <- readFile(ctx, process, names[i])
				return nil
			})
		}
		return nil
	})
	defer func() { _ = work.Wait() }() // the work returns no errors
	return e.printAll(results, *asJSON)
}

// printAll prints what was read, in order, with a bar on a terminal. The error
// says how many files could not be read.
func (e Environment) printAll(results []chan extracted, asJSON bool) error {
	bar := newStatusLine(e.Stderr)
	defer bar.clear()
	failed := 0
	for i, result := range results {
		bar.show(fmt.Sprintf("%3.0f%%  %d of %d documents", 100*share(int64(i), int64(len(results))), i, len(results)))
		r := <-result
		if r.Error != "" {
			failed++
		}
		bar.clear()
		if err := e.printExtracted(r, asJSON); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d documents could not be read", failed, len(results))
	}
	return nil
}

func (e Environment) printExtracted(r extracted, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(e.Stdout).Encode(r)
	}
	if r.Error != "" {
		fmt.Fprintf(e.Stderr, "%s: %s\n", r.File, r.Error)
		return nil
	}
	d := model.Document{Name: filepath.Base(r.File), Text: r.Text}
	if len(r.Warnings) > 0 {
		d.Note = r.Warnings[0]
	}
	_, err := fmt.Fprintln(e.Stdout, d.Quoted())
	return err
}

// readFile reads one document by the type that its name stands for.
func readFile(ctx context.Context, extractor files.Extractor, name string) extracted {
	r := extracted{File: name}
	start := time.Now()
	found, err := readDocument(ctx, extractor, name, &r)
	r.Millis = float64(time.Since(start).Microseconds()) / 1000
	if unreadable, ok := errors.AsType[*files.Unreadable](err); ok {
		r.Error = unreadable.Reason.Sentence()
		return r
	}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Pages, r.Text = found.Pages, found.Text
	if warning := found.Note().Sentence(); warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r
}

func readDocument(ctx context.Context, extractor files.Extractor, name string, r *extracted) (files.Extracted, error) {
	f, err := os.Open(name)
	if err != nil {
		return files.Extracted{}, errors.Unwrap(err) // without the name, which stands before every error
	}
	defer f.Close()
	mimeType := files.TypeByName(name)
	format, err := files.FormatOf(mimeType)
	if err != nil {
		return files.Extracted{}, err
	}
	r.Format = string(format)
	data, err := io.ReadAll(io.LimitReader(f, files.MaxBytes+1))
	if err != nil {
		return files.Extracted{}, err
	}
	if len(data) > files.MaxBytes {
		return files.Extracted{}, fmt.Errorf("it is over %d bytes", files.MaxBytes)
	}
	if format == files.Plain {
		text, err := files.Text(mimeType, data)
		return files.Extracted{Text: text}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, extractTimeout, errors.New("it took too long"))
	defer cancel()
	found, err := extractor.Extract(ctx, bytes.NewReader(data), int64(len(data)), format)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return found, cause
	}
	return found, err
}
