package builtin

import (
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// conversation is what the model reads of a request.
type conversation struct {
	message  string          // the text of the last user message
	ask      string          // of that, the sentences that ask for something
	sources  []string        // the texts an answer may be taken from, in order
	material []string        // of those, documents, tool and search results
	outputs  []output        // results of function calls since the last user message
	called   map[string]bool // tools called since the last user message
	ids      map[string]bool // every call ID in the history
	stemmer  *stemmer
}

// output is the result of a function call.
type output struct{ name, text string }

// readConversation takes the messages of a request apart.
func readConversation(req *model.Request) *conversation {
	c := &conversation{called: map[string]bool{}, ids: map[string]bool{}, stemmer: newStemmer()}
	last := lastUser(req.Messages)
	calls := map[string]model.ToolCall{}
	for i := range req.Messages {
		m := &req.Messages[i]
		for _, call := range m.ToolCalls {
			calls[call.ID] = call
			c.ids[call.ID] = true
			if i > last {
				c.called[call.Name] = true
			}
		}
		text := partsText(m.Parts)
		switch {
		case i == last:
			c.readQuestion(text)
		case m.Role == model.ToolRole:
			call := calls[m.ToolCallID]
			c.material = append(c.material, text)
			if i > last && !isSearch(req.Tools, call) {
				c.outputs = append(c.outputs, output{call.Name, text})
			}
			c.sources = append(c.sources, text)
		case text != nothingFound:
			c.sources = append(c.sources, text)
		}
		for _, part := range m.Parts {
			if d, ok := part.(model.Document); ok {
				c.sources = append(c.sources, d.Text)
				c.material = append(c.material, d.Text)
			}
		}
	}
	return c
}

func lastUser(messages []model.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == model.User {
			return i
		}
	}
	return -1
}

func partsText(parts []model.Part) string {
	var texts []string
	for _, part := range parts {
		if text, ok := part.(model.Text); ok {
			texts = append(texts, string(text))
		}
	}
	return strings.Join(texts, "\n")
}

// isSearch reports whether a call in the history is one of the web search. The
// request that continues it may not offer the tool again; the form of the
// arguments tells then.
func isSearch(tools []model.Tool, call model.ToolCall) bool {
	for _, tool := range tools {
		if tool.Name == call.Name {
			return tool.Search
		}
	}
	var args map[string][]string
	err := json.Unmarshal([]byte(call.Arguments), &args)
	return err == nil && len(args) == 1 && len(args["queries"]) > 0
}

// readQuestion takes the last user message apart: the sentences that ask are the
// question, the others may answer it.
func (c *conversation) readQuestion(text string) {
	c.message = text
	all := sentences(text)
	var ask, rest []string
	for i, s := range all {
		if isQuestion(s) || isInstruction(s) && (i == 0 || i == len(all)-1) {
			ask = append(ask, s)
		} else {
			rest = append(rest, s)
		}
	}
	if len(ask) == 0 && len(all) > 0 {
		ask, rest = all[len(all)-1:], all[:len(all)-1]
	}
	c.ask = strings.Join(ask, " ")
	if len(rest) > 0 {
		c.sources = append(c.sources, strings.Join(rest, "\n\n"))
	}
}
