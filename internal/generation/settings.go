package generation

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
)

// MaxTools is how many tools a request may have, MaxOffered how many functions
// the model may be offered for them: a tool may be a namespace of many.
const (
	MaxTools   = 128
	MaxOffered = 1024
)

// Settings are what Responses and Chat Completions requests have in common: how
// to answer. Nil pointers and zero values are omitted fields.
type Settings struct {
	Tenant            string // as in [model.Request]
	Model             string
	Temperature       *float64 // 0 to 2
	TopP              *float64 // 0 to 1
	MaxTokens         *int     // at least 1; caps generated tokens, reasoning included
	ReasoningEffort   string   // one that the model takes; empty is its default
	Format            model.Format
	Tools             []model.Tool // up to [MaxOffered]
	ToolChoice        model.ToolChoice
	AllowedTools      []string // of Tools, those that the model is offered; nil is all
	ParallelToolCalls *bool    // false: at most one tool call; nil is true
	Sampling          model.Sampling
	Logprobs          bool
	TopLogprobs       *int // 0 to [model.MaxTopLogprobs]
}

// Names are what an interface calls the fields of its requests, for errors.
type Names struct {
	MaxTokens  string
	Effort     string
	FormatType string
	Format     string // the object that has the schema's name, strict and schema
	Function   string // what follows tools[i] in the path to a function's fields: "" or ".function"
}

// validName is what functions and response formats may be called.
var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

const nameRule = "must be 1 to 64 letters, digits, underscores or hyphens."

// Check returns an Invalid error for settings that break a rule of the
// interface, whatever the model, and otherwise the compiled schema of the
// format, nil where it has none.
func (s *Settings) Check(n Names) (*schema.Schema, error) {
	if err := s.checkNumbers(n); err != nil {
		return nil, err
	}
	schemas := schema.Budget{Tenant: s.Tenant}
	if err := s.checkTools(n, &schemas); err != nil {
		return nil, err
	}
	if err := s.checkToolChoice(); err != nil {
		return nil, err
	}
	if err := s.checkAllowed(); err != nil {
		return nil, err
	}
	return s.checkFormat(n, &schemas)
}

func (s *Settings) checkNumbers(n Names) error {
	// A comparison with NaN is false.
	if t := s.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return fault.Invalidf("temperature", "temperature must be between 0 and 2.")
	}
	if p := s.TopP; p != nil && !(*p >= 0 && *p <= 1) {
		return fault.Invalidf("top_p", "top_p must be between 0 and 1.")
	}
	if s.MaxTokens != nil && *s.MaxTokens < 1 {
		return fault.Invalidf(n.MaxTokens, "%s must be at least 1.", n.MaxTokens)
	}
	return s.checkSampling()
}

// checkSampling holds the settings that are handed through to bounds that every
// server has; what a server makes of them is its own business.
func (s *Settings) checkSampling() error {
	within := func(name string, p *float64, least, most float64) error {
		if p == nil || *p >= least && *p <= most {
			return nil
		}
		return fault.Invalidf(name, "%s must be between %v and %v.", name, least, most)
	}
	if p := s.Sampling.RepetitionPenalty; p != nil && !(*p > 0) {
		return fault.Invalidf("repetition_penalty", "repetition_penalty must be greater than 0.")
	}
	if n := s.TopLogprobs; n != nil && (*n < 0 || *n > model.MaxTopLogprobs) {
		return fault.Invalidf("top_logprobs", "top_logprobs must be between 0 and %d.", model.MaxTopLogprobs)
	}
	return cmp.Or(
		within("presence_penalty", s.Sampling.PresencePenalty, -2, 2),
		within("frequency_penalty", s.Sampling.FrequencyPenalty, -2, 2),
		within("min_p", s.Sampling.MinP, 0, 1),
	)
}

func (s *Settings) checkTools(n Names, schemas *schema.Budget) error {
	if len(s.Tools) > MaxOffered {
		return fault.Invalidf("tools", "tools must have at most %d functions.", MaxOffered)
	}
	names := make(map[string]bool, len(s.Tools))
	for i, tool := range s.Tools {
		path := fmt.Sprintf("tools[%d]%s", i, n.Function)
		if !validName.MatchString(tool.Name) {
			return fault.Invalidf(path+".name", "%s.name %s", path, nameRule)
		}
		if names[tool.Name] {
			return fault.Invalidf(path+".name", "%s.name is %q, which another tool is called, too.", path, tool.Name)
		}
		names[tool.Name] = true
		if tool.Parameters == nil {
			continue
		}
		if _, err := schemas.Compile(tool.Parameters, path+".parameters"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) checkToolChoice() error {
	switch s.ToolChoice.Mode {
	case "", model.ToolAuto, model.ToolNone:
		return nil
	case model.ToolRequired:
		if len(s.Tools) == 0 {
			return fault.Invalidf("tool_choice", "tool_choice is required, but there are no tools.")
		}
		return nil
	case model.ToolNamed:
		for _, tool := range s.Tools {
			if tool.Name == s.ToolChoice.Name {
				return nil
			}
		}
		return fault.Invalidf("tool_choice", "tool_choice names the function %.64q, which is not among the tools.", s.ToolChoice.Name)
	}
	return fault.Invalidf("tool_choice", "tool_choice must be auto, required, none, or a function.")
}

// checkAllowed refuses a list of allowed tools with one that is not there, and an
// empty one where a tool has to be called.
func (s *Settings) checkAllowed() error {
	for _, name := range s.AllowedTools {
		if !slices.ContainsFunc(s.Tools, func(t model.Tool) bool { return t.Name == name }) {
			return fault.Invalidf("tool_choice", "tool_choice allows the tool %.64q, which is not among the tools.", name)
		}
	}
	if s.AllowedTools != nil && len(s.AllowedTools) == 0 && s.ToolChoice.Mode == model.ToolRequired {
		return fault.Invalidf("tool_choice", "tool_choice is required, but allows none of the tools.")
	}
	return nil
}

// offered are the tools that the model gets to see.
func (s *Settings) offered() []model.Tool {
	if s.AllowedTools == nil {
		return s.Tools
	}
	return slices.DeleteFunc(slices.Clone(s.Tools), func(t model.Tool) bool { return !slices.Contains(s.AllowedTools, t.Name) })
}

func (s *Settings) checkFormat(n Names, schemas *schema.Budget) (*schema.Schema, error) {
	switch s.Format.Type {
	case "", model.FormatText, model.FormatObject:
		return nil, nil
	case model.FormatSchema:
		if !validName.MatchString(s.Format.Name) {
			return nil, fault.Invalidf(n.Format+".name", "%s.name %s", n.Format, nameRule)
		}
		if s.Format.Schema == nil {
			return nil, fault.Invalidf(n.Format+".schema", "%s.schema is required.", n.Format)
		}
		return schemas.Compile(s.Format.Schema, n.Format+".schema")
	}
	return nil, fault.Invalidf(n.FormatType, "%s must be text, json_object or json_schema.", n.FormatType)
}

// CheckEffort returns an Invalid error where the model does not take the
// reasoning effort.
func (s *Settings) CheckEffort(n Names, info model.Info) error {
	if s.ReasoningEffort == "" || info.TakesEffort(s.ReasoningEffort) {
		return nil
	}
	efforts := info.ReasoningEfforts
	if efforts == nil {
		efforts = model.Efforts
	}
	if len(efforts) == 0 {
		return fault.Invalidf(n.Effort, "The model %q does not take a %s.", info.ID, n.Effort)
	}
	return fault.Invalidf(n.Effort, "%s must be one that the model %q takes: %s.", n.Effort, info.ID, strings.Join(efforts, ", "))
}

// Request returns the request to a model for a prompt.
func (s *Settings) Request(messages []model.Message) *model.Request {
	req := &model.Request{
		Model:           s.Model,
		Messages:        messages,
		Tools:           s.offered(),
		ToolChoice:      s.ToolChoice,
		SingleToolCall:  s.ParallelToolCalls != nil && !*s.ParallelToolCalls,
		Format:          s.Format,
		Temperature:     s.Temperature,
		TopP:            s.TopP,
		ReasoningEffort: s.ReasoningEffort,
		Sampling:        s.Sampling,
		Logprobs:        s.Logprobs,
	}
	if s.Logprobs && s.TopLogprobs != nil {
		req.TopLogprobs = *s.TopLogprobs
	}
	if s.MaxTokens != nil {
		req.MaxTokens = *s.MaxTokens
	}
	return req
}
