package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-506d8e5d/svc/storage"
)

// errConflict says that the database rolled an attempt back because of another
// transaction.
var errConflict = errors.New("pgstore: conflict with another transaction")

// errPooler says that prepared statements are lost between transactions.
var errPooler = fmt.Errorf("%w: the URL leads to a pooler that does not keep prepared statements: add default_query_exec_mode=exec to the URL, or give the pooler's address in session mode", storage.ErrUnavailable)

// The states (SQLSTATE) that matter. Classes are their first two characters.
const (
	serializationFailure = "40001" // also what CockroachDB asks to retry
	deadlockDetected     = "40P01"
	ambiguousResult      = "40003" // CockroachDB: whether the commit succeeded is not known
	readOnlyServer       = "25006" // a standby, after a failover
	noSuchStatement      = "26000" // a prepared statement is missing, or
	duplicateStatement   = "42P05" // there already: another client's connection to the server
	undefinedTable       = "42P01"
	uniqueViolation      = "23505"
	duplicateTable       = "42P07"
	duplicateObject      = "42710"

	classConnection   = "08"
	classResources    = "53" // disk full, out of memory, too many connections
	classIntervention = "57" // shutting down, starting up, statement cancelled
	classSystem       = "58" // I/O errors
	classInternal     = "XX"
)

// classify returns the error of a read, or of a write that was refused, as what the
// caller has to do about it: errConflict, storage.ErrUnavailable, or an error that
// stays.
func classify(err error) error {
	switch {
	case err == nil, errors.Is(err, errConflict), errors.Is(err, storage.ErrUnavailable), errors.Is(err, context.Canceled):
		return err
	case hasState(err, serializationFailure, deadlockDetected):
		return fmt.Errorf("%w: %v", errConflict, err)
	case !fromServer(err), // the connection broke, or the answer did not come in time
		hasState(err, ambiguousResult, readOnlyServer, noSuchStatement, duplicateStatement, classConnection, classResources, classIntervention, classSystem):
		return unavailable(err)
	}
	return translated("statement", err)
}

// classifyCommit does the same for a transaction whose COMMIT was handed to the
// driver. Only an answer of the server to the transaction says that nothing was
// written. Everything else leaves the commit in doubt, whatever the driver knows
// about what it has sent.
func classifyCommit(err error) error {
	if !fromServer(err) || hasState(err, ambiguousResult, classConnection, classIntervention, classSystem, classInternal) {
		return fmt.Errorf("%w: %v", storage.ErrInDoubt, err)
	}
	return classify(err)
}

// unavailable returns the error of a database that cannot be used at present.
func unavailable(err error) error {
	if hasState(err, noSuchStatement, duplicateStatement) {
		return errPooler
	}
	return fmt.Errorf("%w: %v", storage.ErrUnavailable, err)
}

// translated returns err as an error of this package. It hides the driver's errors,
// on which callers must not depend.
func translated(what string, err error) error {
	if hasState(err, noSuchStatement, duplicateStatement) {
		return errPooler
	}
	return fmt.Errorf("pgstore: %s: %v", what, err)
}

// fromServer reports whether err is an answer of the server.
func fromServer(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg)
}

// hasState reports whether err is an answer of the server with one of the states, or
// with a state of one of the classes.
func hasState(err error, states ...string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && len(pg.Code) == 5 && (slices.Contains(states, pg.Code) || slices.Contains(states, pg.Code[:2]))
}
