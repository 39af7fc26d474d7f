package main

import (
	"net"
	"testing"

	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestDatabaseCannotBeOpened starts a server whose database is down or does not
// exist: it ends with an error.
func TestDatabaseCannotBeOpened(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{
		"down":             "postgres://postgres@" + down + "/postgres?sslmode=disable",
		"no such database": pgtest.OtherDatabase(pgtest.Database(t), "postgres:///svc_none"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := run(t.Context(), "-addr", "127.0.0.1:0", "-data", url); err == nil {
				t.Error("the server started")
			}
		})
	}
}
