package console

import (
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/responses"
)

// responseLine is a response in the list, with its place in the tree of those
// that continue one another: as far as they are on the same page.
type responseLine struct {
	Response *responses.Response
	Depth    int    // how many of its ancestors stand above it
	Text     string // how its answer begins
}

func (c *Console) responsesPage(v *request) error {
	if v.find(strings.TrimSpace(v.r.FormValue("q"))) {
		return nil
	}
	found, err := search(v,
		func(p svc.Page) (svc.List[*responses.Response], error) {
			return c.service.Responses(v.ctx(), v.caller, p)
		},
		func(r *responses.Response) string { return r.ID },
		func(r *responses.Response, words string) bool {
			return has(words, r.Echo.Model, string(r.Status), r.Conversation, r.OutputText()) || hasTag(words, r.Echo.Metadata)
		})
	if err != nil {
		return err
	}
	result := list[responseLine]{Token: found.Token, Items: tree(found.Items), Query: found.Query, Next: found.Next, Noted: found.Noted}
	return v.render("responses", "Responses", result)
}

// maxDepth is how deep the tree is drawn.
const maxDepth = 12

// tree orders responses so that each stands below the one that it continues,
// branches one after another. Those that continue none of the others keep their
// order.
func tree(all []*responses.Response) []responseLine {
	here := make(map[string]bool, len(all))
	for _, r := range all {
		here[r.ID] = true
	}
	next := make(map[string][]*responses.Response)
	for _, r := range all {
		parent := r.Echo.PreviousResponseID
		if !here[parent] {
			parent = ""
		}
		next[parent] = append(next[parent], r)
	}
	lines := make([]responseLine, 0, len(all))
	type due struct {
		response *responses.Response
		depth    int
	}
	var stack []due
	push := func(parent string, depth int) {
		children := next[parent]
		for i := len(children) - 1; i >= 0; i-- {
			stack = append(stack, due{children[i], depth})
		}
	}
	push("", 0)
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		lines = append(lines, responseLine{Response: top.response, Depth: min(top.depth, maxDepth), Text: clip(160, top.response.OutputText())})
		push(top.response.ID, top.depth+1)
	}
	return lines
}

// responseView is a stored response.
type responseView struct {
	Token        string
	Turn         turnView
	Previous     string
	Conversation string
	CreatedAt    int64
	Raw          string // the response object
}

func (c *Console) responsePage(v *request) error {
	id := v.r.PathValue("id")
	r, err := c.service.Response(v.ctx(), v.caller, id)
	if err != nil {
		return err
	}
	input, err := c.service.ResponseInput(v.ctx(), v.caller, id, svc.Page{Limit: conversations.MaxPage})
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(convert.ToResponse(r), "", "  ")
	if err != nil {
		return err
	}
	return v.render("response", "Response", responseView{
		Token: v.session.Token, Turn: viewTurn(r, input.Items), Previous: r.Echo.PreviousResponseID, Conversation: r.Conversation,
		CreatedAt: r.CreatedAt, Raw: clip(maxShown, string(raw)),
	})
}

func (c *Console) deleteResponse(v *request) error {
	if err := c.service.DeleteResponse(v.ctx(), v.caller, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/responses")
}
