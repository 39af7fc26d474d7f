// Package deploy checks what is in ../../deploy with the programs that read it:
// Helm's own engine and linter, Kubernetes' types, and Compose's loader.
package deploy

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

var chartDir = filepath.Join("..", "..", "deploy", "helm", "svcd")

// objects are what the chart makes.
type objects struct {
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	Disruption *policyv1.PodDisruptionBudget
}

// render has Helm render the chart with values, and Kubernetes' types read what
// comes out: a field that they do not have is an error.
func render(t *testing.T, values string) objects {
	t.Helper()
	chart, err := loader.Load(chartDir)
	check(t, err)
	given, err := chartutil.ReadValues([]byte(values))
	check(t, err)
	all, err := chartutil.ToRenderValues(chart, given, chartutil.ReleaseOptions{Name: "test", Namespace: "default", IsInstall: true}, nil)
	check(t, err)
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	check(t, err)
	var o objects
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := []byte(files[name])
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var kind struct{ APIVersion, Kind string }
		check(t, yaml.Unmarshal(text, &kind))
		var into any
		switch kind.APIVersion + " " + kind.Kind {
		case "apps/v1 Deployment":
			o.Deployment = new(appsv1.Deployment)
			into = o.Deployment
		case "v1 Service":
			o.Service = new(corev1.Service)
			into = o.Service
		case "policy/v1 PodDisruptionBudget":
			o.Disruption = new(policyv1.PodDisruptionBudget)
			into = o.Disruption
		default:
			t.Fatalf("%s is a %s of %s", name, kind.Kind, kind.APIVersion)
		}
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
	}
	if o.Deployment == nil || o.Service == nil {
		t.Fatalf("the chart makes %d files", len(files))
	}
	return o
}

// env returns the environment variables that the chart gives svcd.
func (o objects) env() map[string]string {
	env := map[string]string{}
	for _, v := range o.Deployment.Spec.Template.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	return env
}

// TestChart renders the chart with its own values and with others.
func TestChart(t *testing.T) {
	for name, c := range map[string]struct {
		values       string
		replicas     int32
		termination  int64
		image        string
		env          map[string]string
		disruption   bool
		secret       string
		port         int32
		service      corev1.ServiceType
		memoryLimits string
	}{
		"its own": {"", 3, 335, "svcd:latest",
			map[string]string{"SVC_ADDR": "0.0.0.0:8080", "SVC_GRACE": "300s", "SVC_DRAIN": "5s"}, true, "svcd", 80, corev1.ServiceTypeClusterIP, "1Gi"},
		"one replica, and variables that are numbers and words": {`{replicas: 1, env: {SVC_MAX_REQUESTS: 100, SVC_LOG: json, SVC_LARGE: 1000000000, SVC_YES: true}}`, 1, 335, "svcd:latest",
			map[string]string{"SVC_ADDR": "0.0.0.0:8080", "SVC_GRACE": "300s", "SVC_DRAIN": "5s", "SVC_MAX_REQUESTS": "100", "SVC_LOG": "json", "SVC_LARGE": "1000000000", "SVC_YES": "true"},
			false, "svcd", 80, corev1.ServiceTypeClusterIP, "1Gi"},
		"everything": {`
replicas: 12
image: {repository: registry.example/team/svcd, tag: "1.0", pullPolicy: Always}
secret: other
service: {type: LoadBalancer, port: 8443}
graceSeconds: 1800
drainSeconds: 15
resources: {limits: {memory: 4Gi, cpu: "2"}}
`, 12, 1845, "registry.example/team/svcd:1.0",
			map[string]string{"SVC_ADDR": "0.0.0.0:8080", "SVC_GRACE": "1800s", "SVC_DRAIN": "15s"}, true, "other", 8443, corev1.ServiceTypeLoadBalancer, "4Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			o := render(t, c.values)
			spec := o.Deployment.Spec
			pod := spec.Template.Spec
			container := pod.Containers[0]
			if *spec.Replicas != c.replicas || *pod.TerminationGracePeriodSeconds != c.termination || container.Image != c.image {
				t.Errorf("the deployment has %d replicas of %s that have %d seconds", *spec.Replicas, container.Image, *pod.TerminationGracePeriodSeconds)
			}
			if got := o.env(); !maps.Equal(got, c.env) {
				t.Errorf("the environment is %v, want %v", got, c.env)
			}
			if container.EnvFrom[0].SecretRef.Name != c.secret || container.Resources.Limits.Memory().String() != c.memoryLimits {
				t.Errorf("the secret is %q and the memory %s", container.EnvFrom[0].SecretRef.Name, container.Resources.Limits.Memory())
			}
			if (o.Disruption != nil) != c.disruption {
				t.Errorf("a disruption budget: %v", o.Disruption)
			}
			port := o.Service.Spec.Ports[0]
			if port.Port != c.port || o.Service.Spec.Type != c.service || port.TargetPort.StrVal != container.Ports[0].Name {
				t.Errorf("the service is a %s on %d to %s", o.Service.Spec.Type, port.Port, port.TargetPort.String())
			}
			labels := spec.Template.Labels
			if !maps.Equal(spec.Selector.MatchLabels, labels) || !maps.Equal(o.Service.Spec.Selector, labels) {
				t.Errorf("the pods have %v, the deployment selects %v and the service %v", labels, spec.Selector.MatchLabels, o.Service.Spec.Selector)
			}
			for probe, handler := range map[string]*corev1.Probe{"startup": container.StartupProbe, "readiness": container.ReadinessProbe, "liveness": container.LivenessProbe} {
				if handler == nil || handler.HTTPGet == nil || handler.HTTPGet.Port.StrVal != container.Ports[0].Name {
					t.Errorf("the %s probe is %v", probe, handler)
				}
			}
			volumes := map[string]bool{}
			for _, v := range pod.Volumes {
				volumes[v.Name] = true
			}
			for _, m := range container.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("there is no volume %q", m.Name)
				}
			}
		})
	}
}

// TestChartIsClean runs helm lint over the chart.
func TestChartIsClean(t *testing.T) {
	for _, m := range lint.All(chartDir, map[string]any{}, "default", true).Messages {
		if m.Severity > support.InfoSev {
			t.Errorf("%s: %v", m.Path, m.Err)
		}
	}
}

// TestCompose loads the compose file as docker compose config does.
func TestCompose(t *testing.T) {
	file := filepath.Join("..", "..", "deploy", "compose.yaml")
	load := func(env ...string) (*types.Project, error) {
		o, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(env), cli.WithInterpolation(true), cli.WithResolvedPaths(true))
		check(t, err)
		return o.LoadProject(t.Context())
	}
	if _, err := load("POSTGRES_PASSWORD=p", "SVC_CONSOLE_SECRET=s"); err == nil || !strings.Contains(err.Error(), "SVC_ADMIN_KEY") {
		t.Errorf("without an admin key: %v", err)
	}
	project, err := load("POSTGRES_PASSWORD=p", "SVC_ADMIN_KEY=k", "SVC_CONSOLE_SECRET=s")
	check(t, err)
	svcd, postgres, balancer := project.Services["svcd"], project.Services["postgres"], project.Services["balancer"]
	if len(project.Services) != 3 || *svcd.Deploy.Replicas != 3 || svcd.StopGracePeriod == nil {
		t.Errorf("there are %d services, and %d svcd which end within %v", len(project.Services), *svcd.Deploy.Replicas, svcd.StopGracePeriod)
	}
	if url := *svcd.Environment["SVC_DATA"]; url != "postgres://svc:p@postgres:5432/svc?sslmode=disable" {
		t.Errorf("the database is %s", url)
	}
	drain, err := time.ParseDuration(*svcd.Environment["SVC_DRAIN"])
	check(t, err)
	grace, err := time.ParseDuration(*svcd.Environment["SVC_GRACE"])
	check(t, err)
	if stop := time.Duration(*svcd.StopGracePeriod); drain <= 0 || stop <= drain+grace {
		t.Errorf("svcd has %v to end, and takes up to %v and %v", stop, drain, grace)
	}
	if *postgres.Environment["POSTGRES_PASSWORD"] != "p" || *svcd.Environment["SVC_ADMIN_KEY"] != "k" {
		t.Errorf("the secrets are not those of the environment")
	}
	for _, v := range balancer.Volumes {
		if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
			t.Errorf("the balancer has %s, %v", v.Source, err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
