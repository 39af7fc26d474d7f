package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-506d8e5d/svc/storage"
)

// errLost says that the database refused an attempt because of others.
var errLost = errors.New("pgstore: lost to another transaction")

// The states (SQLSTATE) that matter. Classes are their first two characters.
const (
	serializationFailure = "40001" // also what CockroachDB asks to retry
	deadlockDetected     = "40P01"
	outcomeUnknown       = "40003" // CockroachDB: the result of a commit is ambiguous
	readOnlyServer       = "25006" // a standby, after a failover
	classConnection      = "08"
	classResources       = "53" // disk full, out of memory, too many connections
	classIntervention    = "57" // shutting down, starting up, statement cancelled
	classSystem          = "58" // I/O errors
	classInternal        = "XX"
)

// classify returns the error of a read or a refused write as what the caller has
// to do about it: errLost, storage.ErrUnavailable, or an error that stays.
func classify(err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.Is(err, errLost), errors.Is(err, storage.ErrUnavailable):
		return err
	case !errors.As(err, &pg):
		if errors.Is(err, context.Canceled) {
			return err
		}
		return unavailable(err) // the connection broke, or the answer did not come in time
	case pg.Code == serializationFailure, pg.Code == deadlockDetected:
		return fmt.Errorf("%w: %v", errLost, err)
	case pg.Code == outcomeUnknown, pg.Code == readOnlyServer, inClass(pg, classConnection, classResources, classIntervention, classSystem):
		return unavailable(err)
	}
	return translated("statement", err)
}

// classifyCommit does the same for a transaction whose COMMIT was sent. Only an
// answer of the server says that nothing was written; without one, or with one
// that is about the connection, that is unknown.
func classifyCommit(err error) error {
	var pg *pgconn.PgError
	if errors.Is(err, errLost) || errors.Is(err, storage.ErrUnavailable) || pgconn.SafeToRetry(err) {
		return classify(err)
	}
	if !errors.As(err, &pg) || pg.Code == outcomeUnknown || inClass(pg, classConnection, classIntervention, classSystem, classInternal) {
		return fmt.Errorf("%w: %v", storage.ErrUnknown, err)
	}
	return classify(err)
}

func inClass(err *pgconn.PgError, classes ...string) bool {
	for _, class := range classes {
		if strings.HasPrefix(err.Code, class) {
			return true
		}
	}
	return false
}
