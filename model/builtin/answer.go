package builtin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// nothingFound is the answer where no sentence matches.
const nothingFound = "I found nothing in this conversation that answers that."

// conversation is what the model reads of a request.
type conversation struct {
	message  string                    // the text of the last user message
	ask      []string                  // of that, the sentences that ask for something
	sources  []string                  // the texts an answer may be taken from, in order
	material []string                  // of those, documents, tool and search results
	outputs  []string                  // what functions returned since the last user message
	called   map[string]bool           // tools called since the last user message
	calledAs map[string]model.ToolCall // every call in the history by its ID
	stems    stems
}

// readConversation takes the messages of a request apart. Of the last message of the user
// the sentences that ask are the question, and the others may answer it.
func readConversation(req *model.Request) *conversation {
	c := &conversation{called: map[string]bool{}, calledAs: map[string]model.ToolCall{}, stems: stems{}}
	last := len(req.Messages) - 1
	for last >= 0 && req.Messages[last].Role != model.User {
		last--
	}
	for i, m := range req.Messages {
		for _, call := range m.ToolCalls {
			c.calledAs[call.ID] = call
			c.called[call.Name] = c.called[call.Name] || i > last
		}
		text := ""
		for _, part := range m.Parts {
			switch p := part.(type) {
			case model.Text:
				text += string(p) + "\n"
			case model.Document:
				c.sources, c.material = append(c.sources, p.Text), append(c.material, p.Text)
			}
		}
		text = strings.TrimSuffix(text, "\n")
		if i == last {
			c.message = text
			all := sentences(text)
			for n, s := range all {
				if end := n == len(all)-1; asks(s, n == 0 || end) || end && len(c.ask) == 0 {
					c.ask = append(c.ask, s)
				} else {
					c.sources = append(c.sources, s)
				}
			}
		} else if text != nothingFound {
			c.sources = append(c.sources, text)
		}
		if m.Role == model.ToolRole {
			c.material = append(c.material, text)
			// Of a search that is not offered again the arguments tell.
			if call := c.calledAs[m.ToolCallID]; i > last && !strings.HasPrefix(call.Arguments, `{"queries":[`) {
				c.outputs = append(c.outputs, cmp.Or(call.Name, "The function")+" returned: "+text)
			}
		}
	}
	return c
}

// answer makes an answer of plain text: every output as it is, or the sentences that match
// the question, or the first ones where it is about the whole, as "Summarize the file" is.
func (c *conversation) answer() string {
	const lead = 2
	if len(c.outputs) > 0 {
		return strings.Join(c.outputs, "\n")
	}
	found := c.matching(c.passages(c.sources))
	whole := func(term string) bool { return in("whole", term) }
	if len(found) == 0 && (c.message == "" || slices.ContainsFunc(c.stems.list(strings.Join(c.ask, " ")), whole)) {
		texts := c.material
		if len(texts) == 0 {
			texts = c.sources
		}
		found = c.passages(texts)
		found = found[:min(lead, len(found))]
	}
	return cmp.Or(strings.Join(found, " "), nothingFound)
}

// passages returns the sentences of texts, each once and on one line, without headings of
// Markdown and what is or was asked.
func (c *conversation) passages(texts []string) (found []string) {
	const longest = 600 // characters of what may be a line of data
	seen := map[string]bool{}
	for i, text := range slices.Concat(c.ask, texts) {
		for _, s := range sentences(text) {
			line := firstRunes(strings.Join(strings.Fields(s), " "), longest)
			if i >= len(c.ask) && !seen[line] && !asks(line, false) && !strings.HasPrefix(strings.TrimLeft(line, "#"), " ") {
				found = append(found, line)
			}
			seen[line] = true
		}
	}
	return found
}

// matching returns the passages that best match the question, in their order: by the rarity
// of the terms that they share with it, short ones a little higher.
func (c *conversation) matching(passages []string) (found []string) {
	const least, nearBest, long, most, numberBoost = 0.2, 0.7, 60, 3, 1.5
	terms, count, weight, total := make([][]string, len(passages)), map[string]float64{}, map[string]float64{}, 0.0
	for i, passage := range passages {
		terms[i] = c.stems.list(passage)
		for _, term := range terms[i] {
			count[term]++
		}
	}
	question := strings.Join(c.ask, " ")
	for _, term := range c.stems.list(question) {
		weight[term] = math.Log(1 + float64(len(passages))/(count[term]+0.5))
		total += weight[term]
	}
	scores, numeric := make([]float64, len(passages)), pattern("asks-number").MatchString(question)
	for i, passage := range passages {
		for _, term := range terms[i] {
			scores[i] += weight[term]
		}
		if scores[i] < least*total {
			scores[i] = 0
		}
		if scores[i] /= 1 + float64(len(terms[i]))/long; numeric && strings.ContainsAny(passage, "0123456789") {
			scores[i] *= numberBoost
		}
	}
	sorted := slices.Sorted(slices.Values(append(scores, make([]float64, most)...)))
	enough := max(nearBest*sorted[len(sorted)-1], sorted[len(sorted)-most])
	for i, passage := range passages {
		if scores[i] > 0 && scores[i] >= enough && len(found) < most {
			found = append(found, passage)
		}
	}
	return found
}

// calls returns the tool calls that answer a request, or none where it is to be answered
// with text.
func (c *conversation) calls(ctx context.Context, req *model.Request) (calls []model.ToolCall, err error) {
	const longestQuery = 300
	for _, tool := range c.choose(req) {
		call := model.ToolCall{Name: tool.Name}
		for n := len(c.calledAs) + 1; call.ID == "" || c.calledAs[call.ID].ID != ""; n++ {
			call.ID = fmt.Sprint("call_", n)
		}
		c.calledAs[call.ID] = call
		if tool.Search {
			query := strings.Join(strings.Fields(strings.Join(c.ask, " ")), " ")
			call.Arguments = marshal(map[string][]string{"queries": {firstRunes(query, longestQuery)}})
		} else if call.Arguments, err = fill(ctx, tool.Parameters, newFacts(c, c.message, false)); err != nil {
			return nil, err
		}
		if calls = append(calls, call); req.SingleToolCall {
			break
		}
	}
	return calls, nil
}

// choose returns the tools to call now: one that is named, or those that match the message
// nearly as well as the best and were not called since, or where one is required the best. A
// web search comes alone and before the rest.
func (c *conversation) choose(req *model.Request) (chosen []model.Tool) {
	const enough, nearBest, calledBefore = 0.5, 0.7, -2
	mode, scores, best := req.ToolChoice.Mode, make([]float64, len(req.Tools)), math.Inf(-1)
	if mode == model.ToolNone {
		return nil
	}
	for i, tool := range req.Tools {
		named := mode == model.ToolNamed && tool.Name == req.ToolChoice.Name
		if named || mode != model.ToolNamed && tool.Search && len(c.ask) > 0 && !c.called[tool.Name] {
			return req.Tools[i : i+1]
		}
		if scores[i] = c.match(tool); c.called[tool.Name] {
			scores[i] += calledBefore
		}
		best = max(best, scores[i])
	}
	for i, tool := range req.Tools {
		required := mode == model.ToolRequired && best < enough && scores[i] == best && len(chosen) == 0
		if required || scores[i] >= max(enough, nearBest*best) {
			chosen = append(chosen, tool)
		}
	}
	return chosen
}

// match returns how well the message matches a tool's name or description, from 0 to 1: all
// the words of one of them, or several of the description. Words such as "get", which say
// only that it is a tool, do not count beside others.
func (c *conversation) match(tool model.Tool) (score float64) {
	said := c.stems.list(c.message)
	for text, most := range map[string]int{named(tool.Name): math.MaxInt, tool.Description: 3} {
		terms, shared := c.stems.list(text), 0.0
		if own := slices.DeleteFunc(slices.Clone(terms), func(term string) bool { return in("tool", term) }); len(own) > 0 {
			terms = own
		}
		for _, term := range terms {
			if slices.Contains(said, term) {
				shared++
			}
		}
		score = max(score, shared/float64(max(1, min(len(terms), most))))
	}
	return min(score, 1)
}
