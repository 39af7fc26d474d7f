package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/cmd/svcd/internal/cli"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/responses/mcptools"
)

// config is what the flags and the environment say.
type config struct {
	addr          string
	data          string
	apiKey        string
	search        string
	origins       []string // whose pages may call the interface
	openInterface bool
	salvage       bool // start with what can be read of a damaged directory
	grace         time.Duration
	drain         time.Duration

	adminKey    string
	console     bool
	mcp         bool   // the tools at /mcp
	secret      string // of the console's sessions
	maxRequests int
	maxStreams  int
	maxDuration time.Duration
	tlsCert     string
	tlsKey      string
	metricsAddr string
	proxies     []netip.Prefix
	models      models
	servers     *mcptools.Client // reaches MCP servers; nil: there are none
	judge       *callJudge       // of calls of their tools

	oidc struct{ issuer, clientID, clientSecret string }
}

// minAdminKey is how many characters an admin key has at least.
const minAdminKey = 16

// inMemory is the value of -data that keeps everything in memory.
const inMemory = ":memory:"

// where says where the models run, of which there may be one way.
type where struct {
	upstream, key, name string // a model server
	gguf                string // a file for a server of its own
	file                string // a configuration
	aliases             map[string]string
}

// flags defines the flags of the server.
func (e environment) flags(c *config) (*flag.FlagSet, *where) {
	at := new(where)
	flags := flag.NewFlagSet("svcd", flag.ContinueOnError)
	flags.SetOutput(e.stderr)
	flags.StringVar(&c.addr, "addr", "127.0.0.1:8080", "listen `address`; port 0 picks a free one")
	flags.StringVar(&c.data, "data", "./svc-data", "`directory` of the data, or postgres://… for a database that several servers share; "+inMemory+" keeps everything in memory")
	flags.BoolVar(&c.salvage, "salvage", false, "start on a damaged directory all the same, with what can be read of it")
	flags.StringVar(&c.apiKey, "api-key", "", "a `key` that is accepted for the organization default")
	flags.StringVar(&c.adminKey, "admin-key", "", "a `key` that may administer at /admin/v1; without it nobody can")
	flags.BoolVar(&c.console, "console", true, "serve pages for people at /console")
	flags.BoolVar(&c.mcp, "mcp", true, "serve tools for agents at /mcp, over the Model Context Protocol")
	flags.StringVar(&c.secret, "console-secret", "", "a `text` that seals the console's sessions, the same on every server; without it they end with the process")
	flags.IntVar(&c.maxRequests, "max-requests", httpapi.DefaultMaxRequests, "how `many` requests are worked on at once; one more is refused")
	flags.IntVar(&c.maxStreams, "max-streams", httpapi.DefaultMaxStreams, "how `many` streams may wait for their model besides")
	flags.DurationVar(&c.maxDuration, "max-duration", accounts.DefaultMaxDuration, "how `long` one generation may take in all")
	flags.StringVar(&c.tlsCert, "tls-cert", "", "`file` with the server's certificate and its chain, PEM; serves HTTPS")
	flags.StringVar(&c.tlsKey, "tls-key", "", "`file` with the certificate's key, PEM")
	flags.StringVar(&c.metricsAddr, "metrics-addr", "", "an `address` that serves /metrics to everybody; without it, it takes the admin key")
	flags.Func("trusted-proxies", "`addresses` and CIDR blocks of the proxies before svcd, with commas between them, whose X-Forwarded-For says who the client is", func(value string) (err error) {
		c.proxies, err = httpapi.ParseProxies(value)
		return err
	})
	flags.Func("cors-origin", "`origins` whose pages may call the interface from browsers, with commas between them, such as https://app.example; * is all", func(value string) (err error) {
		c.origins, err = parseOrigins(value)
		return err
	})
	flags.Func("interface", "strict (the default), or `open`: takes what OpenAI's API takes where the strict interface refuses it", func(value string) (err error) {
		c.openInterface, err = parseInterface(value)
		return err
	})
	flags.StringVar(&c.oidc.issuer, "oidc-issuer", "", "`URL` of the OpenID Connect provider where people sign in; needs the member oidc of -config")
	flags.StringVar(&c.oidc.clientID, "oidc-client-id", "", "`ID` of svcd there")
	flags.StringVar(&c.oidc.clientSecret, "oidc-client-secret", "", "its `secret` there")
	flags.StringVar(&c.search, "search", "", "base `URL` of a SearXNG service, for web search")
	flags.StringVar(&at.upstream, "upstream", "", "base `URL` of an OpenAI-compatible model server, such as http://127.0.0.1:11434/v1")
	flags.StringVar(&at.key, "upstream-key", "", "bearer `key` sent to it")
	flags.StringVar(&at.name, "upstream-model", "", "`name` of the model there; without it the model ID of the request")
	flags.StringVar(&at.gguf, "gguf", "", "a model `file` that is served by llama-server from the PATH, started and ended with svcd")
	flags.Func("alias", "further names of models: `name=model`, several with commas between them", func(value string) error {
		var err error
		at.aliases, err = parseAliases(at.aliases, value)
		return err
	})
	flags.StringVar(&at.file, "config", "", "JSON `file` for several models and servers, and prices")
	flags.DurationVar(&c.grace, "grace", 5*time.Minute, "how long running requests may go on after SIGTERM")
	flags.DurationVar(&c.drain, "drain", 0, "how long /readyz says 503 after SIGTERM before the listener closes")

	return flags, at
}

// config reads the flags over the environment over the defaults.
func (e environment) config() (config, error) {
	var c config
	flags, at := e.flags(&c)
	flags.Usage = func() {
		fmt.Fprintln(e.stderr, "svcd [flags]: serve. svcd COMMAND -help says more about one of the commands:")
		cli.Help(e.stderr)
		fmt.Fprintln(e.stderr, "\nFlags of the server, each with its environment variable:")
		flags.PrintDefaults()
	}
	if err := cli.ReadEnvironment(flags, e.getenv); err != nil {
		return c, err
	}
	if err := cli.ParseFlags(flags, e.args); err != nil {
		return c, err
	}
	if c.adminKey != "" && len(c.adminKey) < minAdminKey {
		return c, fmt.Errorf("-admin-key has %d characters; whoever guesses it can do everything, so it must have at least %d", len(c.adminKey), minAdminKey)
	}
	if c.secret != "" && len(c.secret) < minSecret {
		return c, fmt.Errorf("-console-secret has %d characters; whoever guesses it can make sessions, so it must have at least %d", len(c.secret), minSecret)
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("a command comes before the flags: svcd %s", flags.Arg(0))
	}
	err := at.models(&c, e.getenv)
	if err == nil {
		err = c.checkSignOn()
	}
	return c, err
}

// models sets the models of a configuration.
func (at where) models(c *config, getenv func(string) string) (err error) {
	switch {
	case at.upstream != "" && at.file != "":
		return errors.New("-upstream and -config both say where the models run; give one of them")
	case at.gguf != "" && (at.upstream != "" || at.file != ""):
		return errors.New("-gguf says where the models run, as -upstream and -config do; give one of them")
	case at.file != "":
		c.models, err = readModels(at.file, getenv)
	case at.upstream != "":
		c.models, err = oneUpstream(at.upstream, at.key, at.name)
	case at.key != "" || at.name != "":
		err = errors.New("-upstream-key and -upstream-model need -upstream")
	case at.gguf != "":
		c.models = models{gguf: at.gguf}
	}
	if c.models.aliases == nil {
		c.models.aliases = at.aliases
	} else {
		maps.Copy(c.models.aliases, at.aliases)
	}
	return err
}

// parseAliases adds the aliases that a flag gives to those of flags before it.
func parseAliases(aliases map[string]string, value string) (map[string]string, error) {
	if aliases == nil {
		aliases = map[string]string{}
	}
	for pair := range strings.SplitSeq(value, ",") {
		name, id, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || name == "" || id == "" {
			return nil, errors.New("must be name=model")
		}
		aliases[name] = id
	}
	return aliases, nil
}

// parseOrigins reads origins as browsers send them.
func parseOrigins(list string) (origins []string, err error) {
	for origin := range strings.SplitSeq(list, ",") {
		origin = strings.TrimSpace(origin)
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host) {
			return nil, fmt.Errorf("%q is no origin: write a scheme and a host, as in https://app.example, or *", origin)
		}
		origins = append(origins, origin)
	}
	return origins, nil
}

// parseInterface reports whether a value names the open interface.
func parseInterface(value string) (open bool, err error) {
	switch value {
	case "strict":
		return false, nil
	case "open":
		return true, nil
	}
	return false, errors.New(`it is "strict" or "open"`)
}
