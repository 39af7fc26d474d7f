package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// codex runs codex, as it is, with some more lines of its provider's configuration
// and of its own, and returns what it said.
func (g *gallery) codex(t *testing.T, home, work, own, provider string, args ...string) string {
	t.Helper()
	config := fmt.Sprintf(`model = %q
model_provider = "svc"
approval_policy = "never"
sandbox_mode = "danger-full-access"
%s
[model_providers.svc]
name = "svc"
base_url = %q
env_key = "OPENAI_API_KEY"
wire_api = "responses"
%s
[mcp_servers.notes]
command = %q
args = [%q]
`, modelID, own, g.url, provider, nodeBinary(t), absolute(t, "node/notes-mcp.mjs"))
	check(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600))
	t.Setenv("CODEX_HOME", home)
	return g.run(t, nodeBinary(t), append([]string{"node_modules/@openai/codex/bin/codex.js", "exec", "--skip-git-repo-check", "-C", work}, args...)...)
}

// fiveSteps is a task of five steps, the last one of which is a tool of an MCP
// server's. Two of them are calls at once.
func fiveSteps(work string) string {
	step := func(n int) string {
		return fmt.Sprintf(`{"name":"exec_command","args":{"cmd":"echo step %d >> %s/steps.txt"}}`, n, work)
	}
	return `SCRIPT:{"steps":[[` + step(1) + `],[` + step(2) + `],[` + step(3) + `,{"name":"exec_command","args":{"cmd":"true"}}],[` + step(4) +
		`],[{"name":"mcp__notes__remember","args":{"note":"step 5"}}]],"final":"All five steps are done."}`
}

// TestCodex gives codex a task of five steps, over HTTP and over a WebSocket.
func TestCodex(t *testing.T) { eachInterface(t, testCodex) }

func testCodex(t *testing.T, open bool) {
	for name, provider := range map[string]string{"http": "", "websocket": "supports_websockets = true"} {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t, open)
			work := t.TempDir()
			out := g.codex(t, t.TempDir(), work, "", provider, fiveSteps(work))
			if !strings.Contains(out, "All five steps are done.") {
				t.Errorf("codex did not finish:\n%s", out)
			}
			steps, err := os.ReadFile(filepath.Join(work, "steps.txt"))
			check(t, err)
			equal(t, "steps", string(steps), "step 1\nstep 2\nstep 3\nstep 4\n")
			last := g.models.sent()
			if len(last) == 0 || !strings.Contains(last[len(last)-1], "remembered: step 5") {
				t.Error("the model was not told what the MCP server answered")
			}
			equal(t, "turns over a WebSocket", g.sockets.Load() > 0, name == "websocket")
		})
	}
}

// TestCodexCompacts has codex shorten a history that it goes on with.
func TestCodexCompacts(t *testing.T) {
	g := newGallery(t, false)
	home, work := t.TempDir(), t.TempDir()
	g.codex(t, home, work, "", "", `SCRIPT:{"steps":[],"final":"The first is done."}`)
	out := g.codex(t, home, work, "model_auto_compact_token_limit = 2000", "", "resume", "--last", `SCRIPT:{"steps":[],"final":"The second is done."}`)
	if !strings.Contains(out, "The second is done.") {
		t.Errorf("codex did not finish:\n%s", out)
	}
	sent := g.models.sent()
	if len(sent) < 3 || !strings.Contains(sent[1], "CHECKPOINT COMPACTION") {
		t.Errorf("codex has not compacted: %d requests\n%s", len(sent), out)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	check(t, err)
	return path
}
