package openai

import (
	"testing"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func TestBackendConforms(t *testing.T) {
	doubles := map[string]func() *double{
		"ollama": func() *double { return &double{} },
		"vllm with reasoning": func() *double {
			return &double{reasoning: "Let me think about it.", thoughts: "reasoning_content", tokenizer: "vllm", window: 40000}
		},
		"llama.cpp with thoughts in the text": func() *double {
			return &double{reasoning: "Hm, let me see.", thoughts: "think", tokenizer: "llama"}
		},
		"no usage, no streams":  func() *double { return &double{noUsage: true, whole: true} },
		"decides by itself":     func() *double { return &double{judges: true} },
		"no usage, tool_choice": func() *double { return &double{noUsage: true, keepTools: true} },
	}
	for name, open := range doubles {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, func(t *testing.T) model.Backend { return open().serve(t).backend(t) }, modeltest.Options{})
		})
	}
}
