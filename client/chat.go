package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"iter"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/model"
)

const chatPath = "/v1/chat/completions"

// CompleteChat answers a chat completion as a whole.
func (c *Client) CompleteChat(ctx context.Context, _ Caller, req *chat.Request) (*chat.Completion, error) {
	return c.completion(ctx, "POST", chatPath, chatBody(req))
}

// StreamChat answers a chat completion piece by piece.
func (c *Client) StreamChat(ctx context.Context, _ Caller, req *chat.Request) (iter.Seq2[chat.Chunk, error], error) {
	body := chatBody(req)
	body["stream"], body["stream_options"] = true, object{"include_usage": true}
	stream, err := c.stream(ctx, "POST", chatPath, body)
	if err != nil {
		return nil, err
	}
	return chunks(ctx, stream), nil
}

// ChatCompletion returns a stored completion. The error is NotFound.
func (c *Client) ChatCompletion(ctx context.Context, _ Caller, id string) (*chat.Completion, error) {
	return c.completion(ctx, "GET", under(chatPath, id), nil)
}

// ChatCompletions returns a page of the stored completions that the filter takes.
func (c *Client) ChatCompletions(ctx context.Context, _ Caller, f chat.Filter, p Page) (List[chat.Completion], error) {
	more := []string{"model", f.Model}
	for name, value := range f.Metadata {
		more = append(more, "metadata["+name+"]", value)
	}
	return list(ctx, c, chatPath, p, func(w wireCompletion) chat.Completion { return *w.completion() }, more...)
}

// UpdateChatCompletion replaces the metadata of a stored completion.
func (c *Client) UpdateChatCompletion(ctx context.Context, _ Caller, id string, metadata map[string]string) (*chat.Completion, error) {
	return c.completion(ctx, "POST", under(chatPath, id), object{"metadata": metadata})
}

// DeleteChatCompletion removes a stored completion and its messages.
func (c *Client) DeleteChatCompletion(ctx context.Context, _ Caller, id string) error {
	return c.call(ctx, "DELETE", under(chatPath, id), nil, nil)
}

// ChatMessages returns a page of the messages that a stored completion answers.
func (c *Client) ChatMessages(ctx context.Context, _ Caller, id string, p Page) (List[chat.StoredMessage], error) {
	return list(ctx, c, under(chatPath, id, "messages"), p, wireStored.message)
}

func (c *Client) completion(ctx context.Context, method, path string, body any) (*chat.Completion, error) {
	var w wireCompletion
	if err := c.call(ctx, method, path, body, &w); err != nil {
		return nil, err
	}
	return w.completion(), nil
}

func chatBody(r *chat.Request) object {
	o := object{"model": r.Model}
	set(o, "temperature", r.Temperature)
	set(o, "top_p", r.TopP)
	set(o, "max_completion_tokens", r.MaxTokens)
	set(o, "reasoning_effort", r.ReasoningEffort)
	set(o, "parallel_tool_calls", r.ParallelToolCalls)
	set(o, "logprobs", r.Logprobs)
	set(o, "top_logprobs", r.TopLogprobs)
	set(o, "store", r.Store)
	setShared(o, r.Metadata, &r.Sampling)
	if r.Stop != nil {
		o["stop"] = r.Stop
	}
	if f := formatFields(&r.Format); f != nil {
		o["response_format"] = f
		if r.Format.Type == model.FormatSchema {
			delete(f, "type")
			o["response_format"] = object{"type": model.FormatSchema, "json_schema": f}
		}
	}
	var tools []object
	for i := range r.Tools {
		tools = append(tools, object{"type": "function", "function": functionFields(&r.Tools[i])})
	}
	if tools != nil {
		o["tools"] = tools
	}
	choice := toolChoice(r.ToolChoice, func(name string) object { return object{"type": "function", "function": object{"name": name}} })
	if choice != nil {
		o["tool_choice"] = choice
	}
	messages := make([]object, len(r.Messages))
	for i := range r.Messages {
		messages[i] = messageFields(&r.Messages[i])
	}
	o["messages"] = messages
	return o
}

func messageFields(m *chat.Message) object {
	o := object{"role": m.Role}
	set(o, "tool_call_id", m.ToolCallID)
	var content []object
	for _, part := range m.Content {
		switch p := part.(type) {
		case chat.Text:
			content = append(content, object{"type": "text", "text": string(p)})
		case chat.File:
			file := object{}
			set(file, "file_id", p.ID)
			set(file, "filename", p.Name)
			if p.Data != nil {
				mime := p.MIMEType
				if mime == "" {
					mime = "application/octet-stream"
				}
				file["file_data"] = "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
			}
			content = append(content, object{"type": "file", "file": file})
		}
	}
	if content != nil {
		o["content"] = content
	}
	var calls []object
	for _, c := range m.ToolCalls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		o["tool_calls"] = calls
	}
	return o
}

type wireCall struct {
	Index    int
	ID       string
	Function struct{ Name, Arguments string }
}

type wireLogprobs struct{ Content []wireLogprob }

type wireMessage struct {
	Content   *string
	ToolCalls []wireCall `json:"tool_calls"`
}

func (m *wireMessage) calls() (calls []model.ToolCall) {
	for _, call := range m.ToolCalls {
		calls = append(calls, model.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return calls
}

// wireStored is a message that is stored with a completion.
type wireStored struct {
	wireMessage
	ID         string
	Role       model.Role
	ToolCallID string `json:"tool_call_id"`
	Parts      []struct {
		Type, Text, Filename string
		FileID               string `json:"file_id"`
		MIMEType             string `json:"mime_type"`
		FileData             []byte `json:"file_data"`
	} `json:"content_parts"`
}

func (w wireStored) message() chat.StoredMessage {
	m := chat.StoredMessage{ID: w.ID, Message: chat.Message{Role: w.Role, ToolCalls: w.calls(), ToolCallID: w.ToolCallID}}
	if w.Content != nil {
		m.Content = append(m.Content, chat.Text(*w.Content))
	}
	for _, p := range w.Parts {
		if p.Type == "file" {
			m.Content = append(m.Content, chat.File{ID: p.FileID, Name: p.Filename, MIMEType: p.MIMEType, Data: p.FileData})
		} else {
			m.Content = append(m.Content, chat.Text(p.Text))
		}
	}
	return m
}

// wireCompletion is a completion or a chunk.
type wireCompletion struct {
	ID       string
	Created  int64
	Model    string
	Metadata map[string]string
	Choices  []struct {
		Message, Delta wireMessage
		Text           string // of a text that is continued
		Logprobs       *wireLogprobs
		FinishReason   model.FinishReason `json:"finish_reason"`
	}
	Usage *struct {
		Input   int `json:"prompt_tokens"`
		Output  int `json:"completion_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Error *wireError
}

func (w *wireCompletion) usage() (u model.Usage) {
	if w.Usage != nil {
		u = model.Usage{InputTokens: w.Usage.Input, OutputTokens: w.Usage.Output, CachedTokens: w.Usage.Details.Cached}
	}
	return u
}

func (w *wireCompletion) completion() *chat.Completion {
	c := &chat.Completion{ID: w.ID, Created: w.Created, Model: w.Model, Metadata: w.Metadata, Usage: w.usage()}
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	if len(w.Choices) == 0 {
		return c
	}
	choice := w.Choices[0]
	c.Content, c.FinishReason = choice.Message.Content, choice.FinishReason
	if choice.Logprobs != nil {
		c.Logprobs = tokens(choice.Logprobs.Content)
	}
	c.ToolCalls = choice.Message.calls()
	return c
}

// chunks yields the chunks of a stream. The usage comes in one of its own, and is
// put into the last one here.
func chunks(ctx context.Context, stream *events) iter.Seq2[chat.Chunk, error] {
	return func(yield func(chat.Chunk, error) bool) {
		defer stream.close()
		var last *chat.Chunk
		first := true
		for data, err := range stream.all() {
			if bytes.Equal(data, []byte("[DONE]")) {
				break
			}
			var w wireCompletion
			if err == nil {
				err = json.Unmarshal(data, &w)
			}
			if err != nil {
				yield(chat.Chunk{}, failed(ctx, err))
				return
			}
			if w.Error != nil {
				yield(chat.Chunk{}, w.Error.fault(502))
				return
			}
			if len(w.Choices) == 0 {
				if last != nil {
					last.Usage = w.usage()
				}
				continue
			}
			for _, chunk := range w.chunks(first) {
				if chunk.FinishReason != "" {
					last = &chunk
				} else if !yield(chunk, nil) {
					return
				}
			}
			first = false
		}
		if last == nil {
			yield(chat.Chunk{}, failed(ctx, errBroken))
			return
		}
		yield(*last, nil)
	}
}

// chunks returns the chunks that a chunk of the wire stands for.
func (w *wireCompletion) chunks(first bool) []chat.Chunk {
	choice := w.Choices[0]
	chunk := chat.Chunk{ID: w.ID, Created: w.Created, Model: w.Model, First: first, FinishReason: choice.FinishReason, Text: choice.Text, Usage: w.usage()}
	if choice.Delta.Content != nil {
		chunk.Text = *choice.Delta.Content
	}
	if choice.Logprobs != nil {
		chunk.Logprobs = tokens(choice.Logprobs.Content)
	}
	if len(choice.Delta.ToolCalls) == 0 {
		return []chat.Chunk{chunk}
	}
	var list []chat.Chunk
	for _, call := range choice.Delta.ToolCalls {
		chunk.ToolCall = &chat.CallDelta{Index: call.Index, ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}
		list = append(list, chunk)
		chunk.First = false
	}
	return list
}
