package generation

import (
	"context"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/model"
)

// Admit begins to have a request judged by its guard while it is prepared. wait, which
// must be called, returns what the guard says; with an error of the preparation it ends
// the judgment and returns that error.
func Admit(ctx context.Context, req *model.Request) (wait func(error) error) {
	if req.Guard == nil {
		return func(err error) error { return err }
	}
	ctx, cancel := context.WithCancel(ctx)
	judged := make(chan error, 1)
	asked := *req // what is prepared on may change the request
	go func() {
		judged <- background.Recover(func() error { return req.Guard.Input(ctx, &asked) })
	}()
	return func(err error) error {
		if err != nil {
			cancel()
			<-judged
			return err
		}
		defer cancel()
		return <-judged
	}
}
