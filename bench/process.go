package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one that was started here and serves at an address.
type process struct {
	cmd *exec.Cmd
	url string
}

// start starts a program and reads its address from what it prints.
func start(log string, address *regexp.Regexp, program string, args ...string) (*process, []string, error) {
	cmd := exec.Command(program, args...)
	file, err := os.Create(log)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	p := &process{cmd: cmd}
	lines := bufio.NewScanner(out)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if m := address.FindStringSubmatch(said.String()); m != nil {
			p.url = m[1]
			go io.Copy(io.Discard, out) // ends with the process
			return p, m, nil
		}
	}
	p.stop()
	return nil, nil, fmt.Errorf("%s did not say where it listens: %s", program, said.String())
}

func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = p.cmd.Wait()
}

// cpu is the CPU time that the process has used, by its own clock of the kernel.
func (p *process) cpu() (time.Duration, error) {
	var ts unix.Timespec
	clock := int32(^uint32(p.cmd.Process.Pid)<<3 | 2) // see clock_getcpuclockid(3)
	err := unix.ClockGettime(clock, &ts)
	return time.Duration(ts.Nano()), err
}

// costOf is what a call costs the process, in microseconds.
func (p *process) costOf(calls int, call func() error) (float64, error) {
	before, err := p.cpu()
	if err != nil {
		return 0, err
	}
	for range calls {
		if err := call(); err != nil {
			return 0, err
		}
	}
	after, err := p.cpu()
	return float64(after-before) / float64(time.Microsecond) / float64(calls), err
}

// written is what a process has given to the kernel to write.
type written struct{ written, calls int64 }

func (p *process) io() written {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.cmd.Process.Pid))
	if err != nil {
		return written{}
	}
	return written{field(data, "write_bytes:"), field(data, "syscw:")}
}

// syncs is how often svcd has made its store durable.
func (b *bench) syncs() float64 {
	text, err := get(b.svcd.url+"/metrics", adminKey)
	if err != nil {
		return math.NaN()
	}
	_, rest, _ := bytes.Cut(text, []byte("\nsvc_store_syncs "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseFloat(string(line), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// resident is the process's resident memory in bytes.
func (p *process) resident() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return field(data, "VmRSS:") << 10
}

// anonymous is the process's memory in bytes that no file is behind: what the kernel
// cannot take back.
func (p *process) anonymous() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return field(data, "RssAnon:") << 10
}

func field(data []byte, name string) int64 {
	_, rest, _ := bytes.Cut(data, []byte(name))
	number, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte("\n"))
	n, err := strconv.ParseInt(strings.TrimSuffix(string(number), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

var (
	serving  = regexp.MustCompile(`serving (\S+)`)
	svcdSays = regexp.MustCompile(`(?s)svcd listens on (\S+).*shown only this once: (\S+)`)
)

// adminKey is svcd's: it answers with profiles.
const adminKey = "the-key-of-the-benchmarks"

// start starts the model server, the proxy before it, and svcd before it.
func (b *bench) start(dir, program string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if b.double, _, err = start(filepath.Join(dir, "double.log"), serving, self, "double"); err != nil {
		return err
	}
	if b.proxy, _, err = start(filepath.Join(dir, "proxy.log"), serving, self, "proxy", b.double.url); err != nil {
		return err
	}
	config := filepath.Join(dir, "config.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{
	  "servers": {"double": {"url": %q, "concurrency": 20000}},
	  "models": [
	    {"id": "svc-preview", "generates": true, "context_window": 393216, "targets": [{"server": "double", "model": "double"}]},
	    {"id": "svc-snap-preview", "decides": true, "context_window": 393216, "targets": [{"server": "double", "model": "double"}]}
	  ]}`, b.double.url+"/v1"), 0o600); err != nil {
		return err
	}
	var said []string
	b.svcd, said, err = start(filepath.Join(dir, "svcd.log"), svcdSays, program,
		"-addr", "127.0.0.1:0", "-data", filepath.Join(dir, "data"), "-config", config, "-admin-key", adminKey)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "svcd.log")) // says more, if it is there
		return errors.Join(err, errors.New(string(log)))
	}
	b.key = said[2]
	itself, err := os.FindProcess(os.Getpid())
	b.self = &process{cmd: &exec.Cmd{Process: itself}}
	return err
}

func (b *bench) stop() {
	for _, p := range []*process{b.svcd, b.proxy, b.double} {
		p.stop()
	}
}

// serve serves until the process is ended, and says where.
func serve(h http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("serving http://%s\n", listener.Addr())
	return http.Serve(listener, h)
}

// serveProxy is what svcd is compared with: the standard library's reverse proxy.
func serveProxy(target string) error {
	to, err := url.Parse(target)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 10_000},
	}
	return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without it an answer that comes before the request's body is read to its
		// very end can break off.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
}
