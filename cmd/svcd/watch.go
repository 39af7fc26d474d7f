package main

import (
	"context"
	"errors"
	"time"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

// watchInterval is how often it is looked whether the store has failed.
const watchInterval = time.Second

// watch calls fail when the store takes no writes until it is opened again: the
// server must end for that, and whoever started it start another. The function
// that it returns ends that.
func watch(ctx context.Context, store storage.Store, fail func(error)) (stop func()) {
	db := storage.Use(store)
	return inBackground(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		background.Every(ctx, watchInterval, nil, func() {
			if err := db.Healthy(ctx); errors.Is(err, storage.ErrFailed) {
				fail(err)
				cancel()
			}
		})
	})
}

// inBackground runs a function beside the caller. The function that it returns ends
// the other's context and waits for it.
func inBackground(ctx context.Context, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(ctx)
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
