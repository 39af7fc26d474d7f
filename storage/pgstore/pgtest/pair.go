//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// BinVariable names the environment variable with the directory of PostgreSQL's
// programs. Where it is set, that they cannot be run is a failure; otherwise the
// usual places are tried, and without them the test is skipped.
const BinVariable = "SVC_TEST_POSTGRES_BIN"

// Pair is a PostgreSQL server that a standby follows. Both are processes of the
// test and end with it.
type Pair struct {
	// URL is a database on whichever of the two can be written.
	URL string

	t                testing.TB
	bin, dir         string
	owner            *syscall.Credential // nil: the test's own
	launched         []*server
	primary, standby *server
}

// server is one of a pair.
type server struct {
	port    int
	process *exec.Cmd
	ended   chan struct{} // closed when the process has
}

// patience bounds what a machine with much else to do takes for one step.
const patience = 2 * time.Minute

// NewPair starts a pair. A commit waits for a synchronous standby to have it; one
// that is not synchronous gets it a little later.
func NewPair(t testing.TB, synchronous bool) *Pair {
	t.Helper()
	p := &Pair{t: t, bin: programs(t)}
	var err error
	if p.dir, err = os.MkdirTemp("", "svc-pair"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range p.launched {
			s.kill()
		}
		// What was killed may still be in a call that writes.
		p.until("the directory is removed", func() bool { return os.RemoveAll(p.dir) == nil })
	})
	if os.Getuid() == 0 { // which PostgreSQL does not run as
		p.becomePostgres()
	}
	p.run("initdb", "-D", p.path("primary"), "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
	p.primary = p.start("primary")
	p.run("pg_basebackup", "-d", p.primary.url("postgres"), "-D", p.path("standby"), "-R", "-c", "fast", "-N")
	p.standby = p.start("standby")
	p.until("the standby follows", func() bool {
		return p.value("select count(*) from pg_stat_replication where state = 'streaming'") == "1"
	})
	if synchronous {
		p.value("alter system set synchronous_standby_names = '*'")
		p.value("select pg_reload_conf()")
		p.until("commits wait for the standby", func() bool {
			return p.value("select count(*) from pg_stat_replication where sync_state = 'sync'") == "1"
		})
	}
	p.URL = fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable&target_session_attrs=read-write", p.primary.port, p.standby.port)
	return p
}

// programs returns the directory of PostgreSQL's programs.
func programs(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv(BinVariable); bin != "" {
		if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
			t.Fatalf("pgtest: %s: %v", BinVariable, err)
		}
		return bin
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/initdb", "/usr/local/pgsql/bin/initdb", "/usr/pgsql-*/bin/initdb", "/opt/homebrew/opt/postgresql*/bin/initdb"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // the pattern is right
			return filepath.Dir(found[len(found)-1])
		}
	}
	t.Skipf("no programs of PostgreSQL in the usual places; to run this test set %s=/path/to/bin, where initdb and pg_basebackup are", BinVariable)
	return ""
}

// becomePostgres has the servers run as the user postgres.
func (p *Pair) becomePostgres() {
	u, err := user.Lookup("postgres")
	if err != nil {
		p.t.Fatalf("pgtest: PostgreSQL does not run as root: %v", err)
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if uidErr != nil || gidErr != nil {
		p.t.Fatalf("pgtest: user postgres is %s, %s", u.Uid, u.Gid)
	}
	p.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(p.dir, uid, gid); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Pair) path(name string) string { return filepath.Join(p.dir, name) }

func (p *Pair) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(p.bin, program), args...)
	c.Dir = p.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	return c
}

func (p *Pair) run(program string, args ...string) {
	p.t.Helper()
	if out, err := p.command(program, args...).CombinedOutput(); err != nil {
		p.t.Fatalf("pgtest: %s: %v\n%s", program, err, out)
	}
}

// start starts the server of a directory, and waits until it answers. Who else has
// got its port meanwhile keeps it: the server starts with another one then.
func (p *Pair) start(name string) *server {
	p.t.Helper()
	for range 5 {
		s := p.launch(name)
		answers := false
		p.until(name+" answers", func() bool {
			select {
			case <-s.ended:
				return true
			default:
			}
			_, err := ask(s.url("postgres"), "select 1")
			answers = err == nil
			return answers
		})
		if answers {
			return s
		}
	}
	p.t.Fatalf("pgtest: %s does not start\n%s", name, p.log(name))
	return nil
}

// launch starts the process of a server.
func (p *Pair) launch(name string) *server {
	p.t.Helper()
	s := &server{port: freePort(p.t), ended: make(chan struct{})}
	s.process = p.command("postgres", "-D", p.path(name), "-p", strconv.Itoa(s.port), "-k", p.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "shared_buffers=32MB", "-c", "max_connections=100",
		"-c", "dynamic_shared_memory_type=mmap", // which goes with the directory, also where a server is killed
		"-c", "max_pred_locks_per_transaction=256")
	log, err := os.Create(p.path(name + ".log"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.launched = append(p.launched, s)
	go func() { // until it is killed, which the test does
		defer close(s.ended)
		_ = s.process.Wait() // how it ended is in its log
	}()
	return s
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) url(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// until waits until something is so.
func (p *Pair) until(what string, so func() bool) {
	p.t.Helper()
	if !until(so) {
		p.t.Fatalf("pgtest: it took %v until %s\n%s", patience, what, p.log("standby"))
	}
}

// until reports whether something became so in time.
func until(so func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !so(); {
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
	return true
}

// log is what a server has said.
func (p *Pair) log(name string) []byte {
	text, _ := os.ReadFile(p.path(name + ".log")) // only to be shown
	return text
}

// value asks the primary.
func (p *Pair) value(statement string) string {
	p.t.Helper()
	value, err := ask(p.primary.url("postgres"), statement)
	if err != nil {
		p.t.Fatalf("pgtest: %s: %v", statement, err)
	}
	return value
}

// ask returns the first value that a statement gives, as text.
func ask(url, statement string) (value string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	results, err := conn.PgConn().Exec(ctx, statement).ReadAll()
	if err == nil && len(results) > 0 && len(results[0].Rows) > 0 {
		value = string(results[0].Rows[0][0])
	}
	return value, err
}

// Hold waits until the standby has all that was committed before the call, and
// keeps from it what is committed after that: a standby that falls behind.
func (p *Pair) Hold() {
	p.t.Helper()
	at := p.value("select pg_current_wal_flush_lsn()")
	p.until("the standby has got "+at, func() bool {
		return p.value("select bool_and(flush_lsn >= '"+at+"') from pg_stat_replication") == "t"
	})
	sender, err := strconv.Atoi(p.value("select pid from pg_stat_replication"))
	if err == nil {
		err = syscall.Kill(sender, syscall.SIGSTOP)
	}
	if err != nil {
		p.t.Fatalf("pgtest: %v", err)
	}
}

// Kill ends all processes of the primary at once, as a machine does that loses
// its power.
func (p *Pair) Kill() { p.primary.kill() }

// Promote makes the standby the server that can be written, and returns when it
// can be.
func (p *Pair) Promote() {
	p.t.Helper()
	url := p.standby.url("postgres")
	if _, err := ask(url, "select pg_promote(true, 60)"); err != nil {
		p.t.Fatalf("pgtest: promote: %v", err)
	}
	p.until("the standby can be written", func() bool {
		readOnly, err := ask(url, "show transaction_read_only")
		return err == nil && readOnly == "off"
	})
}

// kill ends the server with all its processes.
func (s *server) kill() {
	select {
	case <-s.ended:
		return
	default:
	}
	pid := s.process.Process.Pid
	// One that has ended meanwhile is as it should be.
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it starts no more of them
	for _, one := range append(children(pid), pid) {
		_ = syscall.Kill(one, syscall.SIGKILL)
	}
	<-s.ended
}

// children returns the processes that a process has started.
func children(pid int) (all []int) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil // they end by themselves when they see that it has
	}
	for line := range strings.Lines(string(out)) {
		var one, parent int
		if n, _ := fmt.Sscan(line, &one, &parent); n == 2 && parent == pid {
			all = append(all, one)
		}
	}
	return all
}
