package model

import (
	"context"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/fault"
)

// TokenCounter is a [Backend] that knows how its models count tokens.
type TokenCounter interface {
	// CountTokens returns the length of the request's prompt in tokens of its
	// model: messages, tools, and what a chat template puts around them.
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// CountTokens returns the length of a prompt in tokens: b's own count, or for a
// backend that is no [TokenCounter] an estimate that is about right for English
// prose and high for most else.
func CountTokens(ctx context.Context, b Backend, req *Request) (int, error) {
	if c, ok := b.(TokenCounter); ok {
		return c.CountTokens(ctx, req)
	}
	return PromptTokens(req, EstimateTokens), nil
}

// CheckWindow returns a Rejected error with the code context_length_exceeded
// when the request's prompt and its MaxTokens together do not fit the model's
// context window, or when a prompt without MaxTokens leaves no room to answer.
// It counts tokens only where the prompt's length in bytes leaves a doubt: no
// tokenizer makes more tokens than there are bytes.
func CheckWindow(ctx context.Context, b Backend, info Info, req *Request) error {
	answer := max(req.MaxTokens, 1)
	bytes := func(s string) int { return len(s) }
	if answer <= info.Window() && PromptTokens(req, bytes)+answer <= info.Window() {
		return nil
	}
	count, err := CountTokens(ctx, b, req)
	if err != nil {
		return err
	}
	if count+answer <= info.Window() {
		return nil
	}
	if req.MaxTokens > 0 {
		return fault.ContextLength("The prompt has %d tokens and asks for up to %d more, but the model's context window is %d tokens.",
			count, req.MaxTokens, info.Window())
	}
	return fault.ContextLength("The prompt has %d tokens, which leaves no room to answer in the model's context window of %d tokens.",
		count, info.Window())
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
