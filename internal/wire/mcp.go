package wire

import (
	"encoding/json"
	"regexp"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// MCPFilter chooses tools of a server.
type MCPFilter struct {
	ToolNames []string `json:"tool_names,omitzero"`
	ReadOnly  *bool    `json:"read_only,omitempty"`
}

// MCPApproval says which calls need approval, where that is not always or never.
type MCPApproval struct {
	Always   *MCPFilter   `json:"always,omitempty"`
	Never    *MCPFilter   `json:"never,omitempty"`
	Decision *MCPDecision `json:"decision,omitempty"`
}

// MCPDecision judges a call: yes makes it without approval.
type MCPDecision struct {
	Question  DecisionQuestion `json:"question"`
	Threshold float64          `json:"threshold,omitempty"`
	Error     float64          `json:"error,omitempty"`
}

// MCPListedTool is a tool of an item mcp_list_tools.
type MCPListedTool struct {
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	InputSchema json.RawMessage `json:"input_schema" api:"object"`
	Annotations *MCPAnnotations `json:"annotations"`
}

// MCPAnnotations are what a server says of a tool.
type MCPAnnotations struct {
	ReadOnly bool `json:"read_only"`
}

// mcpLabel is what a server may be called: names of its tools are made with it.
var mcpLabel = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// maxMCPNames is how many names a filter may have, and how many headers there may be.
const maxMCPNames = 128

func (t *ResponseTool) checkMCP(n *jsonin.Node) {
	if label := n.Field("server_label"); !label.Absent() && !mcpLabel.MatchString(t.ServerLabel) {
		label.Fail("must be 1 to 64 letters, digits, underscores or hyphens")
	}
	if allowed := n.Field("allowed_tools"); !allowed.Absent() {
		checkMCPFilter(allowed)
	}
	if approval := n.Field("require_approval"); approval.IsObject() {
		for m := range approval.Fields() {
			switch m.Name() {
			case "always", "never":
				if !m.Absent() {
					checkMCPFilter(m)
				}
			case "decision":
				checkMCPDecision(m)
			default:
				m.Fail("is not known: there are the filters always and never, and decision")
			}
		}
		if d := approval.Field("decision"); !d.Absent() && !(approval.Field("always").Absent() && approval.Field("never").Absent()) {
			d.Fail("cannot stand beside filters")
		}
	} else if !approval.Absent() && approval.Text() != "always" && approval.Text() != "never" {
		approval.Fail(`must be "always", "never" or an object with filters`)
	}
	headers, count := n.Field("headers"), 0
	if headers.IsObject() {
		for m := range headers.Fields() {
			if count++; !m.IsText() {
				m.Fail("must be a string")
			}
		}
	}
	if count > maxMCPNames {
		headers.Fail("must have at most %d headers", maxMCPNames)
	}
}

// checkMCPDecision refuses what is no question of yes or no with one bound.
func checkMCPDecision(n *jsonin.Node) {
	question := n.Field("question")
	if question.Field("type").Text() != "noul" {
		question.Field("type").Fail(`must be "noul"`)
	}
	if i := question.Field("instructions"); i.Text() == "" {
		i.Fail("must be a text")
	}
	bounds := 0
	for _, name := range []string{"threshold", "error"} {
		bound := n.Field(name)
		if bound.Absent() {
			continue
		}
		bounds++
		if x := bound.Number(); x != nil && !(*x > 0 && *x <= 1) {
			bound.Fail("must be above 0 and at most 1")
		}
	}
	if bounds != 1 {
		n.Fail("must have either threshold or error")
	}
}

// checkMCPFilter refuses what is neither a list of names nor an object with some.
func checkMCPFilter(n *jsonin.Node) {
	names := n
	if n.IsObject() {
		names = n.Field("tool_names")
		if only := n.Field("read_only"); !only.Absent() {
			only.True()
		}
		for m := range n.Fields() {
			if m.Name() != "tool_names" && m.Name() != "read_only" {
				m.Fail("is not known: a filter has tool_names and read_only")
			}
		}
		if names.Absent() {
			return
		}
	}
	if !names.IsArray() {
		names.Fail("must be an array of names")
		return
	}
	for _, name := range names.Items(maxMCPNames) {
		if !name.IsText() {
			name.Fail("must be a string")
		}
	}
}
