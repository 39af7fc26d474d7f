package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCodex gives codex, as it is, a task of five steps.
func TestCodex(t *testing.T) {
	g := newGallery(t)
	home, work := t.TempDir(), t.TempDir()
	config := fmt.Sprintf(`model = %q
model_provider = "svc"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.svc]
name = "svc"
base_url = %q
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[mcp_servers.notes]
command = %q
args = [%q]
`, modelID, g.url, nodeBinary(t), absolute(t, "node/notes-mcp.mjs"))
	check(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600))
	t.Setenv("CODEX_HOME", home)
	step := func(n int) string {
		return fmt.Sprintf(`[{"name":"exec_command","args":{"cmd":"echo step %d >> %s/steps.txt"}}]`, n, work)
	}
	task := `SCRIPT:{"steps":[` + step(1) + `,` + step(2) + `,` + step(3) + `,` + step(4) + `,[{"name":"mcp__notes__remember","args":{"note":"step 5"}}]],"final":"All five steps are done."}`
	out := g.run(t, nodeBinary(t), "node_modules/@openai/codex/bin/codex.js", "exec", "--skip-git-repo-check", "-C", work, task)
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
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	check(t, err)
	return path
}
