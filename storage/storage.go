// Package storage is the contract between the service and the database it
// keeps everything in: an ordered map of byte keys to byte values with
// serializable transactions, separate for each [Namespace].
//
// A database is connected by a [Store], which is the driver interface: what others
// implement. What the service uses is a [DB] around it ([Use]). What a driver may
// do besides is an interface of its own, which package driver finds through
// wrappers: [Snapshotter], [HealthChecker], [Sizer], [MultiProcess], [Clock], [Epocher].
//
// A domain package opens a transaction with [DB.View] or [DB.Update] and
// works on the [Tx] it is handed. A Tx belongs to one namespace and cannot name
// a key of another, so that one organization's data is out of reach of a
// transaction made for another, by construction.
//
// Package storagetest states every rule of this contract as a test. Packages
// badgerstore and memstore implement it.
package storage

import (
	"context"
	"errors"
	"iter"

	"github.com/seed-506d8e5d/svc/driver"
)

// Namespace names one isolated key space: an organization's, or the one that
// the service keeps its own records in. 1 to [MaxNamespace] bytes, any bytes.
type Namespace string

// The sizes every Store must take. Anything larger is refused with
// [ErrTooLarge] by every implementation, so that a program that works on one
// store works on all. What a transaction writes is added up in a [Size].
const (
	MaxNamespace = 64       // bytes in a namespace's name
	MaxKey       = 512      // bytes in a key
	MaxValue     = 8 << 20  // bytes in a value: 8 MiB
	MaxTxBytes   = 16 << 20 // bytes of keys and values that one transaction gives to Set and Delete: 16 MiB
	MaxTxSmall   = 4 << 20  // bytes of those that are keys, or values of up to SmallValue: 4 MiB
	MaxTxWrites  = 25_000   // Set and Delete calls in one transaction
	SmallValue   = 64 << 10 // bytes up to which a value counts as small: 64 KiB
)

// Size adds up what a transaction writes. The zero value is empty.
type Size struct {
	Writes int // calls of Set and Delete
	Bytes  int // keys and values
	Small  int // keys, and values of up to [SmallValue]
}

// Add counts a key and a value by their lengths in bytes.
func (s *Size) Add(key, value int) {
	s.Writes++
	s.Bytes += key + value
	s.Small += key
	if value <= SmallValue {
		s.Small += value
	}
}

// Plus returns the size of two transactions together.
func (s Size) Plus(t Size) Size {
	return Size{s.Writes + t.Writes, s.Bytes + t.Bytes, s.Small + t.Small}
}

// Fits reports whether a transaction may be that large.
func (s Size) Fits() bool {
	return s.Writes <= MaxTxWrites && s.Bytes <= MaxTxBytes && s.Small <= MaxTxSmall
}

// The errors of the contract. Implementations return them, possibly wrapped;
// compare with [errors.Is]. None of them leaves a domain package, which
// translates it into what was missing or too large.
var (
	ErrNotFound = errors.New("storage: key not found")
	// ErrTooLarge: a namespace, key, value or transaction over the sizes above,
	// or an empty namespace or key. Nothing of the transaction is written.
	ErrTooLarge = errors.New("storage: key, value or transaction too large")
	// ErrConflict: the transaction kept losing to others through all retries.
	ErrConflict = errors.New("storage: too many conflicting writes")
	ErrReadOnly = errors.New("storage: write in a read-only transaction")
	ErrClosed   = errors.New("storage: store is closed")
	// ErrFull: the disk has no space for the transaction. Nothing of it is written.
	ErrFull = errors.New("storage: the disk is full")
	// ErrFailed: a write failed such that what is on the disk is unknown. Nothing
	// can be written before the store is opened again.
	ErrFailed = errors.New("storage: a write failed, and no more are taken until the store is opened again")
	// ErrDamaged: what is stored is not what was written. The message says where.
	ErrDamaged = errors.New("storage: damaged")
	// ErrUnavailable: the database cannot be reached, or cannot be written at
	// present. Nothing of the transaction is written.
	ErrUnavailable = errors.New("storage: the database is not available")
	// ErrInDoubt: the connection to the database broke while the transaction was
	// being committed. Whether it was written is not known.
	ErrInDoubt = errors.New("storage: it is not known whether the transaction was written")
)

// Store is the driver interface: an ordered, transactional map of bytes. All
// methods may be called concurrently, from any goroutine.
//
// The functions handed to View and Update may run more than once and must have
// no effect outside the transaction but to set variables that each run sets
// afresh. They must not keep the Tx or use it from another goroutine, and must
// not call a model or anything else that waits on the outside.
type Store interface {
	// View runs fn over a consistent snapshot. It returns fn's error as it is,
	// the context's error if ctx ended first, or ErrClosed.
	View(ctx context.Context, ns Namespace, fn func(Tx) error) error

	// Update runs fn and commits what it wrote, all or nothing; transactions
	// are serializable. If fn returns an error nothing is written and the error
	// is returned as it is. A conflict with a concurrent transaction is retried
	// with fn run anew, a bounded number of times, then ErrConflict. When Update
	// returns nil, what it wrote survives a kill of the process and, on a store
	// that is on disk, a crash of the machine. When ctx ends before the commit
	// began nothing is written and the context's error is returned. Over a
	// network there are ErrUnavailable and ErrInDoubt besides: what may be asked
	// for again after the latter has to be safe to write twice.
	Update(ctx context.Context, ns Namespace, fn func(Tx) error) error

	// Close waits for running transactions, then releases everything. Calls
	// made after it return ErrClosed; closing twice is no error.
	Close() error
}

// Tx is one transaction in one namespace. It is not safe for concurrent use
// and ends with the function it was handed to. A read sees the transaction's
// own earlier writes. When the function has returned its methods fail, and when
// the context has ended they fail with its error.
type Tx interface {
	// Get returns the value of key, or ErrNotFound. The bytes are the caller's.
	Get(key []byte) ([]byte, error)

	// Set writes a value. The store may keep key and value until the transaction
	// ends: the caller must not change them before that. A nil value is stored as
	// an empty one.
	Set(key, value []byte) error

	// Delete removes a key; removing one that does not exist is no error.
	Delete(key []byte) error

	// Scan yields the entries of a range in key order, or in reverse, as the
	// transaction saw them when the iteration began; the consumer may write
	// meanwhile. After an error it ends. Only one Scan may be open at a time in a
	// transaction. Entries are read as the consumer asks for them: stopping early
	// costs nothing more. A key that another transaction adds to a range that was
	// scanned is a conflict like any other.
	Scan(r Range) iter.Seq2[Entry, error]
}

// Reserver is a [Tx] of a store that keeps a part of its disk for what makes
// room and for what must go on when the disk is full. It is reached through
// [UseReserve].
type Reserver interface {
	// UseReserve lets the transaction use that part.
	UseReserve()
}

// UseReserve lets a transaction be committed also on a disk that is full for
// others: deletions that write, too, administration, the ledger, recovery.
// Transactions that only delete need not ask. The transaction must be small. On
// a store that keeps no reserve it does nothing.
func UseReserve(tx Tx) {
	if r, ok := driver.As[Reserver](tx); ok {
		r.UseReserve()
	}
}

// Prefetcher is a [Tx] of a store that reads several keys as quickly as one. It is
// reached through [Prefetch].
type Prefetcher interface {
	// Prefetch says that the keys are going to be read. It reads nothing and
	// keeps the keys until the transaction ends.
	Prefetch(keys ...[]byte)
}

// Prefetch says that the transaction is going to read keys with Get: where each
// read is a wait for a database, the first of them reads them all. What they say is
// the same as without, and so is what the transaction conflicts with, so that only
// what will be read should be named. The values are kept until they are asked for:
// they should be small. On a store that is no [Prefetcher] it does nothing.
func Prefetch(tx Tx, keys ...[]byte) {
	if p, ok := driver.As[Prefetcher](tx); ok {
		p.Prefetch(keys...)
	}
}

// Range is a half-open interval of keys: Start is in it, End is not. A nil
// Start begins at the first key of the namespace, a nil End ends after the
// last. With Reverse the largest key comes first. With KeysOnly the values are
// not read and come back nil. With a Limit above 0 that many entries are the
// last, and a store may know better how much to read ahead.
type Range struct {
	Start, End []byte
	Reverse    bool
	KeysOnly   bool
	Limit      int
}

// Prefix returns the range of all keys that begin with prefix.
func Prefix(prefix []byte) Range { return Range{Start: prefix, End: After(prefix)} }

// After returns the smallest key that is larger than every key that begins with
// prefix, or nil where there is none.
func After(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// Entry is one key and its value, as Scan yields them. The bytes are the
// consumer's to keep.
type Entry struct {
	Key, Value []byte
}
