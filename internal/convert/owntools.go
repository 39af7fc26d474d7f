package convert

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// The tools shell, local_shell and apply_patch are run by callers. Models are offered
// functions for them, whose arguments are the actions of the calls.

// addOwnTool adds one of them, unless it would run in a container of the service, or a
// function has its name.
func addOwnTool(t *wire.ResponseTool, r *responses.Request) {
	taken := slices.ContainsFunc(r.Tools, func(other model.Tool) bool { return other.Name == t.Type })
	if t.Away || taken {
		return
	}
	r.Tools = append(r.Tools, responses.OwnTool(t.Type))
	if r.ToolAliases == nil {
		r.ToolAliases = map[string]responses.ToolAlias{}
	}
	r.ToolAliases[t.Type] = responses.ToolAlias{Name: t.Type, Tool: t.Type}
}

// lines is a list of texts, for which models also write a text alone.
type lines []string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *lines) UnmarshalJSON(data []byte) error {
	*l = lines{}
	if len(data) > 0 && data[0] == '"' {
		*l = lines{""}
		return json.Unmarshal(data, &(*l)[0])
	}
	return json.Unmarshal(data, (*[]string)(l))
}

type shellAction struct {
	Commands  lines `json:"commands"`
	Timeout   *int  `json:"timeout_ms"`
	MaxOutput *int  `json:"max_output_length"`
}

type localShellAction struct {
	Type      string            `json:"type"`
	Command   lines             `json:"command"`
	Env       map[string]string `json:"env"`
	Timeout   *int              `json:"timeout_ms,omitempty"`
	User      string            `json:"user,omitempty"`
	Directory string            `json:"working_directory,omitempty"`
}

type patchOperation struct {
	Type string  `json:"type"`
	Path string  `json:"path"`
	Diff *string `json:"diff,omitempty"`
}

// toOwnCall returns a call of one of the tools as it is answered. Of arguments that are
// not those of the tool it has what can be read.
func toOwnCall(c *conversations.FunctionCall) wire.Item {
	w := wire.Item{ID: c.ID, Type: c.Tool + "_call", Status: string(c.Status), CallID: c.CallID}
	read := func(v any) json.RawMessage {
		_ = json.Unmarshal([]byte(c.Arguments), v) // a model wrote it
		data, _ := jsonout.Marshal(v)              // texts and numbers always encode
		return data
	}
	switch c.Tool {
	case "shell":
		w.Action = &wire.ItemAction{Own: read(&shellAction{Commands: lines{}})}
	case "local_shell":
		a := localShellAction{Command: lines{}, Env: map[string]string{}}
		read(&a)
		a.Type = "exec"
		data, _ := jsonout.Marshal(&a)
		w.Action = &wire.ItemAction{Own: data}
	default:
		w.Operation = read(&patchOperation{})
	}
	return w
}

// fromOwnAnswer returns a call that was answered.
func fromOwnAnswer(w *wire.Item) conversations.Item {
	c := &conversations.FunctionCall{ID: w.ID, Status: conversations.Status(w.Status), CallID: w.CallID, Tool: strings.TrimSuffix(w.Type, "_call")}
	c.Name, c.Arguments = c.Tool, string(w.Operation)
	if w.Action != nil {
		c.Arguments = string(w.Action.Own)
	}
	return c
}

// ownItem is an item of one of the tools in a request.
type ownItem struct {
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Status    string          `json:"status"`
	Action    json.RawMessage `json:"action"`
	Operation json.RawMessage `json:"operation"`
	Output    json.RawMessage `json:"output"`
}

// ownTool returns the tool that an item is about, and whether it is an output.
func ownTool(kind string) (tool string, output bool) {
	tool, output = strings.CutSuffix(strings.TrimSuffix(kind, "_output"), "_call")
	if !output || wire.KindOfTool(tool) != wire.OwnTool {
		return "", false
	}
	return tool, strings.HasSuffix(kind, "_output")
}

// answeredCalls returns the IDs of the calls that have outputs among items.
func answeredCalls(items []wire.InputItem) map[string]bool {
	answered := map[string]bool{}
	for i := range items {
		if _, output := ownTool(items[i].Type); output {
			item := readOwn(&items[i])
			answered[item.CallID] = true
		}
	}
	return answered
}

func readOwn(w *wire.InputItem) (item ownItem) {
	_ = json.Unmarshal(w.Hosted, &item) // what does not fit is left out
	if item.CallID == "" {
		item.CallID = item.ID // as in outputs of local_shell
	}
	return item
}

// fromOwn returns a call of one of the tools, or its output; nil for another item, and
// for a call that has no output in the request: it is from a history that others kept.
func fromOwn(w *wire.InputItem, answered map[string]bool) conversations.Item {
	tool, output := ownTool(w.Type)
	if tool == "" {
		return nil
	}
	item := readOwn(w)
	if output {
		return &conversations.FunctionCallOutput{CallID: item.CallID, Tool: tool, Output: item.outputText()}
	}
	if !answered[item.CallID] {
		return nil
	}
	arguments := item.Action
	if tool == "apply_patch" {
		arguments = item.Operation
	}
	return &conversations.FunctionCall{CallID: item.CallID, Name: tool, Tool: tool, Arguments: string(arguments)}
}

// outputText is what the model reads of an output.
func (i *ownItem) outputText() string {
	text := string(i.Output)
	if len(i.Output) > 0 && i.Output[0] == '"' {
		_ = json.Unmarshal(i.Output, &text) // it is a text
	}
	switch {
	case text == "" || text == "null":
		return i.Status
	case i.Status == "failed":
		return "failed: " + text
	}
	return text
}
