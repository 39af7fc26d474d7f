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

// connectTimeout is how long one server of a URL is tried, where the URL does not
// say: one that has vanished does not keep the next from being tried.
const connectTimeout = 5 * time.Second

// poolConfig reads the URL of a database. What cannot be written is of no use, so
// that a standby is passed over unless the URL says otherwise.
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

// prepareAll prepares every statement on a new connection, so that none is
// prepared in the middle of a commit, unless the URL says that there is a pooler
// that cannot keep them.
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

// What several processes that start at once may tell each other.
const (
	undefinedTable  = "42P01"
	uniqueViolation = "23505"
	duplicateTable  = "42P07"
	duplicateObject = "42710"
)

// migrate makes the table where there is none and checks its version.
func migrate(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // its work is done
	version, err := readVersion(ctx, conn)
	if hasState(err, undefinedTable) || errors.Is(err, pgx.ErrNoRows) {
		if err := create(ctx, conn); err != nil {
			return err
		}
		version, err = readVersion(ctx, conn)
	}
	if err == nil && version == formatVersion {
		err = createMarks(ctx, conn)
	}
	if err != nil {
		return err
	}
	switch version {
	case formatVersion:
		return nil
	case unfinished:
		return errors.New("a restore of the data has not ended; run it again")
	}
	return fmt.Errorf("the data has the format %q, which this version of svc does not know", version)
}

func readVersion(ctx context.Context, conn *pgx.Conn) (string, error) {
	var version []byte
	err := conn.QueryRow(ctx, selectOne, []byte(ownNamespace), []byte(versionKey)).Scan(&version)
	return string(version), err
}

// create makes the table and writes its version.
func create(ctx context.Context, conn *pgx.Conn) error {
	var server string
	if err := conn.QueryRow(ctx, "select version()").Scan(&server); err != nil {
		return err
	}
	key := "ns, key"
	if strings.Contains(server, "-YB-") { // which would spread the first column by its hash
		key = "ns asc, key asc"
	}
	_, err := conn.Exec(ctx, "create table if not exists kv (ns bytea not null, key bytea not null, value bytea not null, primary key ("+key+"))")
	if err != nil && !hasState(err, uniqueViolation, duplicateTable, duplicateObject) {
		return err
	}
	_, err = conn.Exec(ctx, "insert into kv (ns, key, value) values ($1, $2, $3) on conflict (ns, key) do nothing",
		[]byte(ownNamespace), []byte(versionKey), []byte(formatVersion))
	return err
}

// createMarks makes the table of marks, which databases of earlier versions do
// not have.
func createMarks(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "create table if not exists kv_marks (mark bytea not null primary key, outcome bytea not null)")
	if hasState(err, uniqueViolation, duplicateTable, duplicateObject) {
		err = nil
	}
	return err
}

func hasState(err error, states ...string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	for _, state := range states {
		if pg.Code == state {
			return true
		}
	}
	return false
}

// unfinished is the version of a database that [Load] has not filled yet.
const unfinished = "unfinished"

// Load lets fill write the data of a database that has none, as a restore does.
// Until it has, no store opens the database: what a Load that failed has left is
// removed by the next one. The error says where there is data.
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
	if err := errors.Join(empty(ctx, conn), createMarks(ctx, conn)); err != nil {
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
	_, err = conn.Exec(ctx, setVersion, []byte(ownNamespace), []byte(versionKey), []byte(formatVersion))
	if err != nil {
		return translated("load", err)
	}
	return nil
}

const setVersion = "update kv set value = $3 where ns = $1 and key = $2"

// empty sees to it that there is a table without data whose version is
// unfinished.
func empty(ctx context.Context, conn *pgx.Conn) error {
	if err := create(ctx, conn); err != nil {
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
	_, err = conn.Exec(ctx, setVersion, []byte(ownNamespace), []byte(versionKey), []byte(unfinished))
	return err
}
