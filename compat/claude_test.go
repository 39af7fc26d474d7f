package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// claudeCode is the program of the package @anthropic-ai/claude-code-linux-x64, which
// .ci/nightly fetches; empty skips its test.
var claudeCode = os.Getenv("SVC_CLAUDE")

// TestClaudeCode gives Claude Code, as it is, a task of three steps: it reads a file,
// edits it and runs a command.
func TestClaudeCode(t *testing.T) { eachInterface(t, testClaudeCode) }

func testClaudeCode(t *testing.T, open bool) {
	if claudeCode == "" {
		t.Skip("SVC_CLAUDE names no program")
	}
	g := newGallery(t, open)
	work := t.TempDir()
	notes := filepath.Join(work, "notes.txt")
	check(t, os.WriteFile(notes, []byte("one\ntwo\n"), 0o600))
	task := fmt.Sprintf(`SCRIPT:{"steps":[[{"name":"Read","args":{"file_path":%q}}],[{"name":"Edit","args":{"file_path":%[1]q,"old_string":"two","new_string":"three"}}],`+
		`[{"name":"Bash","args":{"command":"wc -l < notes.txt > count.txt","description":"Count the lines"}}]],"final":"All three steps are done."}`, notes)

	ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, claudeCode, "-p", "--dangerously-skip-permissions", "--output-format", "json", task)
	cmd.Dir = work
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"ANTHROPIC_BASE_URL=" + strings.TrimSuffix(g.url, "/v1"), "ANTHROPIC_AUTH_TOKEN=" + g.key, "ANTHROPIC_MODEL=" + modelID, "ANTHROPIC_SMALL_FAST_MODEL=" + modelID}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var result struct {
		IsError bool `json:"is_error"`
		Result  string
		Turns   int `json:"num_turns"`
	}
	check(t, json.Unmarshal(out, &result))
	if result.IsError || result.Result != "All three steps are done." || result.Turns != 4 {
		t.Errorf("Claude Code did not finish:\n%s", out)
	}
	edited, err := os.ReadFile(notes)
	check(t, err)
	equal(t, "the file", string(edited), "one\nthree\n")
	counted, err := os.ReadFile(filepath.Join(work, "count.txt"))
	check(t, err)
	equal(t, "what the command wrote", strings.TrimSpace(string(counted)), "2")
}
