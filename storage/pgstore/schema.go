package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-506d8e5d/svc/storage"
)

// connectTimeout is how long each server of a URL is tried, unless the URL says it.
const connectTimeout = 5 * time.Second

// poolConfig parses the URL of a database. Standby servers, which cannot be written,
// are passed over unless the URL says otherwise.
func poolConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err) // the driver leaves passwords out
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = defaultConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.ConnConfig.DialFunc = dialer()
	config.PingTimeout = pingTimeout
	if !strings.Contains(url, "target_session_attrs") {
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "svc"
	}
	return config, nil
}

// prepareAll prepares every statement on a new connection, so that no commit waits
// for that, unless the URL says that prepared statements are not kept.
func prepareAll(ctx context.Context, conn *pgx.Conn) error {
	if conn.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return nil
	}
	for _, statement := range prepared() {
		if _, err := conn.Prepare(ctx, statement, statement); err != nil {
			return err
		}
	}
	return nil
}

// migrate creates the tables that do not exist and checks their version.
func migrate(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // its work is done
	version, err := readVersion(ctx, conn)
	if hasState(err, undefinedTable) || errors.Is(err, pgx.ErrNoRows) {
		if err := createData(ctx, conn); err != nil {
			return err
		}
		version, err = readVersion(ctx, conn)
	}
	switch {
	case err != nil:
		return err
	case version == formatVersion:
		return createRecords(ctx, conn)
	case version == unfinished:
		return errors.New("a restore of the data has not ended; run it again")
	}
	return fmt.Errorf("the data has the format %q, which this version of svc does not know", version)
}

func readVersion(ctx context.Context, conn *pgx.Conn) (string, error) {
	var version []byte
	err := conn.QueryRow(ctx, selectOne, []byte(ownNamespace), []byte(versionKey)).Scan(&version)
	return string(version), err
}

// createData creates the table of the data and writes its version.
func createData(ctx context.Context, conn *pgx.Conn) error {
	var server string
	if err := conn.QueryRow(ctx, "select version()").Scan(&server); err != nil {
		return err
	}
	key := "ns, key"
	if strings.Contains(server, "-YB-") { // which would distribute rows by the hash of the first column
		key = "ns asc, key asc"
	}
	if err := createTable(ctx, conn, "kv", "ns bytea not null, key bytea not null, value bytea not null, primary key ("+key+")"); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "insert into kv (ns, key, value) values ($1, $2, $3) on conflict (ns, key) do nothing",
		[]byte(ownNamespace), []byte(versionKey), []byte(formatVersion))
	return err
}

// createRecords creates the table of commit records, which databases of the first
// versions do not have.
func createRecords(ctx context.Context, conn *pgx.Conn) error {
	return createTable(ctx, conn, "kv_marks", "mark bytea not null primary key, outcome bytea not null")
}

// createTable creates a table that does not exist. Asking first lets a role start that
// has no right to create tables. Several processes may do this at once.
func createTable(ctx context.Context, conn *pgx.Conn, name, columns string) error {
	if _, err := conn.Exec(ctx, "select 1 from "+name+" limit 0"); !hasState(err, undefinedTable) {
		return err
	}
	_, err := conn.Exec(ctx, "create table if not exists "+name+" ("+columns+")")
	if hasState(err, uniqueViolation, duplicateTable, duplicateObject) {
		err = nil
	}
	return err
}

// unfinished is the version of a database that a [Load] is filling, or has failed to
// fill.
const unfinished = "unfinished"

// Load lets fill write the data of an empty database, as a restore does. No store
// opens the database before it is filled. What a failed Load has left is removed by
// the next one. A database that is not empty is an error.
func Load(ctx context.Context, o Options, fill func(storage.Store) error) error {
	config, err := poolConfig(o.URL)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return translated("open", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // its work is done
	if err := errors.Join(makeEmpty(ctx, conn), createRecords(ctx, conn)); err != nil {
		return translated("load", err)
	}
	s, err := newStore(ctx, config, o)
	if err != nil {
		return err
	}
	err = fill(s)
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	if err := setVersion(ctx, conn, formatVersion); err != nil {
		return translated("load", err)
	}
	return nil
}

func setVersion(ctx context.Context, conn *pgx.Conn, version string) error {
	_, err := conn.Exec(ctx, "update kv set value = $3 where ns = $1 and key = $2", []byte(ownNamespace), []byte(versionKey), []byte(version))
	return err
}

// makeEmpty makes sure that there is a table without data, and gives it the version
// unfinished.
func makeEmpty(ctx context.Context, conn *pgx.Conn) error {
	if err := createData(ctx, conn); err != nil {
		return err
	}
	version, err := readVersion(ctx, conn)
	if err != nil {
		return err
	}
	if version == unfinished {
		_, err := conn.Exec(ctx, "delete from kv where ns > ''::bytea")
		return err
	}
	var some bool
	if err := conn.QueryRow(ctx, "select exists (select 1 from kv where ns > ''::bytea)").Scan(&some); err != nil {
		return err
	}
	if some {
		return errors.New("the database has data already")
	}
	return setVersion(ctx, conn, unfinished)
}
