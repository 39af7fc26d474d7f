package model

import (
	"context"
	"unicode/utf8"
)

// TokenCounter is a [Backend] that knows how its models count tokens.
type TokenCounter interface {
	// CountTokens returns the length of the request's prompt in tokens of its
	// model: messages, tools, and what a chat template puts around them.
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// frameTokens is what chat templates put around a message, a file or a call.
const frameTokens = 8

// PromptTokens adds up the prompt of a request, its texts counted by text.
func PromptTokens(req *Request, text func(string) int) int {
	count := 0
	for i := range req.Messages {
		count += messageTokens(&req.Messages[i], text)
	}
	for _, tool := range req.Tools {
		count += frameTokens + text(tool.Name) + text(tool.Description) + text(string(tool.Parameters))
	}
	return count + text(string(req.Format.Schema))
}

func messageTokens(m *Message, text func(string) int) int {
	count := frameTokens
	for _, part := range m.Parts {
		switch p := part.(type) {
		case Text:
			count += text(string(p))
		case Document:
			count += frameTokens + text(p.Name) + text(p.Text)
		case Image:
			count += p.Tokens()
		}
	}
	for _, call := range m.ToolCalls {
		count += frameTokens + text(call.Name) + text(call.Arguments)
	}
	return count
}

// EstimateTokens estimates the tokens in a text without a tokenizer: four bytes
// of ASCII to a token, one token to any other character.
func EstimateTokens(s string) int {
	ascii, other := 0, 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			ascii++
			i++
			continue
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		other++
		i += n
	}
	return (ascii+3)/4 + other
}
