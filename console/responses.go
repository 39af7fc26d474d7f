package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// responseView is a stored response with all that is known of its turn.
type responseView struct {
	Token        string
	Turn         turnView
	Previous     string
	Conversation string
	CreatedAt    int64
	Response     *responses.Response
	KeyName      string
	Models       []model.Info // to try it again with
	Waited       float64      // the share of its time until the first token, 0 to 1; 0 where it is not known
	Speed        string       // of the answer, in tokens a second
	Settings     []setting
	Prompt       []promptLine
	Unread       int // items of the prompt that the page does not show
	Tools        []toolLine
}

// setting is one of a request's, where it is not the default.
type setting struct{ Name, Value string }

// promptLine is an item of the prompt.
type promptLine struct {
	itemView
	Fate string
}

// toolLine is a tool that the model was offered.
type toolLine struct{ Name, Description, Parameters string }

// How much of a prompt a page shows: bytes of an item, and of all.
const (
	maxPromptItem = 2000
	maxPrompt     = 24_000
)

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
	view := responseView{
		Token: v.session.Token, Turn: viewTurn(r, input.Items), Previous: r.Echo.PreviousResponseID, Conversation: r.Conversation,
		CreatedAt: r.CreatedAt, Response: r, Settings: settingsOf(&r.Echo), Tools: toolLines(&r.Echo),
	}
	c.openThoughts(v, view.Turn.Output)
	shorten(view.Turn.Input, maxPrompt/2)
	shorten(view.Turn.Output, maxPrompt/2)
	names := map[string]string{}
	if view.KeyName, err = c.keyName(v, names, r.Trace.Key); err != nil {
		return err
	}
	if r.Trace.FirstToken > 0 && r.Trace.Latency > 0 {
		view.Waited = min(1, float64(r.Trace.FirstToken)/float64(r.Trace.Latency))
	}
	if took := r.Trace.Latency - r.Trace.FirstToken; r.Usage != nil && took > 0 && r.Usage.OutputTokens > 0 {
		view.Speed = fmt.Sprintf("%.1f", 1000*float64(r.Usage.OutputTokens)/float64(took))
	}
	if view.Models, err = c.service.Models(v.ctx(), v.caller); err != nil {
		return err
	}
	if err := c.readPrompt(v, &view); err != nil {
		return err
	}
	return v.render("response", "Response", view)
}

// readPrompt shows the prompt of the turn: of a long one its end.
func (c *Console) readPrompt(v *request, view *responseView) error {
	items, err := c.service.ResponsePrompt(v.ctx(), v.caller, view.Response.ID)
	if err != nil {
		return err
	}
	size, from := 0, len(items)
	for from > 0 && size < maxPrompt {
		from--
		size += weight(clip(maxPromptItem, viewItem(items[from].Item).Text)) + 300
	}
	view.Unread = from
	for _, item := range items[from:] {
		line := promptLine{itemView: viewItem(item.Item), Fate: string(item.Fate)}
		if line.Sealed != "" {
			line.Text = "Reasoning, which models do not read again."
		}
		line.Partial = len(line.Text) > maxPromptItem
		line.Text = clip(maxPromptItem, line.Text)
		view.Prompt = append(view.Prompt, line)
	}
	return nil
}

// settingsOf are the settings of a request that say something.
func settingsOf(e *responses.Echo) (all []setting) {
	add := func(name string, value any) {
		switch value := value.(type) {
		case string:
			if value != "" {
				all = append(all, setting{name, value})
			}
		case *float64:
			if value != nil {
				all = append(all, setting{name, fmt.Sprint(*value)})
			}
		case *int:
			if value != nil {
				all = append(all, setting{name, fmt.Sprint(*value)})
			}
		}
	}
	add("Temperature", e.Temperature)
	add("Top p", e.TopP)
	add("Most output tokens", e.MaxOutputTokens)
	add("Most tool calls", e.MaxToolCalls)
	add("Reasoning effort", e.ReasoningEffort)
	add("Truncation", e.Truncation)
	add("Format", string(e.Format.Type))
	add("Tool choice", string(e.ToolChoice.Mode))
	add("Cache key", e.PromptCacheKey)
	if e.Background {
		add("Background", "yes")
	}
	return all
}

// toolLines are the tools that the model was offered.
func toolLines(e *responses.Echo) (all []toolLine) {
	for _, t := range e.Tools {
		if t.Search {
			all = append(all, toolLine{Name: "web search", Description: "The service's own."})
			continue
		}
		all = append(all, toolLine{Name: clip(100, t.Name), Description: clip(300, t.Description), Parameters: clip(maxPromptItem, string(t.Parameters))})
	}
	var shown []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if json.Unmarshal(e.ShownTools, &shown) == nil {
		for _, t := range shown {
			all = append(all, toolLine{Name: clip(100, cmp.Or(t.Name, t.Type)), Description: t.Type})
		}
	}
	return all
}

// responseObject sends the response as the interface shows it.
func (c *Console) responseObject(v *request) error {
	r, err := c.service.Response(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(convert.ToResponse(r), "", "  ")
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, err = v.w.Write(raw)
	return gone(err)
}

// programView is a request as programs.
type programView struct {
	ID       string
	Snippets []snippet
}

// responseProgram shows the request of a turn as programs.
func (c *Console) responseProgram(v *request) error {
	id := v.r.PathValue("id")
	r, err := c.service.Response(v.ctx(), v.caller, id)
	if err != nil {
		return err
	}
	input, err := c.service.ResponseInput(v.ctx(), v.caller, id, svc.Page{Limit: conversations.MaxPage})
	if err != nil {
		return err
	}
	body := turnJSON(r, input.Items)
	view := programView{ID: id, Snippets: snippets(v.origin(), "/v1/responses", body)}
	if len(body) > maxShown {
		view.Snippets = view.Snippets[:1] // the others are the same, and as long
		view.Snippets[0].Code = clip(maxPrompt*2, strings.ToValidUTF8(view.Snippets[0].Code, ""))
	}
	v.place = "response"
	return v.render("program", "As a program", view)
}

func (c *Console) deleteResponse(v *request) error {
	if err := c.service.DeleteResponse(v.ctx(), v.caller, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/log")
}
