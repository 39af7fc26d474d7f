package convert

import (
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// ToChatCompletion returns a completion as it is answered.
func ToChatCompletion(c *chat.Completion) wire.ChatCompletion {
	return wire.ChatCompletion{
		ID: c.ID, Object: "chat.completion", Created: c.Created, Model: c.Model,
		Choices: [1]wire.ChatChoice{{
			Message:      wire.ChatAnswer{Role: string(model.Assistant), Content: c.Content, ToolCalls: mapped(c.ToolCalls, toToolCall)},
			Logprobs:     toChatLogprobs(c.Logprobs),
			FinishReason: string(c.FinishReason),
		}},
		Usage:    ToChatUsage(&c.Usage),
		Metadata: c.Metadata,
	}
}

// FromChatCompletion returns what an answer says.
func FromChatCompletion(w *wire.ChatCompletion) *chat.Completion {
	choice := &w.Choices[0]
	return &chat.Completion{
		ID: w.ID, Created: w.Created, Model: w.Model,
		Content: choice.Message.Content, ToolCalls: mapped(choice.Message.ToolCalls, fromToolCall),
		Logprobs: fromChatLogprobs(choice.Logprobs), FinishReason: model.FinishReason(choice.FinishReason),
		Usage: fromChatUsage(&w.Usage), Metadata: tags(w.Metadata),
	}
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
	chunk.FinishReason, chunk.Logprobs = model.FinishReason(value(choice.FinishReason)), fromChatLogprobs(choice.Logprobs)
	chunk.Text = value(value(choice.Delta.Content))
	if len(choice.Delta.ToolCalls) == 0 {
		return []chat.Chunk{chunk}
	}
	return mapped(choice.Delta.ToolCalls, func(d *wire.CallDelta) chat.Chunk {
		one := chunk
		one.ToolCall = &chat.CallDelta{Index: d.Index, ID: d.ID, Name: d.Function.Name, Arguments: d.Function.Arguments}
		return one
	})
}

// ToChunkChoice returns the choice of a chunk as it is sent.
func ToChunkChoice(c *chat.Chunk) wire.ChunkChoice {
	w := wire.ChunkChoice{Logprobs: toChatLogprobs(c.Logprobs), FinishReason: optional(string(c.FinishReason))}
	if c.First {
		w.Delta.Role = string(model.Assistant)
	}
	switch d := c.ToolCall; {
	case d != nil:
		if c.First {
			w.Delta.Content = new(*string)
		}
		call := wire.CallDelta{Index: d.Index, ID: d.ID, Function: wire.FunctionDelta{Name: d.Name, Arguments: d.Arguments}}
		if d.ID != "" {
			call.Type = "function"
		}
		w.Delta.ToolCalls = []wire.CallDelta{call}
	case c.First || c.Text != "":
		text := &c.Text
		w.Delta.Content = &text
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
		Choices: []wire.TextChoice{{Text: *c.Content, FinishReason: (*string)(&c.FinishReason)}},
		Usage:   &usage,
	}
}

// FromTextCompletion returns what an answer says.
func FromTextCompletion(w *wire.TextCompletion) *chat.Completion {
	chunk := FromTextChunk(w)
	return &chat.Completion{ID: w.ID, Created: w.Created, Model: w.Model, Content: &chunk.Text, FinishReason: chunk.FinishReason, Usage: chunk.Usage, Metadata: map[string]string{}}
}

// ToStoredMessage returns a message of a stored completion as it is answered.
func ToStoredMessage(m *chat.StoredMessage) wire.StoredMessage {
	w := wire.StoredMessage{ID: m.ID, Role: string(m.Role), ToolCalls: mapped(m.ToolCalls, toToolCall), ToolCallID: m.ToolCallID}
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
