package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
)

// force makes the tool call that the request demands from structured answers:
// many servers ignore tool_choice, and the model has answered with text, which
// is dropped. Which tool is asked first where there is a choice.
func (a *answer) force() error {
	name := a.req.ToolChoice.Name
	if a.req.ToolChoice.Mode == model.ToolRequired {
		var err error
		if name, err = a.chooseTool(); err != nil || name == "" {
			return err
		}
	}
	i := slices.IndexFunc(a.req.Tools, func(t model.Tool) bool { return t.Name == name })
	if i < 0 {
		return errUnknownTool // the request names it: a defect above
	}
	tool := a.req.Tools[i]
	arguments := "{}"
	if tool.Parameters != nil {
		prompt := fmt.Sprintf("Call the function %s now (%s). Reply with its arguments, as JSON and nothing else.", tool.Name, tool.Description)
		var err error
		if arguments, err = a.demand(prompt, tool.Parameters, tool.Strict); err != nil || arguments == "" {
			return err
		}
	}
	a.emit(model.ToolCallStart{ID: ids.New("call"), Name: name})
	a.emit(model.ToolCallDelta{Arguments: arguments})
	a.reason = model.ToolCalls
	return nil
}

// chooseTool asks which tool to call. It returns nothing where the answer was
// cut short.
func (a *answer) chooseTool() (string, error) {
	if len(a.req.Tools) == 1 {
		return a.req.Tools[0].Name, nil
	}
	var prompt strings.Builder
	prompt.WriteString("One of these functions has to be called now. Reply with the name of the one that fits best, as JSON and nothing else.\n")
	names := make([]string, len(a.req.Tools))
	for i, tool := range a.req.Tools {
		names[i] = tool.Name
		fmt.Fprintf(&prompt, "\n%s: %s", tool.Name, tool.Description)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return "", err
	}
	form := fmt.Sprintf(`{"type":"object","properties":{"name":{"type":"string","enum":%s}},"required":["name"],"additionalProperties":false}`, list)
	reply, err := a.demand(prompt.String(), json.RawMessage(form), true)
	return gjson.Get(reply, "name").Str, err
}

// demand asks for JSON that satisfies a schema and adds what that costs. It
// returns nothing where the limit of tokens is used up.
func (a *answer) demand(prompt string, form json.RawMessage, strict bool) (string, error) {
	compiled, err := schema.Compile(form, "parameters")
	if err != nil {
		return "", err
	}
	req := *a.req
	req.Messages = append(slices.Clip(req.Messages), model.TextMessage(model.User, prompt))
	req.Tools, req.ToolChoice, req.SingleToolCall, req.Stop = nil, model.ToolChoice{}, false, nil
	req.Format = model.Format{Type: model.FormatSchema, Name: "answer", Schema: form, Strict: strict}
	if req.MaxTokens > 0 {
		if req.MaxTokens -= a.spent.OutputTokens; req.MaxTokens < 1 {
			a.reason = model.Length
			return "", nil
		}
	}
	var text strings.Builder
	var meter generation.Meter
	defer func() { a.spent = a.spent.Add(meter.Usage()) }()
	for event, err := range generation.Stream(a.ctx, a.backend, &req, compiled, &meter) {
		switch e := event.(type) {
		case model.TextDelta:
			text.WriteString(e.Text)
		case model.Finish:
			a.reason = e.Reason
		}
		if err != nil {
			return "", err
		}
	}
	if a.reason == model.Length {
		return "", nil
	}
	return text.String(), nil
}
