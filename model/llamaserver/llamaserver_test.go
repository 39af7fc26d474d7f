package llamaserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is llama-server where the test's program is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == Program {
		fake()
		return
	}
	os.Exit(m.Run())
}

// fake behaves as llama-server and does what its model file says.
func fake() {
	argument := func(name string) string { return os.Args[slices.Index(os.Args, name)+1] }
	model, err := os.ReadFile(argument("--model"))
	if err != nil || string(model) == "bad" {
		fmt.Fprintln(os.Stderr, "loading\n\nfailed to load the model")
		os.Exit(1)
	}
	asked := 0
	http.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		if string(model) == "slow" {
			_ = os.WriteFile(argument("--model")+".asked", nil, 0o600) // the test waits for it
		}
		if asked++; asked == 1 || string(model) == "slow" {
			http.Error(w, "Loading model", http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("GET /environment", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Join(append(os.Environ(), os.Args[1:]...), "\n"))
	})
	http.HandleFunc("POST /crash", func(http.ResponseWriter, *http.Request) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(argument("--host")+":"+argument("--port"), nil))
	os.Exit(1)
}

// install puts the fake into the PATH and returns a model file for it.
func install(t *testing.T, model string) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, Program))
	}
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("PATH", dir)
	file := filepath.Join(dir, "model.gguf")
	if err := os.WriteFile(file, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func stat(name string) error {
	_, err := os.Stat(name)
	return err
}

func ask(t *testing.T, method, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestServer starts a server, has it crash, and ends it when it is back.
func TestServer(t *testing.T) {
	file := install(t, "good")
	t.Setenv("SVC_ADMIN_KEY", "secret")
	t.Setenv("LLAMA_ARG_CTX_SIZE", "4096")
	s, err := Start(t.Context(), Options{Model: file, Slots: 3, Pause: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := ask(t, "GET", s.base()+"/environment")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"LLAMA_ARG_N_PARALLEL=3", "LLAMA_ARG_CTX_SIZE=4096", "LLAMA_API_KEY=" + s.Key(), "--model\n" + file, "--host\n127.0.0.1"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "secret") {
		t.Error("the server has a secret")
	}
	if _, err := ask(t, "POST", s.base()+"/crash"); err == nil {
		t.Fatal("the fake does not crash")
	}
	for {
		if _, err := ask(t, "GET", s.base()+"/environment"); err == nil {
			break
		}
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if _, err := ask(t, "GET", s.base()+"/environment"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the end: %v", err)
	}
	s.Close()
}

func TestStartFails(t *testing.T) {
	good := install(t, "good")
	bad := install(t, "bad")
	if _, err := Start(t.Context(), Options{Model: bad}); err == nil || err.Error() != "llama-server ended (exit status 1): loading; failed to load the model" {
		t.Errorf("a bad model: %v", err)
	}
	if _, err := Start(t.Context(), Options{Model: good + ".not"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow := install(t, "slow")
	go func() {
		for ctx.Err() == nil && os.IsNotExist(stat(slow+".asked")) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := Start(ctx, Options{Model: slow}); err == nil || !strings.HasPrefix(err.Error(), "told to end") {
		t.Errorf("told to end: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.Context(), Options{Model: good}); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("without a program: %v", err)
	}
}

// TestRealServer starts the real llama-server with the model that the environment
// names.
func TestRealServer(t *testing.T) {
	file := os.Getenv("SVC_TEST_GGUF")
	if _, err := exec.LookPath(Program); err != nil || file == "" {
		t.Skip("it needs llama-server in the PATH and a model in SVC_TEST_GGUF")
	}
	s, err := Start(t.Context(), Options{Model: file})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for key, status := range map[string]int{s.Key(): http.StatusOK, "other": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/chat/completions",
			strings.NewReader(`{"messages":[{"role":"user","content":"Once"}],"max_tokens":4}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("got %s, want %d", resp.Status, status)
		}
	}
}
