package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/egress"
	"github.com/seed-506d8e5d/svc/fault"
)

const (
	// maxOutput is how many bytes of output a call has. More is cut off.
	maxOutput = 1 << 20
	// maxMessage is how many bytes of an error's message are shown.
	maxMessage = 2 << 10
	// codeInternal is the protocol's code of errors that have no other.
	codeInternal = -32603
	// codeRejected is the library's own code of requests that did not reach the server.
	codeRejected = -32005
	// codeHeaders is the protocol's code of a request whose headers are not those that
	// the tool asks for. It was not run.
	codeHeaders = -32020
)

// CallTool implements [responses.MCPServer].
func (s *server) CallTool(ctx context.Context, tool *conversations.MCPTool, arguments string) (output string, failure *conversations.MCPError) {
	release, err := s.client.slots.acquire(ctx, s.caller.Organization)
	if err != nil {
		return failed(err)
	}
	defer release()
	session, err := s.connect(ctx)
	if err != nil {
		return failed(err)
	}
	params := func() *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: tool.Name, Arguments: json.RawMessage(arguments)}
	}
	result, err := session.CallTool(ctx, params())
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == codeHeaders {
		// The tool wants arguments in headers, which the library takes from a list.
		if _, err = listAll(ctx, session); err == nil {
			result, err = session.CallTool(ctx, params())
		}
	}
	if err != nil {
		s.failedWith(failureOf(err))
		return failed(err)
	}
	s.used("")
	return outcome(result)
}

// outcome returns what a tool has said.
func outcome(r *mcp.CallToolResult) (output string, failure *conversations.MCPError) {
	if len(r.InputRequests) > 0 {
		return failedWith(&conversations.MCPError{Type: conversations.MCPProtocolError, Code: -32021, Message: "The tool asks for input while it runs, which cannot be given here."})
	}
	output = cut(textOf(r), maxOutput, "\n[The output was cut here: it is too long.]")
	if !r.IsError {
		return output, nil
	}
	content, err := json.Marshal(r.Content)
	if err != nil || len(content) > maxOutput || r.Content == nil {
		content, _ = json.Marshal([]mcp.Content{&mcp.TextContent{Text: output}}) // text always encodes
	}
	if output == "" {
		output = "The tool failed without saying why."
	}
	return output, &conversations.MCPError{Type: conversations.MCPExecutionError, Content: content}
}

// textOf returns what a model reads of a result: its texts, or its structured content
// where there are none.
func textOf(r *mcp.CallToolResult) string {
	var texts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				texts = append(texts, c.Resource.Text)
			}
		case *mcp.ResourceLink:
			texts = append(texts, c.Name+": "+c.URI)
		case *mcp.ImageContent:
			texts = append(texts, "[An image was left out here: images are not read.]")
		case *mcp.AudioContent:
			texts = append(texts, "[Audio was left out here: it is not heard.]")
		}
	}
	if len(texts) == 0 && r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			return string(data)
		}
	}
	return strings.Join(texts, "\n")
}

// cut returns a text of at most a number of bytes, with a remark where it is cut.
func cut(text string, most int, remark string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(remark)], "") + remark
}

func failed(err error) (output string, failure *conversations.MCPError) {
	return failedWith(failureOf(err))
}

func failedWith(f *conversations.MCPError) (string, *conversations.MCPError) {
	return "The call failed: " + f.Message, f
}

// failureOf returns why a server could not be used, in words that say nothing of the
// operator's network.
func failureOf(err error) *conversations.MCPError {
	f := &conversations.MCPError{Type: conversations.MCPProtocolError, Code: codeInternal}
	if status, ok := errors.AsType[*statusError](err); ok {
		f.Type, f.Code, f.Message = conversations.MCPHTTPError, status.code, fmt.Sprintf("The server answered with the status %d.", status.code)
	} else if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		f.Message = "The server is not used: " + refused.Reason + "."
	} else if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code != codeRejected {
		f.Code, f.Message = int(e.Code), cut(e.Message, maxMessage, " …")
	} else if e, ok := errors.AsType[*fault.Error](err); ok {
		f.Message = e.Message
	} else if isTimeout(err) {
		f.Message = "The server took too long to answer."
	} else if errors.Is(err, egress.ErrTooLarge) || strings.Contains(err.Error(), "too large") {
		f.Message = "The answer of the server is too large."
	} else {
		f.Message = "The server could not be reached, or broke off."
	}
	return f
}
