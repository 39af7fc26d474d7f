package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
)

// network is a network in which every address is that of one server.
type network struct {
	server *httptest.Server
	names  map[string][]string // addresses of a name; each lookup of a name takes the first away while there are several
	down   string              // address that does not answer
	dialed []string
}

func (n *network) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts := n.names[host]
	if len(texts) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(texts) > 1 {
		n.names[host] = texts[1:]
	}
	var found []netip.Addr
	for text := range strings.FieldsSeq(texts[0]) {
		found = append(found, netip.MustParseAddr(text))
	}
	return found, nil
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.dialed = append(n.dialed, address)
	if n.down != "" && address == n.down {
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", n.server.Listener.Addr().String())
}

// newNetwork returns a network and a guard in it. The server's certificate is
// accepted for every name.
func newNetwork(t *testing.T, handler http.HandlerFunc, o Options) (*network, *Guard) {
	t.Helper()
	n := &network{server: httptest.NewTLSServer(handler), names: map[string][]string{
		"public.example": {"93.184.215.14"}, "other.example": {"2606:2800:21f:cb07::1"}, "private.example": {"10.0.0.1"},
		"mixed.example": {"10.0.0.1 ::ffff:93.184.215.14"}, "metadata.example": {"169.254.169.254"}, "named.example": {"10.0.0.7"},
	}}
	t.Cleanup(n.server.Close)
	o.Resolver, o.Dial = n, n.dial
	g := New(o)
	t.Cleanup(g.Close)
	g.direct.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return n, g
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }

// get returns the body of a URL, or the reason why it was refused.
func get(t *testing.T, g *Guard, address string) (string, error) {
	t.Helper()
	resp, err := g.Client().Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestConnectsToTheAddressThatWasChecked(t *testing.T) {
	is := is.New(t)
	n, g := newNetwork(t, hello, Options{})
	n.names["rebinding.example"] = []string{"93.184.215.14", "127.0.0.1"}
	body, err := get(t, g, "https://rebinding.example/")
	is.NoErr(err)
	is.Equal(body, "hello")
	is.Equal(n.dialed, []string{"93.184.215.14:443"})

	g.Close() // the next request connects anew
	_, err = get(t, g, "https://rebinding.example/")
	refused(t, err, "the host rebinding.example has no public address")
	is.Equal(len(n.dialed), 1)
}

func TestRebindingAfterTheCheckOfAURLGainsNothing(t *testing.T) {
	is := is.New(t)
	n, g := newNetwork(t, hello, Options{})
	n.names["rebinding.example"] = []string{"93.184.215.14", "127.0.0.1"}
	u, err := url.Parse("https://rebinding.example/")
	is.NoErr(err)
	is.NoErr(g.Check(t.Context(), u))
	_, err = get(t, g, "https://rebinding.example/")
	refused(t, err, "the host rebinding.example has no public address")
	is.Equal(len(n.dialed), 0)
}

func TestTakesOnlyPublicAddressesOfAHost(t *testing.T) {
	is := is.New(t)
	n, g := newNetwork(t, hello, Options{})
	n.names["several.example"] = []string{"127.0.0.1 93.184.215.14 93.184.215.15 fd00::1"}
	n.down = "93.184.215.14:8443"
	_, err := get(t, g, "https://several.example:8443/")
	is.NoErr(err)
	is.Equal(n.dialed, []string{"93.184.215.14:8443", "93.184.215.15:8443"})
	n.dialed = nil
	_, err = get(t, g, "https://mixed.example/")
	is.NoErr(err)
	is.Equal(n.dialed, []string{"93.184.215.14:443"})
}

// refused fails the test unless the guard refused with the reason.
func refused(t *testing.T, err error, reason string) {
	t.Helper()
	e, ok := errors.AsType[*RefusedError](err)
	if !ok || e.Reason != reason {
		t.Errorf("got %v, want refused: %s", err, reason)
	}
}

func TestRefuses(t *testing.T) {
	n, g := newNetwork(t, hello, Options{Hosts: []string{"named.example"}})
	const notation = " is neither a host name of ASCII letters, digits, hyphens and dots nor an address in the usual notation"
	for address, reason := range map[string]string{
		"http://public.example/":                     "the URL must begin with https://",
		"ftp://named.example/":                       "the URL must begin with https://",
		"https:///path":                              "the URL has no host",
		"https://private.example/":                   "the host private.example has no public address",
		"https://metadata.example/":                  "the host metadata.example has no public address",
		"https://127.0.0.1/":                         "127.0.0.1 is not a public address",
		"https://100.64.0.1/":                        "100.64.0.1 is not a public address",
		"https://0.0.0.0/":                           "0.0.0.0 is not a public address",
		"https://224.0.0.1/":                         "224.0.0.1 is not a public address",
		"https://255.255.255.255/":                   "255.255.255.255 is not a public address",
		"https://[::]/":                              ":: is not a public address",
		"https://[::1]/":                             "::1 is not a public address",
		"https://[fe80::1%25eth0]/":                  "fe80::1%eth0 is not a public address",
		"https://[2606:2800::1%25eth0]/":             "2606:2800::1%eth0 is not a public address",
		"https://[fd00::1]/":                         "fd00::1 is not a public address",
		"https://[ff02::1]/":                         "ff02::1 is not a public address",
		"https://[::ffff:127.0.0.1]/":                "::ffff:127.0.0.1 is not a public address",
		"https://[::ffff:93.184.215.14]/":            "::ffff:93.184.215.14 is not a public address",
		"https://[64:ff9b::7f00:1]/":                 "64:ff9b::7f00:1 is not a public address",
		"https://[2002:7f00:1::1]/":                  "2002:7f00:1::1 is not a public address",
		"https://[2001:0:4136:e378::1]/":             "2001:0:4136:e378::1 is not a public address",
		"https://0177.0.0.1/":                        `"0177.0.0.1"` + notation,
		"https://0x7f.0.0.1/":                        `"0x7f.0.0.1"` + notation,
		"https://0x7f000001/":                        `"0x7f000001"` + notation,
		"https://2130706433/":                        `"2130706433"` + notation,
		"https://127.1/":                             `"127.1"` + notation,
		"https://127.0.0.0x1/":                       `"127.0.0.0x1"` + notation,
		"https://127.0.0.1./":                        `"127.0.0.1."` + notation,
		"https://%E2%91%A0%E2%91%A1%E2%91%A6.0.0.1/": `"①②⑦.0.0.1"` + notation,
		"https://a..example/":                        `"a..example"` + notation,
	} {
		_, err := get(t, g, address)
		refused(t, err, reason)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, g.Check(t.Context(), u), reason)
	}
	if len(n.dialed) != 0 {
		t.Errorf("connected to %v", n.dialed)
	}
}

func TestNamedHosts(t *testing.T) {
	is := is.New(t)
	n, g := newNetwork(t, hello, Options{Hosts: []string{"Named.example.", "127.0.0.1", "::1"}})
	for _, address := range []string{"https://named.example/", "https://127.0.0.1:8080/", "https://[::1]/"} {
		u, err := url.Parse(address)
		is.NoErr(err)
		is.NoErr(g.Check(t.Context(), u))
		_, err = get(t, g, address)
		is.NoErr(err)
	}
	is.Equal(n.dialed, []string{"named.example:443", "127.0.0.1:8080", "[::1]:443"})

	plain := httptest.NewServer(http.HandlerFunc(hello))
	defer plain.Close()
	body, err := get(t, New(Options{Hosts: []string{"127.0.0.1"}}), plain.URL)
	is.NoErr(err)
	is.Equal(body, "hello")
}

func TestRedirects(t *testing.T) {
	to := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			io.WriteString(w, "end of "+r.Host)
			return
		}
		http.Redirect(w, r, r.FormValue("to"), http.StatusFound)
	}
	for _, c := range []struct {
		policy Redirects
		to     string
		body   string
		reason string
	}{
		{NoRedirects, "/end", `<a href="/end">Found</a>.` + "\n\n", ""},
		{SameHost, "/end", "end of public.example", ""},
		{SameHost, "https://other.example/end", "", "the server redirected to another host"},
		{SameHost, "https://public.example:444/end", "", "the server redirected to another host"},
		{SameHost, "http://public.example/end", "", "the server redirected to another host"},
		{PublicHosts, "https://other.example/end", "end of other.example", ""},
		{PublicHosts, "http://other.example/end", "", "the URL must begin with https://"},
		{PublicHosts, "https://private.example/end", "", "the host private.example has no public address"},
		{PublicHosts, "https://named.example/end", "", "the server redirected to a host of the operator"},
		{PublicHosts, "https://[::ffff:7f00:1]/end", "", "::ffff:7f00:1 is not a public address"},
	} {
		_, g := newNetwork(t, to, Options{Hosts: []string{"named.example"}, Redirects: c.policy})
		body, err := get(t, g, "https://public.example/?to="+url.QueryEscape(c.to))
		if c.reason != "" {
			refused(t, err, c.reason)
		} else if err != nil || body != c.body {
			t.Errorf("%d to %s: got %q, %v, want %q", c.policy, c.to, body, err, c.body)
		}
	}
	_, g := newNetwork(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }, Options{Redirects: SameHost})
	_, err := get(t, g, "https://public.example/")
	refused(t, err, "the server redirected more than 5 times")
}

func TestBoundsAnswers(t *testing.T) {
	is := is.New(t)
	_, g := newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("x", len(r.URL.Path)))
	}, Options{MaxBytes: 10})
	body, err := get(t, g, "https://public.example/123456789")
	is.NoErr(err)
	is.Equal(body, "xxxxxxxxxx")
	body, err = get(t, g, "https://public.example/1234567890")
	is.Equal(err, ErrTooLarge)
	is.Equal(body, "xxxxxxxxxx")

	_, g = newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", maxHeader+1))
	}, Options{})
	_, err = get(t, g, "https://public.example/")
	is.True(err != nil)
}

func TestReadingBeyondTheBoundKeepsFailing(t *testing.T) {
	is := is.New(t)
	b := &boundedBody{io.NopCloser(strings.NewReader("123456")), 3}
	p := make([]byte, 8)
	for _, want := range []int{3, 0, 0} {
		n, err := b.Read(p)
		is.Equal(n, want)
		is.Equal(err, ErrTooLarge)
	}
}

func TestBoundsTheTimeOfConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Timeout: time.Minute, Resolver: &network{names: map[string][]string{"public.example": {"93.184.215.14"}}},
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		began := time.Now()
		_, err := g.Client().Get("https://public.example/")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != dialTimeout {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

func TestProxies(t *testing.T) {
	is := is.New(t)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	n, g := newNetwork(t, hello, Options{})
	_, err := get(t, g, "https://public.example/")
	is.NoErr(err) // not through the proxy of the environment
	is.Equal(n.dialed, []string{"93.184.215.14:443"})

	n, g = newNetwork(t, hello, Options{Proxy: func(r *http.Request) (*url.URL, error) {
		if r.URL.Host == "other.example" {
			return nil, nil
		}
		return &url.URL{Scheme: "http", Host: "10.0.0.9:3128"}, nil
	}})
	n.down = "10.0.0.9:3128"
	_, err = get(t, g, "https://public.example/")
	is.True(err != nil) // the proxy is down
	_, err = get(t, g, "https://other.example/")
	is.NoErr(err)
	_, err = get(t, g, "https://private.example/")
	refused(t, err, "the host private.example has no public address")
	is.Equal(n.dialed, []string{"10.0.0.9:3128", "[2606:2800:21f:cb07::1]:443"})
}

func TestAHostThatDoesNotResolveIsNotRefused(t *testing.T) {
	is := is.New(t)
	_, g := newNetwork(t, hello, Options{})
	_, err := get(t, g, "https://unknown.example/")
	_, refused := errors.AsType[*RefusedError](err)
	is.True(err != nil && !refused) // it may resolve later
}

// FuzzAddresses connects to any host: only public addresses are dialed, and what a
// lenient resolver would read as an address never reaches one.
func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "0177.0.0.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[fe80::1%25lo]",
		"[2002:a00:1::]", "localhost", "LOCALHOST.", "①②⑦.0.0.1", "127。0。0。1", "8.8.8.8", "[2606:2800:21f:cb07::1]:443", "a@127.0.0.1", "0", "[::127.0.0.1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		u, err := url.Parse("https://" + host + "/")
		if err != nil || u.Host == "" {
			t.Skip()
		}
		stop := errors.New("stop")
		g := New(Options{
			Resolver: lookup(func(name string) ([]netip.Addr, error) {
				if labels := strings.Split(strings.TrimSuffix(name, "."), "."); strings.Trim(labels[len(labels)-1], "0123456789") == "" {
					t.Errorf("looked up %q", name)
				}
				return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.1")}, nil
			}),
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				a, err := netip.ParseAddrPort(address)
				if err != nil || !a.Addr().IsGlobalUnicast() || a.Addr().IsPrivate() || a.Addr().Is4In6() || a.Addr().Zone() != "" ||
					slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a.Addr()) }) {
					t.Errorf("dialed %s for %q", address, host)
				}
				return nil, stop
			},
		})
		if resp, err := g.Client().Get(u.String()); err == nil {
			resp.Body.Close()
			t.Error("connected")
		}
	})
}

type lookup func(host string) ([]netip.Addr, error)

func (f lookup) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) { return f(host) }
