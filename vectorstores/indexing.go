package vectorstores

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/vectorstores/internal/chunk"
	"github.com/seed-506d8e5d/svc/vectorstores/internal/index"
)

const (
	segmentSize = 512 << 10 // bytes of a segment, about
	writeSize   = 2 << 20   // bytes that a transaction writes, about
)

// index makes a file of a store searchable, or says in its record why not.
func (s *Service) index(ctx context.Context, ns storage.Namespace, w work) error {
	d := &draft{s: s, ns: ns, work: w, data: s.o.NewID("vsd")}
	if err := d.open(ctx); err != nil {
		return err
	}
	err := d.write(ctx)
	if err == nil {
		err = d.finish(ctx)
	}
	problem, isProblem := errors.AsType[*indexError](err)
	if isProblem {
		err = d.fail(ctx, problem)
	}
	if err != nil || isProblem {
		return errors.Join(err, d.discard(ctx))
	}
	return nil
}

// indexError is why a file cannot be indexed.
type indexError struct {
	Problem
	cause error
}

func (e *indexError) Error() string { return e.Message }
func (e *indexError) Unwrap() error { return e.cause }

// draft is the chunks of a file while they are written: nothing finds them before they
// are finished.
type draft struct {
	s      *Service
	ns     storage.Namespace
	work   work
	data   string // that the chunks are stored under
	record *fileRecord
	file   files.File

	caller     accounts.Caller // who is charged for vectors
	model      string          // that chunks are embedded with; empty: they are not
	dimensions int             // of the vectors, 0 where that is not known
	texts      []string        // that are still to be embedded
	vectors    int             // records of vectors

	analyzer *index.Analyzer
	language index.Language
	builder  *index.Builder
	block    blockRecord
	chunks   int
	segments int
	bytes    int64
	writes   []storage.Entry // that are still to be written
	pending  int             // bytes of them
}

// mark is the work of removing the chunks, which is this process's to leave undone
// until they are finished.
func (d *draft) mark() work { return work{sweeping, d.work.store, d.data} }

// open reads the record of the file and marks the draft.
func (d *draft) open(ctx context.Context) error {
	d.s.hold(d.mark(), true)
	return d.update(ctx, func(tx storage.Tx) error {
		f, r, err := d.owned(tx)
		if err != nil {
			return err
		}
		d.record, d.model, d.dimensions = f, r.Model, r.Dimensions
		if d.model == "" {
			d.model = d.s.o.Model
		}
		return tx.Set(d.mark().key(), []byte(d.s.o.Cluster.ID()))
	})
}

// hold keeps a mark of this process from being taken for one that was left.
func (s *Service) hold(w work, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held {
		s.held[w] = true
	} else {
		delete(s.held, w)
	}
}

// update runs a transaction in the organization's namespace.
func (d *draft) update(ctx context.Context, fn func(storage.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return d.s.o.Store.Update(ctx, d.ns, fn)
}

// owned returns the records of the file and its store, or errLost where the file is
// not this process's to index.
func (d *draft) owned(tx storage.Tx) (f *fileRecord, r *storeRecord, err error) {
	owner, err := tx.Get(d.work.key())
	if errors.Is(err, storage.ErrNotFound) || err == nil && string(owner) != d.s.o.Cluster.ID() {
		return nil, nil, errLost
	}
	if err != nil {
		return nil, nil, err
	}
	if r, err = getStore(tx, d.work.store); err == nil {
		f, err = getFile(tx, d.work.store, d.work.object)
	}
	if fault.Is(err, fault.NotFound) || err == nil && f.Status != InProgress {
		err = errLost
	}
	return f, r, err
}

// write cuts the text of the file and writes its chunks.
func (d *draft) write(ctx context.Context) error {
	text, err := d.text(ctx)
	if err != nil {
		return err
	}
	d.analyzer = d.s.analyzer()
	defer d.s.analyzers.Put(d.analyzer)
	d.language = index.Detect(text)
	d.builder = index.NewBuilder(d.analyzer)
	if err := d.charged(ctx); err != nil {
		return err
	}
	most, overlap := d.record.Chunking.Tokens()
	for c := range chunk.Split(text, chunk.Options{MaxTokens: most, Overlap: overlap, Layout: layout(d.file.MIMEType)}) {
		if err := d.add(ctx, c); err != nil {
			return err
		}
	}
	if err := d.endBlock(); err != nil {
		return err
	}
	d.endSegment()
	if err := d.embed(ctx); err != nil {
		return err
	}
	return d.flush(ctx)
}

// text returns the text of the file.
func (d *draft) text(ctx context.Context) (string, error) {
	who := caller(d.ns)
	var err error
	if d.file, err = d.s.o.Files.Get(ctx, who, d.work.object); err == nil && d.file.Status == files.Failed {
		if d.file.Reason == files.Unavailable {
			return "", &indexError{Problem: Problem{ServerError, "The file could not be read. " + d.file.Reason.Sentence()}}
		}
		return "", &indexError{Problem: Problem{InvalidFile, "The file could not be read. " + d.file.Reason.Sentence()}}
	}
	text := ""
	if err == nil {
		text, err = d.s.o.Files.Text(ctx, who, d.work.object)
	}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Invalid {
		return "", &indexError{Problem: Problem{UnsupportedFile, e.Message}, cause: err}
	} else if fault.Is(err, fault.NotFound) {
		return "", &indexError{Problem: Problem{InvalidFile, "The file was deleted."}, cause: err}
	}
	return text, err
}

// layout is how a text of a MIME type is cut.
func layout(mimeType string) chunk.Layout {
	essence, _, _ := mime.ParseMediaType(mimeType)
	switch essence {
	case "text/csv", "application/csv", "text/tab-separated-values", "text/tsv":
		return chunk.Rows
	case "application/jsonl", "application/x-jsonlines", "application/ndjson", "application/x-ndjson":
		return chunk.Lines
	}
	return chunk.Markdown
}

// add takes the next chunk.
func (d *draft) add(ctx context.Context, c chunk.Chunk) error {
	if d.chunks == MaxChunks {
		return errTooManyChunks()
	}
	d.builder.Add(d.language, append(c.Headings[:len(c.Headings):len(c.Headings)], c.Text)...)
	d.block.Chunks = append(d.block.Chunks, chunkRecord{Text: c.Text, Page: c.Page, Headings: c.Headings})
	d.chunks++
	if d.model != "" {
		d.texts = append(d.texts, strings.Join(append(c.Headings[:len(c.Headings):len(c.Headings)], c.Text), "\n"))
		if len(d.texts) == embedAtOnce {
			if err := d.embed(ctx); err != nil {
				return err
			}
		}
	}
	if len(d.block.Chunks) < perBlock {
		return nil
	}
	if err := d.endBlock(); err != nil {
		return err
	}
	if d.builder.Size() >= segmentSize {
		d.endSegment()
	}
	if d.pending < writeSize {
		return nil
	}
	return d.flush(ctx)
}

func errTooManyChunks() error {
	return &indexError{Problem: Problem{InvalidFile, fmt.Sprintf("The vector store would have more than %d chunks.", MaxChunks)}}
}

func (d *draft) endBlock() error {
	if len(d.block.Chunks) == 0 {
		return nil
	}
	value, err := jsonout.Marshal(d.block)
	if err != nil {
		return err
	}
	d.put(blockKey(d.work.store, d.data, (d.chunks-1)/perBlock), value)
	d.block.Chunks = nil
	return nil
}

func (d *draft) endSegment() {
	if d.builder.Len() == 0 {
		return
	}
	d.put(segmentKey(d.work.store, d.data, d.segments), d.builder.Bytes())
	d.segments++
	d.builder = index.NewBuilder(d.analyzer)
}

func (d *draft) put(key, value []byte) {
	d.writes = append(d.writes, storage.Entry{Key: key, Value: value})
	d.pending += len(key) + len(value)
	d.bytes += int64(len(value))
}

// flush writes what is pending, unless the draft is not to be finished any more.
func (d *draft) flush(ctx context.Context) error {
	err := d.update(ctx, func(tx storage.Tx) error {
		if _, _, err := d.owned(tx); err != nil {
			return err
		}
		if _, err := tx.Get(d.mark().key()); errors.Is(err, storage.ErrNotFound) {
			return errLost
		} else if err != nil {
			return err
		}
		for _, w := range d.writes {
			if err := tx.Set(w.Key, w.Value); err != nil {
				return err
			}
		}
		return nil
	})
	d.writes, d.pending = nil, 0
	return err
}

// finish makes the chunks visible.
func (d *draft) finish(ctx context.Context) error {
	w := d.work
	err := d.charge(ctx, func(tx storage.Tx) error {
		f, r, err := d.owned(tx)
		if err != nil {
			return err
		}
		if _, err := tx.Get(d.mark().key()); errors.Is(err, storage.ErrNotFound) {
			return errLost
		} else if err != nil {
			return err
		}
		if r.Chunks+d.chunks > MaxChunks {
			return errTooManyChunks()
		}
		if d.vectors > 0 {
			if r.Model != "" && (r.Model != d.model || r.Dimensions != d.dimensions) {
				return errOtherVectors(d.model, d.dimensions, r.Dimensions)
			}
			r.Model, r.Dimensions = d.model, d.dimensions
		}
		f.Seq, f.Data, f.Chunks, f.Bytes = r.Next, d.data, d.chunks, d.bytes
		r.Next++
		r.Chunks += d.chunks
		r.Bytes += d.bytes
		if err := move(tx, w.store, r, f, Completed); err != nil {
			return err
		}
		e := entryRecord{File: w.object, Name: d.file.Filename, Data: d.data, Chunks: d.chunks, Vectors: d.vectors > 0, Attributes: f.Attributes}
		return errors.Join(storage.SetJSON(tx, entryKey(w.store, f.Seq), e), f.set(tx, w.store, w.object), r.set(tx, w.store),
			tx.Delete(d.mark().key()), tx.Delete(w.key()))
	})
	if err == nil {
		d.s.hold(d.mark(), false)
	}
	return err
}

// fail writes why the file cannot be indexed.
func (d *draft) fail(ctx context.Context, problem *indexError) error {
	return d.update(ctx, func(tx storage.Tx) error {
		f, r, err := d.owned(tx)
		if err != nil {
			return err
		}
		f.Error = &problem.Problem
		if err := move(tx, d.work.store, r, f, Failed); err != nil {
			return err
		}
		return errors.Join(f.set(tx, d.work.store, d.work.object), r.set(tx, d.work.store), tx.Delete(d.work.key()))
	})
}

// discard lets the chunks that were written be swept.
func (d *draft) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	d.s.hold(d.mark(), false)
	return d.s.sweep(ctx, d.ns, d.mark())
}

// analyzer returns an analyzer, which is given back to s.analyzers.
func (s *Service) analyzer() *index.Analyzer {
	if a, ok := s.analyzers.Get().(*index.Analyzer); ok {
		return a
	}
	return index.NewAnalyzer()
}
