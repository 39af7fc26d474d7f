package httpapi

import (
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// toolKind is what becomes of a tool of the Responses interface by its type.
type toolKind int

const (
	toolUnknown   toolKind = iota // an error: nobody knows it
	toolFunction                  // offered as it is
	toolCustom                    // offered as a function with one string
	toolNamespace                 // its functions are offered under qualified names
	toolSearch                    // run here
	toolLeftOut                   // run nowhere: the model may do without it
	toolRefused                   // an error: the answer would be another one without it
)

// kindOfTool is the one table of the types.
func kindOfTool(kind string) toolKind {
	switch kind {
	case "function":
		return toolFunction
	case "custom":
		return toolCustom
	case "namespace":
		return toolNamespace
	case "image_generation", "tool_search", "local_shell", "shell", "apply_patch":
		return toolLeftOut
	case "file_search", "code_interpreter", "mcp":
		return toolRefused
	}
	switch {
	case isSearch(kind):
		return toolSearch
	case strings.HasPrefix(kind, "computer"): // computer, computer_use_preview and what else it was called
		return toolLeftOut
	}
	return toolUnknown
}

// isSearch reports whether a type is web search, of whatever date.
func isSearch(kind string) bool {
	switch kind {
	case responses.WebSearch, responses.WebSearchPreview, "web_search_2025_08_26", "web_search_preview_2025_03_11":
		return true
	}
	return false
}

// decodeResponseTools reads the tools of a request: what the model is offered
// for them, what the caller calls that, and how they are shown.
func decodeResponseTools(n *jsonin.Node, req *responses.Request) {
	plain := true // they are all shown as they are read
	items := n.Items(generation.MaxTools)
	for _, t := range items {
		kind := requiredText(t.Field("type"))
		switch what := kindOfTool(kind); what {
		case toolSearch:
			req.SearchType = kind
			req.Tools = append(req.Tools, responses.SearchTool())
			plain = plain && len(slices.Collect(t.Fields())) == 1
		case toolFunction, toolCustom:
			decodeCallable(t, "", req)
			plain = plain && what == toolFunction
		case toolNamespace:
			decodeNamespace(t, req)
			plain = false
		case toolLeftOut:
			plain = false
		default:
			refuseTool(t.Field("type"), what)
		}
	}
	if !plain {
		req.ShownTools = shownTools(items)
	}
}

// refuseTool records the error for a type of a tool.
func refuseTool(n *jsonin.Node, what toolKind) {
	if what == toolRefused {
		n.Fail("is %q, which this service does not run: offer functions of your own instead", n.Text())
		return
	}
	n.Fail(`must be "function", "custom", "namespace" or %q`, responses.WebSearchPreview)
}

func decodeNamespace(n *jsonin.Node, req *responses.Request) {
	name := requiredWord(n.Field("name"))
	for _, t := range n.Field("tools").Items(generation.MaxTools) {
		switch what := kindOfTool(requiredText(t.Field("type"))); what {
		case toolFunction, toolCustom:
			decodeCallable(t, name, req)
		default:
			t.Field("type").Fail(`must be "function" or "custom"`)
		}
	}
}

// decodeCallable reads a function or a custom tool.
func decodeCallable(n *jsonin.Node, namespace string, req *responses.Request) {
	called := responses.ToolAlias{Namespace: namespace, Name: n.Field("name").Text(), Custom: n.Field("type").Text() == "custom"}
	tool := decodeFunction(n)
	if called.Custom {
		tool = responses.CustomTool(called.Name, tool.Description, customRule(n.Field("format")))
	}
	if namespace != "" {
		tool.Name = responses.Qualified(namespace, called.Name)
	}
	if slices.ContainsFunc(req.Tools, func(t model.Tool) bool { return t.Name == tool.Name }) {
		n.Field("name").Fail("is %q, which another tool is called, too", called.Name)
	}
	req.Tools = append(req.Tools, tool)
	if !called.Custom && namespace == "" {
		return
	}
	if req.ToolAliases == nil {
		req.ToolAliases = map[string]responses.ToolAlias{}
	}
	req.ToolAliases[tool.Name] = called
}

// customRule returns what the description of a custom tool says of the form of
// its input. No model server can be relied on to enforce a grammar.
func customRule(n *jsonin.Node) string {
	switch kind := n.Field("type").Text(); kind {
	case "", "text":
		return ""
	case "grammar":
		return "The input must follow this " + requiredText(n.Field("syntax")) + " grammar:\n" + requiredText(n.Field("definition"))
	}
	n.Field("type").Fail(`must be "text" or "grammar"`)
	return ""
}

// shownTools returns the tools as the response shows them: functions with all of
// their fields, others as they were sent.
func shownTools(items []*jsonin.Node) []byte {
	w := jsonout.Writer{}
	w.Array()
	for _, t := range items {
		if t.Field("type").Text() == "function" {
			function := decodeFunction(t)
			w.Raw(responses.AppendFunction(nil, &function))
			continue
		}
		w.Raw(t.Raw())
	}
	w.EndArray()
	return w.Buf
}

// decodeToolChoice reads the choice among the tools of a request that have been
// read before.
func decodeToolChoice(n *jsonin.Node, req *responses.Request) {
	if !n.IsObject() {
		req.ToolChoice = model.ToolChoice{Mode: model.ToolMode(optionalWord(n))}
		return
	}
	if n.Field("type").Text() == "allowed_tools" {
		decodeAllowed(n, req)
		return
	}
	name := chosenTool(n, req)
	req.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: name}
	if _, ok := req.ToolAliases[name]; ok {
		req.ShownToolChoice = n.Raw()
	}
}

// decodeAllowed reads a choice that offers the model only some of the tools.
// Those that nobody runs are not missed.
func decodeAllowed(n *jsonin.Node, req *responses.Request) {
	req.ToolChoice.Mode = allowedMode(n.Field("mode"))
	req.AllowedTools = []string{}
	for _, t := range n.Field("tools").Items(generation.MaxTools) {
		if kindOfTool(t.Field("type").Text()) != toolLeftOut {
			req.AllowedTools = append(req.AllowedTools, chosenTool(t, req))
		}
	}
	req.ShownToolChoice = n.Raw()
}

func allowedMode(n *jsonin.Node) model.ToolMode {
	mode := model.ToolMode(requiredText(n))
	if mode != model.ToolAuto && mode != model.ToolRequired {
		n.Fail(`must be "auto" or "required"`)
	}
	return mode
}

// chosenTool returns the name under which the model is offered the tool that n
// names.
func chosenTool(n *jsonin.Node, req *responses.Request) string {
	kind := n.Field("type")
	switch what := kindOfTool(kind.Text()); what {
	case toolFunction, toolCustom:
		return req.Offered(n.Field("namespace").Text(), requiredText(n.Field("name")))
	case toolSearch:
		return responses.SearchTool().Name
	case toolLeftOut:
		kind.Fail("is %q, which this service does not run: it cannot be demanded", kind.Text())
	default:
		refuseTool(kind, what)
	}
	return ""
}

// decodeFunction reads a function tool from the object that has its fields.
func decodeFunction(n *jsonin.Node) model.Tool {
	return model.Tool{
		Name:        requiredText(n.Field("name")),
		Description: n.Field("description").Text(),
		Parameters:  n.Field("parameters").Object().Raw(),
		Strict:      n.Field("strict").True(),
	}
}
