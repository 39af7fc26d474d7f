package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

const (
	chunkSize = 256 << 10     // bytes in a chunk of a blob; the last has what is left
	batchSize = 4 * chunkSize // bytes that one transaction writes

	// sweepBatch is how many chunks one transaction removes, and sweepTimeout
	// how long the removal of one blob may take.
	sweepBatch   = 1000
	sweepTimeout = 30 * time.Second
)

// blob is what has been written of one.
type blob struct {
	id    string
	size  int64
	epoch uint64 // of the store when it was begun
}

// errOverLimit says that there was more to read than a blob may have.
var errOverLimit = errors.New("files: over the limit")

// writeBlob stores what r has, up to limit bytes, as a blob that belongs to no
// file. Of more it reads one byte. A blob that cannot be written is removed again.
// Errors of r come back as they are.
func (s *Service) writeBlob(ctx context.Context, ns storage.Namespace, id string, r io.Reader, limit int64) (blob, error) {
	b := blob{id: id, epoch: s.store.Epoch()}
	if err := s.cluster.RegisterWork(ctx, ns); err != nil {
		return b, err
	}
	buffer := s.buffers.Get().(*[batchSize]byte)
	defer s.buffers.Put(buffer)
	for {
		n, readErr := fill(io.LimitReader(r, limit-b.size+1), buffer[:])
		if readErr != nil && readErr != io.EOF {
			return b, s.abandon(ctx, ns, id, readErr)
		}
		if int64(n) > limit-b.size {
			return b, s.abandon(ctx, ns, id, errOverLimit)
		}
		first := uint32(b.size / chunkSize)
		err := s.store.Update(ctx, ns, func(tx storage.Tx) error {
			mark := garbageKey(id)
			if first == 0 {
				if err := tx.Set(mark, s.owner); err != nil {
					return err
				}
			} else if _, err := tx.Get(mark); errors.Is(err, storage.ErrNotFound) {
				return errEnded // what came before is gone, and nobody would remove what comes
			} else if err != nil {
				return err
			}
			return setChunks(tx, id, first, buffer[:n])
		})
		if err != nil {
			return b, s.abandon(ctx, ns, id, err)
		}
		if b.size += int64(n); readErr == io.EOF {
			return b, nil
		}
	}
}

func setChunks(tx storage.Tx, blob string, n uint32, data []byte) error {
	for chunk := range slices.Chunk(data, chunkSize) {
		if err := tx.Set(chunkKey(blob, n), chunk); err != nil {
			return err
		}
		n++
	}
	return nil
}

// check returns errEnded where the store may have lost chunks of a blob since it was
// begun and has: what came behind them was written all the same. It is asked in the
// transaction that gives the blob to a file, when that has read something.
func (s *Service) check(tx storage.Tx, b blob) error {
	if s.store.Epoch() == b.epoch {
		return nil
	}
	r := storage.Prefix(chunksOf(b.id))
	r.KeysOnly = true
	left := (b.size + chunkSize - 1) / chunkSize
	for _, err := range tx.Scan(r) {
		if err != nil {
			return err
		}
		left--
	}
	if left != 0 {
		return errEnded
	}
	return nil
}

// fill reads until p is full. The error is io.EOF where r ended before or just
// there: unlike io.ReadFull it keeps that apart from a reader that broke off
// with io.ErrUnexpectedEOF.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var got int
		got, err = r.Read(p[n:])
		n += got
	}
	return n, err
}

// abandon removes a blob that will not be finished because of err, which it
// returns.
func (s *Service) abandon(ctx context.Context, ns storage.Namespace, blob string, err error) error {
	s.sweep(ctx, ns, blob)
	return err
}

// sweep removes blobs that belong to no file. What it cannot remove is logged
// and stays marked, so that the next start removes it. It goes on when ctx ends.
func (s *Service) sweep(ctx context.Context, ns storage.Namespace, blobs ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTimeout)
	defer cancel()
	for _, blob := range blobs {
		if err := s.sweepBlob(ctx, ns, blob); err != nil {
			s.log.ErrorContext(ctx, "files: chunks stay until the next start", "blob", blob, "err", err)
		}
	}
}

func (s *Service) sweepBlob(ctx context.Context, ns storage.Namespace, blob string) error {
	for done := false; !done; {
		err := s.store.Update(ctx, ns, func(tx storage.Tx) (err error) {
			done, err = sweepChunks(tx, blob)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func sweepChunks(tx storage.Tx, blob string) (done bool, err error) {
	if _, err := tx.Get(garbageKey(blob)); errors.Is(err, storage.ErrNotFound) {
		return true, nil // never begun, or a file's
	} else if err != nil {
		return false, err
	}
	r := storage.Prefix(chunksOf(blob))
	r.KeysOnly = true
	count := 0
	for entry, err := range tx.Scan(r) {
		if err != nil {
			return false, err
		}
		if count++; count > sweepBatch {
			return false, nil
		}
		if err := tx.Delete(entry.Key); err != nil {
			return false, err
		}
	}
	return true, tx.Delete(garbageKey(blob))
}

// blobReader reads a blob chunk by chunk, each in a transaction of its own.
type blobReader struct {
	ctx   context.Context
	store *storage.DB
	ns    storage.Namespace
	blob  string

	next  uint32 // chunk to read
	left  int64  // bytes of the blob in the chunks from next on
	chunk []byte // what is still to be handed out
}

// Read implements [io.Reader].
func (r *blobReader) Read(p []byte) (int, error) {
	if len(r.chunk) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		if err := r.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

func (r *blobReader) fetch() error {
	err := r.store.View(r.ctx, r.ns, func(tx storage.Tx) (err error) {
		r.chunk, err = tx.Get(chunkKey(r.blob, r.next))
		return err
	})
	if err != nil {
		return fmt.Errorf("files: chunk %d of %s: %w", r.next, r.blob, err)
	}
	if want := min(r.left, chunkSize); int64(len(r.chunk)) != want {
		return fmt.Errorf("files: chunk %d of %s has %d bytes, want %d", r.next, r.blob, len(r.chunk), want)
	}
	r.left -= int64(len(r.chunk))
	r.next++
	return nil
}

// readBlob returns a reader over a blob of the given size.
func (s *Service) readBlob(ctx context.Context, ns storage.Namespace, blob string, size int64) io.Reader {
	return &blobReader{ctx: ctx, store: s.store, ns: ns, blob: blob, left: size}
}

// blobText returns a blob that is text.
func (s *Service) blobText(ctx context.Context, ns storage.Namespace, blob string, size int64) (string, error) {
	var text strings.Builder
	text.Grow(int(size))
	_, err := io.Copy(&text, s.readBlob(ctx, ns, blob, size))
	return text.String(), err
}
