package convert

import (
	"slices"
	"strconv"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// FromChatRequest returns what a body of Chat Completions asks for.
func FromChatRequest(w *wire.ChatRequest) *chat.Request {
	r := &chat.Request{
		Model:             w.Model,
		Messages:          fromChatMessages(w.Messages),
		Temperature:       w.Temperature,
		TopP:              w.TopP,
		MaxTokens:         w.MaxTokens,
		Stop:              fromStop(w.Stop),
		ReasoningEffort:   w.ReasoningEffort,
		Format:            fromChatFormat(w.ResponseFormat),
		N:                 value(w.N),
		ParallelToolCalls: w.ParallelToolCalls,
		Sampling:          fromSampling(&w.Sampling),
		Logprobs:          isTrue(w.Logprobs),
		TopLogprobs:       w.TopLogprobs,
		Store:             w.Store,
		Metadata:          tags(w.Metadata),
		Policies:          w.Policies,
		Moderate:          fromModeration(w.Moderation),
	}
	if w.MaxCompletionTokens != nil {
		r.MaxTokens = w.MaxCompletionTokens
	}
	fromChatTools(w, r)
	fromChatToolChoice(w.ToolChoice, r)
	return r
}

// ToChatRequest returns a request as it is sent.
func ToChatRequest(r *chat.Request) *wire.ChatRequest {
	return &wire.ChatRequest{
		Model:               r.Model,
		Messages:            mapped(r.Messages, func(m *chat.Message) wire.ChatMessage { return toChatMessage(m, r.Calls.Custom) }),
		N:                   optional(r.N),
		Store:               r.Store,
		Metadata:            r.Metadata,
		Sampling:            toSampling(&r.Sampling, r.Temperature, r.TopP),
		MaxCompletionTokens: r.MaxTokens,
		Stop:                toStop(r.Stop),
		ReasoningEffort:     r.ReasoningEffort,
		ResponseFormat:      toChatFormat(&r.Format),
		Tools:               mapped(r.Tools, func(t *model.Tool) wire.ChatTool { return toChatTool(t, r.Calls.Custom) }),
		ToolChoice:          toChatToolChoice(r),
		ParallelToolCalls:   r.ParallelToolCalls,
		Logprobs:            optional(r.Logprobs),
		TopLogprobs:         r.TopLogprobs,
		Guarding:            wire.Guarding{Policies: r.Policies, Moderation: toModeration(r.Moderate)},
	}
}

// fromModeration returns the stages that a request wants to be moderated, as package
// guard calls them.
func fromModeration(w *wire.Moderation) string {
	blocks := func(m *wire.ModerationMode) bool { return m != nil && m.Mode == "block" }
	switch {
	case w == nil || w.Policy == nil:
		return ""
	case blocks(w.Policy.Input) && blocks(w.Policy.Output):
		return "both"
	case blocks(w.Policy.Input):
		return "input"
	case blocks(w.Policy.Output):
		return "output"
	}
	return ""
}

func toModeration(stage string) *wire.Moderation {
	if stage == "" {
		return nil
	}
	p := &wire.ModerationPolicy{}
	if stage != "output" {
		p.Input = &wire.ModerationMode{Mode: "block"}
	}
	if stage != "input" {
		p.Output = &wire.ModerationMode{Mode: "block"}
	}
	return &wire.Moderation{Policy: p}
}

func fromStop(w *wire.TextOr[[]string]) []string {
	switch {
	case w == nil:
		return nil
	case w.Text != nil:
		return []string{*w.Text}
	}
	return w.Value
}

func toStop(stop []string) *wire.TextOr[[]string] {
	if stop == nil {
		return nil
	}
	return &wire.TextOr[[]string]{Value: stop}
}

func fromSampling(w *wire.Sampling) model.Sampling {
	return model.Sampling{
		Seed: w.Seed, PresencePenalty: w.PresencePenalty, FrequencyPenalty: w.FrequencyPenalty,
		RepetitionPenalty: w.RepetitionPenalty, MinP: w.MinP, TopK: w.TopK,
		LogitBias: raw(w.LogitBias), ChatTemplateKwargs: w.ChatTemplateKwargs, CacheKey: w.PromptCacheKey,
	}
}

func toSampling(s *model.Sampling, temperature, topP *float64) wire.Sampling {
	return wire.Sampling{
		Temperature: temperature, TopP: topP,
		Seed: s.Seed, PresencePenalty: s.PresencePenalty, FrequencyPenalty: s.FrequencyPenalty,
		RepetitionPenalty: s.RepetitionPenalty, MinP: s.MinP, TopK: s.TopK,
		LogitBias: wire.LogitBias(s.LogitBias), ChatTemplateKwargs: s.ChatTemplateKwargs, PromptCacheKey: s.CacheKey,
	}
}

// fromChatMessages returns the messages of a request. A function_call is a call of a
// tool, which the next message of the role function answers.
func fromChatMessages(list []wire.ChatMessage) []chat.Message {
	messages := mapped(list, fromChatMessage)
	called := ""
	for i := range list {
		m := &messages[i]
		switch c := list[i].FunctionCall; {
		case c != nil:
			called = "function_call_" + strconv.Itoa(i)
			m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: called, Name: c.Name, Arguments: c.Arguments})
		case m.Role == "function" && called != "":
			m.Role, m.ToolCallID, called = model.ToolRole, called, ""
		}
	}
	return messages
}

func fromChatMessage(w *wire.ChatMessage) chat.Message {
	m := chat.Message{Role: model.Role(w.Role), ToolCalls: mapped(w.ToolCalls, fromToolCall), ToolCallID: w.ToolCallID}
	if w.ToolCalls != nil || w.FunctionCall != nil {
		m.Reasoning = w.ReasoningContent
	}
	switch c := w.Content; {
	case c == nil:
	case c.Text != nil:
		m.Content = []chat.Part{chat.Text(*c.Text)}
	default:
		m.Content = mapped(c.Value, fromChatPart)
	}
	return m
}

func toChatMessage(m *chat.Message, custom []string) wire.ChatMessage {
	w := wire.ChatMessage{Role: string(m.Role), ToolCalls: toToolCalls(m.ToolCalls, custom), ReasoningContent: m.Reasoning, ToolCallID: m.ToolCallID}
	if m.Content != nil {
		w.Content = &wire.TextOr[[]wire.ChatPart]{Value: mapped(m.Content, toChatPart)}
	}
	return w
}

func fromChatPart(w *wire.ChatPart) chat.Part {
	switch w.Type {
	case "text":
		return chat.Text(*w.Text)
	case "image_url":
		return chat.Image{MediaType: w.ImageURL.URL.MIMEType, Data: w.ImageURL.URL.Data}
	}
	f := &w.ChatFile
	if w.File != nil {
		f = w.File
	}
	file := chat.File{ID: f.FileID, Name: f.Filename, MIMEType: f.MIMEType}
	if d := f.FileData; d != nil {
		file.Data = d.Data
		if file.MIMEType == "" {
			file.MIMEType = d.MIMEType
		}
	}
	return file
}

func toChatPart(p *chat.Part) wire.ChatPart {
	var f chat.File
	switch p := (*p).(type) {
	case chat.Text:
		text := string(p)
		return wire.ChatPart{Type: "text", Text: &text}
	case chat.Image:
		return wire.ChatPart{Type: "image_url", ImageURL: &wire.ChatImage{URL: wire.ImageURL{MIMEType: p.MediaType, Data: p.Data}}}
	case chat.File:
		f = p
	}
	w := wire.ChatPart{Type: "file", ChatFile: wire.ChatFile{FileID: f.ID, Filename: f.Name, MIMEType: f.MIMEType}}
	if f.Data != nil {
		w.FileData = &wire.DataURL{Data: f.Data}
	}
	return w
}

func fromToolCall(w *wire.ToolCall) model.ToolCall {
	if c := w.Custom; c != nil {
		return model.ToolCall{ID: w.ID, Name: c.Name, Arguments: generation.CustomArguments(c.Input)}
	}
	return model.ToolCall{ID: w.ID, Name: w.Function.Name, Arguments: w.Function.Arguments}
}

// toToolCalls returns calls as they are sent, where some tools are custom tools.
func toToolCalls(calls []model.ToolCall, custom []string) []wire.ToolCall {
	return mapped(calls, func(c *model.ToolCall) wire.ToolCall {
		if slices.Contains(custom, c.Name) {
			var input generation.CustomInput
			input.Add(c.Arguments)
			text, _ := input.End()
			return wire.ToolCall{ID: c.ID, Type: "custom", Custom: &wire.CallCustom{Name: c.Name, Input: text}}
		}
		return wire.ToolCall{ID: c.ID, Type: "function", Function: &wire.CallFunction{Name: c.Name, Arguments: c.Arguments}}
	})
}

// fromChatTools reads the tools of a request, in either form.
func fromChatTools(w *wire.ChatRequest, r *chat.Request) {
	for i := range w.Tools {
		t := &w.Tools[i]
		if c := t.Custom; c != nil {
			r.Tools = append(r.Tools, responses.CustomTool(c.Name, c.Description, chatCustomRule(c.Format)))
			r.Calls.Custom = append(r.Calls.Custom, c.Name)
			continue
		}
		r.Tools = append(r.Tools, fromFunction(t.Function))
	}
	if w.Functions == nil {
		return
	}
	r.Tools, r.Calls.Legacy, r.ParallelToolCalls = mapped(w.Functions, fromFunction), true, new(bool)
	switch c := w.FunctionCall; {
	case c == nil:
	case c.Text != nil:
		r.ToolChoice.Mode = model.ToolMode(*c.Text)
	default:
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: c.Value.Name}
	}
}

func chatCustomRule(f *wire.ChatCustomFormat) string {
	if f == nil || f.Grammar == nil {
		return ""
	}
	return customRule(&wire.CustomFormat{Type: f.Type, Syntax: f.Grammar.Syntax, Definition: f.Grammar.Definition})
}

func toChatTool(t *model.Tool, custom []string) wire.ChatTool {
	if slices.Contains(custom, t.Name) {
		return wire.ChatTool{Type: "custom", Custom: &wire.ChatCustom{Name: t.Name, Description: t.Description}}
	}
	function := toFunction(t)
	return wire.ChatTool{Type: "function", Function: &function}
}

func fromFunction(w *wire.Function) model.Tool {
	return model.Tool{Name: w.Name, Description: w.Description, Parameters: w.Parameters, Strict: w.Strict}
}

func toFunction(t *model.Tool) wire.Function {
	return wire.Function{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict}
}

func fromChatFormat(w *wire.ChatFormat) model.Format {
	if w == nil {
		return model.Format{}
	}
	f := model.Format{Type: model.FormatType(w.Type)}
	if s := w.Schema; s != nil {
		f.Name, f.Description, f.Schema, f.Strict = s.Name, s.Description, s.Schema, s.Strict
	}
	return f
}

func toChatFormat(f *model.Format) *wire.ChatFormat {
	if f.Type == "" {
		return nil
	}
	w := &wire.ChatFormat{Type: string(f.Type)}
	if f.Type == model.FormatSchema {
		w.Schema = &wire.JSONSchema{Name: f.Name, Description: f.Description, Schema: f.Schema, Strict: f.Strict}
	}
	return w
}

func fromChatToolChoice(w *wire.TextOr[wire.ChatToolChoice], r *chat.Request) {
	switch {
	case w == nil:
	case w.Text != nil:
		r.ToolChoice.Mode = model.ToolMode(*w.Text)
	case w.Value.Allowed != nil:
		r.ToolChoice.Mode = model.ToolMode(w.Value.Allowed.Mode)
		r.AllowedTools = mapped(slices.Concat([]wire.AllowedTool{}, w.Value.Allowed.Tools), (*wire.AllowedTool).Name)
	case w.Value.Custom != nil:
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: w.Value.Custom.Name}
	case w.Value.Function != nil:
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: w.Value.Function.Name}
	}
}

func toChatToolChoice(r *chat.Request) *wire.TextOr[wire.ChatToolChoice] {
	choice, custom := r.ToolChoice, r.Calls.Custom
	switch {
	case r.AllowedTools != nil:
		allowed := &wire.AllowedTools{Mode: string(choice.Mode), Tools: mapped(r.AllowedTools, func(name *string) wire.AllowedTool {
			if slices.Contains(custom, *name) {
				return wire.AllowedTool{Type: "custom", Custom: &wire.NamedTool{Name: *name}}
			}
			return wire.AllowedTool{Type: "function", Function: &wire.NamedTool{Name: *name}}
		})}
		return &wire.TextOr[wire.ChatToolChoice]{Value: wire.ChatToolChoice{Type: "allowed_tools", Allowed: allowed}}
	case choice.Mode == "":
		return nil
	case choice.Mode == model.ToolNamed && slices.Contains(custom, choice.Name):
		return &wire.TextOr[wire.ChatToolChoice]{Value: wire.ChatToolChoice{Type: "custom", Custom: &wire.NamedTool{Name: choice.Name}}}
	case choice.Mode == model.ToolNamed:
		return &wire.TextOr[wire.ChatToolChoice]{Value: wire.ChatToolChoice{Type: "function", Function: &wire.NamedTool{Name: choice.Name}}}
	}
	text := string(choice.Mode)
	return &wire.TextOr[wire.ChatToolChoice]{Text: &text}
}
