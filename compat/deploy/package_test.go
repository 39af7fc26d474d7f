//go:build linux

package deploy

import (
	"bufio"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"
)

// nfpm makes packages; it is what goreleaser makes them with.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0"

var root = filepath.Join("..", "..")

// packages builds the packages that .goreleaser.yaml describes, in versions and formats,
// and returns where they are.
type packages struct {
	*testing.T
	dir       string
	described map[string]any // of .goreleaser.yaml, as nfpm reads it
}

func newPackages(t *testing.T) *packages {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	check(t, err)
	var config struct {
		Nfpms []map[string]any `json:"nfpms"`
	}
	check(t, yaml.Unmarshal(data, &config))
	p := &packages{T: t, dir: t.TempDir(), described: config.Nfpms[0]}
	p.run("sh", "deploy/package/generate.sh")
	p.run("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(p.dir, "svcd"), "./cmd/svcd")
	p.described["name"], p.described["arch"] = p.described["package_name"], runtime.GOARCH
	p.described["contents"] = append(p.described["contents"].([]any), map[string]any{
		"src": filepath.Join(p.dir, "svcd"), "dst": p.described["bindir"].(string) + "/svcd", "file_info": map[string]any{"mode": 0o755},
	})
	for _, goreleasers := range []string{"package_name", "bindir", "formats"} {
		delete(p.described, goreleasers)
	}
	return p
}

// run runs a command in the root of the repository.
func (p *packages) run(name string, args ...string) string {
	p.Helper()
	c := exec.CommandContext(p.Context(), name, args...)
	c.Dir, c.Env = root, append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "DEBIAN_FRONTEND=noninteractive")
	out, err := c.CombinedOutput()
	if err != nil {
		p.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

// build makes a package of a format.
func (p *packages) build(version, format string) string {
	p.Helper()
	one := maps.Clone(p.described)
	one["version"] = version
	data, err := yaml.Marshal(one)
	check(p.T, err)
	file := filepath.Join(p.dir, version+".yaml")
	check(p.T, os.WriteFile(file, data, 0o600))
	target := filepath.Join(p.dir, "svcd-"+version+"."+format)
	p.run("go", "run", nfpm, "package", "--config", file, "--packager", format, "--target", target)
	return target
}

// serve starts the installed program as its unit does, and returns its URL, what else it
// printed, and what ends it.
func (p *packages) serve() (url, printed string, stop func()) {
	p.Helper()
	service, err := user.Lookup("svcd")
	check(p.T, err)
	uid, err := strconv.Atoi(service.Uid)
	check(p.T, err)
	gid, err := strconv.Atoi(service.Gid)
	check(p.T, err)
	c := exec.Command("/usr/bin/svcd", "-addr", "127.0.0.1:0")
	c.Dir, c.Env = "/", []string{"SVC_DATA=/var/lib/svcd/data"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	out, err := c.StdoutPipe()
	check(p.T, err)
	c.Stderr = os.Stderr
	check(p.T, c.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		printed += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "Console:") || strings.HasPrefix(lines.Text(), "curl ") {
			break
		}
	}
	_, url, _ = strings.Cut(printed, "svcd listens on ")
	url, _, _ = strings.Cut(url, "\n")
	return url, printed, func() {
		check(p.T, c.Process.Signal(syscall.SIGTERM))
		check(p.T, c.Wait())
	}
}

// mode is what kind of file is at a path, and whose; empty for none.
func mode(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	owner, err := user.LookupId(strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Uid)))
	if err != nil {
		return info.Mode().String()
	}
	return info.Mode().String() + " " + owner.Username
}

// holds compares what is at paths.
func (p *packages) holds(when string, want map[string]string) {
	p.Helper()
	for path, kind := range want {
		if got := mode(path); got != kind {
			p.Errorf("%s: %s is %q, want %q", when, path, got, kind)
		}
	}
}

// TestDeb installs a deb, upgrades it over the data of the version before, removes and
// purges it. It changes the machine that it runs on, so it has to be asked for.
func TestDeb(t *testing.T) {
	if os.Getenv("SVC_PACKAGE") != "required" {
		t.Skip("SVC_PACKAGE is not required")
	}
	p := newPackages(t)
	old, newer := p.build("0.0.1", "deb"), p.build("0.0.2", "deb")
	t.Cleanup(func() { _ = exec.Command("dpkg", "--purge", "svcd").Run() }) // where the test ended early
	p.run("dpkg", "--install", old)
	p.holds("installed", map[string]string{
		"/usr/bin/svcd": "-rwxr-xr-x root", "/var/lib/svcd": "drwx------ svcd", "/etc/svcd/svcd.env": "-rw------- root",
		"/usr/lib/systemd/system/svcd.service": "-rw-r--r-- root", "/usr/share/bash-completion/completions/svcd": "-rw-r--r-- root",
	})
	_, printed, stop := p.serve()
	stop()
	_, key, _ := strings.Cut(printed, "shown only this once: ")
	key, _, _ = strings.Cut(key, "\n")
	const changed = "SVC_ADDR=127.0.0.1:9999\n"
	check(t, os.WriteFile("/etc/svcd/svcd.env", []byte(changed), 0o600))

	p.run("dpkg", "--install", newer)
	if got := p.run("dpkg-query", "--show", "--showformat=${Version}", "svcd"); got != "0.0.2" {
		t.Errorf("the version is %q", got)
	}
	if text, err := os.ReadFile("/etc/svcd/svcd.env"); err != nil || string(text) != changed {
		t.Errorf("the upgrade changed the configuration: %q, %v", text, err)
	}
	url, _, stop := p.serve()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/models", nil)
	check(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	check(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the key of before the upgrade: %s", resp.Status)
	}
	stop()

	p.run("dpkg", "--remove", "svcd")
	p.holds("removed", map[string]string{"/usr/bin/svcd": "", "/var/lib/svcd": "drwx------ svcd", "/var/lib/svcd/data": "drwx------ svcd", "/etc/svcd/svcd.env": "-rw------- root"})
	p.run("dpkg", "--purge", "svcd")
	p.holds("purged", map[string]string{"/var/lib/svcd": "", "/etc/svcd": "", "/usr/lib/systemd/system/svcd.service": ""})
	if _, err := user.Lookup("svcd"); err == nil {
		t.Error("purged: the user is still there")
	}
	for _, format := range []string{"rpm", "apk"} {
		if info, err := os.Stat(p.build("0.0.2", format)); err != nil || info.Mode()&fs.ModeType != 0 || info.Size() < 10<<20 {
			t.Errorf("%s: %v, %v", format, info, err)
		}
	}
}

// TestReleaseConfiguration holds .goreleaser.yaml to the files that it names and to the
// systems that there are programs for. What goreleaser itself thinks of it, its own
// "check" says.
func TestReleaseConfiguration(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	check(t, err)
	var config struct {
		Builds []struct {
			Main         string
			Env          []string
			Goos, Goarch []string
		}
		Nfpms []struct {
			Formats  []string
			Contents []struct{ Src, Dst string }
			Scripts  map[string]string
		}
	}
	check(t, yaml.Unmarshal(data, &config))
	build, described := config.Builds[0], config.Nfpms[0]
	if got := strings.Join(append(build.Goos, build.Goarch...), " "); got != "linux darwin windows amd64 arm64" || build.Env[0] != "CGO_ENABLED=0" {
		t.Errorf("built for %s with %v", got, build.Env)
	}
	if got := strings.Join(described.Formats, " "); got != "deb rpm apk" {
		t.Errorf("packages: %s", got)
	}
	named := []string{build.Main, "deploy/package/generate.sh"}
	for _, script := range described.Scripts {
		named = append(named, script)
	}
	for _, c := range described.Contents {
		if !strings.HasPrefix(c.Src, "deploy/package/generated/") {
			named = append(named, c.Src)
		}
	}
	for _, name := range named {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	unit, err := os.ReadFile(filepath.Join(root, "deploy", "svcd.service"))
	check(t, err)
	for _, line := range []string{"ExecStart=/usr/bin/svcd", "EnvironmentFile=-/etc/svcd/svcd.env", "User=svcd"} {
		if !strings.Contains(string(unit), line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
}
