package console

import (
	"fmt"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/chat"
)

func answerOf(completion chat.Completion) string {
	if completion.Content != nil {
		return *completion.Content
	}
	return ""
}

// completionView is a stored chat completion with the messages it answers.
type completionView struct {
	Token      string
	Completion *chat.Completion
	Messages   []itemView
	Answer     []itemView
	Next       string
	KeyName    string
}

func (c *Console) completionPage(v *request) error {
	id := v.r.PathValue("id")
	completion, err := c.service.ChatCompletion(v.ctx(), v.caller, id)
	if err != nil {
		return err
	}
	messages, err := c.service.ChatMessages(v.ctx(), v.caller, id, svc.Page{Limit: pageSize, After: v.r.FormValue("after")})
	if err != nil {
		return err
	}
	view := completionView{Token: v.session.Token, Completion: completion}
	for _, m := range messages.Items {
		view.Messages = append(view.Messages, viewMessage(m))
	}
	shorten(view.Messages, maxTurnsShown/2)
	if n := len(messages.Items); n > 0 {
		view.Next = nextPage(messages.HasMore, messages.Items[n-1].ID, "")
	}
	if text := answerOf(*completion); text != "" {
		view.Answer = append(view.Answer, itemView{Kind: "message", Role: "assistant", Text: clip(maxShown, text), HTML: renderMarkdown(clip(maxShown, text))})
	}
	for _, call := range completion.ToolCalls {
		view.Answer = append(view.Answer, itemView{Kind: "call", Name: call.Name, Text: clip(maxShown, call.Arguments)})
	}
	shorten(view.Answer, maxTurnsShown/3)
	names := map[string]string{}
	if view.KeyName, err = c.keyName(v, names, completion.Trace.Key); err != nil {
		return err
	}
	return v.render("completion", "Completion", view)
}

func viewMessage(m chat.StoredMessage) itemView {
	view := itemView{ID: m.ID, Kind: "message", Role: string(m.Role)}
	var text []string
	for _, part := range m.Content {
		switch p := part.(type) {
		case chat.Text:
			text = append(text, string(p))
		default:
			text = append(text, fmt.Sprintf("(%T)", p))
		}
	}
	for _, call := range m.ToolCalls {
		text = append(text, call.Name+" "+call.Arguments)
	}
	view.Text = clip(maxShown, strings.Join(text, "\n"))
	view.Partial = strings.HasSuffix(view.Text, "…")
	return view
}

func (c *Console) deleteCompletion(v *request) error {
	if err := c.service.DeleteChatCompletion(v.ctx(), v.caller, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/log")
}
