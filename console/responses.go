package console

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/convert"
)

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
	return v.redirect("/log")
}
