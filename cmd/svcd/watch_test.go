package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

type ailing struct {
	storage.Store
	err error
}

func (a ailing) Healthy(context.Context) error { return a.err }

func TestWatch(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want error
	}{
		{"well", nil, nil},
		{"full", storage.ErrFull, nil},
		{"failed", storage.ErrFailed, storage.ErrFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New()
				defer store.Close()
				ctx, fail := context.WithCancelCause(t.Context())
				defer fail(nil)
				stop := watch(ctx, ailing{store, test.err}, fail)
				<-time.After(3 * watchInterval)
				stop()
				if got := failure(ctx); !errors.Is(got, test.want) || (got == nil) != (test.want == nil) {
					t.Errorf("the failure is %v, want %v", got, test.want)
				}
			})
		})
	}
}
