package openai

import (
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// chunk is one event of a stream. Its strings may share the memory of the event.
type chunk struct {
	text      string
	reasoning string
	plainName bool         // the reasoning was under "reasoning"
	calls     gjson.Result // the delta's tool_calls
	logprobs  gjson.Result // the choice's
	finish    string
	stop      string // the stop sequence that ended the answer, where the server tells
	usage     model.Usage
	counted   bool         // the chunk has a usage
	err       gjson.Result // the server's report of a failure
}

// parse reads one event of a stream, or a whole answer of a server that did not
// stream, into c. It reports whether data is a JSON object.
func (c *chunk) parse(data []byte) bool {
	*c = chunk{}
	if !gjson.ValidBytes(data) {
		return false
	}
	root := gjson.ParseBytes(data)
	if !root.IsObject() {
		return false
	}
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices":
			value.ForEach(func(_, choice gjson.Result) bool {
				c.readChoice(choice)
				return false // only one was asked for
			})
		case "usage":
			c.readUsage(value)
		case "error":
			if value.Type != gjson.Null {
				c.err = value
			}
		}
		return true
	})
	return true
}

func (c *chunk) readChoice(choice gjson.Result) {
	choice.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "delta", "message":
			c.readDelta(value)
		case "text": // of a text that is continued
			c.text = value.Str
		case "logprobs":
			c.logprobs = value
		case "finish_reason":
			c.finish = value.Str
		case "stop_reason", "matched_stop": // of vLLM and SGLang: a text, or the number of a token
			c.stop = value.Str
		}
		return true
	})
}

func (c *chunk) readDelta(delta gjson.Result) {
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			c.text = value.Str
		case "reasoning", "reasoning_content":
			// Some servers send both, and one of them null.
			if value.Str != "" {
				c.reasoning, c.plainName = value.Str, key.Str == "reasoning"
			}
		case "tool_calls":
			c.calls = value
		}
		return true
	})
}

func (c *chunk) readUsage(usage gjson.Result) {
	if !usage.IsObject() {
		return
	}
	c.counted = true
	c.usage = parseUsage(usage)
}

// parseUsage reads a usage object. Counts that are missing are 0.
func parseUsage(usage gjson.Result) model.Usage {
	return model.Usage{
		InputTokens: count(usage, "prompt_tokens"), OutputTokens: count(usage, "completion_tokens"),
		CachedTokens:    count(usage, "prompt_tokens_details.cached_tokens"),
		ReasoningTokens: count(usage, "completion_tokens_details.reasoning_tokens"),
	}
}

// count reads a count of tokens as it was told.
func count(usage gjson.Result, path string) int {
	const most = 1 << 40 // what can be added up
	return int(min(max(usage.Get(path).Float(), 0), most))
}

// within returns what a server has told of the usage of n answers, without
// contradictions and without what cannot be: nobody pays for more than fits into
// the model's context window because a server miscounts.
func (t *target) within(told model.Usage, n int) model.Usage {
	most := n * t.of.info().Window()
	told.InputTokens = min(told.InputTokens, most)
	told.CachedTokens = min(told.CachedTokens, told.InputTokens)
	told.OutputTokens = min(told.OutputTokens, most)
	told.ReasoningTokens = min(told.ReasoningTokens, told.OutputTokens)
	return told
}
