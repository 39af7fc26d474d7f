package openai

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

type event = model.Event

func tools(names ...string) []model.Tool {
	var list []model.Tool
	for _, name := range names {
		list = append(list, model.Tool{Name: name})
	}
	return list
}

// callJSON is an element of tool_calls.
func callJSON(fields ...string) string { return "{" + strings.Join(fields, ",") + "}" }

func fn(name, arguments string) string {
	return `"function":{"name":"` + name + `","arguments":"` + strings.ReplaceAll(arguments, `"`, `\"`) + `"}`
}

func TestToolCallsOfEveryForm(t *testing.T) {
	both := []string{`f{"a":1}`, `g{"b":2}`}
	tests := map[string]struct {
		deltas []string // each the elements of one tool_calls
		want   []string
	}{
		"whole, in one delta":        {[]string{callJSON(`"id":"1","index":0`, fn("f", `{"a":1}`)) + "," + callJSON(`"id":"2","index":1`, fn("g", `{"b":2}`))}, both},
		"in pieces":                  {[]string{callJSON(`"id":"1","index":0`, fn("f", "")), callJSON(`"index":0`, fn("", `{"a"`)), callJSON(`"index":0`, fn("", `:1}`)), callJSON(`"id":"2","index":1`, fn("g", "")), callJSON(`"index":1`, fn("", `{"b":2}`))}, both},
		"mixed":                      {[]string{callJSON(`"id":"1","index":0`, fn("f", `{"a"`)), callJSON(`"id":"2","index":1`, fn("g", `{"b"`)), callJSON(`"index":0`, fn("", `:1}`)), callJSON(`"index":1`, fn("", `:2}`))}, both},
		"no index":                   {[]string{callJSON(`"id":"1"`, fn("f", `{"a"`)), callJSON(`"id":"1"`, fn("", `:1}`)), callJSON(`"id":"2"`, fn("g", `{"b":2}`))}, both},
		"no index, mixed":            {[]string{callJSON(`"id":"1"`, fn("f", `{"a"`)), callJSON(`"id":"2"`, fn("g", `{"b":2}`)), callJSON(`"id":"1"`, fn("", `:1}`))}, both},
		"no index, IDs at the begin": {[]string{callJSON(`"id":"1"`, fn("f", "")), callJSON(fn("", `{"a":1}`)), callJSON(`"id":"2"`, fn("g", "")), callJSON(fn("", `{"b":2}`))}, both},
		"no index, no ID":            {[]string{callJSON(fn("f", `{"a":1}`)), callJSON(fn("g", `{"b":2}`))}, both},
		"no index, no ID, in pieces": {[]string{callJSON(fn("f", `{"a"`)), callJSON(fn("", `:1}`)), callJSON(fn("g", `{"b"`)), callJSON(fn("", `:2}`))}, both},
		"empty IDs":                  {[]string{callJSON(`"id":"","index":0`, fn("f", `{"a":1}`)), callJSON(`"id":"","index":1`, fn("g", `{"b":2}`))}, both},
		"one index, other IDs":       {[]string{callJSON(`"id":"1","index":0`, fn("f", `{"a":1}`)), callJSON(`"id":"2","index":0`, fn("g", `{"b":2}`))}, both},
		"one index, no IDs":          {[]string{callJSON(`"index":0`, fn("f", `{"a":1}`)), callJSON(`"index":0`, fn("g", `{"b":2}`))}, both},
		"one ID":                     {[]string{callJSON(`"id":"1","index":0`, fn("f", `{"a"`)), callJSON(`"id":"1","index":0`, fn("f", `:1}`))}, both[:1]},
		"a new ID with every piece":  {[]string{callJSON(`"id":"1","index":0`, fn("f", `{"a"`)), callJSON(`"id":"2","index":0`, fn("", `:1}`))}, both[:1]},
		"the name in pieces":         {[]string{callJSON(`"index":0,"id":"1"`, fn("get_", "")), callJSON(`"index":0`, fn("time", "")), callJSON(`"index":0`, fn("", "{}"))}, []string{"get_time{}"}},
		"the name with every piece":  {[]string{callJSON(`"index":0`, fn("f", `{"a"`)), callJSON(`"index":0`, fn("f", `:1}`))}, both[:1]},
		"no arguments":               {[]string{callJSON(`"index":0,"id":"1"`, `"function":{"name":"f"}`)}, []string{"f{}"}},
		"null arguments":             {[]string{callJSON(`"index":0,"id":"1"`, `"function":{"name":"f","arguments":null}`)}, []string{"f{}"}},
		"arguments as an object":     {[]string{callJSON(`"id":"1"`, `"function":{"name":"f","arguments":{"a":1}}`)}, both[:1]},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			calls := toolCalls{tools: tools("f", "g", "get_time")}
			var got []string
			ids := map[string]bool{}
			emit := func(e model.Event) {
				switch e := e.(type) {
				case model.ToolCallStart:
					got = append(got, e.Name)
					ids[e.ID] = true
				case model.ToolCallDelta:
					got[len(got)-1] += e.Arguments
				}
			}
			for _, d := range tt.deltas {
				if err := calls.add(gjson.Parse("["+d+"]"), emit); err != nil {
					t.Fatal(err)
				}
			}
			if err := calls.end(false, emit); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) || len(ids) != len(got) {
				t.Errorf("got %q with %d IDs, want %q", got, len(ids), tt.want)
			}
		})
	}
}

func TestToolCallsThatFail(t *testing.T) {
	tests := map[string]struct {
		delta string
		cut   bool
		want  error
	}{
		"unknown tool":             {callJSON(fn("x", "{}")), false, errUnknownTool},
		"broken arguments":         {callJSON(fn("f", `{"a"`)), false, errArguments},
		"cut arguments":            {callJSON(fn("f", `{"a"`)), true, nil},
		"cut name":                 {callJSON(fn("ge", "")), true, nil},
		"more calls than are sane": {strings.Repeat(callJSON(fn("f", "{}"))+",", maxCalls) + callJSON(fn("f", "{}")), false, errManyCalls},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			calls := toolCalls{tools: tools("f", "get_time")}
			drop := func(model.Event) {}
			err := calls.add(gjson.Parse("["+tt.delta+"]"), drop)
			if err == nil {
				err = calls.end(tt.cut, drop)
			}
			if err != tt.want {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestFirstCallIsStreamed(t *testing.T) {
	calls := toolCalls{tools: tools("f")}
	var got []model.Event
	emit := func(e model.Event) { got = append(got, e) }
	for _, d := range []string{callJSON(`"index":0,"id":"1"`, fn("f", "")), callJSON(`"index":0`, fn("", `{"a"`)), callJSON(`"index":0`, fn("", `:1}`))} {
		if err := calls.add(gjson.Parse("["+d+"]"), emit); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 3 || got[1] != (model.ToolCallDelta{Arguments: `{"a"`}) || got[2] != (model.ToolCallDelta{Arguments: `:1}`}) {
		t.Errorf("got %+v", got)
	}
}

func TestTextAroundCalls(t *testing.T) {
	d := (&double{intercept: events(
		delta(`{"content":"Let me see."}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}]}`),
		delta(`{"content":"\n"}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`), finish("stop"))}).serve(t)
	for _, mode := range []model.ToolMode{model.ToolAuto, model.ToolRequired} {
		req := ask("x")
		req.Tools, req.ToolChoice.Mode = tools("f"), mode
		a := fold(t.Context(), d.backend(t), req)
		if a.err != nil || a.text != "Let me see." || !reflect.DeepEqual(a.calls, []string{`f{"a":1}`}) || a.reason != model.ToolCalls {
			t.Errorf("%s: got %+v", mode, a)
		}
	}
}

func TestCallsOfOtherToolsAreDropped(t *testing.T) {
	d := (&double{intercept: func(w http.ResponseWriter, r *doubleRequest) bool {
		return r.number == 1 && events(delta(`{"tool_calls":[`+callJSON(`"id":"1"`, fn("g", `{}`))+`,`+callJSON(`"id":"2"`, fn("f", `{}`))+`,`+callJSON(`"id":"3"`, fn("f", `{"a":3}`))+`]}`), finish("tool_calls"))(w, r)
	}}).serve(t)
	req := ask("x")
	req.Tools, req.ToolChoice, req.SingleToolCall = tools("f", "g"), model.ToolChoice{Mode: model.ToolNamed, Name: "f"}, true
	a := fold(t.Context(), d.backend(t), req)
	if a.err != nil || !reflect.DeepEqual(a.calls, []string{"f{}"}) {
		t.Errorf("got %+v", a)
	}
}
