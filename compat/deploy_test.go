package compat

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"gopkg.in/yaml.v3"
)

// TestChart renders the templates of the Helm chart with its own values and reads
// what comes out.
func TestChart(t *testing.T) {
	chart := filepath.Join("..", "deploy", "helm", "svcd")
	var values map[string]any
	read(t, filepath.Join(chart, "values.yaml"), &values)
	values["env"] = map[string]any{"SVC_MAX_REQUESTS": 100}
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*.yaml"))
	if err != nil || len(files) != 3 {
		t.Fatalf("the templates are %q, %v", files, err)
	}
	kinds := map[string]map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := template.New(filepath.Base(file)).Option("missingkey=error").Funcs(helm).Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := parsed.Execute(&out, map[string]any{"Values": values, "Release": map[string]any{"Name": "test"}}); err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(out.Bytes(), &object); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, out.String())
		}
		kinds[object["kind"].(string)] = object
	}
	spec := kinds["Deployment"]["spec"].(map[string]any)
	pod := spec["template"].(map[string]any)["spec"].(map[string]any)
	container := pod["containers"].([]any)[0].(map[string]any)
	if spec["replicas"] != 3 || pod["terminationGracePeriodSeconds"] != 335 || container["image"] != "svcd:latest" {
		t.Errorf("the deployment has %v replicas of %v that have %v seconds", spec["replicas"], container["image"], pod["terminationGracePeriodSeconds"])
	}
	env := map[string]any{}
	for _, e := range container["env"].([]any) {
		env[e.(map[string]any)["name"].(string)] = e.(map[string]any)["value"]
	}
	if env["SVC_GRACE"] != "300s" || env["SVC_MAX_REQUESTS"] != "100" || env["SVC_ADDR"] != "0.0.0.0:8080" {
		t.Errorf("the environment is %v", env)
	}
	if kinds["Service"] == nil || kinds["PodDisruptionBudget"] == nil {
		t.Errorf("the chart makes %d objects", len(kinds))
	}
}

// TestCompose reads the compose file.
func TestCompose(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Environment map[string]string `yaml:"environment"`
			Deploy      struct{ Replicas int }
		}
	}
	read(t, filepath.Join("..", "deploy", "compose.yaml"), &compose)
	svcd := compose.Services["svcd"]
	if len(compose.Services) != 3 || svcd.Deploy.Replicas != 3 || !strings.HasPrefix(svcd.Environment["SVC_DATA"], "postgres://") {
		t.Errorf("got %+v", compose)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// helm are the functions of Helm that the templates use.
var helm = template.FuncMap{
	"quote": func(v any) string { return strconv.Quote(text(v)) },
	"int":   func(v int) int { return v },
	"add": func(all ...int) (sum int) {
		for _, n := range all {
			sum += n
		}
		return sum
	},
	"toYaml": func(v any) (string, error) {
		out, err := yaml.Marshal(v)
		return strings.TrimSpace(string(out)), err
	},
	"nindent": func(n int, s string) string {
		pad := "\n" + strings.Repeat(" ", n)
		return pad + strings.ReplaceAll(s, "\n", pad)
	},
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	out, _ := yaml.Marshal(v) // a number
	return strings.TrimSpace(string(out))
}
