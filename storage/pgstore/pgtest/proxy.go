package pgtest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Faults says how often a [Proxy] does what, as probabilities of one exchange
// between a client and the server. The zero value does nothing.
type Faults struct {
	Refuse    float64       // the server answers 40001, the transaction is rolled back
	CutCommit float64       // the connection breaks in the middle of a COMMIT, which the server may have got
	Cut       float64       // it breaks in the middle of anything else
	Delay     float64       // the exchange takes up to MaxDelay longer
	MaxDelay  time.Duration // 0 is 5 milliseconds
}

// Counts is how often a proxy did what.
type Counts struct{ Exchanges, Refused, CutCommits, Cut, Delayed, Silenced int64 }

// Proxy stands before a PostgreSQL server. It knows as much of the protocol as
// it needs to see where an exchange ends and which one commits.
type Proxy struct {
	// URL is the database behind the proxy.
	URL string

	server   string // address
	listener net.Listener
	faults   atomic.Pointer[Faults]
	running  sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]struct{}

	silences atomic.Int64 // calls of Silence

	seed  uint64
	links atomic.Uint64
	lose  atomic.Pointer[func()] // of LoseAnswer

	exchanges, refused, cutCommits, cut, delayed, silenced atomic.Int64
}

// SeedVariable names the environment variable with the seed of the faults. Without
// it each proxy has a seed of its own, which it prints.
const SeedVariable = "SVC_TEST_SEED"

// NewProxy starts a proxy before the database of a URL, with no faults at first.
// It ends with the test.
func NewProxy(t testing.TB, database string) *Proxy {
	t.Helper()
	p, stop, err := StartProxy(database)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Logf("faults have the seed %d: %s=%d asks for the same", p.seed, SeedVariable, p.seed)
	t.Cleanup(stop)
	return p
}

// StartProxy is NewProxy for what outlives a test. It ends with stop.
func StartProxy(database string) (p *Proxy, stop func(), err error) {
	seed := rand.Uint64()
	if text := os.Getenv(SeedVariable); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", SeedVariable, err)
		}
	}
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	p = &Proxy{
		server:   net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))),
		listener: listener,
		open:     map[net.Conn]struct{}{},
		seed:     seed,
	}
	p.faults.Store(&Faults{})
	p.URL = WithParameter(with(database, func(u *url.URL) { u.Host = listener.Addr().String() }), "sslmode", "disable") // the proxy reads along
	p.running.Go(p.accept)
	return p, p.stop, nil
}

// Set changes what goes wrong from now on.
func (p *Proxy) Set(f Faults) { p.faults.Store(&f) }

// Counts returns what has gone wrong so far.
func (p *Proxy) Counts() Counts {
	return Counts{p.exchanges.Load(), p.refused.Load(), p.cutCommits.Load(), p.cut.Load(), p.delayed.Load(), p.silenced.Load()}
}

// Seed is what the random choices of the proxy follow from.
func (p *Proxy) Seed() uint64 { return p.seed }

// LoseAnswer has the server execute the next COMMIT and its answer get lost. After
// the server has answered, and before the client's connection breaks, then is called.
func (p *Proxy) LoseAnswer(then func()) { p.lose.Store(&then) }

// CutAll breaks every connection that is open.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		conn.Close()
	}
}

// Silence has every connection that is open stay so and never answer again, as those
// to a machine that has vanished. Later ones are as they were.
func (p *Proxy) Silence() { p.silences.Add(1) }

func (p *Proxy) stop() {
	p.listener.Close()
	p.CutAll()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.open[client], p.open[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, client)
		delete(p.open, server)
	}()
	link := &link{
		proxy: p, client: client, server: server, statements: map[string]string{}, silences: p.silences.Load(),
		fromClient: bufio.NewReader(client), fromServer: bufio.NewReader(server),
		random: rand.New(rand.NewPCG(p.seed, p.links.Add(1))),
	}
	for link.step() == nil {
	}
}

// link is one connection of a client and the one to the server that belongs to
// it.
type link struct {
	proxy                  *Proxy
	client, server         net.Conn
	fromClient, fromServer *bufio.Reader
	random                 *rand.Rand
	started                bool
	statements             map[string]string // SQL by the name it was prepared under
	silences               int64             // of the proxy when it was opened
}

// errCut ends a link that is to break.
var errCut = errors.New("cut")

// step passes on one exchange: what the client sends up to where it waits, and
// the answer up to where the server does.
func (l *link) step() error {
	if !l.started {
		return l.start()
	}
	e, err := l.read()
	if err != nil {
		return err
	}
	if l.silences != l.proxy.silences.Load() {
		l.proxy.silenced.Add(1)
		_, err := io.Copy(io.Discard, l.fromClient) // until the client gives it up
		return errors.Join(err, errCut)
	}
	f := l.proxy.faults.Load()
	l.proxy.exchanges.Add(1)
	if l.random.Float64() < f.Delay {
		l.proxy.delayed.Add(1)
		most := f.MaxDelay
		if most <= 0 {
			most = 5 * time.Millisecond
		}
		time.Sleep(time.Duration(l.random.Int64N(int64(most))))
	}
	lose := (*func())(nil)
	if e.commits {
		lose = l.proxy.lose.Swap(nil)
	}
	switch {
	case lose != nil:
		return l.loseAnswer(e, *lose)
	case e.executes && l.random.Float64() < f.Refuse:
		return l.refuse()
	case e.commits && l.random.Float64() < f.CutCommit:
		l.proxy.cutCommits.Add(1)
		return l.cut(e)
	case !e.commits && l.random.Float64() < f.Cut:
		l.proxy.cut.Add(1)
		return l.cut(e)
	}
	if _, err := l.server.Write(e.data); err != nil {
		return err
	}
	return l.answer(l.client)
}

// start passes the first message on, which has no type, and the answer to it.
func (l *link) start() error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(l.fromClient, head); err != nil {
		return err
	}
	body := make([]byte, binary.BigEndian.Uint32(head)-4)
	if _, err := io.ReadFull(l.fromClient, body); err != nil {
		return err
	}
	if code := binary.BigEndian.Uint32(body); code == 80877102 { // a request to cancel has no answer
		_, err := l.server.Write(append(head, body...))
		return errors.Join(err, errCut)
	}
	l.started = true
	if _, err := l.server.Write(append(head, body...)); err != nil {
		return err
	}
	return l.answer(l.client)
}

// exchange is what a client sends up to where it waits for an answer.
type exchange struct {
	data              []byte
	executes, commits bool
}

// read reads an exchange of the client.
func (l *link) read() (exchange, error) {
	var e exchange
	for {
		kind, message, err := readMessage(l.fromClient)
		if err != nil {
			return e, err
		}
		e.data = append(e.data, message...)
		body := message[5:]
		switch kind {
		case 'P': // Parse: a name and the statement
			name, rest, _ := bytes.Cut(body, []byte{0})
			statement, _, _ := bytes.Cut(rest, []byte{0})
			l.statements[string(name)] = string(statement)
		case 'B': // Bind: a portal and the name of a statement
			_, rest, _ := bytes.Cut(body, []byte{0})
			name, _, _ := bytes.Cut(rest, []byte{0})
			e.executes = true
			e.commits = e.commits || isCommit(l.statements[string(name)])
		case 'Q': // a statement as it is
			e.commits = e.commits || isCommit(string(bytes.TrimSuffix(body, []byte{0})))
			return e, nil
		case 'S', 'p': // Sync, an answer about a password
			return e, nil
		case 'X': // Terminate
			_, err := l.server.Write(message)
			return e, errors.Join(err, errCut)
		}
	}
}

func isCommit(statement string) bool {
	return strings.EqualFold(strings.TrimSpace(statement), "commit")
}

// refuse answers as a server does whose transaction lost.
func (l *link) refuse() error {
	l.proxy.refused.Add(1)
	if _, err := l.server.Write(message('Q', []byte("rollback\x00"))); err != nil {
		return err
	}
	if err := l.answer(io.Discard); err != nil {
		return err
	}
	answer := message('E', []byte("SERROR\x00VERROR\x00C40001\x00Mcould not serialize access (proxy)\x00\x00"))
	_, err := l.client.Write(append(answer, message('Z', []byte{'E'})...))
	return err
}

// cut breaks the connection before the server has the exchange, in the middle of
// it, or when it has answered.
func (l *link) cut(e exchange) error {
	switch l.random.IntN(3) {
	case 0:
	case 1:
		l.server.Write(e.data[:len(e.data)/2]) // it is cut either way
	default:
		if _, err := l.server.Write(e.data); err == nil {
			l.answer(io.Discard) // cut either way
		}
	}
	return errCut
}

// loseAnswer breaks the connection when the server has answered.
func (l *link) loseAnswer(e exchange, then func()) error {
	if _, err := l.server.Write(e.data); err != nil {
		return err
	}
	if err := l.answer(io.Discard); err != nil {
		return err
	}
	then()
	return errCut
}

// answer passes on what the server says until it waits for the client.
func (l *link) answer(to io.Writer) error {
	for {
		kind, message, err := readMessage(l.fromServer)
		if err != nil {
			return err
		}
		if _, err := to.Write(message); err != nil {
			return err
		}
		waitsForPassword := kind == 'R' && binary.BigEndian.Uint32(message[5:]) != 0 && binary.BigEndian.Uint32(message[5:]) != 12
		if kind == 'Z' || waitsForPassword {
			return nil
		}
	}
}

// readMessage returns a message with its type and length.
func readMessage(r io.Reader) (kind byte, whole []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n < 4 || n > 1<<30 {
		return 0, nil, errors.New("pgtest: this is not PostgreSQL's protocol")
	}
	whole = append(head[:], make([]byte, n-4)...)
	_, err = io.ReadFull(r, whole[5:])
	return head[0], whole, err
}

func message(kind byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
}
