package storage

import (
	"context"
	"time"

	"github.com/seed-506d8e5d/svc/driver"
)

// DB is a [Store] as the service uses it: the driver's transactions, and what a
// driver may do besides them, which a DB can say of any. All methods may be
// called concurrently.
type DB struct {
	driver Store
	health HealthChecker // nil: the driver is none
	clock  Clock         // nil: the driver is none
	epochs Epocher       // nil: the driver is none
}

// Use returns the DB of a driver, or s itself where it is one.
func Use(s Store) *DB {
	if db, ok := s.(*DB); ok {
		return db
	}
	db := &DB{driver: s}
	db.health, _ = driver.As[HealthChecker](s)
	db.clock, _ = driver.As[Clock](s)
	db.epochs, _ = driver.As[Epocher](s)
	return db
}

// HealthChecker is a [Store] that knows when it cannot be written.
type HealthChecker interface {
	// Healthy returns nil where a transaction that writes can be expected to
	// succeed, and otherwise why not: the disk is full or failed, the database
	// cannot be reached. It answers from what the store knows, at once or by ctx's
	// end, and is called for every request.
	Healthy(ctx context.Context) error
}

// Sizer is a [Store] that knows what it takes on disk.
type Sizer interface {
	// Size returns the bytes on disk.
	Size() (int64, error)
}

// MultiProcess is a [Store] that several processes may have open at once.
type MultiProcess interface {
	// Shared says whether they may.
	Shared() bool
}

// Clock is a [Store] with a clock that is one for all processes that have it open.
// A [MultiProcess] should be one: IDs are made by it, which lists are in the order of.
type Clock interface {
	// Now returns the time, at once. It is later than all that it returned, to any
	// process, before an Update was called that has returned.
	Now() time.Time
}

// Epocher is a [Store] on a server that another one may stand in for, which has not got
// the last of what was committed: a standby that was behind.
type Epocher interface {
	// Epoch returns a number that grows before any transaction meets what may be
	// another server. Who relies on something that an earlier transaction has read
	// or written, and finds another epoch in a later one, makes sure that it is there.
	// It answers at once, and says more often than is so that the server may be
	// another one.
	Epoch() uint64
}

// Epoch returns the epoch of the store, see [Epocher]: always 0 where the driver is none.
// A transaction that has read something has met the server of the epoch.
func (db *DB) Epoch() uint64 {
	if db.epochs == nil {
		return 0
	}
	return db.epochs.Epoch()
}

// Now returns the time by the store's clock, and the machine's where the driver is no
// [Clock].
func (db *DB) Now() time.Time {
	if db.clock == nil {
		return time.Now()
	}
	return db.clock.Now()
}

// Shared says whether other processes may have the store open. A driver that is
// no [MultiProcess] belongs to one process.
func (db *DB) Shared() bool {
	s, ok := driver.As[MultiProcess](db.driver)
	return ok && s.Shared()
}

// Healthy returns why the store cannot be written, or nil where it can or the
// driver is no [HealthChecker].
func (db *DB) Healthy(ctx context.Context) error {
	if db.health == nil {
		return nil
	}
	return db.health.Healthy(ctx)
}

// Size returns the bytes that the store takes on disk, 0 where the driver is no
// [Sizer].
func (db *DB) Size() (int64, error) {
	sizer, ok := driver.As[Sizer](db.driver)
	if !ok {
		return 0, nil
	}
	return sizer.Size()
}

// View runs fn over a consistent snapshot; see [Store]. An error of the driver that
// may pass is Unavailable.
func (db *DB) View(ctx context.Context, ns Namespace, fn func(Tx) error) error {
	return classify(db.driver.View(ctx, ns, fn))
}

// Update runs fn and commits what it wrote; see [Store]. An error of the driver
// that may pass is Unavailable.
func (db *DB) Update(ctx context.Context, ns Namespace, fn func(Tx) error) error {
	return classify(db.driver.Update(ctx, ns, fn))
}

// Close closes the driver.
func (db *DB) Close() error { return db.driver.Close() }

// Unwrap returns the driver; see package driver.
func (db *DB) Unwrap() any { return db.driver }

// As leaves the answer to the driver.
func (db *DB) As(any) bool { return false }

var (
	_ Store          = (*DB)(nil)
	_ driver.Wrapper = (*DB)(nil)
	_ driver.Asker   = (*DB)(nil)
)
