// Command bench measures what svcd costs as its users would: the whole process,
// with its store in a directory and its log going to a file, before a model
// server over HTTP, beside a reverse proxy that makes the same call. All of them
// are processes of their own. A measurement goes to svcd and to the proxy in
// turn, so that both see the same noise, and is CPU time of the process by the
// kernel's clock. What is printed are ratios, and beside them the numbers.
//
//	go run .                             everything
//	go run . -short                      fewer calls, to see that it runs
//	go run . -only chat -profile F       svcd's CPU profile of ten seconds of it
//	go run . -only hostile               turns of one organization beside loads of another
//	go run . -only hostile -svcd FILE    the same of an svcd that was built before
//	go run . -only batches               what batches cost, and what others notice of them
//
// The processes are in process.go, the model server in double.go, and what is
// measured in scenarios.go, documents.go, hostile.go and batch.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == "double" {
		err = serveDouble()
	} else if len(os.Args) > 2 && os.Args[1] == "proxy" {
		err = serveProxy(os.Args[2])
	} else {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run starts the processes and measures.
func run() error {
	short := flag.Bool("short", false, "make few calls: for checks that it runs, not for numbers")
	only := flag.String("only", "", "measure the `name` alone")
	built := flag.String("svcd", "", "measure the svcd in a `file` instead of building one")
	profile := flag.String("profile", "", "write svcd's CPU profile to a `file` instead of measuring; needs -only")
	flag.Parse()
	dir, err := os.MkdirTemp("", "svc-bench")
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			os.RemoveAll(dir)
		}
	}()
	program := *built
	if program == "" {
		program = filepath.Join(dir, "svcd")
		build := exec.Command("go", "build", "-o", program, "./cmd/svcd")
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building svcd: %w\n%s", err, out)
		}
	}
	b := &bench{rounds: 8, short: *short}
	if *short {
		b.rounds = 2
	}
	defer b.stop()
	if err := b.start(dir, program); err != nil {
		return err
	}
	fmt.Printf("%-28s %12s %12s %8s %8s\n", "", "svcd", "beside", "ratio", "aim")
	for _, s := range scenarios {
		if *only != "" && s.name != *only {
			continue
		}
		if *profile != "" && *only != "" {
			return b.profile(s, *profile)
		}
		if err := b.measure(s); err != nil {
			keep = true
			return fmt.Errorf("%s: %w; the logs are in %s", s.name, err, dir)
		}
	}
	for _, more := range []struct {
		name    string
		measure func() error
	}{
		{"chain", b.longChain},
		{"documents", func() error { return b.documents(dir, program) }},
		{"observation", func() error { return b.observation(dir) }},
		{"memory", b.openStreams},
		{"hostile", b.hostile},
		{"batches", func() error { return b.batches(dir, program) }},
	} {
		if *only != "" && more.name != *only {
			continue
		}
		if err := more.measure(); err != nil {
			keep = true
			return fmt.Errorf("%s: %w; the logs are in %s", more.name, err, dir)
		}
	}
	return nil
}

// bench is the processes and how much is measured.
type bench struct {
	double, proxy, svcd *process
	self                *process // the client
	key                 string
	rounds              int
	short               bool
}

// scenario is something that is measured: for svcd, and for what it is compared
// with.
type scenario struct {
	name  string
	calls int     // of a round
	units float64 // that a call has, of which the cost is given: chunks, or 1
	aim   float64 // what the ratio should be at most; 0 is none
	svcd  func(*bench) (func() error, error)
	other func(*bench) (func() error, error)

	itself bool // the other call is one of svcd, too

	// beyond is, where it is not 0, how many microseconds svcd should take at most
	// beyond what the other calls cost their client, who makes them without a proxy.
	beyond  float64
	besides string // what they are
}

// measure runs a scenario's two sides in turn.
func (b *bench) measure(s scenario) error {
	calls := s.calls
	if b.short {
		calls = max(calls/20, 1)
	}
	var ours, theirs []float64
	one, err := s.svcd(b)
	if err != nil {
		return err
	}
	other, err := s.other(b)
	if err != nil {
		return err
	}
	beside := b.proxy
	switch {
	case s.beyond > 0:
		beside = b.self
	case s.itself:
		beside = b.svcd
	}
	written, syncs := b.svcd.io(), b.syncs()
	for round := range b.rounds + 1 {
		mine, err := b.svcd.costOf(calls, one)
		if err != nil {
			return err
		}
		its, err := beside.costOf(calls, other)
		if err != nil {
			return err
		}
		if round > 0 { // the first warms up
			ours, theirs = append(ours, mine/s.units), append(theirs, its/s.units)
		}
	}
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / theirs[i]
	}
	n := float64(calls * (b.rounds + 1))
	now := b.svcd.io()
	fmt.Printf("%-28s %9.1f us %9.1f us %8.2f %8s   %.1f KB to the disk, %.1f writes, %.2f syncs a call\n",
		s.name, median(ours), median(theirs), median(ratios), aim(s.aim),
		float64(now.written-written.written)/n/1024, float64(now.calls-written.calls)/n, (b.syncs()-syncs)/n)
	if s.beyond > 0 {
		fmt.Printf("%-28s %9.1f us %24s %5.0f us\n", "  beyond "+s.besides, median(ours)-median(theirs), "", s.beyond)
	}
	return nil
}

// profileSeconds is how long a profile is taken for.
const profileSeconds = 10

// profile writes a CPU profile of svcd while it takes a scenario's calls.
func (b *bench) profile(s scenario, file string) error {
	call, err := s.svcd(b)
	if err != nil {
		return err
	}
	return b.profileCalls(call, profileSeconds, file)
}

// profileCalls makes calls for some seconds and writes svcd's CPU profile of them.
func (b *bench) profileCalls(call func() error, seconds int, file string) error {
	type answer struct {
		data []byte
		err  error
	}
	profiled := make(chan answer, 1)
	go func() {
		data, err := get(fmt.Sprintf("%s/admin/v1/debug/pprof/profile?seconds=%d", b.svcd.url, seconds), adminKey)
		profiled <- answer{data, err}
	}()
	for {
		select {
		case p := <-profiled:
			if p.err != nil {
				return p.err
			}
			return os.WriteFile(file, p.data, 0o600)
		default:
		}
		if err := call(); err != nil {
			return err
		}
	}
}

// observing are the functions that write the log, and count and time what happens.
const observing = `httpapi\.\(\*call\)\.log$|log/slog|prometheus|opentelemetry`

// observation measures which part of a chat the log and the metrics are, by
// a profile.
func (b *bench) observation(dir string) error {
	call, err := ours(chat("chunks=20", false))(b)
	if err != nil {
		return err
	}
	seconds, file := profileSeconds, filepath.Join(dir, "chat.prof")
	if b.short {
		seconds = 1
	}
	if err := b.profileCalls(call, seconds, file); err != nil {
		return err
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-focus="+observing, file).Output()
	if err != nil {
		return fmt.Errorf("go tool pprof: %w", err)
	}
	part := accounted.FindSubmatch(out)
	if part == nil {
		return fmt.Errorf("the profile says nothing of the log: %.500s", out)
	}
	fmt.Printf("%-28s %9s %% %22s %10s\n", "log and metrics of a chat", part[1], "", "10 %")
	return nil
}

// accounted is where pprof says which part of all it shows.
var accounted = regexp.MustCompile(`accounting for [^,]+, ([0-9.]+)% of`)

func aim(a float64) string {
	if a == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", a)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// settle is how long a process has for what it does in the background before its
// memory is looked at.
const settle = 3 * time.Second
