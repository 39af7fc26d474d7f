package model

import (
	"context"
	"unicode/utf8"
)

// TokenCounter is a [Backend] that knows how its models count tokens.
type TokenCounter interface {
	// CountTokens returns the length of the request's prompt in tokens of its
	// model: messages, tools, and what a chat template puts around them. It ends
	// with ctx, and may stop where there are more than the context window has.
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// frameTokens is what chat templates put around a message, a file or a call.
const frameTokens = 8

// PromptTokens adds up the prompt of a request, its texts counted by text.
func PromptTokens(req *Request, text func(string) int) int {
	return promptTokens(req, text, frameTokens)
}

// PromptTextTokens is [PromptTokens] without what chat templates put around the
// texts.
func PromptTextTokens(req *Request, text func(string) int) int { return promptTokens(req, text, 0) }

func promptTokens(req *Request, text func(string) int, frame int) int {
	count := 0
	for i := range req.Messages {
		count += messageTokens(&req.Messages[i], text, frame)
	}
	for _, tool := range req.Tools {
		count += frame + text(tool.Name) + text(tool.Description) + text(string(tool.Parameters))
	}
	return count + text(string(req.Format.Schema))
}

func messageTokens(m *Message, text func(string) int, frame int) int {
	count := frame + text(m.Reasoning)
	for _, part := range m.Parts {
		switch p := part.(type) {
		case Text:
			count += text(string(p))
		case Document:
			count += frame + text(p.Name) + text(p.Text)
		case Image:
			count += p.Tokens()
		}
	}
	for _, call := range m.ToolCalls {
		count += frame + text(call.Name) + text(call.Arguments)
	}
	return count
}

// EstimateTokens estimates the tokens in a text without a tokenizer: four bytes
// of ASCII to a token, one token to any other character.
func EstimateTokens(s string) int {
	ascii, other := characters(s)
	return (ascii+3)/4 + other
}

// LeastTokens returns how many tokens a text has at the least, whatever the
// tokenizer, unless it is made to have few: six bytes of ASCII or four other
// characters to a token. What an answer that nobody counted is charged must not
// be more than it had.
func LeastTokens(s string) int {
	ascii, other := characters(s)
	return (ascii+5)/6 + other/4
}

func characters(s string) (ascii, other int) {
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
	return ascii, other
}
