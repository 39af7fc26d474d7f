package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/model"
)

// maxCalls is how many tool calls one answer may have.
const maxCalls = 256

var (
	errManyCalls   = errors.New("openai: the answer has too many tool calls")
	errUnknownTool = errors.New("openai: the model called a tool that it was not offered")
	errArguments   = errors.New("openai: the arguments of a tool call are not JSON")
)

// toolCalls assembles the tool calls of an answer. Servers send them whole or in
// pieces, one after another or mixed, with or without indices and IDs; they come
// out in order, one after another. The first call is passed on as it comes; the
// others are kept back until the answer ends, because only then is it certain
// that the first one has no more pieces. IDs are made here: those of servers
// collide.
type toolCalls struct {
	tools  []model.Tool
	only   string // drop calls of other tools; empty keeps all
	single bool   // drop calls after the first
	calls  []*toolCall
	sent   int // calls whose start was emitted
}

type toolCall struct {
	id        string // the server's
	index     int    // the server's, -1 for none
	name      string
	arguments strings.Builder
	passed    int // bytes of the arguments that were emitted
}

// none reports whether no call has begun.
func (t *toolCalls) none() bool { return len(t.calls) == 0 }

// add reads the tool_calls of a delta and emits what is ready.
func (t *toolCalls) add(deltas gjson.Result, emit func(model.Event)) error {
	var err error
	deltas.ForEach(func(_, delta gjson.Result) bool {
		err = t.merge(delta)
		return err == nil
	})
	if err != nil || len(t.calls) == 0 {
		return err
	}
	if first := t.calls[0]; first.name != "" && first.arguments.Len() > first.passed {
		return t.emit(first, emit)
	}
	return nil
}

// merge adds one element of tool_calls to its call.
func (t *toolCalls) merge(delta gjson.Result) error {
	id, index := delta.Get("id").String(), -1
	if i := delta.Get("index"); i.Type == gjson.Number {
		index = int(i.Int())
	}
	name := delta.Get("function.name").String()
	c := t.find(id, index, name)
	if c == nil {
		if len(t.calls) == maxCalls {
			return errManyCalls
		}
		c = &toolCall{id: id, index: index}
		t.calls = append(t.calls, c)
	}
	if c.id == "" {
		c.id = id
	}
	if c.arguments.Len() == 0 && !t.offers(c.name) {
		c.name += name // most send it whole and some repeat it
	}
	if arguments := delta.Get("function.arguments"); arguments.IsObject() {
		c.arguments.WriteString(arguments.Raw)
	} else {
		c.arguments.WriteString(arguments.String())
	}
	return nil
}

// find returns the call that a delta continues, nil where it begins one.
func (t *toolCalls) find(id string, index int, name string) *toolCall {
	if id != "" {
		for _, c := range t.calls {
			if c.id == id {
				return c
			}
		}
	}
	if index >= 0 {
		for i := len(t.calls) - 1; i >= 0; i-- {
			if c := t.calls[i]; c.index == index {
				return c.unlessNext(id, name)
			}
		}
		return nil
	}
	if len(t.calls) == 0 || id != "" {
		return nil
	}
	return t.calls[len(t.calls)-1].unlessNext(id, name)
}

// unlessNext returns c, or nil where a delta that could continue it begins
// another call: it has a name, and another ID or nothing to add to.
func (c *toolCall) unlessNext(id, name string) *toolCall {
	if name != "" && (id != "" && c.id != "" || json.Valid([]byte(c.arguments.String()))) {
		return nil
	}
	return c
}

func (t *toolCalls) offers(name string) bool {
	for i := range t.tools {
		if t.tools[i].Name == name {
			return true
		}
	}
	return false
}

// emit emits the part of a call that was not yet, unless the call is one to be
// dropped.
func (t *toolCalls) emit(c *toolCall, emit func(model.Event)) error {
	if !t.offers(c.name) {
		return errUnknownTool
	}
	if t.only != "" && c.name != t.only {
		return nil
	}
	if c.passed == 0 {
		if t.single && t.sent > 0 {
			return nil
		}
		t.sent++
		emit(model.ToolCallStart{ID: ids.New("call"), Name: c.name})
	}
	if rest := c.arguments.String()[c.passed:]; rest != "" {
		c.passed += len(rest)
		emit(model.ToolCallDelta{Arguments: rest})
	}
	return nil
}

// end emits what was kept back. cut says that the answer was cut short: its last
// call may be incomplete.
func (t *toolCalls) end(cut bool, emit func(model.Event)) error {
	for _, c := range t.calls {
		if cut && !t.offers(c.name) {
			return nil
		}
		if strings.TrimSpace(c.arguments.String()) == "" && !cut {
			c.arguments.WriteString("{}")
		}
		if !cut && !json.Valid([]byte(c.arguments.String())) {
			return errArguments
		}
		if err := t.emit(c, emit); err != nil {
			return err
		}
	}
	return nil
}
