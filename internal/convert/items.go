package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
)

// FromInput returns the items of an input. Parts that follow each other are one
// message of the user's.
func FromInput(w *wire.TextOr[[]wire.InputItem]) []conversations.Item {
	switch {
	case w == nil:
		return nil
	case w.Text != nil:
		return []conversations.Item{conversations.UserMessage(*w.Text)}
	}
	var items []conversations.Item
	var bare *conversations.Message // of the parts just read
	answered := answeredCalls(w.Value)
	for i := range w.Value {
		item := &w.Value[i]
		if !item.IsPart() {
			bare = nil
			if found := fromInputItem(item, answered); found != nil {
				items = append(items, found)
			}
			continue
		}
		if bare == nil {
			bare = &conversations.Message{Role: model.User}
			items = append(items, bare)
		}
		part := item.Part()
		bare.Content = appendPart(bare.Content, &part, model.User)
	}
	for _, item := range items {
		if m, ok := item.(*conversations.Message); ok {
			dropLoneImages(m)
		}
	}
	return items
}

// FromInputItems returns the items of a list, in which no parts stand.
func FromInputItems(list []wire.InputItem) []conversations.Item {
	var items []conversations.Item
	answered := answeredCalls(list)
	for i := range list {
		if item := fromInputItem(&list[i], answered); item != nil {
			items = append(items, item)
		}
	}
	return items
}

// fromInputItem returns an item of a request, nil for one that is accepted and not
// kept: reasoning that is not sealed. answered are the calls that have outputs in the
// request.
func fromInputItem(w *wire.InputItem, answered map[string]bool) conversations.Item {
	if w.Hosted != nil {
		if item := fromOwn(w, answered); item != nil {
			return item
		}
		if search := fromOwnSearch(w); search != nil {
			return search
		}
		return fromHosted(w)
	}
	switch w.Type {
	case "function_call":
		return &conversations.FunctionCall{CallID: w.CallID, Namespace: w.Namespace, Name: w.Name, Arguments: value(w.Arguments)}
	case "custom_tool_call":
		return &conversations.FunctionCall{CallID: w.CallID, Namespace: w.Namespace, Name: w.Name, Arguments: value(w.Input), Custom: true}
	case "function_call_output", "custom_tool_call_output":
		return fromInputOutput(w)
	case "web_search_call":
		return &conversations.WebSearch{ID: w.ID}
	case "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response":
		return fromMCPInput(w)
	case "compaction", "compaction_summary":
		return &conversations.Compaction{Sealed: value(w.EncryptedContent)}
	case "item_reference":
		return conversations.Reference{ID: w.ID}
	case "reasoning":
		if sealed := value(w.EncryptedContent); sealed != "" {
			return &conversations.Reasoning{ID: w.ID, Sealed: sealed}
		}
		return nil
	}
	return fromInputMessage(w)
}

// hostedBytes is how much of an item of a tool that others run the model reads.
const hostedBytes = 16 << 10

// fromHosted returns what the model reads of an item of a tool that others run: what it
// says, without what is for the service that made it, or no text.
func fromHosted(w *wire.InputItem) conversations.Item {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(w.Hosted, &members) // it is an object that was checked
	for _, name := range []string{"type", "id", "status", "created_by", "container_id", "encrypted_content", "authorization", "headers"} {
		delete(members, name)
	}
	if w.Type == "image_generation_call" {
		delete(members, "result") // its bytes
	}
	said, _ := json.Marshal(members) // what was decoded can be encoded
	text := string(said)
	if len(text) > hostedBytes {
		text = strings.ToValidUTF8(text[:hostedBytes], "") + " …"
	}
	return &conversations.Message{Role: model.Assistant, Content: []conversations.Part{{Type: conversations.OutputText, Text: "[" + w.Type + "] " + text}}}
}

func fromInputMessage(w *wire.InputItem) conversations.Item {
	m := &conversations.Message{Role: model.Role(w.Role)}
	if w.Role == "developer" {
		m.Role = model.System
	}
	if m.Role == model.Assistant {
		m.Phase = w.Phase
	}
	if w.Content.Text != nil {
		m.Content = []conversations.Part{{Type: textType(m.Role), Text: *w.Content.Text}}
		return m
	}
	for i := range w.Content.Value {
		m.Content = appendPart(m.Content, &w.Content.Value[i], m.Role)
	}
	dropLoneImages(m)
	return m
}

// dropLoneImages empties a message that has nothing but images.
func dropLoneImages(m *conversations.Message) {
	if !slices.ContainsFunc(m.Content, func(p conversations.Part) bool { return p.Text != imageLeftOut }) {
		m.Content = nil
	}
}

// textType is the type of the text parts in a message of a role.
func textType(role model.Role) conversations.PartType {
	if role == model.Assistant {
		return conversations.OutputText
	}
	return conversations.InputText
}

// appendPart appends a part of a message. The strict interface reads no images, as the
// spec says; the model is told that one was there.
func appendPart(parts []conversations.Part, w *wire.InputPart, role model.Role) []conversations.Part {
	switch w.Type {
	case "input_image":
		if w.ImageURL != nil && w.ImageURL.Data != nil {
			return append(parts, conversations.Part{Type: conversations.InputImage, Image: fromImageURL(w.ImageURL)})
		}
		return append(parts, conversations.Part{Type: textType(role), Text: imageLeftOut})
	case "input_file":
		return append(parts, conversations.Part{Type: conversations.InputFile, FileID: w.FileID, Inline: fromInlineFile(w)})
	case "refusal":
		return append(parts, conversations.Part{Type: textType(role), Text: value(w.Refusal)})
	}
	return append(parts, conversations.Part{Type: textType(role), Text: value(w.Text)})
}

// imageLeftOut is what the model reads in place of an image: it has to know that it
// does not get what it is asked about.
const imageLeftOut = "[An image was left out here: images are not read.]"

// fromInputOutput returns what a call has come to: a string, or parts. Text parts
// are joined to one, unless files stand among them.
func fromInputOutput(w *wire.InputItem) conversations.Item {
	o := &conversations.FunctionCallOutput{CallID: w.CallID, Custom: w.Type == "custom_tool_call_output"}
	if w.Output.Text != nil {
		o.Output = *w.Output.Text
		return o
	}
	var texts []string
	files := false
	for i := range w.Output.Value {
		p := &w.Output.Value[i]
		o.Content = appendPart(o.Content, p, model.User)
		part := &o.Content[i]
		files = files || part.Type != conversations.InputText
		texts = append(texts, part.Text)
	}
	if !files {
		o.Output, o.Content = strings.Join(texts, "\n"), nil
	}
	return o
}

// ToInput returns items as the input of a request.
func ToInput(items []conversations.Item) *wire.TextOr[[]wire.InputItem] {
	if items == nil {
		return nil
	}
	return &wire.TextOr[[]wire.InputItem]{Value: ToInputItems(items)}
}

// ToInputItems returns items as they are sent.
func ToInputItems(items []conversations.Item) []wire.InputItem { return mapped(items, toInputItem) }

func toInputItem(item *conversations.Item) wire.InputItem {
	switch i := (*item).(type) {
	case *conversations.Message:
		return wire.InputItem{Type: "message", Role: string(i.Role), Phase: i.Phase, Content: &wire.TextOr[[]wire.InputPart]{Value: toInputParts(i.Content)}}
	case *conversations.FunctionCall:
		w := wire.InputItem{Type: "function_call", CallID: i.CallID, Namespace: i.Namespace, Name: i.Name, Arguments: &i.Arguments}
		if i.Custom {
			w.Type, w.Arguments, w.Input = "custom_tool_call", nil, &i.Arguments
		}
		return w
	case *conversations.FunctionCallOutput:
		w := wire.InputItem{Type: "function_call_output", CallID: i.CallID, Output: &wire.TextOr[[]wire.InputPart]{Text: &i.Output}}
		if i.Custom {
			w.Type = "custom_tool_call_output"
		}
		if i.Content != nil {
			w.Output = &wire.TextOr[[]wire.InputPart]{Value: toInputParts(i.Content)}
		}
		return w
	case *conversations.Compaction:
		return wire.InputItem{Type: "compaction", EncryptedContent: &i.Sealed}
	case *conversations.Reasoning:
		return wire.InputItem{Type: "reasoning", ID: i.ID, EncryptedContent: &i.Sealed}
	case *conversations.WebSearch:
		return wire.InputItem{Type: "web_search_call", ID: i.ID}
	case *conversations.FileSearch:
		return toSearchInput(i)
	}
	if w := toMCPInput(*item); w != nil {
		return *w
	}
	return wire.InputItem{Type: "item_reference", ID: (*item).ItemID()}
}

func toInputParts(parts []conversations.Part) []wire.InputPart {
	list := make([]wire.InputPart, len(parts))
	for i := range parts {
		p := &parts[i]
		list[i].Type = string(p.Type)
		switch p.Type {
		case conversations.InputFile:
			list[i].FileID = p.FileID
			if f := p.Inline; f != nil {
				list[i].Filename, list[i].FileData = f.Name, &wire.DataURL{MIMEType: f.MIMEType, Data: f.Data}
			}
		case conversations.InputImage:
			list[i].ImageURL = toImageURL(p.Image)
		default:
			list[i].Text = &p.Text
		}
	}
	return list
}

// ToItem returns an item as it is answered.
func ToItem(item conversations.Item) wire.Item {
	switch i := item.(type) {
	case *conversations.Message:
		return wire.Item{ID: i.ID, Type: "message", Status: string(i.Status), Role: string(i.Role), Phase: i.Phase, Content: toParts(i.Content)}
	case *conversations.FunctionCall:
		if i.Tool != "" {
			return toOwnCall(i)
		}
		w := wire.Item{ID: i.ID, Type: "function_call", Status: string(i.Status), CallID: i.CallID, Namespace: i.Namespace, Name: &i.Name, Arguments: &i.Arguments}
		if i.Custom {
			w.Type, w.Arguments, w.Input = "custom_tool_call", nil, &i.Arguments
		}
		return w
	case *conversations.FunctionCallOutput:
		w := wire.Item{ID: i.ID, Type: "function_call_output", Status: string(conversations.Completed), CallID: i.CallID, Output: &wire.TextOr[[]wire.Part]{Text: &i.Output}}
		if i.Custom {
			w.Type = "custom_tool_call_output"
		}
		if i.Tool != "" {
			w.Type = i.Tool + "_call_output"
		}
		if i.Content != nil {
			w.Output = &wire.TextOr[[]wire.Part]{Value: toParts(i.Content)}
		}
		return w
	case *conversations.FileSearch:
		return toFileSearch(i)
	case *conversations.WebSearch:
		return wire.Item{ID: i.ID, Type: "web_search_call", Status: string(i.Status), Action: toSearchAction(i)}
	case *conversations.Compaction:
		return wire.Item{ID: i.ID, Type: "compaction", EncryptedContent: &i.Sealed}
	case *conversations.Reasoning:
		return wire.Item{ID: i.ID, Type: "reasoning", Summary: toSummary(i.Summary), EncryptedContent: optional(i.Sealed)}
	}
	if w := toMCPItem(item); w != nil {
		return *w
	}
	return wire.Item{ID: item.ItemID(), Type: "item_reference"}
}

func toSearchAction(s *conversations.WebSearch) *wire.ItemAction {
	w := &wire.SearchAction{Type: "search", Queries: s.Queries}
	if len(s.Queries) > 0 {
		w.Query = s.Queries[0]
	} else {
		w.Queries = []string{}
	}
	w.Sources = mapped(s.Sources, func(url *string) wire.SearchSource { return wire.SearchSource{Type: "url", URL: *url} })
	return &wire.ItemAction{Search: w}
}

// ToItems returns items as they are answered.
func ToItems(items []conversations.Item) []wire.Item {
	list := make([]wire.Item, len(items))
	for i, item := range items {
		list[i] = ToItem(item)
	}
	return list
}

// ToItemList returns a page of items as it is answered.
func ToItemList(p page.Page[conversations.Item]) wire.List[wire.Item] {
	return ToList(p, func(item *conversations.Item) wire.Item { return ToItem(*item) }, func(w *wire.Item) string { return w.ID })
}

// FromItem returns an item that was answered, nil for one of an unknown type.
func FromItem(w *wire.Item) conversations.Item {
	switch w.Type {
	case "message":
		return &conversations.Message{ID: w.ID, Status: conversations.Status(w.Status), Role: model.Role(w.Role), Phase: w.Phase, Content: fromParts(w.Content)}
	case "function_call", "custom_tool_call":
		c := &conversations.FunctionCall{ID: w.ID, Status: conversations.Status(w.Status), CallID: w.CallID, Namespace: w.Namespace,
			Name: value(w.Name), Arguments: value(w.Arguments), Custom: w.Type == "custom_tool_call"}
		if c.Custom {
			c.Arguments = value(w.Input)
		}
		return c
	case "function_call_output", "custom_tool_call_output":
		o := &conversations.FunctionCallOutput{ID: w.ID, CallID: w.CallID, Custom: w.Type == "custom_tool_call_output"}
		if w.Output != nil {
			o.Output, o.Content = value(w.Output.Text), fromParts(w.Output.Value)
		}
		return o
	case "shell_call", "local_shell_call", "apply_patch_call":
		return fromOwnAnswer(w)
	case "web_search_call":
		s := &conversations.WebSearch{ID: w.ID, Status: conversations.Status(w.Status)}
		if w.Action != nil && w.Action.Search != nil {
			a := w.Action.Search
			s.Queries, s.Sources = a.Queries, mapped(a.Sources, func(w *wire.SearchSource) string { return w.URL })
		}
		return s
	case "file_search_call":
		return fromFileSearch(w)
	case "compaction":
		return &conversations.Compaction{ID: w.ID, Sealed: value(w.EncryptedContent)}
	case "reasoning":
		r := &conversations.Reasoning{ID: w.ID, Sealed: value(w.EncryptedContent)}
		for i := range w.Summary {
			r.Summary += w.Summary[i].Text
		}
		return r
	}
	return fromMCPItem(w)
}

func toSummary(text string) []wire.SummaryPart {
	if text == "" {
		return []wire.SummaryPart{}
	}
	return []wire.SummaryPart{{Type: string(conversations.SummaryText), Text: text}}
}

// FromItems returns the items of a list, without those of unknown types.
func FromItems(list []wire.Item) []conversations.Item {
	items := make([]conversations.Item, 0, len(list))
	for i := range list {
		if item := FromItem(&list[i]); item != nil {
			items = append(items, item)
		}
	}
	return items
}

func toParts(parts []conversations.Part) []wire.Part {
	list := make([]wire.Part, len(parts))
	for i := range parts {
		list[i] = toPart(&parts[i])
	}
	return list
}

func toPart(p *conversations.Part) wire.Part {
	w := wire.Part{Type: string(p.Type)}
	switch p.Type {
	case conversations.InputFile:
		if p.Inline != nil {
			w.Filename = &p.Inline.Name
		} else {
			w.FileID = &p.FileID
		}
	case conversations.InputImage:
		w.ImageURL = toImageURL(p.Image)
	case conversations.OutputText:
		w.Text, w.Annotations, w.Logprobs = &p.Text, toAnnotations(p.Citations), ToLogprobs(p.Logprobs, true)
	default:
		w.Text = &p.Text
	}
	return w
}

func fromParts(list []wire.Part) []conversations.Part { return mapped(list, fromPart) }

func fromPart(w *wire.Part) conversations.Part {
	var inline *conversations.InlineFile
	if w.Filename != nil {
		inline = &conversations.InlineFile{Name: *w.Filename}
	}
	return conversations.Part{Inline: inline, Type: conversations.PartType(w.Type), Text: value(w.Text), FileID: value(w.FileID), Image: fromImageURL(w.ImageURL), Logprobs: FromLogprobs(w.Logprobs),
		Citations: fromAnnotations(w.Annotations)}
}

// fromInlineFile returns the file in a part, nil where it was uploaded.
func fromInlineFile(w *wire.InputPart) *conversations.InlineFile {
	if w.FileData == nil {
		return nil
	}
	sum := sha256.Sum256(w.FileData.Data)
	return &conversations.InlineFile{Name: w.Filename, MIMEType: w.FileData.MIMEType, Data: w.FileData.Data, Digest: hex.EncodeToString(sum[:])}
}

func toImageURL(i *model.Image) *wire.ImageURL {
	return &wire.ImageURL{MIMEType: i.MediaType, Data: i.Data}
}

func fromImageURL(w *wire.ImageURL) *model.Image {
	if w == nil {
		return nil
	}
	return &model.Image{MediaType: w.MIMEType, Data: w.Data}
}
