package pgstore

import (
	"testing"
	"time"
)

// Patient has stores try for minutes what they try for seconds, until the test
// ends: on a machine with much else to do a thousand writers wait for each other
// for longer than a request may.
func Patient(t testing.TB) Options {
	before := resolveTimeout
	resolveTimeout = 5 * time.Minute
	t.Cleanup(func() { resolveTimeout = before })
	return Options{Timeout: 5 * time.Minute}
}

// AskTime has a store ask the database server for the time, as it does each second.
func AskTime(t testing.TB, s *Store) {
	t.Helper()
	if err := s.clock.ask(t.Context(), s.serverTime); err != nil {
		t.Fatal(err)
	}
}

// RemoveRecords has a store remove commit records, as it does every ten seconds.
func RemoveRecords(s *Store) { s.removeRecords() }

// CountRecords returns how many commit records there are.
func CountRecords(t testing.TB, s *Store) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), "select count(*) from kv_marks").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Deallocate removes the prepared statements of all idle connections.
func Deallocate(t testing.TB, s *Store) {
	t.Helper()
	for _, conn := range s.pool.AcquireAllIdle(t.Context()) {
		if _, err := conn.Conn().PgConn().Exec(t.Context(), "deallocate all").ReadAll(); err != nil {
			t.Error(err)
		}
		conn.Release()
	}
}
