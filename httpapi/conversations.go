package httpapi

import (
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/page"
)

// The spec's section Endpoints, Conversations.

func (a *API) createConversation(c *call) error {
	tags, items, err := a.conversationBody(c)
	if err != nil {
		return err
	}
	conversation, err := a.service.CreateConversation(c.ctx(), c.caller, tags, items)
	if err != nil {
		return err
	}
	return c.json(convert.ToConversation(&conversation))
}

func (a *API) getConversation(c *call) error {
	conversation, err := a.service.Conversation(c.ctx(), c.caller, c.r.PathValue("conversation_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToConversation(&conversation))
}

func (a *API) updateConversation(c *call) error {
	body := &wire.MetadataRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	conversation, err := a.service.UpdateConversation(c.ctx(), c.caller, c.r.PathValue("conversation_id"), body.Tags())
	if err != nil {
		return err
	}
	return c.json(convert.ToConversation(&conversation))
}

func (a *API) deleteConversation(c *call) error {
	id := c.r.PathValue("conversation_id")
	if err := a.service.DeleteConversation(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "conversation.deleted", Deleted: true})
}

func (a *API) addItems(c *call) error {
	items, err := a.itemsBody(c)
	if err != nil {
		return err
	}
	added, err := a.service.AddConversationItems(c.ctx(), c.caller, c.r.PathValue("conversation_id"), items)
	if err != nil {
		return err
	}
	return c.json(convert.ToItemList(page.Page[conversations.Item]{Items: added}))
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
	return c.json(convert.ToItemList(items))
}

func (a *API) getItem(c *call) error {
	item, err := a.service.ConversationItem(c.ctx(), c.caller, c.r.PathValue("conversation_id"), c.r.PathValue("item_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToItem(item))
}

func (a *API) deleteItem(c *call) error {
	conversation, err := a.service.DeleteConversationItem(c.ctx(), c.caller, c.r.PathValue("conversation_id"), c.r.PathValue("item_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToConversation(&conversation))
}

// conversationBody reads what a conversation is made with: as the spec allows it
// here the user's messages with text, or where the operator has said so any items
// that a turn takes.
func (a *API) conversationBody(c *call) (tags map[string]string, items []conversations.Item, err error) {
	root, err := c.optionalBody()
	if err != nil {
		return nil, nil, err
	}
	any, user := &wire.ConversationRequest{}, &wire.UserConversationRequest{}
	if a.service.AnyItems() {
		err = c.decode(root, any)
	} else {
		err = c.decode(root, user)
		any.Metadata, any.Items = user.Metadata, wire.InputItems(user.Items)
	}
	if err != nil {
		return nil, nil, err
	}
	return convert.FromTags(any.Metadata), convert.FromInputItems(any.Items), nil
}

// itemsBody reads the items that are added to a conversation.
func (a *API) itemsBody(c *call) ([]conversations.Item, error) {
	any, user := &wire.ItemsRequest{}, &wire.UserItemsRequest{}
	if a.service.AnyItems() {
		if err := c.request(any); err != nil {
			return nil, err
		}
		return convert.FromInputItems(any.Items), nil
	}
	if err := c.request(user); err != nil {
		return nil, err
	}
	return convert.FromInputItems(wire.InputItems(user.Items)), nil
}
