package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
	"github.com/seed-506d8e5d/svc/responses/mcptools"
)

const wholeConfig = `{
  "servers": {
    "gpu": {"url": "http://10.0.0.5:8000/v1", "key_env": "GPU_KEY", "concurrency": 64, "queue_wait": "10s",
            "connect_timeout": "2s", "first_token_timeout": "1m", "between_tokens_timeout": "30s"},
    "cloud": {"url": "https://api.example.com/v1", "key": "sk-1", "token_limit": "max_completion_tokens", "top_logprobs": 5}
  },
  "models": [
    {"id": "svc-preview", "owned_by": "us", "generates": true, "context_window": 32768,
     "reasoning_efforts": {"low": "low", "max": "high"}, "prices": {"input": "0.5", "output": 2},
     "targets": [{"server": "gpu", "model": "qwen"}, {"server": "cloud", "model": "gpt"}]},
    {"id": "svc-snap-preview", "decides": true, "images": false, "debias": true,
     "targets": [{"server": "gpu", "model": "qwen", "no_thinking": "template"}]}
  ],
  "others": {"generates": true, "reasoning_efforts": ["none"], "targets": [{"server": "cloud"}]},
  "prices": {"decision_input": "0.1"}
}`

func getenv(name string) string { return map[string]string{"GPU_KEY": "secret"}[name] }

func TestParseModels(t *testing.T) {
	got, err := parseModels([]byte(wholeConfig), getenv)
	if err != nil {
		t.Fatal(err)
	}
	gpu := &openai.Server{URL: "http://10.0.0.5:8000/v1", Key: "secret", Concurrency: 64, QueueWait: 10 * time.Second,
		ConnectTimeout: 2 * time.Second, FirstToken: time.Minute, BetweenTokens: 30 * time.Second}
	cloud := &openai.Server{URL: "https://api.example.com/v1", Key: "sk-1", TokenLimit: openai.MaxCompletionTokens, TopLogprobs: 5}
	prices := accounts.DefaultPrices()
	prices.Input, prices.Output = accounts.Dollar/2, 2*accounts.Dollar
	defaults := accounts.DefaultPrices()
	defaults.DecisionInput = accounts.Dollar / 10
	want := models{
		options: &openai.Options{
			Models: []openai.Model{
				{
					Info: model.Info{ID: "svc-preview", OwnedBy: "us", Generates: true, ContextWindow: 32768,
						ReasoningEfforts: []string{"low", "max"}},
					Efforts: map[string]string{"low": "low", "max": "high"},
					Targets: []openai.Target{{Server: gpu, Model: "qwen"}, {Server: cloud, Model: "gpt"}},
				},
				{
					Info:     model.Info{ID: "svc-snap-preview", Decides: true, Debias: 2},
					NoImages: true,
					Targets:  []openai.Target{{Server: gpu, Model: "qwen", NoThinking: openai.TemplateOff}},
				},
			},
			Others: &openai.Model{
				Info:    model.Info{Generates: true, ReasoningEfforts: []string{"none"}},
				Efforts: map[string]string{"none": "none"},
				Targets: []openai.Target{{Server: cloud}},
			},
		},
		prices:        map[string]accounts.Prices{"svc-preview": prices},
		defaultPrices: &defaults,
		mcp:           mcptools.Options{Servers: map[string]mcptools.Server{}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.options.Models[0].Targets[0].Server != got.options.Models[1].Targets[0].Server {
		t.Error("models on one server do not share it")
	}
	for id, want := range map[string]int{"svc-preview": 63, "other": 0} {
		if n := got.linesTo(id); n != want {
			t.Errorf("%s takes %d lines of batches, want %d", id, n, want)
		}
	}
}

func TestConfigIsRefused(t *testing.T) {
	const servers = `"servers":{"s":{"url":"http://h/v1"}}`
	const targets = `"targets":[{"server":"s"}]`
	tests := map[string]struct{ config, want string }{
		"syntax":            {"{\n  \"models\": [}\n", "line 2, column 14: invalid character '}' looking for beginning of value"},
		"empty":             {"", "line 1, column 0: unexpected end of JSON input"},
		"no object":         {`[]`, "The configuration must be an object."},
		"a name twice":      {`{"models":[],"models":[]}`, `The configuration is not valid JSON: the name "models" stands twice in one object (byte 21).`},
		"unknown member":    {`{` + servers + `,"models":[],"modles":[]}`, "modles is not known; known here are servers, models, others, prices, conversation_items, batch_price, batch_lines, batch_lines_per_organization, webhook_hosts, mcp_servers, mcp_hosts, interface, oidc, policies, default_policies, routes."},
		"no models":         {`{` + servers + `}`, "The configuration must have the member models."},
		"wrong type":        {`{"servers":{"s":{"url":1}},"models":[]}`, "servers.s.url must be a string."},
		"no url":            {`{"servers":{"s":{}},"models":[]}`, "servers.s must have a url."},
		"key not set":       {`{"servers":{"s":{"url":"http://h","key_env":"X"}},"models":[]}`, "servers.s.key_env names the environment variable X, which is not set."},
		"duration":          {`{"servers":{"s":{"url":"http://h","queue_wait":"5"}},"models":[]}`, `servers.s.queue_wait must be a duration such as "30s" or "5m".`},
		"nothing to do":     {`{` + servers + `,"models":[{"id":"a",` + targets + `}]}`, "models[0] must have at least one of generates, decides and embeds that is true."},
		"no id":             {`{` + servers + `,"models":[{"generates":true,` + targets + `}]}`, "models[0] must have an id."},
		"id of others":      {`{` + servers + `,"models":[],"others":{"id":"a","generates":true,` + targets + `}}`, "others.id has no meaning here."},
		"unknown server":    {`{` + servers + `,"models":[{"id":"a","generates":true,"targets":[{"server":"t"}]}]}`, "models[0].targets[0] must have a server that is one of servers."},
		"unknown effort":    {`{` + servers + `,"models":[{"id":"a","generates":true,"reasoning_efforts":["off"],` + targets + `}]}`, "models[0].reasoning_efforts[0] must be one of none, minimal, low, medium, high, xhigh, max."},
		"batch price":       {`{` + servers + `,"models":[],"batch_price":1.5}`, `batch_price must be above 0 and at most 1.`},
		"batch lines":       {`{` + servers + `,"models":[],"batch_lines":0}`, `batch_lines must be at least 1.`},
		"price":             {`{` + servers + `,"models":[],"prices":{"input":-1}}`, `prices.input must be a number of dollars, such as "0.20".`},
		"no targets":        {`{` + servers + `,"models":[{"id":"a","generates":true}]}`, `openai: model "a": there are no targets`},
		"bad url":           {`{"servers":{"s":{"url":"h:8000"}},"models":[{"id":"a","generates":true,` + targets + `}]}`, `openai: model "a": "h:8000" is not the URL of a server`},
		"bad no_thinking":   {`{` + servers + `,"models":[{"id":"a","decides":true,"targets":[{"server":"s","no_thinking":"please"}]}]}`, `openai: model "a": there is no way "please" to keep a model from thinking`},
		"bad decides":       {`{` + servers + `,"models":[{"id":"a","decides":"guess",` + targets + `}]}`, "models[0].decides must be true, false, systemone, decisions or labels."},
		"the same ID":       {`{` + servers + `,"models":[{"id":"a","decides":true,` + targets + `},{"id":"a","decides":true,` + targets + `}]}`, `openai: the model ID "a" is empty or used twice`},
		"policy's stage":    {`{"models":[],"policies":{"p":{"stage":"in","questions":{"q":{"type":"noul"}},"block":{"q":{"when":true,"threshold":0.5}}}}}`, "policies.p.stage must be input, output or both."},
		"policy's question": {`{"models":[],"policies":{"p":{"stage":"input","questions":{"q":{"type":"noul"}},"block":{"r":{"when":true,"threshold":0.5}}}}}`, "policies.p.block.r is about a question that the policy does not have."},
		"policy's answer":   {`{"models":[],"policies":{"p":{"stage":"input","questions":{"q":{"type":"noul"}},"block":{"q":{"when":"maybe","threshold":0.5}}}}}`, "policies.p.block.q.when: must be true or false"},
		"two thresholds":    {`{"models":[],"policies":{"p":{"stage":"input","questions":{"q":{"type":"noul"}},"block":{"q":{"when":true,"threshold":0.5,"false_blocks":0.1}}}}}`, "policies.p.block.q must have either a threshold or false_blocks."},
		"policy's member":   {`{"models":[],"policies":{"p":{"stages":"input"}}}`, "policies.p.stages is not known; known here are stage, questions, block, model, on_failure, log_only, sees, calibrations."},
		"route's option":    {`{"models":[],"routes":{"r":{"question":{"type":"choice","criteria":{"a":null,"b":null}},"models":{"c":"m"},"otherwise":"m"}}}`, "routes.r.models.c is not an option of the question."},
		"route's threshold": {`{"models":[],"routes":{"r":{"cascade":["a","b"],"accept":{"type":"noul"}}}}`, "routes.r must have either threshold or error."},
		"route's member":    {`{"models":[],"routes":{"r":{"cascades":[]}}}`, "routes.r.cascades is not known; known here are question, models, otherwise, min_confidence, cascade, accept, threshold, error, decider, sees, calibrations."},
		"default policy":    {`{"models":[],"default_policies":["p"]}`, `default_policies[0] names the policy "p", which does not exist.`},
		"no groups":         {`{"oidc":{"audience":"svc"}}`, "oidc must have groups, as nobody else can sign in."},
		"unknown role":      {`{"oidc":{"groups":{"g":{"organization":"org_a","role":"owner"}}}}`, "oidc.groups.g.role must be admin, member or viewer."},
		"no organization":   {`{"oidc":{"groups":{"g":{"role":"admin"}}}}`, "oidc.groups.g must have an organization, the ID of one."},
		"negative numbers":  {`{"servers":{"s":{"url":"http://h","concurrency":0}},"models":[]}`, "servers.s.concurrency must be at least 1."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseModels([]byte(tt.config), getenv)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestCheckConfig(t *testing.T) {
	good, bad := filepath.Join(t.TempDir(), "good.json"), filepath.Join(t.TempDir(), "bad.json")
	for file, config := range map[string]string{good: wholeConfig, bad: `{"models":1}`} {
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	env := environment{args: []string{"check-config", good}, getenv: getenv, stdout: &out}
	if err := env.run(t.Context()); err != nil || out.String() != good+": 2 models, no errors\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	for _, args := range [][]string{{"check-config", bad}, {"-config", bad}} {
		env.args = args
		if err := env.run(t.Context()); err == nil || err.Error() != bad+": models must be an array." {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

func TestUpstreamFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  map[string]string
		want string // the error
	}{
		"both":        {args: []string{"-upstream", "http://h", "-config", "f"}, want: "-upstream and -config both say where the models run; give one of them"},
		"three":       {args: []string{"-gguf", "m", "-upstream", "http://h"}, want: "-gguf says where the models run, as -upstream and -config do; give one of them"},
		"a file, too": {args: []string{"-config", "f"}, env: map[string]string{"SVC_GGUF": "m"}, want: "-gguf says where the models run, as -upstream and -config do; give one of them"},
		"its name":    {args: []string{"-gguf", "m", "-upstream-model", "n"}, want: "-upstream-key and -upstream-model need -upstream"},
		"key alone":   {args: []string{"-upstream-key", "k"}, want: "-upstream-key and -upstream-model need -upstream"},
		"no URL":      {args: []string{"-upstream", "h"}, want: `openai: model "svc-preview": "h" is not the URL of a server`},
		"environment": {env: map[string]string{"SVC_UPSTREAM_URL": "http://h/v1", "SVC_UPSTREAM_KEY": "k", "SVC_UPSTREAM_MODEL": "m"}},
		"flags":       {args: []string{"-upstream", "http://h/v1", "-upstream-key", "k", "-upstream-model", "m"}},
	}
	want, err := oneUpstream("http://h/v1", "k", "m")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			env := environment{args: tt.args, getenv: func(name string) string { return tt.env[name] }, stderr: &strings.Builder{}}
			c, err := env.config()
			if tt.want != "" {
				if err == nil || err.Error() != tt.want {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(c.models, want) {
				t.Errorf("got %+v, %v\nwant %+v", c.models, err, want)
			}
		})
	}
}

// TestDecides reads how models decide.
func TestDecides(t *testing.T) {
	for given, want := range map[string]openai.Model{
		`true`:        {Info: model.Info{Decides: true}},
		`"systemone"`: {Info: model.Info{Decides: true}, Decides: openai.SystemOne},
		`"decisions"`: {Info: model.Info{Decides: true}, Decides: openai.Decisions},
		`"labels"`:    {Info: model.Info{Decides: true}, Decides: openai.ByLabels},
		`false`:       {},
	} {
		config := `{"servers":{"s":{"url":"http://h/v1"}},"models":[{"id":"m","generates":true,"decides":` + given + `,"targets":[{"server":"s"}]}]}`
		m, err := parseModels([]byte(config), getenv)
		if err != nil || m.options.Models[0].Info.Decides != want.Info.Decides || m.options.Models[0].Decides != want.Decides {
			t.Errorf("%s: got %+v, %v", given, m, err)
		}
	}
}

// TestAliases reads further names of models from flags, the environment and a
// configuration.
func TestAliases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.json")
	config := `{"servers":{"s":{"url":"http://h/v1"}},"models":[{"id":"m","decides":true,"aliases":["a","b"],"targets":[{"server":"s"}]}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env := environment{args: []string{"-alias", "x=svc-preview, y=m", "-alias", "z=m", "-config", file}, getenv: func(string) string { return "" }, stderr: &strings.Builder{}}
	c, err := env.config()
	if want := map[string]string{"a": "m", "b": "m", "x": "svc-preview", "y": "m", "z": "m"}; err != nil || !maps.Equal(c.models.aliases, want) {
		t.Errorf("got %v, %v\nwant %v", c.models.aliases, err, want)
	}
	env.args, env.getenv = nil, func(name string) string { return map[string]string{"SVC_ALIASES": "jev-latest=svc-snap-preview"}[name] }
	c, err = env.config()
	if want := map[string]string{"jev-latest": "svc-snap-preview"}; err != nil || !maps.Equal(c.models.aliases, want) {
		t.Errorf("got %v, %v\nwant %v", c.models.aliases, err, want)
	}
}

// TestDocumentedConfigurations reads the indented JSON in the page about servers.
func TestDocumentedConfigurations(t *testing.T) {
	page, err := os.ReadFile("../../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	configs := 0
	for block := range strings.SplitSeq(string(page), "\n\n") {
		if !strings.HasPrefix(block, "    {") {
			continue
		}
		configs++
		if _, err := parseModels([]byte(block), func(string) string { return "key" }); err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
	if configs != 3 {
		t.Errorf("found %d configurations", configs)
	}
}

// TestImages reads whether models refuse images: only those that are said to.
func TestImages(t *testing.T) {
	for given, want := range map[string]string{
		``: "false", `"images":true,`: "false", `"images":false,`: "true", `"vision":true,`: "false", `"vision":false,`: "true",
		`"images":1,`:                  "models[0].images must be a boolean.",
		`"images":true,"vision":true,`: "models[0].vision is the older name of images, which is there too.",
	} {
		m, err := parseModels([]byte(`{"servers":{"s":{"url":"http://h/v1"}},"models":[{"id":"m",`+given+`"decides":true,"targets":[{"server":"s"}]}]}`), getenv)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(m.options.Models[0].NoImages)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}
