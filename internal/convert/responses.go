package convert

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// What include adds to a response.
const (
	includeLogprobs  = "message.output_text.logprobs"
	includeReasoning = "reasoning.encrypted_content"
	includeSources   = "web_search_call.action.sources"
	includeResults   = "file_search_call.results"
)

// FromResponseRequest returns what a body of Responses asks for. The error is
// Invalid: two of the tools have one name.
func FromResponseRequest(w *wire.ResponseRequest) (*responses.Request, error) {
	r := fromContinuation(w.Model, &w.Continuation)
	r.Temperature, r.TopP, r.MaxOutputTokens = w.Temperature, w.TopP, w.MaxOutputTokens
	if w.Reasoning != nil {
		r.ReasoningEffort, r.ReasoningSummary = w.Reasoning.Effort, cmp.Or(w.Reasoning.Summary, w.Reasoning.GenerateSummary)
	}
	if w.Format != nil {
		r.Format = fromFormat(w.Format.Format)
	}
	r.ParallelToolCalls, r.MaxToolCalls = w.ParallelToolCalls, w.MaxToolCalls
	r.Sampling, r.TopLogprobs = fromSampling(&w.Sampling), w.TopLogprobs
	r.Logprobs = slices.Contains(w.Include, includeLogprobs)
	r.EncryptedReasoning = slices.Contains(w.Include, includeReasoning)
	r.SearchSources = slices.Contains(w.Include, includeSources)
	r.SearchResults = slices.Contains(w.Include, includeResults)
	r.SafetyIdentifier, r.Truncation = w.SafetyIdentifier, w.Truncation
	for _, m := range w.ContextManagement {
		r.Compact, r.CompactThreshold = true, value(m.CompactThreshold)
	}
	r.Policies, r.Moderate = w.Policies, fromModeration(w.Moderation)
	r.Store, r.Background, r.Metadata = w.Store, isTrue(w.Background), tags(w.Metadata)
	if err := fromResponseTools(w.Tools, r); err != nil {
		return nil, err
	}
	fromResponseToolChoice(w.ToolChoice, r)
	return r, nil
}

// FromCompactionRequest returns what is to be compacted.
func FromCompactionRequest(w *wire.CompactionRequest) *responses.Request {
	return fromContinuation(w.Model, &w.Continuation)
}

func fromContinuation(model string, w *wire.Continuation) *responses.Request {
	r := &responses.Request{Model: model, Input: FromInput(w.Input), Instructions: w.Instructions, PreviousResponseID: w.PreviousResponseID}
	if c := w.Conversation; c != nil && c.Text != nil {
		r.Conversation = *c.Text
	} else if c != nil {
		r.Conversation = c.Value.ID
	}
	return r
}

// ToResponseRequest returns a request as it is sent.
func ToResponseRequest(r *responses.Request) *wire.ResponseRequest {
	w := &wire.ResponseRequest{
		Model: r.Model, Continuation: toContinuation(r),
		Store: r.Store, Metadata: r.Metadata, Background: optional(r.Background),
		Tools: toResponseTools(r), ToolChoice: toResponseToolChoice(r), ParallelToolCalls: r.ParallelToolCalls, MaxToolCalls: r.MaxToolCalls,
		Sampling: toSampling(&r.Sampling, r.Temperature, r.TopP), MaxOutputTokens: r.MaxOutputTokens, TopLogprobs: r.TopLogprobs,
		SafetyIdentifier: r.SafetyIdentifier, Truncation: r.Truncation,
		Guarding: wire.Guarding{Policies: r.Policies, Moderation: toModeration(r.Moderate)},
	}
	if r.ReasoningEffort != "" || r.ReasoningSummary != "" {
		w.Reasoning = &wire.ReasoningOptions{Effort: r.ReasoningEffort, Summary: r.ReasoningSummary}
	}
	if r.Format.Type != "" {
		w.Format = &wire.TextOptions{Format: toFormat(&r.Format)}
	}
	if r.Compact {
		w.ContextManagement = []wire.ContextManagement{{Type: "compaction", CompactThreshold: optional(r.CompactThreshold)}}
	}
	for name, wanted := range map[string]bool{includeLogprobs: r.Logprobs, includeReasoning: r.EncryptedReasoning, includeSources: r.SearchSources, includeResults: r.SearchResults} {
		if wanted {
			w.Include = append(w.Include, name)
		}
	}
	slices.Sort(w.Include)
	return w
}

// ToCompactionRequest returns what is to be compacted as it is sent.
func ToCompactionRequest(r *responses.Request) *wire.CompactionRequest {
	return &wire.CompactionRequest{Model: r.Model, Continuation: toContinuation(r)}
}

func toContinuation(r *responses.Request) wire.Continuation {
	c := wire.Continuation{Input: ToInput(r.Input), Instructions: r.Instructions, PreviousResponseID: r.PreviousResponseID}
	if r.Conversation != "" {
		c.Conversation = &wire.TextOr[wire.ConversationRef]{Text: &r.Conversation}
	}
	return c
}

func fromFormat(w *wire.Format) model.Format {
	if w == nil {
		return model.Format{}
	}
	return model.Format{Type: model.FormatType(w.Type), Name: w.Name, Description: w.Description, Schema: w.Schema, Strict: w.Strict}
}

func toFormat(f *model.Format) *wire.Format {
	w := &wire.Format{Type: string(f.Type)}
	if f.Type == model.FormatSchema {
		w.Name, w.Description, w.Schema, w.Strict = f.Name, f.Description, f.Schema, f.Strict
	}
	return w
}

// fromResponseTools reads tools: what the model is offered for them, what the caller
// calls that, and how they are shown.
func fromResponseTools(list []wire.ResponseTool, r *responses.Request) error {
	plain := true // they are all shown as they are read
	for i := range list {
		t := &list[i]
		at := fmt.Sprintf("tools[%d]", i)
		switch what := wire.KindOfTool(t.Type); what {
		case wire.SearchTool:
			r.SearchType = t.Type
			r.Tools = append(r.Tools, responses.SearchTool())
			plain = plain && t.Bare
		case wire.MCPTool:
			r.MCP = append(r.MCP, fromMCPTool(t))
			plain = false
		case wire.FileSearchTool:
			if err := addFileSearch(t, at, r); err != nil {
				return err
			}
			plain = false
		case wire.FunctionTool, wire.CustomTool:
			if err := addCallable(t, "", at, r); err != nil {
				return err
			}
			plain = plain && what == wire.FunctionTool
		case wire.OwnTool:
			addOwnTool(t, r)
			plain = false
		case wire.NamespaceTool:
			for k := range t.Tools {
				if err := addCallable(&t.Tools[k], t.Name, fmt.Sprintf("%s.tools[%d]", at, k), r); err != nil {
					return err
				}
			}
			plain = false
		default:
			plain = false
		}
	}
	if !plain {
		r.ShownTools = shownTools(list)
	}
	return nil
}

// addCallable adds a function or a custom tool.
func addCallable(t *wire.ResponseTool, namespace, at string, r *responses.Request) error {
	called := responses.ToolAlias{Namespace: namespace, Name: t.Name, Custom: t.Type == "custom"}
	tool := model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict}
	if called.Custom {
		tool = responses.CustomTool(called.Name, tool.Description, customRule(t.Format))
	}
	if namespace != "" {
		tool.Name = responses.Qualified(namespace, called.Name)
	}
	if slices.ContainsFunc(r.Tools, func(t model.Tool) bool { return t.Name == tool.Name }) {
		return fault.Invalidf(at+".name", "%s.name is %q, which another tool is called, too.", at, called.Name)
	}
	r.Tools = append(r.Tools, tool)
	if !called.Custom && namespace == "" {
		return nil
	}
	if r.ToolAliases == nil {
		r.ToolAliases = map[string]responses.ToolAlias{}
	}
	r.ToolAliases[tool.Name] = called
	return nil
}

// customRule returns what the description of a custom tool says of the form of
// its input. No model server can be relied on to enforce a grammar.
func customRule(f *wire.CustomFormat) string {
	if f == nil || f.Type != "grammar" {
		return ""
	}
	return "The input must follow this " + f.Syntax + " grammar:\n" + f.Definition
}

// shownTools returns the tools as the response shows them: functions with all of
// their fields, others as they were sent.
func shownTools(list []wire.ResponseTool) []byte {
	w := jsonout.Writer{}
	w.Array()
	for i := range list {
		t := &list[i]
		if t.Type == "mcp" {
			w.Raw(shownMCPTool(t))
		} else if t.Type == "file_search" {
			w.Raw(shownFileSearch(t))
		} else if t.Type == "function" {
			w.Raw(shownFunction(&model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict}))
		} else {
			w.Raw(t.Sent)
		}
	}
	w.EndArray()
	return w.Buf
}

// fromResponseToolChoice reads the choice among tools that have been read before.
func fromResponseToolChoice(w *wire.TextOr[wire.ResponseToolChoice], r *responses.Request) {
	switch {
	case w == nil:
	case w.Text != nil:
		r.ToolChoice = model.ToolChoice{Mode: model.ToolMode(*w.Text)}
	case w.Value.Type == "allowed_tools":
		r.ToolChoice.Mode = model.ToolMode(w.Value.Mode)
		r.AllowedTools = []string{}
		for _, t := range w.Value.Tools {
			switch wire.KindOfTool(t.Type) {
			case wire.OmittedTool:
			case wire.OwnTool:
				if _, ok := r.ToolAliases[t.Type]; ok { // it is offered
					r.AllowedTools = append(r.AllowedTools, t.Type)
				}
			case wire.MCPTool:
				r.AllowedMCP = append(r.AllowedMCP, responses.MCPChoice{Label: t.ServerLabel, Name: t.Name})
			default:
				r.AllowedTools = append(r.AllowedTools, offered(t.Type, t.Namespace, t.Name, r))
			}
		}
		r.ShownToolChoice = w.Value.Sent
	case wire.KindOfTool(w.Value.Type) == wire.MCPTool:
		r.MCPChoice = &responses.MCPChoice{Label: w.Value.ServerLabel, Name: w.Value.Name}
		r.ShownToolChoice = w.Value.Sent
	default:
		name := offered(w.Value.Type, w.Value.Namespace, w.Value.Name, r)
		r.ToolChoice = model.ToolChoice{Mode: model.ToolNamed, Name: name}
		if _, ok := r.ToolAliases[name]; ok {
			r.ShownToolChoice = w.Value.Sent
		}
	}
}

// offered returns the name under which the model is offered a tool.
func offered(kind, namespace, name string, r *responses.Request) string {
	if wire.KindOfTool(kind) == wire.SearchTool {
		return responses.SearchTool().Name
	}
	if wire.KindOfTool(kind) == wire.FileSearchTool {
		return responses.FileSearchTool().Name
	}
	if wire.KindOfTool(kind) == wire.OwnTool {
		return kind
	}
	return r.Offered(namespace, name)
}

// toResponseTools returns the tools as they are sent: as they are shown, where the
// request says how.
func toResponseTools(r *responses.Request) []wire.ResponseTool {
	if r.ShownTools != nil {
		return withSecrets(rawTools(r.ShownTools), r.MCP)
	}
	list := mapped(r.MCP, func(t *responses.MCPTool) wire.ResponseTool { return wire.ResponseTool{ToolFields: toMCPTool(t)} })
	namespaces := map[string]int{} // places in list
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Name == responses.FileSearchTool().Name && t.Search {
			list = append(list, toFileSearchTool(r.FileSearch))
			continue
		}
		if t.Search {
			list = append(list, wire.ResponseTool{ToolFields: wire.ToolFields{Type: searchType(r.SearchType)}})
			continue
		}
		called, ok := r.ToolAliases[t.Name]
		if !ok {
			called.Name = t.Name
		}
		one := wire.ResponseTool{ToolFields: wire.ToolFields{Type: "function", Name: called.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict}}
		if called.Tool != "" {
			list = append(list, wire.ResponseTool{ToolFields: wire.ToolFields{Type: called.Tool}})
			continue
		}
		if called.Custom {
			one.ToolFields = wire.ToolFields{Type: "custom", Name: called.Name, Description: t.Description}
		}
		if called.Namespace == "" {
			list = append(list, one)
			continue
		}
		at, ok := namespaces[called.Namespace]
		if !ok {
			at = len(list)
			namespaces[called.Namespace] = at
			list = append(list, wire.ResponseTool{ToolFields: wire.ToolFields{Type: "namespace", Name: called.Namespace}})
		}
		list[at].Tools = append(list[at].Tools, one)
	}
	return list
}

func toResponseToolChoice(r *responses.Request) *wire.TextOr[wire.ResponseToolChoice] {
	object := func(c wire.ResponseToolChoice) *wire.TextOr[wire.ResponseToolChoice] {
		return &wire.TextOr[wire.ResponseToolChoice]{Value: c}
	}
	choice := r.ToolChoice
	switch {
	case r.ShownToolChoice != nil:
		return rawToolChoice(r.ShownToolChoice)
	case r.MCPChoice != nil:
		return object(wire.ResponseToolChoice{Type: "mcp", ServerLabel: r.MCPChoice.Label, Name: r.MCPChoice.Name})
	case r.AllowedTools != nil:
		allowed := mapped(r.AllowedTools, func(name *string) wire.ChosenTool {
			c := chosen(*name, r)
			return wire.ChosenTool{Type: c.Type, Name: c.Name, Namespace: c.Namespace}
		})
		for _, c := range r.AllowedMCP {
			allowed = append(allowed, wire.ChosenTool{Type: "mcp", Name: c.Name, ServerLabel: c.Label})
		}
		return object(wire.ResponseToolChoice{Type: "allowed_tools", Mode: string(choice.Mode), Tools: allowed})
	case choice.Mode == "":
		return nil
	case choice.Mode == model.ToolNamed:
		return object(chosen(choice.Name, r))
	}
	text := string(choice.Mode)
	return &wire.TextOr[wire.ResponseToolChoice]{Text: &text}
}

// chosen names a tool as the caller calls it.
func chosen(name string, r *responses.Request) wire.ResponseToolChoice {
	if name == responses.SearchTool().Name && slices.ContainsFunc(r.Tools, func(t model.Tool) bool { return t.Search }) {
		return wire.ResponseToolChoice{Type: searchType(r.SearchType)}
	}
	c := wire.ResponseToolChoice{Type: "function", Name: name}
	if called, ok := r.ToolAliases[name]; ok {
		c.Name, c.Namespace = called.Name, called.Namespace
		if called.Custom {
			c.Type = "custom"
		}
		if called.Tool != "" {
			c.Type, c.Name = called.Tool, ""
		}
	}
	return c
}

func searchType(given string) string {
	if given == "" {
		return responses.WebSearchPreview
	}
	return given
}
