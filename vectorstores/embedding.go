package vectorstores

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/vectorstores/internal/index"
)

const (
	embedAtOnce  = 64 // chunks that a model is asked for at once
	embedTries   = 3  // where a model server fails
	embedRetry   = time.Second
	embedTimeout = 2 * time.Minute
)

// charged finds out who is charged for the vectors of a file: the key that attached it.
func (d *draft) charged(ctx context.Context) (err error) {
	if d.model == "" {
		return nil
	}
	if d.record.Key == "" {
		d.caller, err = d.s.o.Accounts.CallerFor(ctx, string(d.ns))
	} else {
		d.caller, err = d.s.o.Accounts.CallerForKey(ctx, d.record.Key)
	}
	if fault.Is(err, fault.Unauthenticated) {
		return &indexError{Problem: Problem{ServerError, "The API key that put the file into the vector store was revoked."}, cause: err}
	}
	d.caller.Background = true
	d.caller.RequestsPerMinute, d.caller.TokensPerMinute, d.caller.KeyLimits.RequestsPerMinute, d.caller.KeyLimits.TokensPerMinute = 0, 0, 0, 0
	d.caller.Deferred = &accounts.Deferred{}
	return err
}

// charge runs the transaction that makes the chunks visible, and charges for their
// vectors in it.
func (d *draft) charge(ctx context.Context, fn func(storage.Tx) error) error {
	if d.caller.Deferred == nil {
		return d.update(ctx, fn)
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return d.s.o.Accounts.ChargeDeferred(ctx, d.caller, fn)
}

// embed asks for the vectors of the texts that wait, and puts them among the writes.
func (d *draft) embed(ctx context.Context) error {
	if len(d.texts) == 0 {
		return nil
	}
	vectors, err := d.vectorsOf(ctx)
	if err != nil {
		return err
	}
	if d.dimensions == 0 {
		d.dimensions = len(vectors[0])
	}
	if err := checkVectors(vectors, len(d.texts), d.dimensions, d.model); err != nil {
		return err
	}
	d.put(vectorsKey(d.work.store, d.data, d.vectors), index.EncodeVectors(vectors))
	d.vectors++
	d.texts = d.texts[:0]
	return nil
}

// vectorsOf asks the model, again where its server fails.
func (d *draft) vectorsOf(ctx context.Context) ([][]float32, error) {
	wait := embedRetry
	for try := 1; ; try++ {
		limited, cancel := context.WithTimeout(ctx, embedTimeout)
		vectors, err := d.s.o.Embed(limited, d.caller, d.model, slices.Clone(d.texts))
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && len(vectors) == 0 {
			err = fault.Upstreamf(nil, "The embedding model gave no vectors.")
		}
		if err == nil {
			return vectors, nil
		}
		e := fault.From(err)
		mayPass := e.Kind == fault.Unavailable || e.Kind == fault.RateLimited || e.Kind == fault.Upstream || e.Kind == fault.Canceled
		if !mayPass || try == embedTries {
			return nil, &indexError{Problem: Problem{ServerError, "The chunks could not be embedded. " + e.Message}, cause: err}
		}
		if !background.Sleep(ctx, wait) {
			return nil, ctx.Err()
		}
		wait *= 2
	}
}

// checkVectors returns what is wrong with vectors, as an [indexError].
func checkVectors(vectors [][]float32, wanted, dimensions int, model string) error {
	if len(vectors) != wanted {
		return &indexError{Problem: Problem{ServerError, fmt.Sprintf("The embedding model gave %d vectors for %d texts.", len(vectors), wanted)}}
	}
	for _, v := range vectors {
		if len(v) != dimensions || len(v) == 0 {
			return errOtherVectors(model, len(v), dimensions)
		}
		if slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }) {
			return &indexError{Problem: Problem{ServerError, fmt.Sprintf("The embedding model %q gave a vector with what is no number.", model)}}
		}
	}
	return nil
}

func errOtherVectors(model string, got, want int) error {
	return &indexError{Problem: Problem{ServerError, fmt.Sprintf("The embedding model %q gave a vector of %d numbers; those of the vector store have %d.", model, got, want)}}
}

// embedQuery returns the vectors of the texts of a query, nil where the store has none.
func (s *Service) embedQuery(ctx context.Context, caller accounts.Caller, model string, dimensions int, texts []string) ([][]float32, error) {
	if model == "" || s.o.Embed == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	vectors, err := s.o.Embed(ctx, caller, model, texts)
	if err != nil {
		return nil, err
	}
	if err := checkVectors(vectors, len(texts), dimensions, model); err != nil {
		return nil, fault.Upstreamf(err, "%s", err)
	}
	return vectors, nil
}
