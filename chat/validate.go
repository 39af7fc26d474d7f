package chat

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/metadata"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
)

// validName is what functions and response formats may be called.
var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

const nameRule = "must be 1 to 64 letters, digits, underscores or hyphens."

// check returns an Invalid error for a request that breaks a rule of the
// interface, whatever the model, and otherwise the compiled schema of its
// format, nil where it has none.
func (r *Request) check() (*schema.Schema, error) {
	for _, rule := range []func() error{
		r.checkNumbers, r.checkStop, r.checkMessages, r.checkTools, r.checkToolChoice,
	} {
		if err := rule(); err != nil {
			return nil, err
		}
	}
	if err := metadata.Check(r.Metadata); err != nil {
		return nil, err
	}
	return r.checkFormat()
}

func (r *Request) checkNumbers() error {
	// A comparison with NaN is false.
	if t := r.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return fault.Invalidf("temperature", "temperature must be between 0 and 2.")
	}
	if p := r.TopP; p != nil && !(*p >= 0 && *p <= 1) {
		return fault.Invalidf("top_p", "top_p must be between 0 and 1.")
	}
	if r.MaxTokens != nil && *r.MaxTokens < 1 {
		return fault.Invalidf("max_tokens", "max_tokens must be at least 1.")
	}
	return nil
}

func (r *Request) checkStop() error {
	if len(r.Stop) > MaxStops {
		return fault.Invalidf("stop", "stop must have at most %d sequences.", MaxStops)
	}
	for _, s := range r.Stop {
		if s == "" {
			return fault.Invalidf("stop", "A stop sequence must not be empty.")
		}
	}
	return nil
}

func (r *Request) checkTools() error {
	if len(r.Tools) > MaxTools {
		return fault.Invalidf("tools", "tools must have at most %d elements.", MaxTools)
	}
	names := make(map[string]bool, len(r.Tools))
	for i, tool := range r.Tools {
		param := fmt.Sprintf("tools[%d].function.name", i)
		if !validName.MatchString(tool.Name) {
			return fault.Invalidf(param, "%s %s", param, nameRule)
		}
		if names[tool.Name] {
			return fault.Invalidf(param, "%s is %q, which another tool is called, too.", param, tool.Name)
		}
		names[tool.Name] = true
		if tool.Parameters == nil {
			continue
		}
		if _, err := schema.Compile(tool.Parameters, fmt.Sprintf("tools[%d].function.parameters", i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Request) checkToolChoice() error {
	switch r.ToolChoice.Mode {
	case "", model.ToolAuto, model.ToolNone:
		return nil
	case model.ToolRequired:
		if len(r.Tools) == 0 {
			return fault.Invalidf("tool_choice", "tool_choice is required, but there are no tools.")
		}
		return nil
	case model.ToolNamed:
		for _, tool := range r.Tools {
			if tool.Name == r.ToolChoice.Name {
				return nil
			}
		}
		return fault.Invalidf("tool_choice", "tool_choice names the function %.64q, which is not among the tools.", r.ToolChoice.Name)
	}
	return fault.Invalidf("tool_choice", "tool_choice must be auto, required, none, or a function.")
}

func (r *Request) checkFormat() (*schema.Schema, error) {
	switch r.Format.Type {
	case "", model.FormatText, model.FormatObject:
		return nil, nil
	case model.FormatSchema:
		const at = "response_format.json_schema"
		if !validName.MatchString(r.Format.Name) {
			return nil, fault.Invalidf(at+".name", "%s.name %s", at, nameRule)
		}
		if r.Format.Schema == nil {
			return nil, fault.Invalidf(at+".schema", at+".schema is required.")
		}
		return schema.Compile(r.Format.Schema, at+".schema")
	}
	return nil, fault.Invalidf("response_format.type", "response_format.type must be text, json_object or json_schema.")
}

// checkEffort returns an Invalid error where the model does not take the
// request's reasoning effort.
func (r *Request) checkEffort(info model.Info) error {
	if r.ReasoningEffort == "" || info.TakesEffort(r.ReasoningEffort) {
		return nil
	}
	efforts := info.ReasoningEfforts
	if efforts == nil {
		efforts = model.Efforts
	}
	if len(efforts) == 0 {
		return fault.Invalidf("reasoning_effort", "The model %q does not take a reasoning_effort.", info.ID)
	}
	return fault.Invalidf("reasoning_effort", "reasoning_effort must be one that the model %q takes: %s.", info.ID, strings.Join(efforts, ", "))
}
