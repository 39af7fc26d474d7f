package convert

import (
	"slices"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// ToChatCompletion returns a completion as it is answered.
func ToChatCompletion(c *chat.Completion) wire.ChatCompletion {
	w := wire.ChatCompletion{
		ID: c.ID, Object: "chat.completion", Created: c.Created, Model: c.Model,
		Choices:  []wire.ChatChoice{toChatChoice(&c.Choice, 0, &c.Calls)},
		Usage:    ToChatUsage(&c.Usage),
		Metadata: c.Metadata,
	}
	for i := range c.More {
		w.Choices = append(w.Choices, toChatChoice(&c.More[i], i+1, &c.Calls))
	}
	return w
}

func toChatChoice(c *chat.Choice, index int, form *chat.CallForm) wire.ChatChoice {
	w := wire.ChatChoice{
		Index:        index,
		Message:      wire.ChatAnswer{Role: string(model.Assistant), Content: c.Content, ReasoningContent: c.Thought, Refusal: optional(c.Refusal)},
		Logprobs:     toChatLogprobs(c.Logprobs),
		FinishReason: toFinishReason(c.FinishReason, form.Legacy),
	}
	if form.Legacy && len(c.ToolCalls) > 0 {
		call := &c.ToolCalls[0]
		w.Message.FunctionCall = &wire.CallFunction{Name: call.Name, Arguments: call.Arguments}
	} else {
		w.Message.ToolCalls = toToolCalls(c.ToolCalls, form.Custom)
	}
	return w
}

// toFinishReason returns why an answer has ended, where calls may have the older form.
func toFinishReason(reason model.FinishReason, legacy bool) string {
	if legacy && reason == model.ToolCalls {
		return "function_call"
	}
	return string(reason)
}

// FromChatCompletion returns what an answer says.
func FromChatCompletion(w *wire.ChatCompletion) *chat.Completion {
	c := &chat.Completion{ID: w.ID, Created: w.Created, Model: w.Model, Usage: fromChatUsage(&w.Usage), Metadata: tags(w.Metadata)}
	for i := range w.Choices {
		choice := fromChatChoice(&w.Choices[i], &c.Calls)
		if i == 0 {
			c.Choice = choice
		} else {
			c.More = append(c.More, choice)
		}
	}
	return c
}

func fromChatChoice(w *wire.ChatChoice, form *chat.CallForm) chat.Choice {
	m := &w.Message
	c := chat.Choice{
		Content: m.Content, Thought: m.ReasoningContent, Refusal: value(m.Refusal), ToolCalls: mapped(m.ToolCalls, fromToolCall),
		Logprobs: fromChatLogprobs(w.Logprobs), FinishReason: model.FinishReason(w.FinishReason),
	}
	for i := range m.ToolCalls {
		if t := m.ToolCalls[i].Custom; t != nil && !slices.Contains(form.Custom, t.Name) {
			form.Custom = append(form.Custom, t.Name)
		}
	}
	if f := m.FunctionCall; f != nil {
		form.Legacy, c.FinishReason = true, model.ToolCalls
		c.ToolCalls = []model.ToolCall{{Name: f.Name, Arguments: f.Arguments}}
	}
	return c
}

// ToChatUsage returns what an answer cost.
func ToChatUsage(u *model.Usage) wire.ChatUsage {
	return wire.ChatUsage{
		PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: u.InputTokens + u.OutputTokens,
		PromptDetails:     wire.PromptDetails{CachedTokens: u.CachedTokens},
		CompletionDetails: wire.CompletionDetails{ReasoningTokens: u.ReasoningTokens},
	}
}

func fromChatUsage(w *wire.ChatUsage) model.Usage {
	return model.Usage{
		InputTokens: w.PromptTokens, OutputTokens: w.CompletionTokens,
		CachedTokens: w.PromptDetails.CachedTokens, ReasoningTokens: w.CompletionDetails.ReasoningTokens,
	}
}

func toChatLogprobs(tokens []model.Logprob) *wire.ChatLogprobs {
	if tokens == nil {
		return nil
	}
	return &wire.ChatLogprobs{Content: ToLogprobs(tokens, true)}
}

func fromChatLogprobs(w *wire.ChatLogprobs) []model.Logprob {
	if w == nil {
		return nil
	}
	return FromLogprobs(w.Content)
}

// ToLogprobs returns tokens with their bytes where they are wanted. No tokens are
// an empty list.
func ToLogprobs(tokens []model.Logprob, withBytes bool) []wire.Logprob {
	list := make([]wire.Logprob, len(tokens))
	for i := range tokens {
		t := &tokens[i]
		list[i] = wire.Logprob{Token: t.Token, Bytes: toBytes(t, withBytes), Logprob: t.Logprob, Top: make([]wire.TopLogprob, len(t.Top))}
		for j := range t.Top {
			top := &t.Top[j]
			list[i].Top[j] = wire.TopLogprob{Token: top.Token, Bytes: toBytes(top, withBytes), Logprob: top.Logprob}
		}
	}
	return list
}

// FromLogprobs returns the tokens of a list; an empty one is nil.
func FromLogprobs(list []wire.Logprob) []model.Logprob {
	if len(list) == 0 {
		return nil
	}
	return mapped(list, func(w *wire.Logprob) model.Logprob {
		l := model.Logprob{Token: w.Token, Bytes: fromBytes(w.Token, w.Bytes), Logprob: w.Logprob}
		if len(w.Top) > 0 {
			l.Top = mapped(w.Top, func(t *wire.TopLogprob) model.Logprob {
				return model.Logprob{Token: t.Token, Bytes: fromBytes(t.Token, t.Bytes), Logprob: t.Logprob}
			})
		}
		return l
	})
}

func toBytes(t *model.Logprob, wanted bool) []int {
	if !wanted {
		return nil
	}
	bytes := t.Bytes
	if bytes == nil {
		bytes = []byte(t.Token)
	}
	numbers := make([]int, len(bytes))
	for i, b := range bytes {
		numbers[i] = int(b)
	}
	return numbers
}

// fromBytes returns the bytes of a token, nil where its text says them all.
func fromBytes(token string, numbers []int) []byte {
	bytes := make([]byte, len(numbers))
	for i, n := range numbers {
		bytes[i] = byte(n)
	}
	if numbers == nil || string(bytes) == token {
		return nil
	}
	return bytes
}

// FromChatChunk returns the chunks that a chunk of a stream stands for: one for each
// call that it adds to. The first one of the stream is marked by the caller.
func FromChatChunk(w *wire.ChatChunk) []chat.Chunk {
	chunk := chat.Chunk{ID: w.ID, Created: w.Created, Model: w.Model}
	if w.Usage != nil {
		chunk.Usage = fromChatUsage(w.Usage)
	}
	if len(w.Choices) == 0 {
		return []chat.Chunk{chunk}
	}
	choice := &w.Choices[0]
	chunk.Choice = choice.Index
	chunk.FinishReason, chunk.Logprobs = model.FinishReason(value(choice.FinishReason)), fromChatLogprobs(choice.Logprobs)
	chunk.Text, chunk.Thought = value(value(choice.Delta.Content)), choice.Delta.ReasoningContent
	chunk.Refusal = choice.Delta.Refusal
	if len(choice.Delta.ToolCalls) == 0 {
		return []chat.Chunk{chunk}
	}
	return mapped(choice.Delta.ToolCalls, func(d *wire.CallDelta) chat.Chunk {
		one := chunk
		one.ToolCall = &chat.CallDelta{Index: d.Index, ID: d.ID}
		switch {
		case d.Function != nil:
			one.ToolCall.Name, one.ToolCall.Arguments = d.Function.Name, d.Function.Arguments
		case d.Custom != nil:
			one.ToolCall.Name, one.ToolCall.Arguments = d.Custom.Name, d.Custom.Input
		}
		return one
	})
}

// ToChunkChoice returns the choice of a chunk as it is sent. The arguments of a call of a
// custom tool are the next piece of its input.
func ToChunkChoice(c *chat.Chunk, form *chat.CallForm, custom bool) wire.ChunkChoice {
	w := wire.ChunkChoice{Index: c.Choice, Logprobs: toChatLogprobs(c.Logprobs), FinishReason: optional(toFinishReason(c.FinishReason, form.Legacy))}
	w.Delta.ReasoningContent = c.Thought
	if c.First {
		w.Delta.Role = string(model.Assistant)
	}
	w.Delta.Refusal = c.Refusal
	switch d := c.ToolCall; {
	case d != nil:
		if c.First {
			w.Delta.Content = new(*string)
		}
		if form.Legacy {
			w.Delta.FunctionCall = &wire.FunctionDelta{Name: d.Name, Arguments: d.Arguments}
		} else {
			w.Delta.ToolCalls = []wire.CallDelta{toCallDelta(d, custom)}
		}
	case c.First || c.Text != "":
		text := &c.Text
		w.Delta.Content = &text
	}
	return w
}

func toCallDelta(d *chat.CallDelta, custom bool) wire.CallDelta {
	w, kind := wire.CallDelta{Index: d.Index, ID: d.ID}, "function"
	if custom {
		w.Custom, kind = &wire.CustomDelta{Name: d.Name, Input: d.Arguments}, "custom"
	} else {
		w.Function = &wire.FunctionDelta{Name: d.Name, Arguments: d.Arguments}
	}
	if d.ID != "" {
		w.Type = kind
	}
	return w
}

// ToTextChoice returns the choice of a piece of a text that is continued.
func ToTextChoice(c *chat.Chunk) wire.TextChoice {
	return wire.TextChoice{Text: c.Text, FinishReason: optional(string(c.FinishReason))}
}

// FromTextChunk returns the chunk that an event of a text stands for.
func FromTextChunk(w *wire.TextCompletion) chat.Chunk {
	chunk := chat.Chunk{ID: w.ID, Created: w.Created, Model: w.Model}
	if w.Usage != nil {
		chunk.Usage = fromChatUsage(w.Usage)
	}
	if len(w.Choices) > 0 {
		chunk.Text, chunk.FinishReason = w.Choices[0].Text, model.FinishReason(value(w.Choices[0].FinishReason))
	}
	return chunk
}

// ToTextCompletion returns a continued text as it is answered.
func ToTextCompletion(c *chat.Completion) wire.TextCompletion {
	usage := ToChatUsage(&c.Usage)
	return wire.TextCompletion{
		ID: c.ID, Object: wire.TextCompletionObject, Created: c.Created, Model: c.Model,
		Choices: []wire.TextChoice{{Text: value(c.Content), FinishReason: (*string)(&c.FinishReason)}},
		Usage:   &usage,
	}
}

// FromTextCompletion returns what an answer says.
func FromTextCompletion(w *wire.TextCompletion) *chat.Completion {
	chunk := FromTextChunk(w)
	return &chat.Completion{ID: w.ID, Created: w.Created, Model: w.Model, Choice: chat.Choice{Content: &chunk.Text, FinishReason: chunk.FinishReason}, Usage: chunk.Usage, Metadata: map[string]string{}}
}

// ToStoredMessage returns a message of a stored completion as it is answered.
func ToStoredMessage(m *chat.StoredMessage) wire.StoredMessage {
	w := wire.StoredMessage{ID: m.ID, Role: string(m.Role), ToolCalls: toToolCalls(m.ToolCalls, nil), ToolCallID: m.ToolCallID}
	if len(m.Content) == 1 {
		if text, ok := m.Content[0].(chat.Text); ok {
			w.Content = (*string)(&text)
			return w
		}
	}
	if len(m.Content) > 0 {
		w.ContentParts = mapped(m.Content, toChatPart)
	}
	return w
}

// FromStoredMessage returns a message of a stored completion.
func FromStoredMessage(w *wire.StoredMessage) chat.StoredMessage {
	m := chat.StoredMessage{ID: w.ID, Message: chat.Message{
		Role: model.Role(w.Role), Content: mapped(w.ContentParts, fromChatPart), ToolCalls: mapped(w.ToolCalls, fromToolCall), ToolCallID: w.ToolCallID}}
	if w.Content != nil {
		m.Content = []chat.Part{chat.Text(*w.Content)}
	}
	return m
}
