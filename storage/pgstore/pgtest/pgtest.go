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
	url, drop, err := create()
	switch {
	case err != nil && os.Getenv(Variable) != "":
		t.Fatalf("pgtest: %s: %v", Variable, err)
	case err != nil:
		t.Skipf("no PostgreSQL at 127.0.0.1:5432; to run this test set %s=postgres://user@host/postgres, a server where databases may be created", Variable)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return url
}

// Main runs the tests of a package with a database for all of them, which is
// dropped afterwards, and returns the code to exit with. That there is no server
// is a failure.
func Main(run func(database string) int) int {
	url, drop, err := create()
	if err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		return 1
	}
	code := run(url)
	if err := drop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// create creates a database on the server of the environment.
func create() (database string, drop func() error, err error) {
	server := os.Getenv(Variable)
	if server == "" {
		server = defaultURL
	}
	name := "svc_test_" + strings.ToLower(rand.Text())
	if err := execute(server, "create database "+name+" template template0"); err != nil {
		return "", nil, err
	}
	drop = func() error {
		if err := execute(server, "drop database "+name+" with (force)"); err != nil {
			return fmt.Errorf("pgtest: the database %s is left: %w", name, err)
		}
		return nil
	}
	database = with(server, func(u *url.URL) { u.Path = "/" + name })
	return WithParameter(database, "connect_timeout", "60"), drop, nil // it is there, however much else the machine does
}

func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// Schema creates a schema in a database and returns a URL whose connections use
// it: a store of its own, for less than a database costs.
func Schema(t testing.TB, database, name string) string {
	t.Helper()
	statement := "create schema if not exists " + pgx.Identifier{name}.Sanitize()
	err := execute(database, statement)
	for range 20 { // it may be behind a proxy
		if err == nil {
			break
		}
		err = execute(database, statement)
	}
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return WithParameter(database, "search_path", name)
}

// WithParameter returns the URL of a database with another parameter.
func WithParameter(database, name, value string) string {
	return with(database, func(u *url.URL) {
		query := u.Query()
		query.Set(name, value)
		u.RawQuery = query.Encode()
	})
}

// OtherDatabase returns the URL of a server with the database of another URL.
func OtherDatabase(server, database string) string {
	other, err := url.Parse(database)
	if err != nil {
		panic(fmt.Sprintf("pgtest: %v", err)) // it was connected to already
	}
	return with(server, func(u *url.URL) { u.Path = other.Path })
}

// Role creates a role that has no rights but to connect, and returns the URL of the
// database for it. It is dropped when the test ends.
func Role(t testing.TB, database string) string {
	t.Helper()
	name := "svc_test_" + strings.ToLower(rand.Text())
	password := rand.Text()
	Execute(t, database, "create role "+name+" login password '"+password+"'")
	t.Cleanup(func() {
		Execute(t, database, "drop owned by "+name)
		Execute(t, database, "drop role "+name)
	})
	return with(database, func(u *url.URL) { u.User = url.UserPassword(name, password) })
}

// Execute runs a statement on a database.
func Execute(t testing.TB, database, statement string) {
	t.Helper()
	if err := execute(database, statement); err != nil {
		t.Fatalf("pgtest: %s: %v", statement, err)
	}
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
