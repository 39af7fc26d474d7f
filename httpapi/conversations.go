package httpapi

import (
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/wire"
)

// The spec's section Endpoints, Conversations.

func (a *API) createConversation(c *call) error {
	root, err := c.optionalBody()
	if err != nil {
		return err
	}
	tags := root.Field("metadata").Metadata()
	items := decodeItems(root.Field("items"), a.service.AnyItems())
	if err := root.Err(); err != nil {
		return err
	}
	conversation, err := a.service.CreateConversation(c.ctx(), c.caller, tags, items)
	if err != nil {
		return err
	}
	return c.json(conversation)
}

func (a *API) getConversation(c *call) error {
	conversation, err := a.service.Conversation(c.ctx(), c.caller, c.r.PathValue("conversation_id"))
	if err != nil {
		return err
	}
	return c.json(conversation)
}

func (a *API) updateConversation(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	field := root.Field("metadata")
	if field.Missing() {
		field.Fail("is required")
	}
	tags := field.Metadata()
	if err := root.Err(); err != nil {
		return err
	}
	conversation, err := a.service.UpdateConversation(c.ctx(), c.caller, c.r.PathValue("conversation_id"), tags)
	if err != nil {
		return err
	}
	return c.json(conversation)
}

func (a *API) deleteConversation(c *call) error {
	id := c.r.PathValue("conversation_id")
	if err := a.service.DeleteConversation(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "conversation.deleted", Deleted: true})
}

func (a *API) addItems(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	items := decodeItems(root.Field("items"), a.service.AnyItems())
	if err := root.Err(); err != nil {
		return err
	}
	added, err := a.service.AddConversationItems(c.ctx(), c.caller, c.r.PathValue("conversation_id"), items)
	if err != nil {
		return err
	}
	return c.written(itemList{Items: added})
}

func (a *API) listItems(c *call) error {
	p, err := pageParams(c.r.URL.Query(), true)
	if err != nil {
		return err
	}
	items, err := a.service.ConversationItems(c.ctx(), c.caller, c.r.PathValue("conversation_id"), p)
	if err != nil {
		return err
	}
	return c.written(itemList(items))
}

func (a *API) getItem(c *call) error {
	item, err := a.service.ConversationItem(c.ctx(), c.caller, c.r.PathValue("conversation_id"), c.r.PathValue("item_id"))
	if err != nil {
		return err
	}
	return c.written(item)
}

func (a *API) deleteItem(c *call) error {
	conversation, err := a.service.DeleteConversationItem(c.ctx(), c.caller, c.r.PathValue("conversation_id"), c.r.PathValue("item_id"))
	if err != nil {
		return err
	}
	return c.json(conversation)
}

// decodeItems reads the items of a conversation: as the spec allows them here
// messages of the user with text, or where the operator has said so any that a
// turn takes.
func decodeItems(n *jsonin.Node, any bool) []conversations.Item {
	var items []conversations.Item
	for _, item := range n.Items(conversations.MaxItems) {
		if any {
			if decoded := decodeItem(item, item.Field("type").Text()); decoded != nil {
				items = append(items, decoded)
			}
			continue
		}
		if t := item.Field("type"); !t.Absent() && t.Text() != "message" {
			t.Fail(`must be "message"; ` + fromTurns)
		}
		if item.Field("role").Text() != string(model.User) {
			item.Field("role").Fail(`must be "user"; ` + fromTurns)
		}
		items = append(items, &conversations.Message{Role: model.User, Content: decodeTextContent(item.Field("content"))})
	}
	return items
}

// fromTurns says how other items than the user's messages come into a
// conversation.
const fromTurns = "others are written by responses with this conversation, or are taken where the server is configured with conversation_items any"

func decodeTextContent(n *jsonin.Node) []conversations.Part {
	if n.IsText() {
		return []conversations.Part{{Type: conversations.InputText, Text: n.Text()}}
	}
	if !n.IsArray() {
		n.Fail("must be a string or an array of text parts")
		return nil
	}
	var parts []conversations.Part
	for _, p := range n.Items(maxParts) {
		if p.Field("type").Text() != string(conversations.InputText) {
			p.Field("type").Fail(`must be "input_text": only text is accepted here`)
		}
		parts = append(parts, conversations.Part{Type: conversations.InputText, Text: requiredText(p.Field("text"))})
	}
	return parts
}

// maxParts is how many parts the content of one message may have.
const maxParts = 1000

// requiredText returns a string that must be there.
func requiredText(n *jsonin.Node) string {
	if n.Absent() {
		n.Fail("is required")
	}
	return n.Text()
}
