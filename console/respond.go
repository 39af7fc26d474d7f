package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// maxTurns is how many turns of a conversation a page shows.
const maxTurns = 50

// respondForm is the playground for responses: the turns that led to a response,
// and the form for the next.
type respondForm struct {
	Token        string
	Models       []model.Info
	Model        string
	Instructions string
	Previous     string // the response that the next turn continues from
	Earlier      string // a response before the first turn shown, where there is one
	Turns        []turnView
	Calls        []*conversations.FunctionCall       // of the last turn, which wait for their outputs
	Asks         []*conversations.MCPApprovalRequest // of the last turn, which wait for approval
	MCP          []mcpChoice
	mcpLabels    []string
	Search       bool
	Tools        string
	Text         string       // what the message begins with: that of a turn to be tried again or edited
	FileIDs      []string     // that the message has: those of a turn to be edited
	Branches     []branchLine // the turns of the conversation, where it forks
	Edits        string       // the turn that the next one stands beside
	Draft        string       // under which the browser keeps what is being written
	Wrong        string       // why the turns shown cannot be continued
	conversation string
}

// turnView is a turn of a conversation: what was said to the model, and what
// came of it.
type turnView struct {
	ID       string
	Status   string
	Model    string
	Error    string
	Input    []itemView
	Output   []itemView
	Tokens   string
	Cost     accounts.Micros
	Took     int64 // milliseconds
	Running  bool  // whether it is still being made
	Ended    bool  // whether a turn can continue from it
	Siblings siblings
	previous string
}

// siblings are the turns that continue from the same one.
type siblings struct {
	Place, Count   int
	Earlier, Later string // responses that the switcher leads to
}

// itemView is an item of a conversation as it is shown.
type itemView struct {
	ID      string
	Kind    string // message, call, output, search, reasoning, compaction, tools, called, asks, approval, denial, or other
	Failed  bool   // of a call that the service made
	Role    string
	Name    string        // of a call: the function; of a search: what was searched
	Text    string        // of a search: what was found
	HTML    template.HTML // Text as rendered Markdown, of what a model has said; empty for none
	Files   []string      // IDs
	Sealed  string        // of reasoning
	Partial bool          // whether Text was cut
}

// weight is how many bytes a text has on a page, at most: some characters are written
// as five.
func weight(text string) int {
	n := len(text)
	for i := range len(text) {
		switch text[i] {
		case '"', '<', '>', '&', '\'', '+':
			n += 4
		}
	}
	return n
}

// shorten cuts what a page shows of items to so many bytes of HTML in all: what short
// ones leave is for those behind them. It returns how many they have.
func shorten(items []itemView, total int) (shown int) {
	for i := range items {
		item := &items[i]
		share := max((total-shown)/(len(items)-i), 200)
		if len(item.HTML) > share {
			item.HTML = ""
		}
		if n := weight(item.Text); n > share && item.HTML == "" {
			item.Text, item.Partial = clip(int(int64(len(item.Text))*int64(share)/int64(n)), item.Text), true
		}
		if item.HTML != "" {
			shown += len(item.HTML)
		} else {
			shown += weight(item.Text)
		}
		shown += weight(item.Name)
	}
	return shown
}

// maxShown is how much of one text a page shows, in bytes, and maxTurnsShown how much
// of all turns of a conversation.
const (
	maxShown      = 20_000
	maxTurnsShown = 60_000
)

func viewItems(items []conversations.Item) []itemView {
	var all []itemView
	for _, item := range items {
		view := viewItem(item)
		if view.Partial = len(view.Text) > maxShown; view.Partial {
			view.Text = clip(maxShown, view.Text)
		} else if view.Role == string(model.Assistant) {
			view.HTML = renderMarkdown(view.Text)
		}
		all = append(all, view)
	}
	return all
}

func viewItem(item conversations.Item) itemView {
	view := itemView{ID: item.ItemID(), Kind: "other"}
	switch item := item.(type) {
	case *conversations.Message:
		view.Kind, view.Role = "message", string(item.Role)
		var text []string
		for _, p := range item.Content {
			if p.FileID != "" || p.Inline != nil {
				name := p.FileID
				if p.Inline != nil {
					name = p.Inline.Name
				}
				view.Files = append(view.Files, name)
				continue
			}
			text = append(text, p.Text)
		}
		view.Text = strings.Join(text, "\n")
	case *conversations.FunctionCall:
		view.Kind, view.Name, view.Text = "call", item.Name, item.Arguments
	case *conversations.FunctionCallOutput:
		view.Kind, view.Name, view.Text = "output", item.CallID, item.Output
	case *conversations.Compaction:
		view.Kind, view.Text = "compaction", item.Summary
	case *conversations.Reasoning:
		view.Kind, view.Sealed = "reasoning", item.Sealed
	case *conversations.FileSearch:
		view.Kind, view.Name = "search", strings.Join(item.Queries, " · ")
		for _, p := range item.Passages {
			view.Text += fmt.Sprintf("[%d] %s\n%s\n\n", p.Number, p.Filename, p.Text)
		}
	case *conversations.WebSearch:
		view.Kind, view.Name, view.Text = "search", strings.Join(item.Queries, " · "), item.Results
	default:
		viewMCP(&view, item)
	}
	return view
}

func viewTurn(r *responses.Response, input []conversations.Item) turnView {
	t := turnView{
		ID: r.ID, Status: string(r.Status), Model: r.Echo.Model, Input: viewItems(input), Output: viewItems(r.Output),
		Running: r.Status == responses.InProgress, previous: r.Echo.PreviousResponseID,
	}
	t.Ended = !t.Running && r.Status != responses.Failed && r.Status != responses.Cancelled
	if r.Error != nil {
		t.Error = fmt.Sprintf("%s (%s) The server's log has the cause beside %s.", r.Error.Message, r.Error.Code, r.ID)
	}
	if u := r.Usage; u != nil {
		t.Tokens = fmt.Sprintf("%s in, %s out", grouped(int64(u.InputTokens)), grouped(int64(u.OutputTokens)))
	}
	t.Cost, t.Took = r.Trace.Cost, r.Trace.Latency
	return t
}

func (c *Console) respondPage(v *request) error {
	form := respondForm{Previous: v.r.FormValue("response"), Model: v.r.FormValue("model")}
	if id := v.r.FormValue("edit"); id != "" {
		if err := c.edits(v, &form, id); err != nil {
			return err
		}
	}
	return c.showRespond(v, form)
}

func (c *Console) showRespond(v *request, form respondForm) error {
	form.Token = v.session.Token
	models, err := c.service.Models(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	for _, info := range models {
		if info.Generates {
			form.Models = append(form.Models, info)
		}
	}
	if err := c.readTurns(v, &form); err != nil {
		return err
	}
	if err := c.readBranches(v, &form); err != nil {
		return err
	}
	c.offersMCP(v, &form)
	form.Draft = cmp.Or(form.Edits, form.Previous)
	return v.render("respond", "Chat", form)
}

// readTurns follows the turns back from the one that is continued.
func (c *Console) readTurns(v *request, form *respondForm) error {
	last, shown := form.Previous, 0
	for id := last; id != ""; {
		if len(form.Turns) == maxTurns || shown > maxTurnsShown/2 {
			form.Earlier = id
			break
		}
		r, err := c.service.Response(v.ctx(), v.caller, id)
		if err != nil {
			if id != last && fault.From(err).Kind == fault.NotFound {
				break // an earlier one was deleted
			}
			return err
		}
		input, err := c.service.ResponseInput(v.ctx(), v.caller, id, svc.Page{Limit: conversations.MaxPage})
		if err != nil {
			return err
		}
		turn := viewTurn(r, input.Items)
		if len(form.Turns) == 0 {
			form.continues(r, turn)
		}
		c.openThoughts(v, turn.Output)
		shown += shorten(turn.Input, maxTurnsShown/4) + shorten(turn.Output, maxTurnsShown/4)
		form.Turns = append([]turnView{turn}, form.Turns...)
		id = r.Echo.PreviousResponseID
	}
	return nil
}

// turnJSON is the request of a turn as a client writes it.
func turnJSON(r *responses.Response, input []conversations.Item) []byte {
	var tools []any
	for _, tool := range r.Echo.Tools {
		if tool.Search {
			tools = append(tools, map[string]string{"type": responses.WebSearchPreview})
			continue
		}
		tools = append(tools, wireOf(tool))
	}
	return marshal(struct {
		Model        string               `json:"model"`
		Instructions string               `json:"instructions,omitempty"`
		Previous     string               `json:"previous_response_id,omitempty"`
		Input        []conversations.Item `json:"input"`
		Tools        []any                `json:"tools,omitempty"`
	}{r.Echo.Model, r.Echo.Instructions, r.Echo.PreviousResponseID, withoutIDs(input), tools})
}

// withoutIDs are input items as a caller sends them: the service names them anew.
func withoutIDs(items []conversations.Item) []conversations.Item {
	var all []conversations.Item
	for _, item := range items {
		switch item := item.(type) {
		case *conversations.Message:
			m := *item
			m.ID, m.Status = "", ""
			all = append(all, &m)
		case *conversations.FunctionCallOutput:
			o := *item
			o.ID = ""
			all = append(all, &o)
		default:
			all = append(all, item)
		}
	}
	return all
}

// continues sets the form up for the turn after r: the same model, tools and
// instructions, and the outputs that r waits for. A turn that failed is tried
// again instead, as nothing can continue from it.
func (f *respondForm) continues(r *responses.Response, turn turnView) {
	f.conversation = r.Conversation
	if f.Edits != "" {
		return // that of the turn that is edited is set up
	}
	if !turn.Ended && !turn.Running {
		f.Previous = r.Echo.PreviousResponseID
		for _, item := range turn.Input {
			if item.Kind == "message" && item.Role == string(model.User) && !item.Partial && weight(item.Text) <= maxShown {
				f.Text = item.Text
			}
		}
	}
	f.likewise(r)
	if !turn.Ended {
		return
	}
	for _, item := range r.Output {
		switch item := item.(type) {
		case *conversations.FunctionCall:
			f.Calls = append(f.Calls, item)
		case *conversations.MCPApprovalRequest:
			f.Asks = append(f.Asks, item)
		}
	}
}

// likewise sets the form up for a turn with the model, the instructions and the tools
// of r.
func (f *respondForm) likewise(r *responses.Response) {
	f.Model, f.Instructions = cmp.Or(f.Model, r.Echo.Model), r.Echo.Instructions
	var tools []model.Tool
	for _, tool := range r.Echo.Tools {
		if tool.Search {
			f.Search = true
			continue
		}
		tools = append(tools, tool)
	}
	f.Tools = toolsJSON(tools)
	f.likeShown(r.Echo.ShownTools)
}

// respond makes a turn. A browser with scripts follows it as it is made; another
// one is led to the page that shows it.
func (c *Console) respond(v *request) error {
	req, err := readRespondForm(v)
	if err == nil {
		_, err = c.service.Admit(v.caller)
	}
	if err != nil {
		return err
	}
	if strings.Contains(v.r.Header.Get("Accept"), "text/event-stream") {
		req.Background = !v.caller.ZeroDataRetention // the turn goes on where the page is left or loaded again
		events, err := c.service.StreamResponse(v.ctx(), v.caller, req)
		if err != nil {
			return err
		}
		return c.follow(v, events)
	}
	r, err := c.service.CreateResponse(v.ctx(), v.caller, req)
	if failed, ok := errors.AsType[*responses.TurnError](err); ok && !v.caller.ZeroDataRetention {
		v.logFailure(failed.Response.ID, fault.From(err))
		r, err = failed.Response, nil
	}
	if err != nil {
		return err
	}
	if v.caller.ZeroDataRetention { // there is no page of the turn
		turn := viewTurn(r, req.Input)
		turn.ID = ""
		return c.showRespond(v, respondForm{Model: req.Model, Instructions: req.Instructions, Turns: []turnView{turn}, Wrong: unkept})
	}
	return v.redirect("/respond?response=" + r.ID)
}

// unkept is what is said of a turn of an organization with zero data retention.
const unkept = "Nothing is kept for this organization, so no turn can continue from this one."

func readRespondForm(v *request) (*responses.Request, error) {
	f := v.r.PostForm
	req := &responses.Request{Model: f.Get("model"), Instructions: f.Get("instructions"), PreviousResponseID: f.Get("previous"), EncryptedReasoning: true}
	outputs := f["output"]
	for i, call := range f["call_id"] {
		if i < len(outputs) && outputs[i] != "" {
			req.Input = append(req.Input, &conversations.FunctionCallOutput{CallID: call, Output: outputs[i]})
		}
	}
	readMCPForm(f, req)
	message := &conversations.Message{Role: model.User}
	for _, id := range f["file_id"] {
		if id != "" {
			message.Content = append(message.Content, conversations.Part{Type: conversations.InputFile, FileID: id})
		}
	}
	if text := strings.ReplaceAll(f.Get("text"), "\r\n", "\n"); text != "" {
		message.Content = append(message.Content, conversations.Part{Type: conversations.InputText, Text: text})
	}
	if len(message.Content) > 0 {
		req.Input = append(req.Input, message)
	}
	if len(req.Input) == 0 {
		return nil, &fault.Error{Kind: fault.Invalid, Message: "Write a message first."}
	}
	tools, err := parseTools(f.Get("tools"))
	if err != nil {
		return nil, err
	}
	req.Tools = tools
	if f.Get("search") != "" {
		req.Tools = append(req.Tools, responses.SearchTool())
	}
	req.ShownTools = shownMCP(req)
	return req, nil
}

// wireTool is a function tool as the interface writes it.
type wireTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      bool            `json:"strict,omitempty"`
}

func wireOf(t model.Tool) wireTool {
	return wireTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict}
}

// parseTools reads the function tools of the form: a JSON array as in a request.
func parseTools(text string) ([]model.Tool, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var all []wireTool
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Message: "The tools must be a JSON array of function tools.", Err: err}
	}
	var tools []model.Tool
	for _, t := range all {
		if t.Type != "function" {
			return nil, &fault.Error{Kind: fault.Invalid, Message: "The playground takes tools of the type function only."}
		}
		tools = append(tools, model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict})
	}
	return tools, nil
}

func toolsJSON(tools []model.Tool) string {
	if len(tools) == 0 {
		return ""
	}
	var all []wireTool
	for _, t := range tools {
		all = append(all, wireOf(t))
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return ""
	}
	return string(data)
}
