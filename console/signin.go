package console

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/httpapi"
)

// linkTime is how long a link that signs in works.
const linkTime = 10 * time.Minute

// maxLinks bounds the links that wait to be used.
const maxLinks = 100

// links are the links that sign in once.
type links struct {
	now  func() time.Time
	mu   sync.Mutex
	keys map[string]linked
}

type linked struct {
	key  string
	ends time.Time
}

// Link returns the path of a page that signs in with an API key: once, and for
// ten minutes. It is for the terminal of who started the program.
func (c *Console) Link(key string) string {
	token := randomText()
	c.links.mu.Lock()
	defer c.links.mu.Unlock()
	if c.links.keys == nil || len(c.links.keys) >= maxLinks {
		c.links.keys = make(map[string]linked)
	}
	c.links.keys[token] = linked{key: key, ends: c.links.now().Add(linkTime)}
	return c.opts.Prefix + "/signin/" + token
}

// use returns the key of a link, which is used up.
func (l *links) use(token string) (key string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.keys[token]
	delete(l.keys, token)
	return found.key, ok && l.now().Before(found.ends)
}

// signInForm is what the page of the sign-in shows.
type signInForm struct {
	Token  string
	Next   string // where to go on, a path below the prefix
	SignOn bool   // whether people sign in at a provider
	Admin  bool   // whether the admin key may be given
	Wrong  string // why the last try failed
}

func (c *Console) signInForm(v *request, wrong string) signInForm {
	return signInForm{Token: v.session.Token, Next: v.r.FormValue("next"), SignOn: c.opts.SignOn != nil, Admin: c.opts.AdminKey != "", Wrong: wrong}
}

func (c *Console) signInPage(v *request) error {
	return v.render("signin", "Sign in", c.signInForm(v, ""))
}

// askToSignIn shows the sign-in instead of a page that needs one.
func (c *Console) askToSignIn(v *request) error {
	if v.r.Method != http.MethodGet {
		return &fault.Error{Kind: fault.Unauthenticated, Message: "The session has ended. Sign in again."}
	}
	return v.redirect("/signin?next=" + v.escapedPath())
}

// keyRefused ends a session whose key does not work any more, and passes on what
// may pass.
func (c *Console) keyRefused(v *request, err error) error {
	if e := fault.From(err); e.Kind != fault.Unauthenticated && e.Kind != fault.Denied {
		return err
	}
	v.session.Key, v.session.Person = "", nil
	if err := c.setCookie(v, v.session); err != nil {
		return err
	}
	return c.askToSignIn(v)
}

// signIn checks a key. Who is signed in already keeps that: an API key and the
// admin key can be held at once.
func (c *Console) signIn(v *request) error {
	key := v.r.PostFormValue("key")
	s, err := c.tried(v, key)
	if err == nil {
		return c.begin(v, s, v.r.PostFormValue("next"))
	}
	e := fault.From(err)
	if e.Kind != fault.Unauthenticated && e.Kind != fault.Denied && e.Kind != fault.RateLimited {
		return err
	}
	v.status = httpapi.Status(e.Kind)
	return v.render("signin", "Sign in", c.signInForm(v, e.Message))
}

// address is where the visitor's connection comes from, without its port.
func (v *request) address() string {
	address, _, err := net.SplitHostPort(v.r.RemoteAddr)
	if err != nil {
		return v.r.RemoteAddr
	}
	return address
}

// countedBy is what wrong keys are counted by: how the key begins, and the address
// where it is the visitor's own. Behind a proxy that nobody has named to svcd
// (-trusted-proxies) the address is everybody's.
func (v *request) countedBy(key string) []string {
	by := []string{"key " + key[:min(12, len(key)/4)]}
	if v.r.Header.Get("X-Forwarded-For") == "" && v.r.Header.Get("Forwarded") == "" {
		by = append(by, "address "+v.address())
	}
	return by
}

// tried returns the session that a key gives. Wrong ones are slowed down.
func (c *Console) tried(v *request, key string) (session, error) {
	by := v.countedBy(key)
	if err := c.failures.wait(v.ctx(), by); err != nil {
		return session{}, err
	}
	s := newSession(c.opts.Now())
	s.Key, s.Admin = v.session.Key, v.session.Admin
	if c.opts.AdminKey != "" && sameText(hashed(key), hashed(c.opts.AdminKey)) {
		s.Admin = hashed(key)
		return s, nil
	}
	if _, err := c.service.Authenticate(v.ctx(), key); err != nil {
		if fault.From(err).Kind == fault.Unauthenticated {
			c.failures.add(by)
			c.opts.Logger.WarnContext(v.ctx(), "console: wrong key", "address", v.address())
		}
		return session{}, err
	}
	s.Key = key
	return s, nil
}

// begin keeps a session and goes on.
func (c *Console) begin(v *request, s session, next string) error {
	if err := c.setCookie(v, s); err != nil {
		return err
	}
	if isLocal(next) {
		return v.redirect(next)
	}
	return v.redirect("/")
}

func (c *Console) signInByLink(v *request) error {
	key, ok := c.links.use(v.r.PathValue("link"))
	if !ok {
		v.status = http.StatusGone
		return v.render("signin", "Sign in", c.signInForm(v,
			"This link was used already or is older than ten minutes. Sign in with an API key."))
	}
	if _, err := c.service.Authenticate(v.ctx(), key); err != nil {
		return err
	}
	s := newSession(c.opts.Now())
	s.Key = key
	return c.begin(v, s, "")
}

func (c *Console) signOut(v *request) error {
	c.seal.out.add(v.session, c.opts.Now())
	if err := c.setCookie(v, session{}); err != nil {
		return err
	}
	return v.redirect("/signin")
}

const (
	freeFailures  = 3 // that are answered at once
	firstDelay    = 500 * time.Millisecond
	longestDelay  = 8 * time.Second // of one try
	forgetFailure = 10 * time.Minute
	maxFailures   = 10_000 // keys and addresses that failures are remembered of
	maxWaiting    = 64     // tries that wait at once; one more is refused
)

// failures slow down who tries key after key: each beginning of a key and each
// address by its own.
type failures struct {
	now     func() time.Time
	mu      sync.Mutex
	by      map[string]failed // by what they are counted by
	waiting int
}

type failed struct {
	count int
	last  time.Time
}

func (f *failures) add(by []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil || len(f.by) >= maxFailures {
		f.by = make(map[string]failed)
	}
	for _, what := range by {
		one := f.by[what]
		if f.now().Sub(one.last) > forgetFailure {
			one.count = 0
		}
		f.by[what] = failed{count: one.count + 1, last: f.now()}
	}
}

// delay is how long the next try has to wait.
func (f *failures) delay(by []string) (longest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, what := range by {
		if one := f.by[what]; one.count >= freeFailures && f.now().Sub(one.last) <= forgetFailure {
			longest = max(longest, min(firstDelay<<min(one.count-freeFailures, 10), longestDelay))
		}
	}
	return longest
}

// wait holds a try back. The error is that of ctx, or RateLimited where too many
// wait already.
func (f *failures) wait(ctx context.Context, by []string) error {
	delay := f.delay(by)
	if delay == 0 {
		return nil
	}
	if !f.queue(1) {
		return &fault.Error{Kind: fault.RateLimited, Message: "Too many wrong keys were tried. Wait a little.", RetryAfter: longestDelay}
	}
	defer f.queue(-1)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errGone
	}
}

// queue counts who waits, and reports whether there is room.
func (f *failures) queue(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 && f.waiting >= maxWaiting {
		return false
	}
	f.waiting += n
	return true
}
