package main

import (
	"context"
	"errors"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// watchInterval is how often it is looked whether the store has failed.
const watchInterval = time.Second

// watch calls fail when the store takes no writes until it is opened again: the
// server must end for that, and whoever started it start another. The function
// that it returns ends that.
func watch(ctx context.Context, store storage.Store, fail func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	db := storage.Use(store)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := db.Healthy(ctx); errors.Is(err, storage.ErrFailed) {
				fail(err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// failure returns why the server ends if it was not told to.
func failure(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, storage.ErrFailed) {
		return err
	}
	return nil
}
