package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/llamaserver"
	"github.com/seed-506d8e5d/svc/model/openai"
	"github.com/seed-506d8e5d/svc/responses/mcptools"
	"github.com/seed-506d8e5d/svc/route"
	"github.com/seed-506d8e5d/svc/signon"
)

// models are the models that the service answers with and what they cost. The
// zero value is the built-in model at the default prices.
type models struct {
	options       *openai.Options // nil is the built-in model, or that of gguf
	gguf          string          // the file of a model that llama-server is started for
	prices        map[string]accounts.Prices
	defaultPrices *accounts.Prices
	aliases       map[string]string // further names of models
	embedder      string            // the first model of a configuration that embeds; empty: none
	webhookHosts  []string          // that endpoints may have although they are private, without ports
	batchPrice    float64           // share of the price that a line of a batch costs; 0: the whole price
	batchLines    int               // lines of batches under way at once; 0: the default
	batchShare    int               // of them, those of one organization; 0: all
	mcp           mcptools.Options  // servers that responses may use
	anyItems      bool              // conversations take items of any kind
	openInterface bool
	signOn        signon.Options // what flags cannot say of it

	routes          map[string]route.Route
	policies        map[string]guard.Policy
	defaultPolicies []string
	file            string // that all of it is from; empty where it is from flags
}

// oneUpstream returns the models where everything goes to one server: the two
// that the interface names, and for generation any other.
func oneUpstream(url, key, name string) (models, error) {
	targets := []openai.Target{{Server: &openai.Server{URL: url, Key: key}, Model: name}}
	one := func(info model.Info) openai.Model {
		info.OwnedBy = "upstream"
		return openai.Model{Info: info, Targets: targets}
	}
	others := one(model.Info{Generates: true, Embeds: true})
	m := models{options: &openai.Options{
		Models: []openai.Model{
			one(model.Info{ID: model.DefaultGenerator, Generates: true, Embeds: true}),
			one(model.Info{ID: model.DefaultDecider, Decides: true}),
		},
		Others: &others,
	}}
	return m, m.check()
}

// withServer returns the models where everything goes to the llama-server that has
// been started for the file.
func (m models) withServer(s *llamaserver.Server) (models, error) {
	one, err := oneUpstream(s.URL(), s.Key(), "")
	m.options = one.options
	return m, err
}

// check returns what is wrong with the models, if anything.
func (m models) check() error {
	backend, err := openai.New(*m.options)
	if err != nil {
		return err
	}
	backend.Close()
	return nil
}

// readModels reads a configuration file. Errors name the file, the place and
// the reason.
func readModels(file string, getenv func(string) string) (models, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return models{}, fmt.Errorf("cannot read the configuration of -config: %w; docs/servers.md shows how to write one", err)
	}
	m, err := parseModels(data, getenv)
	if err != nil {
		return models{}, fmt.Errorf("%s: %w", file, err)
	}
	m.file = file
	return m, nil
}

// parseModels decodes a configuration. Unlike requests, which may hold what a
// newer client knows of, it must not have members that mean nothing.
func parseModels(data []byte, getenv func(string) string) (models, error) {
	if err := checkSyntax(data); err != nil {
		return models{}, err
	}
	root, err := jsonin.Parse(data, jsonin.Dots)
	if err != nil {
		return models{}, configError(err)
	}
	d := decoder{getenv: getenv, servers: map[string]*openai.Server{}}
	m := d.models(root)
	if err := root.Err(); err != nil {
		return models{}, configError(err)
	}
	if m.options == nil {
		return m, nil
	}
	if err := cmp.Or(guard.Validate(m.policies, m.defaultPolicies), route.Validate(m.routes)); err != nil {
		return models{}, configError(err)
	}
	return m, m.check()
}

// checkSyntax says in which line of a file the first error of syntax is.
func checkSyntax(data []byte) error {
	var value any
	err := json.Unmarshal(data, &value)
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return nil // what else is wrong has a path
	}
	before := data[:min(int(syntax.Offset), len(data))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// configError words an error about a request body for a file.
func configError(err error) error {
	return errors.New(strings.Replace(fault.From(err).Message, "The request body", "The configuration", 1))
}

// decoder decodes a configuration.
type decoder struct {
	getenv  func(string) string
	servers map[string]*openai.Server
}

// only records an error where n has a member with another name.
func only(n *jsonin.Node, names ...string) {
	for f := range n.Fields() {
		if !slices.Contains(names, f.Name()) {
			f.Fail("is not known; known here are %s", strings.Join(names, ", "))
		}
	}
}

// Bounds of a configuration, so that a wrong file does not become a slow start.
const (
	maxModels  = 1000
	maxTargets = 100
)

func (d *decoder) models(root *jsonin.Node) models {
	only(root, "servers", "models", "others", "prices", "conversation_items", "batch_price", "batch_lines", "batch_lines_per_organization", "webhook_hosts", "mcp_servers", "mcp_hosts", "interface", "oidc", "policies", "default_policies", "routes")
	m := models{options: &openai.Options{}, prices: map[string]accounts.Prices{}}
	if f := root.Field("interface"); !f.Absent() {
		var err error
		if m.openInterface, err = parseInterface(f.Text()); err != nil {
			f.Fail(`must be "strict" or "open"`)
		}
	}
	switch items := root.Field("conversation_items"); items.Text() {
	case "", "user":
	case "any":
		m.anyItems = true
	default:
		items.Fail(`must be "user" or "any"`)
	}
	for f := range root.Field("servers").Fields() {
		d.servers[f.Name()] = d.server(f)
	}
	if root.Field("models").Absent() && root.Field("servers").Absent() && root.Field("others").Absent() {
		m.options = nil // the built-in model
	} else if root.Field("models").Absent() {
		root.Fail("must have the member models")
	}
	for _, item := range root.Field("models").Items(maxModels) {
		mod := d.model(item, "id")
		if mod.Info.ID = item.Field("id").Text(); mod.Info.ID == "" {
			item.Fail("must have an id")
		}
		m.addAliases(mod.Info.ID, item.Field("aliases"))
		if p := prices(item.Field("prices")); p != nil {
			m.prices[mod.Info.ID] = *p
		}
		m.options.Models = append(m.options.Models, mod)
		if mod.Info.Embeds && m.embedder == "" {
			m.embedder = mod.Info.ID
		}
	}
	if others := root.Field("others"); !others.Absent() {
		mod := d.model(others, "")
		m.options.Others = &mod
	}
	m.signOn = signOn(root.Field("oidc"))
	m.defaultPrices = prices(root.Field("prices"))
	for _, host := range root.Field("webhook_hosts").Items(maxModels) {
		m.webhookHosts = append(m.webhookHosts, host.Text())
	}
	m.mcp = d.mcp(root)
	m.routes = routes(root.Field("routes"))
	m.policies, m.defaultPolicies = policies(root.Field("policies")), texts(root.Field("default_policies"))
	if price := root.Field("batch_price").Number(); price != nil {
		if m.batchPrice = *price; m.batchPrice <= 0 || m.batchPrice > 1 {
			root.Field("batch_price").Fail("must be above 0 and at most 1")
		}
	}
	m.batchLines, m.batchShare = positive(root.Field("batch_lines")), positive(root.Field("batch_lines_per_organization"))
	return m
}

// addAliases adds further names of a model.
func (m *models) addAliases(id string, names *jsonin.Node) {
	for _, alias := range names.Items(maxModels) {
		if name := alias.Text(); name == "" || m.aliases[name] != "" {
			alias.Fail("must be a name that no other model has")
		}
		if m.aliases == nil {
			m.aliases = map[string]string{}
		}
		m.aliases[alias.Text()] = id
	}
}

// linesTo is how many lines of batches to a model should be under way at once: as many
// as its first server takes of work that nobody waits for, 0 for any number.
func (m *models) linesTo(id string) int {
	if m.options == nil {
		return 0
	}
	if alias, ok := m.aliases[id]; ok {
		id = alias
	}
	at := slices.IndexFunc(m.options.Models, func(one openai.Model) bool { return one.Info.ID == id })
	var one *openai.Model
	switch {
	case at >= 0:
		one = &m.options.Models[at]
	case m.options.Others != nil:
		one = m.options.Others
	default:
		return 0
	}
	if len(one.Targets) == 0 || one.Targets[0].Server.Concurrency == 0 {
		return 0
	}
	return max(one.Targets[0].Server.Concurrency-1, 1)
}

func (d *decoder) server(n *jsonin.Node) *openai.Server {
	only(n, "url", "key", "key_env", "token_limit", "top_logprobs", "concurrency", "queue_wait",
		"connect_timeout", "first_token_timeout", "between_tokens_timeout")
	s := &openai.Server{
		URL: n.Field("url").Text(), Key: n.Field("key").Text(), TokenLimit: openai.TokenLimit(n.Field("token_limit").Text()),
		TopLogprobs: positive(n.Field("top_logprobs")), Concurrency: positive(n.Field("concurrency")),
		QueueWait: duration(n.Field("queue_wait")), ConnectTimeout: duration(n.Field("connect_timeout")),
		FirstToken: duration(n.Field("first_token_timeout")), BetweenTokens: duration(n.Field("between_tokens_timeout")),
	}
	if s.URL == "" {
		n.Fail("must have a url")
	}
	if name := n.Field("key_env").Text(); name != "" {
		if s.Key = d.getenv(name); s.Key == "" {
			n.Field("key_env").Fail("names the environment variable %s, which is not set", name)
		}
	}
	return s
}

// model decodes a model, whose prices and name are up to the caller.
func (d *decoder) model(n *jsonin.Node, name string) openai.Model {
	only(n, "id", "owned_by", "generates", "decides", "embeds", "context_window", "images", "vision", "reasoning_efforts", "debias",
		"prices", "targets", "aliases", "label_mass", "prior_states")
	m := openai.Model{
		Info: model.Info{
			OwnedBy: n.Field("owned_by").Text(), ContextWindow: positive(n.Field("context_window")),
			Generates: n.Field("generates").True(), Embeds: n.Field("embeds").True(), Debias: orders(n.Field("debias")),
			PriorStates: positive(n.Field("prior_states")),
		},
		NoImages: noImages(n),
	}
	m.Info.Decides, m.Decides = decides(n.Field("decides"))
	if mass := n.Field("label_mass").Number(); mass != nil {
		if m.LabelMass = *mass; !(m.LabelMass > 0 && m.LabelMass <= 1) {
			n.Field("label_mass").Fail("must be above 0 and at most 1")
		}
	}
	if name == "" && !n.Field("id").Absent() {
		n.Field("id").Fail("has no meaning here")
	}
	if !m.Info.Generates && !m.Info.Decides && !m.Info.Embeds {
		n.Fail("must have at least one of generates, decides and embeds that is true")
	}
	m.Info.ReasoningEfforts, m.Efforts = efforts(n.Field("reasoning_efforts"))
	for _, t := range n.Field("targets").Items(maxTargets) {
		only(t, "server", "model", "no_thinking")
		server := d.servers[t.Field("server").Text()]
		if server == nil {
			t.Fail("must have a server that is one of servers")
		}
		m.Targets = append(m.Targets, openai.Target{
			Server: server, Model: t.Field("model").Text(), NoThinking: openai.NoThinking(t.Field("no_thinking").Text()),
		})
	}
	return m
}

// efforts decodes the reasoning efforts that a model takes: their names, or an
// object from each to what the server calls it.
func efforts(n *jsonin.Node) (taken []string, names map[string]string) {
	if n.Absent() {
		return nil, nil
	}
	taken, names = []string{}, map[string]string{}
	var given []*jsonin.Node
	if n.IsArray() {
		given = n.Items(len(model.Efforts))
	} else {
		given = slices.Collect(n.Fields())
	}
	for _, f := range given {
		effort, sent := f.Name(), f.Text()
		if n.IsArray() {
			effort = sent
		}
		if !slices.Contains(model.Efforts, effort) {
			f.Fail("must be one of %s", strings.Join(model.Efforts, ", "))
		}
		taken, names[effort] = append(taken, effort), sent
	}
	return taken, names
}

// prices decodes prices in dollars; those that are absent have their defaults.
func prices(n *jsonin.Node) *accounts.Prices {
	if n.Absent() {
		return nil
	}
	only(n, "input", "cached_input", "output", "decision_input")
	p := accounts.DefaultPrices()
	for name, price := range map[string]*accounts.Micros{
		"input": &p.Input, "cached_input": &p.CachedInput, "output": &p.Output, "decision_input": &p.DecisionInput,
	} {
		f := n.Field(name)
		if f.Absent() {
			continue
		}
		if err := price.UnmarshalJSON(f.Raw()); err != nil || *price < 0 {
			f.Fail("must be a number of dollars, such as \"0.20\"")
		}
	}
	return &p
}

// decides decodes whether a model decides: true finds out how, and the name of a
// way is that way.
func decides(n *jsonin.Node) (bool, openai.Decides) {
	if !n.IsText() {
		return n.True(), ""
	}
	way := openai.Decides(n.Text())
	if !slices.Contains([]openai.Decides{openai.SystemOne, openai.Decisions, openai.ByLabels}, way) {
		n.Fail("must be true, false, systemone, decisions or labels")
	}
	return true, way
}

// noImages decodes whether a model refuses images: not where nothing is said.
// vision is the older name.
func noImages(n *jsonin.Node) bool {
	said := n.Field("images")
	if older := n.Field("vision"); said.Absent() {
		said = older
	} else if !older.Absent() {
		older.Fail("is the older name of images, which is there too")
	}
	return !said.Absent() && !said.True()
}

// orders decodes in how many orders a question is asked; true is two.
func orders(n *jsonin.Node) int {
	if string(n.Raw()) == "true" {
		return 2
	}
	if string(n.Raw()) == "false" {
		return 0
	}
	return positive(n)
}

// positive decodes a number above 0; absent is 0.
func positive(n *jsonin.Node) int {
	i := n.Int()
	if i == nil {
		return 0
	}
	if *i < 1 {
		n.Fail("must be at least 1")
	}
	return *i
}

// duration decodes a time such as "30s" or "5m"; absent is 0.
func duration(n *jsonin.Node) time.Duration {
	if n.Absent() {
		return 0
	}
	d, err := time.ParseDuration(n.Text())
	if err != nil || d <= 0 {
		n.Fail("must be a duration such as \"30s\" or \"5m\"")
	}
	return d
}

// count is how many models a configuration names.
func (m models) count() int {
	if m.options == nil {
		return 0
	}
	return len(m.options.Models)
}
