package httpapi

import (
	"net/url"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
)

// The profiles that are taken over a time, beside those of [pprof.Profiles].
const (
	cpuProfile   = "profile"
	traceProfile = "trace"
)

// maxProfile is the longest time in seconds that a profile is taken over.
const maxProfile = 300

// listProfiles serves GET /admin/v1/debug/pprof. It is not net/http/pprof, which
// would also offer the profiles, and the command line with its keys, to whoever
// reaches the default mux of a program that embeds this package.
func (a *API) listProfiles(c *call) error {
	names := []string{cpuProfile, traceProfile}
	for _, p := range pprof.Profiles() {
		names = append(names, p.Name())
	}
	slices.Sort(names)
	return c.json(map[string]any{"object": "list", "data": names})
}

// getProfile serves a profile as the runtime writes it, for go tool pprof and go
// tool trace.
func (a *API) getProfile(c *call) error {
	name, q := c.r.PathValue("profile"), c.r.URL.Query()
	switch name {
	case cpuProfile:
		return c.record(q, func() error { return pprof.StartCPUProfile(c.w) }, pprof.StopCPUProfile)
	case traceProfile:
		return c.record(q, func() error { return trace.Start(c.w) }, trace.Stop)
	}
	p := pprof.Lookup(name)
	if p == nil {
		return fault.Missing(fault.CodeNotFound, "profile", name)
	}
	debug, err := number(q, "debug", 0, 2)
	if err != nil {
		return err
	}
	if debug > 0 {
		c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		c.w.Header().Set("Content-Type", "application/octet-stream")
	}
	return p.WriteTo(c.w, debug)
}

// record takes a profile over the time that the query asks for.
func (c *call) record(q url.Values, start func() error, stop func()) error {
	seconds, err := number(q, "seconds", 1, maxProfile)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/octet-stream")
	if err := start(); err != nil {
		c.w.Header().Del("Content-Type")
		return &fault.Error{Kind: fault.Conflict, Code: fault.CodeProfileRunning, Message: "A profile of this kind is being taken already.", Err: err}
	}
	defer stop()
	background.Sleep(c.ctx(), time.Duration(seconds)*time.Second)
	return nil
}

// number reads an integer of the query, least where it is absent.
func number(q url.Values, name string, least, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return least, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fault.Invalidf(name, "%s must be an integer from %d to %d.", name, least, most)
	}
	return n, nil
}
