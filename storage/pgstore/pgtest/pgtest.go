// Package pgtest gives tests databases of their own on a PostgreSQL server, and
// a [Proxy] before it that fails as networks and servers do.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable names the environment variable with the URL of a server on which
// databases may be created. Where it is set, a server that cannot be reached is
// a failure; otherwise defaultURL is tried, and without it the test is skipped.
const Variable = "SVC_TEST_POSTGRES"

const defaultURL = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"

// Database creates a database for the test and returns its URL. It is dropped,
// whoever still uses it, when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	server, required := os.Getenv(Variable), true
	if server == "" {
		server, required = defaultURL, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	switch {
	case err != nil && required:
		t.Fatalf("pgtest: %s: %v", Variable, err)
	case err != nil:
		t.Skipf("no PostgreSQL at 127.0.0.1:5432; to run this test set %s=postgres://user@host/postgres, a server where databases may be created", Variable)
	}
	defer conn.Close(ctx)
	name := "svc_test_" + strings.ToLower(rand.Text())
	if _, err := conn.Exec(ctx, "create database "+name+" template template0"); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { drop(t, server, name) })
	return with(server, func(u *url.URL) { u.Path = "/" + name })
}

func drop(t testing.TB, server, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Errorf("pgtest: the database %s is left: %v", name, err)
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "drop database "+name+" with (force)"); err != nil {
		t.Errorf("pgtest: the database %s is left: %v", name, err)
	}
}

// Schema creates a schema in a database and returns a URL whose connections use
// it: a store of its own, for less than a database costs.
func Schema(t testing.TB, database, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "create schema if not exists "+pgx.Identifier{name}.Sanitize()); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return with(database, func(u *url.URL) {
		query := u.Query()
		query.Set("search_path", name)
		u.RawQuery = query.Encode()
	})
}

// with returns a URL that was changed.
func with(text string, change func(*url.URL)) string {
	u, err := url.Parse(text)
	if err != nil {
		panic(fmt.Sprintf("pgtest: %v", err)) // it was connected to already
	}
	change(u)
	return u.String()
}
