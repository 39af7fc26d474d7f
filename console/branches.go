package console

import (
	"net/url"
	"slices"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// maxBranches is how many turns of a conversation the tree of its branches has.
const maxBranches = 100

// branchLine is a turn in the tree of a conversation.
type branchLine struct {
	ID      string // of the turn
	Leaf    string // where it was continued to last
	Depth   int    // how often the way to it forks
	Asked   string
	Status  string
	Current bool // it is among the turns shown
}

// branches are the turns of a conversation by the one that they continue.
type branches map[string][]*responses.Response

// leaf returns the turn that was reached last from one.
func (b branches) leaf(id string) string {
	for range maxBranches {
		next := b[id]
		if len(next) == 0 {
			break
		}
		id = next[len(next)-1].ID
	}
	return id
}

// readBranches tells each turn shown of those beside it, and draws the tree where the
// conversation forks.
func (c *Console) readBranches(v *request, form *respondForm) error {
	if form.conversation == "" {
		return nil
	}
	all, err := c.service.Branches(v.ctx(), v.caller, form.conversation, maxBranches)
	if err != nil {
		return err
	}
	tree, forks := branches{}, false
	for _, r := range all {
		if previous := r.Echo.PreviousResponseID; previous != "" {
			tree[previous] = append(tree[previous], r)
			forks = forks || len(tree[previous]) > 1
		}
	}
	current := map[string]bool{}
	for i := range form.Turns {
		t := &form.Turns[i]
		current[t.ID] = true
		beside := tree[t.previous]
		at := slices.IndexFunc(beside, func(r *responses.Response) bool { return r.ID == t.ID })
		if t.previous == "" || at < 0 || len(beside) < 2 {
			continue
		}
		t.Siblings = siblings{Place: at + 1, Count: len(beside)}
		if at > 0 {
			t.Siblings.Earlier = tree.leaf(beside[at-1].ID)
		}
		if at+1 < len(beside) {
			t.Siblings.Later = tree.leaf(beside[at+1].ID)
		}
	}
	if !forks {
		return nil
	}
	return c.drawTree(v, form, all, tree, current)
}

// drawTree lists the turns of a conversation, each below the one that it continues.
func (c *Console) drawTree(v *request, form *respondForm, all []*responses.Response, tree branches, current map[string]bool) error {
	here := map[string]bool{}
	for _, r := range all {
		here[r.ID] = true
	}
	var draw func(r *responses.Response, depth int) error
	draw = func(r *responses.Response, depth int) error {
		input, err := c.service.ResponseInput(v.ctx(), v.caller, r.ID, svc.Page{Limit: conversations.MaxPage})
		if err != nil && !fault.Is(err, fault.NotFound) { // it was deleted meanwhile
			return err
		}
		form.Branches = append(form.Branches, branchLine{
			ID: r.ID, Leaf: tree.leaf(r.ID), Depth: min(depth, maxDepth), Asked: headline(askedIn(input.Items)), Status: string(r.Status), Current: current[r.ID],
		})
		for _, next := range tree[r.ID] {
			further := depth
			if len(tree[r.ID]) > 1 {
				further++
			}
			if err := draw(next, further); err != nil {
				return err
			}
		}
		return nil
	}
	for _, r := range all {
		if !here[r.Echo.PreviousResponseID] {
			if err := draw(r, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxDepth is how deep a tree is drawn.
const maxDepth = 12

// edits sets the form up to ask again in the place of a turn: what stands there is a
// branch beside it.
func (c *Console) edits(v *request, form *respondForm, id string) error {
	r, err := c.service.Response(v.ctx(), v.caller, id)
	if err != nil {
		return err
	}
	input, err := c.service.ResponseInput(v.ctx(), v.caller, id, svc.Page{Limit: conversations.MaxPage})
	if err != nil {
		return err
	}
	form.Edits, form.Previous = id, r.Echo.PreviousResponseID
	form.likewise(r)
	for _, item := range viewItems(input.Items) {
		if item.Kind == "message" && item.Role == string(model.User) {
			form.FileIDs = append(form.FileIDs, item.Files...)
			if !item.Partial && weight(item.Text) <= maxShown {
				form.Text = item.Text
			} else {
				form.Wrong = "The message is too long to be edited here."
			}
		}
	}
	return nil
}

// again makes a turn once more, with another model if the form names one: a branch
// beside the first. It is made in the background, and its page follows it.
func (c *Console) again(v *request) error {
	id := v.r.PathValue("id")
	r, err := c.service.Response(v.ctx(), v.caller, id)
	if err != nil {
		return err
	}
	input, err := c.service.ResponseInput(v.ctx(), v.caller, id, svc.Page{Limit: conversations.MaxPage})
	if err != nil {
		return err
	}
	if _, err := c.service.Admit(v.caller); err != nil {
		return err
	}
	req := &responses.Request{
		Model: r.Echo.Model, Instructions: r.Echo.Instructions, PreviousResponseID: r.Echo.PreviousResponseID, Input: withoutIDs(input.Items), Tools: r.Echo.Tools,
		Temperature: r.Echo.Temperature, TopP: r.Echo.TopP, ReasoningEffort: r.Echo.ReasoningEffort, Format: r.Echo.Format, Truncation: r.Echo.Truncation,
		MaxOutputTokens: r.Echo.MaxOutputTokens, EncryptedReasoning: true, Background: true,
	}
	if other := v.r.PostForm.Get("model"); other != "" {
		req.Model = other
	}
	events, err := c.service.StreamResponse(v.ctx(), v.caller, req)
	if err != nil {
		return err
	}
	for event, err := range events {
		if err != nil {
			return err
		}
		if event.Response != nil {
			return v.redirect("/respond?response=" + url.QueryEscape(event.Response.ID))
		}
	}
	return fault.Missing(responses.CodeEventsLost, "response", id)
}

// openThoughts puts what a model has thought into the items that have it sealed. One
// that cannot be opened stays closed.
func (c *Console) openThoughts(v *request, items []itemView) {
	for i := range items {
		if items[i].Sealed == "" {
			continue
		}
		if thought, err := c.service.OpenThought(v.ctx(), v.caller, items[i].Sealed); err == nil {
			items[i].Text = clip(maxShown, thought.Text)
		}
	}
}
