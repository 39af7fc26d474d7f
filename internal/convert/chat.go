package convert

import (
	"slices"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// FromChatRequest returns what a body of Chat Completions asks for.
func FromChatRequest(w *wire.ChatRequest) *chat.Request {
	r := &chat.Request{
		Model:             w.Model,
		Messages:          mapped(w.Messages, fromChatMessage),
		Temperature:       w.Temperature,
		TopP:              w.TopP,
		MaxTokens:         w.MaxTokens,
		Stop:              fromStop(w.Stop),
		ReasoningEffort:   w.ReasoningEffort,
		Format:            fromChatFormat(w.ResponseFormat),
		Tools:             mapped(w.Tools, func(t *wire.ChatTool) model.Tool { return fromFunction(&t.Function) }),
		ParallelToolCalls: w.ParallelToolCalls,
		Sampling:          fromSampling(&w.Sampling),
		Logprobs:          isTrue(w.Logprobs),
		TopLogprobs:       w.TopLogprobs,
		Store:             w.Store,
		Metadata:          tags(w.Metadata),
	}
	if w.MaxCompletionTokens != nil {
		r.MaxTokens = w.MaxCompletionTokens
	}
	fromChatToolChoice(w.ToolChoice, r)
	return r
}

// ToChatRequest returns a request as it is sent.
func ToChatRequest(r *chat.Request) *wire.ChatRequest {
	return &wire.ChatRequest{
		Model:               r.Model,
		Messages:            mapped(r.Messages, toChatMessage),
		Store:               r.Store,
		Metadata:            r.Metadata,
		Sampling:            toSampling(&r.Sampling, r.Temperature, r.TopP),
		MaxCompletionTokens: r.MaxTokens,
		Stop:                toStop(r.Stop),
		ReasoningEffort:     r.ReasoningEffort,
		ResponseFormat:      toChatFormat(&r.Format),
		Tools:               mapped(r.Tools, func(t *model.Tool) wire.ChatTool { return wire.ChatTool{Type: "function", Function: toFunction(t)} }),
		ToolChoice:          toChatToolChoice(r),
		ParallelToolCalls:   r.ParallelToolCalls,
		Logprobs:            optional(r.Logprobs),
		TopLogprobs:         r.TopLogprobs,
	}
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

func fromChatMessage(w *wire.ChatMessage) chat.Message {
	m := chat.Message{Role: model.Role(w.Role), ToolCalls: mapped(w.ToolCalls, fromToolCall), ToolCallID: w.ToolCallID}
	switch c := w.Content; {
	case c == nil:
	case c.Text != nil:
		m.Content = []chat.Part{chat.Text(*c.Text)}
	default:
		m.Content = mapped(c.Value, fromChatPart)
	}
	return m
}

func toChatMessage(m *chat.Message) wire.ChatMessage {
	w := wire.ChatMessage{Role: string(m.Role), ToolCalls: mapped(m.ToolCalls, toToolCall), ToolCallID: m.ToolCallID}
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
	return model.ToolCall{ID: w.ID, Name: w.Function.Name, Arguments: w.Function.Arguments}
}

func toToolCall(c *model.ToolCall) wire.ToolCall {
	return wire.ToolCall{ID: c.ID, Type: "function", Function: wire.CallFunction{Name: c.Name, Arguments: c.Arguments}}
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
		r.AllowedTools = mapped(slices.Concat([]wire.AllowedTool{}, w.Value.Allowed.Tools), func(t *wire.AllowedTool) string { return t.Function.Name })
	case w.Value.Function != nil:
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: w.Value.Function.Name}
	}
}

func toChatToolChoice(r *chat.Request) *wire.TextOr[wire.ChatToolChoice] {
	choice := r.ToolChoice
	switch {
	case r.AllowedTools != nil:
		allowed := &wire.AllowedTools{Mode: string(choice.Mode), Tools: mapped(r.AllowedTools, func(name *string) wire.AllowedTool {
			return wire.AllowedTool{Type: "function", Function: wire.NamedTool{Name: *name}}
		})}
		return &wire.TextOr[wire.ChatToolChoice]{Value: wire.ChatToolChoice{Type: "allowed_tools", Allowed: allowed}}
	case choice.Mode == "":
		return nil
	case choice.Mode == model.ToolNamed:
		return &wire.TextOr[wire.ChatToolChoice]{Value: wire.ChatToolChoice{Type: "function", Function: &wire.NamedTool{Name: choice.Name}}}
	}
	text := string(choice.Mode)
	return &wire.TextOr[wire.ChatToolChoice]{Text: &text}
}
