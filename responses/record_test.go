package responses

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
)

// TestBodiesKeepTheirForm holds the body of a turn to the text that stores have of it
// since the first version.
func TestBodiesKeepTheirForm(t *testing.T) {
	yes, half, seven := true, 0.5, 7
	raw := json.RawMessage(`{"a":1}`)
	full := Response{
		ID: "resp_1", Conversation: "conv_1", CreatedAt: 1, CompletedAt: 2, Status: Failed, Error: &Error{Code: "c", Message: "<m>"}, Truncated: 3, Incomplete: MaxOutputTokens,
		Usage: &model.Usage{InputTokens: 1, CachedTokens: 2, OutputTokens: 3, ReasoningTokens: 4}, events: 5,
		Echo: Echo{
			Model: "m", Instructions: "i", PreviousResponseID: "resp_0", Metadata: map[string]string{"k": "v"},
			Tools: []model.Tool{{Name: "f", Description: "d", Parameters: raw, Strict: true}, {Name: "web_search", Search: true}}, SearchType: WebSearch,
			ToolChoice: model.ToolChoice{Mode: model.ToolNamed, Name: "f"}, ShownTools: raw, ShownToolChoice: raw, ParallelToolCalls: &yes, ReasoningEffort: "low",
			Format: model.Format{Type: model.FormatSchema, Name: "n", Description: "d", Schema: raw, Strict: true}, Temperature: &half, TopP: &half,
			MaxOutputTokens: &seven, MaxToolCalls: &seven, TopLogprobs: &seven, PresencePenalty: &half, FrequencyPenalty: &half,
			PromptCacheKey: "p", SafetyIdentifier: "s", Background: true, Truncation: TruncationAuto,
		},
	}
	for want, r := range map[string]Response{
		`{"created":0,"status":"completed","echo":{"model":"m"}}`: {Status: Completed, Usage: &model.Usage{}, Echo: Echo{Model: "m"}},
		`{"created":1,"completed":2,"status":"failed","error":{"code":"c","message":"<m>"},"incomplete":"max_output_tokens",` +
			`"usage":{"InputTokens":1,"CachedTokens":2,"OutputTokens":3,"ReasoningTokens":4},"events":5,"truncated":3,` +
			`"echo":{"model":"m","instructions":"i","previous":"resp_0","metadata":{"k":"v"},` +
			`"tools":[{"Name":"f","Description":"d","Parameters":{"a":1},"Strict":true,"Search":false},{"Name":"web_search","Description":"","Parameters":null,"Strict":false,"Search":true}],` +
			`"search":"web_search","tool_choice":{"Mode":"` + string(model.ToolNamed) + `","Name":"f"},"shown_tools":{"a":1},"shown_choice":{"a":1},"parallel":true,"effort":"low",` +
			`"format":{"Type":"json_schema","Name":"n","Description":"d","Schema":{"a":1},"Strict":true},"temperature":0.5,"top_p":0.5,"max_output":7,"max_calls":7,"top_logprobs":7,` +
			`"presence":0.5,"frequency":0.5,"cache_key":"p","safety":"s","background":true,"truncation":"auto"}}`: full,
	} {
		got, err := r.encodeBody()
		if err != nil || string(got) != want {
			t.Errorf("wrote %s, %v, want %s", got, err, want)
		}
		back, err := newResponse(conversations.Turn{ID: r.ID, Conversation: r.Conversation, Body: json.RawMessage(want)}, nil)
		if err != nil || !reflect.DeepEqual(*back, r) && len(r.Echo.Tools) == 0 {
			t.Errorf("read %+v, %v, want %+v", back, err, r)
		}
		if again, err := back.encodeBody(); err != nil || string(again) != want {
			t.Errorf("wrote %s of what was read, %v, want %s", again, err, want)
		}
	}
}
