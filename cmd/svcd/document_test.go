package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCompletionInBash has bash complete what somebody types.
func TestCompletionInBash(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	script, _, err := run(t.Context(), "completion", "bash")
	if err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"ba": "backup", "-oidc-c": "-oidc-client-id -oidc-client-secret", "org cr": "create", "org create -zer": "-zero-data-retention",
		"-addr x -gra": "-grace", "decide -quest": "-questions",
	} {
		words := strings.Split(typed, " ")
		ask := script + "\nCOMP_WORDS=(svcd"
		for _, w := range words {
			ask += " '" + w + "'"
		}
		ask += ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_svcd\necho \"${COMPREPLY[*]}\"\n"
		out, err := exec.CommandContext(t.Context(), "bash", "-c", ask).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("svcd %s: %q, %v, want %q", typed, got, err, want)
		}
	}
}

func TestCompletionAndMan(t *testing.T) {
	for args, want := range map[string]string{
		"completion zsh":  "#compdef svcd\n",
		"completion fish": "complete -c svcd -n '__fish_seen_subcommand_from org; and __fish_seen_subcommand_from create' -o credits",
		"man":             ".B \\-admin\\-key\n.I key\n",
	} {
		if out, _, err := run(t.Context(), strings.Fields(args)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("svcd %s: %v, no %q in\n%.3000s", args, err, want, out)
		}
	}
	for _, args := range []string{"completion", "completion tcsh", "man x"} {
		if _, _, err := run(t.Context(), strings.Fields(args)...); err == nil {
			t.Errorf("svcd %s is no error", args)
		}
	}
}
