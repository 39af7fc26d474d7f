package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-506d8e5d/svc/model/llamaserver"
)

// fakeLlamaServer is what the test's program is when it is called llama-server. It
// says in its model file where it listens.
func fakeLlamaServer() {
	argument := func(name string) string { return os.Args[slices.Index(os.Args, name)+1] }
	address := argument("--host") + ":" + argument("--port")
	http.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+os.Getenv("LLAMA_API_KEY") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	err := os.WriteFile(argument("--model"), []byte(address), 0o600)
	if err == nil {
		err = http.ListenAndServe(address, nil)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// chatTo asks a server for a chat completion.
func chatTo(t *testing.T, url, model string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions",
		strings.NewReader(`{"model":"`+model+`","max_tokens":8,"messages":[{"role":"user","content":"Once"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-one")
	return answerTo(t, req)
}

// modelFile returns a model file, and has this program be the llama-server of the
// PATH.
func modelFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, llamaserver.Program))
	}
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("PATH", dir)
	file := filepath.Join(dir, "model.gguf")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestGGUF starts svcd on a model file: the model server answers for it, and ends
// with it.
func TestGGUF(t *testing.T) {
	file := modelFile(t)
	url, stop := start(t, empty, "-gguf", file, "-api-key", "sk-one", "-alias", "mine=svc-preview")
	for _, model := range []string{"svc-preview", "mine"} {
		if status, body := chatTo(t, url, model); status != 200 || !strings.Contains(body, `"content":"Hello"`) {
			t.Errorf("%s: %d %s", model, status, body)
		}
	}
	stop()
	address, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get("http://" + string(address) + "/health"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the model server has not ended: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	_, _, err = run(t.Context(), "-addr", "127.0.0.1:0", "-data", inMemory, "-gguf", file)
	if !errors.Is(err, llamaserver.ErrNotInstalled) {
		t.Errorf("without llama-server: %v", err)
	}
}

// TestRealGGUF is TestGGUF with the real program, where there is one.
func TestRealGGUF(t *testing.T) {
	file := os.Getenv("SVC_TEST_GGUF")
	if _, err := exec.LookPath(llamaserver.Program); err != nil || file == "" {
		t.Skip("it needs llama-server in the PATH and a model in SVC_TEST_GGUF")
	}
	url, _ := start(t, empty, "-gguf", file, "-api-key", "sk-one")
	if status, body := chatTo(t, url, "svc-preview"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

// TestGGUFEndsWithAKilledServer kills svcd: the model server does not stay behind.
func TestGGUFEndsWithAKilledServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with the one that started it")
	}
	file := modelFile(t)
	server := startServer(t, inMemory, "-gguf", file)
	address, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	health := "http://" + string(address) + "/health"
	if resp, err := http.Get(health); err != nil {
		t.Fatal(err)
	} else {
		resp.Body.Close()
	}
	server.kill()
	for { // until it is gone, or the test is too long
		resp, err := http.Get(health)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			resp.Body.Close()
		}
		if err := t.Context().Err(); err != nil {
			t.Fatal("the model server has not ended")
		}
	}
}
