//go:build unix

package pgtest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Bouncer is a PgBouncer in transaction mode, a process of the test that ends with
// it. It does not keep prepared statements.
type Bouncer struct{ address string }

// NewBouncer starts a PgBouncer in front of the server of a database. Without the
// program the test is skipped, unless BinVariable is set: then it fails.
func NewBouncer(t testing.TB, database string) *Bouncer {
	t.Helper()
	program := bouncerProgram(t)
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	port := freePort(t)
	file := filepath.Join(t.TempDir(), "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 10
`, config.Host, config.Port, config.User, port)
	if config.Password != "" {
		t.Skip("the server of the tests wants a password, which the pooler does not have")
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	command := exec.Command(program, file)
	if os.Getuid() == 0 { // which PgBouncer does not run as
		command.Args = append(command.Args, "-u", "postgres")
		for dir := filepath.Dir(file); dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatalf("pgtest: %v", err)
			}
		}
	}
	var log strings.Builder
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended, which is reported below
		<-ended
		if t.Failed() {
			t.Logf("PgBouncer said\n%s", &log)
		}
	})
	b := &Bouncer{net.JoinHostPort("127.0.0.1", fmt.Sprint(port))}
	if !until(func() bool { _, err := ask(b.URL(database), "select 1"); return err == nil }) {
		t.Fatalf("pgtest: PgBouncer does not answer")
	}
	return b
}

// bouncerProgram returns the path of PgBouncer's program, see [NewBouncer].
func bouncerProgram(t testing.TB) string {
	if program, err := exec.LookPath("pgbouncer"); err == nil {
		return program
	}
	const program = "/usr/sbin/pgbouncer"
	if _, err := os.Stat(program); err != nil && os.Getenv(BinVariable) == "" {
		t.Skip("there is no program pgbouncer; it is in the Debian package of that name")
	}
	return program
}

// URL is a database of the server through the pooler. It is not in
// default_query_exec_mode=exec, which stores need there.
func (b *Bouncer) URL(database string) string {
	return with(database, func(u *url.URL) { u.Host = b.address })
}
