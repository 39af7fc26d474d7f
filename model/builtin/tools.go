package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// chooseCalls returns the tool calls that answer a request, or none where it is
// to be answered with text.
func (b *Backend) chooseCalls(ctx context.Context, req *model.Request, c *conversation) ([]model.ToolCall, error) {
	chosen := c.chooseTools(req)
	if req.SingleToolCall && len(chosen) > 1 {
		chosen = chosen[:1]
	}
	var calls []model.ToolCall
	for _, tool := range chosen {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		arguments, err := b.arguments(ctx, tool, c)
		if err != nil {
			return nil, err
		}
		calls = append(calls, model.ToolCall{ID: c.newID(), Name: tool.Name, Arguments: arguments})
	}
	return calls, nil
}

// arguments fills the parameters of a tool from the last user message.
func (b *Backend) arguments(ctx context.Context, tool model.Tool, c *conversation) (string, error) {
	if tool.Search {
		query := strings.TrimSpace(oneLine(c.ask))
		if query == "" {
			query = oneLine(c.message)
		}
		return marshal(map[string]any{"queries": []any{firstRunes(query, 300)}}), nil
	}
	return fillSchema(ctx, tool.Parameters, newFacts(c, b.lexicon))
}

// newID returns an ID that no call of the conversation has.
func (c *conversation) newID() string {
	for n := len(c.ids) + 1; ; n++ {
		id := fmt.Sprintf("call_%d", n)
		if !c.ids[id] {
			c.ids[id] = true
			return id
		}
	}
}

// chooseTools returns the tools to call now.
func (c *conversation) chooseTools(req *model.Request) []model.Tool {
	if len(req.Tools) == 0 {
		return nil
	}
	switch req.ToolChoice.Mode {
	case model.ToolNone:
		return nil
	case model.ToolNamed:
		i := slices.IndexFunc(req.Tools, func(tool model.Tool) bool { return tool.Name == req.ToolChoice.Name })
		if i < 0 {
			return nil
		}
		return req.Tools[i : i+1]
	case model.ToolRequired:
		if matching := c.matchingTools(req.Tools); len(matching) > 0 {
			return matching
		}
		return []model.Tool{c.bestTool(req.Tools)}
	}
	return c.matchingTools(req.Tools)
}

// enough is the score of a tool that is called without being required.
const enough = 0.5

// matchingTools returns the tools that the message asks for and that were not
// called since, in their order. A web search comes alone and before the rest.
func (c *conversation) matchingTools(tools []model.Tool) []model.Tool {
	if strings.TrimSpace(c.message) == "" {
		return nil
	}
	var matching []model.Tool
	scores := map[string]float64{}
	best := 0.0
	for _, tool := range tools {
		if c.called[tool.Name] {
			continue
		}
		if tool.Search {
			return []model.Tool{tool}
		}
		score := c.matchTool(tool)
		if score >= enough {
			matching = append(matching, tool)
			scores[tool.Name] = score
			best = max(best, score)
		}
	}
	return slices.DeleteFunc(matching, func(tool model.Tool) bool { return scores[tool.Name] < nearBest*best })
}

// bestTool returns the tool that matches best; one that was called already is
// the last choice.
func (c *conversation) bestTool(tools []model.Tool) model.Tool {
	best, bestScore := 0, -2.0
	for i, tool := range tools {
		score := c.matchTool(tool)
		if c.called[tool.Name] {
			score--
		}
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	return tools[best]
}

// matchTool returns how well the message matches a tool's name and description,
// from 0 to 1.
func (c *conversation) matchTool(tool model.Tool) float64 {
	said := map[string]bool{}
	for _, term := range c.stemmer.list(c.message) {
		said[term] = true
	}
	name := c.toolTerms(strings.Join(nameWords(tool.Name), " "))
	description := c.toolTerms(tool.Description)
	const several = 2 // shared words of a description that are enough
	inName, inDescription := shared(name, said), shared(description, said)
	score := 0.0
	if len(name) > 0 {
		score = inName / float64(len(name))
	}
	if len(description) > 0 {
		score = max(score, inDescription/float64(len(description)), min(inDescription/several, 1)*0.75)
	}
	return score
}

// shared counts the terms that the message has.
func shared(terms []string, said map[string]bool) float64 {
	n := 0.0
	for _, term := range terms {
		if said[term] {
			n++
		}
	}
	return n
}

// toolTerms returns the terms of a text about a tool, without those that say
// only that it is one, unless nothing else is left.
func (c *conversation) toolTerms(text string) []string {
	all := c.stemmer.set(text)
	var kept []string
	for _, term := range all {
		if !toolWords[term] {
			kept = append(kept, term)
		}
	}
	if len(kept) == 0 {
		return all
	}
	return kept
}

// toolWords are stems that descriptions of any tool have.
var toolWords = wordSet(`get set fetch retriev return call tool function api current given specif provid perform execut run data
	valu inform request result list lookup find creat new use user input output field string number object name detail`)
