// Package llamaserver runs llama.cpp's llama-server as a child of the program:
// a model server for one model file that starts, is started again, and ends with
// it. [Start] returns once the model answers; package model/openai speaks to it at
// [Server.URL] with [Server.Key].
package llamaserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Program is the name under which the server is looked for in the PATH.
const Program = "llama-server"

// DefaultSlots is how many requests a server works on at once by default.
const DefaultSlots = 4

// ErrNotInstalled is the error of [Start] without [Program] in the PATH.
var ErrNotInstalled = errors.New(Program + " is not in the PATH: install llama.cpp (brew install llama.cpp, winget install llama.cpp, " +
	"apt install llama.cpp where Debian has it, or unpack a release of github.com/ggml-org/llama.cpp), or name a server that runs elsewhere")

// Options are what a server is started with.
type Options struct {
	// Model is the file of the model, in the GGUF format. It is required.
	Model string
	// Slots is how many requests are worked on at once, [DefaultSlots] where it is
	// 0. The environment variable LLAMA_ARG_N_PARALLEL wins, as llama-server's other
	// variables do over its own defaults.
	Slots int
	// Pause is how long a server that has ended stays so the first time, a second
	// where it is 0. It doubles from time to time, up to half a minute, until a
	// server has lasted a minute.
	Pause time.Duration
	// Logger takes what becomes of the server, [slog.Default] where it is nil.
	Logger *slog.Logger
}

// The bounds of a server.
const (
	loadTime  = 30 * time.Minute // to load a model, the first time too
	maxPause  = 30 * time.Second
	settled   = time.Minute     // a server that lasted so long was well
	endTime   = 5 * time.Second // from being asked to end to being killed
	tailBytes = 4 << 10         // of what it prints that are kept
	tailLines = 3               // of these that an error has
)

// Server is a llama-server that runs, or will again.
type Server struct {
	options Options
	program string
	port    int
	key     string

	cancel context.CancelFunc
	done   chan struct{} // closed when supervise has returned
}

// Start starts a server and waits until its model is loaded. The error of one that
// ends before that has the last lines that it printed; nothing is left running
// then, nor when ctx ends first. Later ctx has no meaning: [Server.Close] ends the
// server.
func Start(ctx context.Context, o Options) (*Server, error) {
	program, err := exec.LookPath(Program)
	if err != nil {
		return nil, ErrNotInstalled
	}
	if info, err := os.Stat(o.Model); err != nil {
		return nil, fmt.Errorf("the model file: %w", err)
	} else if info.IsDir() {
		return nil, fmt.Errorf("the model file %s is a directory", o.Model)
	}
	if o.Slots == 0 {
		o.Slots = DefaultSlots
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Server{options: o, program: program, key: rand.Text(), done: make(chan struct{})}
	if s.port, err = freePort(ctx); err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	first := make(chan error, 1)
	go s.supervise(life, first)
	select {
	case err = <-first:
	case <-ctx.Done():
		err = errors.New("told to end while " + Program + " loaded the model")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// freePort returns a port that nothing listens on. The server keeps it for as
// long as it is started again.
func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *Server) base() string { return "http://127.0.0.1:" + strconv.Itoa(s.port) }

// URL returns the base URL of the server's OpenAI interface. It stays the same
// when the server is started again.
func (s *Server) URL() string { return s.base() + "/v1" }

// Key returns the bearer key that the server takes, so that nobody else on the
// machine can use it.
func (s *Server) Key() string { return s.key }

// Close ends the server and returns when it has ended. It may be called again.
func (s *Server) Close() {
	s.cancel()
	<-s.done
}

// supervise runs the server again and again until ctx ends. first gets nil when
// the first one is ready; where that ends before, it gets the error and there is
// no second.
func (s *Server) supervise(ctx context.Context, first chan<- error) {
	defer close(s.done)
	// Where a child is told of its parent's end, the parent is the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	wasReady := false
	for pause := s.options.Pause; ; {
		begin := time.Now()
		err := s.run(ctx, func() {
			s.options.Logger.Info(Program+" is ready", "model", s.options.Model, "url", s.URL(), "after", time.Since(begin).Round(time.Millisecond))
			if !wasReady {
				wasReady = true
				first <- nil
			}
		})
		if ctx.Err() != nil {
			return
		}
		if !wasReady {
			first <- err
			return
		}
		if time.Since(begin) > settled {
			pause = s.options.Pause
		}
		s.options.Logger.Error(Program+" ended and will be started again", "error", err, "in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, maxPause)
	}
}

// run runs the server once and returns when it has ended, for which ctx is ended.
// It calls ready when the model is loaded, and not after it has returned.
func (s *Server) run(ctx context.Context, ready func()) error {
	said := new(tail)
	cmd := exec.CommandContext(ctx, s.program, "--model", s.options.Model, "--host", "127.0.0.1", "--port", strconv.Itoa(s.port), "--jinja")
	cmd.Env = s.environment(os.Environ())
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = endTime
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	loading, cancel := context.WithTimeout(ctx, loadTime)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		switch err := waitHealthy(loading, s.base()); {
		case err == nil:
			ready()
		case errors.Is(err, context.DeadlineExceeded):
			stop(cmd) // so that it is started again
		}
	})
	err := cmd.Wait()
	cancel()
	waiting.Wait()
	if text := said.lastLines(tailLines); text != "" {
		return fmt.Errorf("%s ended (%v): %s", Program, err, text)
	}
	return fmt.Errorf("%s ended (%v)", Program, err)
}

// environment returns that of the server: the program's own, which has
// llama-server's settings, without svcd's secrets.
func (s *Server) environment(own []string) []string {
	env := []string{"LLAMA_ARG_N_PARALLEL=" + strconv.Itoa(s.options.Slots), "LLAMA_ARG_KV_UNIFIED=1"} // each slot may take the whole window
	for _, v := range own {
		if !strings.HasPrefix(v, "SVC_") {
			env = append(env, v) // the last of a name counts
		}
	}
	return append(env, "LLAMA_API_KEY="+s.key)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-tailBytes):]...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(p), nil
}

// lastLines returns the last n lines that are not empty, in one.
func (t *tail) lastLines(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.FieldsFunc(string(t.text), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
