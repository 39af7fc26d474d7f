package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/model"
)

// ToolAlias is what the caller of a request calls one of its tools, where that is
// not the function that the model is offered.
type ToolAlias struct {
	Namespace string // that the function belongs to; empty is none
	Name      string // there
	Custom    bool   // a custom tool: its input is text, not JSON
	Tool      string // shell, local_shell or apply_patch: that tool, not a function; see [OwnTool]
}

// SearchTool returns the web search tool, for the tools of a [Request], as models
// see it.
func SearchTool() model.Tool {
	return model.Tool{
		Name:        searchName,
		Description: "Search the web. Use it for anything that may have changed recently or that you are not sure of.",
		Parameters:  searchParameters,
		Search:      true,
	}
}

const searchName = "web_search"

var searchParameters = json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"},` +
	`"minItems":1,"maxItems":5,"description":"What to search for: one to five queries, which run at once."}},` +
	`"required":["queries"],"additionalProperties":false}`)

// CustomTool returns a custom tool as models see it: a function with one string.
// The rule, which may be empty, says what that has to look like.
func CustomTool(name, description, rule string) model.Tool {
	if rule != "" {
		description = strings.TrimLeft(description+"\n\n"+rule, "\n")
	}
	return model.Tool{Name: name, Description: description, Parameters: customParameters}
}

// OwnTool returns the tool shell, local_shell or apply_patch as models see it: a function
// whose arguments are the action of its calls. The caller runs it.
func OwnTool(kind string) model.Tool {
	return model.Tool{Name: kind, Description: ownTools[kind].description, Parameters: json.RawMessage(ownTools[kind].parameters)}
}

var ownTools = map[string]struct{ description, parameters string }{
	"shell": {"Run shell commands on the user's machine. The commands of one call run at once.",
		`{"type":"object","properties":{"commands":{"type":"array","items":{"type":"string"},"minItems":1},"timeout_ms":{"type":"integer"},` +
			`"max_output_length":{"type":"integer","description":"Characters of the output that are wanted."}},"required":["commands"],"additionalProperties":false}`},
	"local_shell": {"Run a command on the user's machine.",
		`{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},"minItems":1,"description":"The program and its arguments."},` +
			`"working_directory":{"type":"string"},"timeout_ms":{"type":"integer"}},"required":["command"],"additionalProperties":false}`},
	"apply_patch": {"Create, update or delete a file. The diff has the lines of the V4A format: those of context begin with a blank, removed ones with -, added ones with +, and @@ begins a section.",
		`{"type":"object","properties":{"type":{"type":"string","enum":["create_file","update_file","delete_file"]},"path":{"type":"string"},` +
			`"diff":{"type":"string","description":"Not for delete_file."}},"required":["type","path"],"additionalProperties":false}`},
}

var customParameters = json.RawMessage(`{"type":"object","properties":{"` + generation.CustomParameter + `":{"type":"string",` +
	`"description":"The whole input of the tool, as plain text."}},"required":["` + generation.CustomParameter + `"],"additionalProperties":false}`)

// Qualified returns the name under which models are offered a function of a
// namespace. It depends on nothing else, so that a call in the history keeps the
// name that it was made under.
func Qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	whole := strings.TrimRight(namespace, "_") + "__" + name
	plain := unusual.ReplaceAllString(whole, "_")
	const most = 64 // characters of a function's name
	if len(plain) <= most {
		return plain
	}
	sum := sha256.Sum256([]byte(whole))
	digest := "_" + hex.EncodeToString(sum[:4])
	return plain[:most-len(digest)] + digest
}

// unusual is what the name of a function cannot have.
var unusual = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// alias returns what the caller calls the tool that models know by a name.
func (r *Request) alias(name string) ToolAlias {
	if c, ok := r.ToolAliases[name]; ok {
		return c
	}
	return ToolAlias{Name: name}
}

// leaveOut takes web search out of the settings of a request where there is no
// search service: the model may go on without it. It is an Invalid error to
// demand it.
func (s *Service) leaveOut(settings *generation.Settings) error {
	if s.engine != nil || !searches(settings.Tools) {
		return nil
	}
	if settings.ToolChoice.Mode == model.ToolNamed && settings.ToolChoice.Name == searchName {
		return errNoSearch("tool_choice")
	}
	settings.Tools = slices.DeleteFunc(slices.Clone(settings.Tools), isWebSearch)
	if settings.AllowedTools != nil {
		settings.AllowedTools = slices.DeleteFunc(slices.Clone(settings.AllowedTools), func(name string) bool { return name == searchName })
	}
	if len(settings.Tools) == 0 && settings.ToolChoice.Mode == model.ToolRequired {
		return errNoSearch("tool_choice")
	}
	return nil
}

func errNoSearch(param string) error {
	return fault.Invalidf(param, "Web search is not configured on this server: start svcd with -search or SVC_SEARCH_URL set to the base URL of a SearXNG service, or do not demand the tool.")
}

// searches reports whether web search is among tools.
func searches(tools []model.Tool) bool {
	return slices.ContainsFunc(tools, isWebSearch)
}

func isWebSearch(t model.Tool) bool { return t.Search && t.Name == searchName }

// Offered returns the name under which the model is offered the tool that the
// caller calls by a name. The namespace may be left out where the name is clear
// without.
func (r *Request) Offered(namespace, name string) string {
	if namespace != "" || slices.ContainsFunc(r.Tools, func(t model.Tool) bool { return t.Name == name }) {
		return Qualified(namespace, name)
	}
	found := name
	for offered, c := range r.ToolAliases {
		if c.Name != name {
			continue
		}
		if found != name {
			return name // it is not clear
		}
		found = offered
	}
	return found
}
