package responses

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
)

// firstPersisted is the number of the first event that is stored as such. The ones
// before it, and the last ones, are made of the response.
const firstPersisted = 2

// eventRecord is how an event of a background turn is stored, in pages of them.
type eventRecord struct {
	Type  EventType       `json:"y"`
	Index int             `json:"x,omitempty"`
	ID    string          `json:"i,omitempty"`
	Item  json.RawMessage `json:"item,omitempty"`
	Part  *eventPart      `json:"part,omitempty"`
	Text  string          `json:"t,omitempty"`
	Name  string          `json:"n,omitempty"`
	More  bool            `json:"m,omitempty"`

	Logprobs []logprobs.Record `json:"l,omitempty"`

	Citation *conversations.Citation `json:"c,omitempty"`
	Cited    int                     `json:"ci,omitempty"`
}

type eventPart struct {
	Type     conversations.PartType `json:"y"`
	Text     string                 `json:"t,omitempty"`
	Logprobs []logprobs.Record      `json:"l,omitempty"`

	Citations []conversations.Citation `json:"c,omitempty"`
}

// maxPage is how many bytes of events are in one page, of more than one event.
const maxPage = 1 << 20

// eventPage is a page of events.
type eventPage struct {
	data   []byte
	events int  // in it
	more   bool // come behind it
}

// at returns the page as it is kept.
func (p eventPage) at(first int) conversations.Page {
	return conversations.Page{First: first, Count: p.events, Data: p.data}
}

// encodePage encodes as many events, which are about items, as a page holds;
// short leaves out their log-probabilities.
func encodePage(events []Event, short bool) (p eventPage, err error) {
	for _, e := range events {
		if short {
			e = withoutLogprobs(e)
		}
		data, err := encodeEvent(e)
		if err != nil {
			return p, err
		}
		if p.events > 0 && len(p.data)+len(data) > maxPage {
			p.more = true
			break
		}
		p.data = append(append(p.data, ','), data...)
		p.events++
	}
	if p.events > 0 {
		p.data[0] = '['
		p.data = append(p.data, ']')
	}
	return p, nil
}

func encodeEvent(e Event) ([]byte, error) {
	r := eventRecord{Type: e.Type, Index: e.OutputIndex, ID: e.ItemID, Text: e.Text, Name: e.Name, More: e.More, Logprobs: logprobs.Records(e.Logprobs), Citation: e.Citation, Cited: e.Cited}
	if e.Part != nil {
		r.Part = &eventPart{e.Part.Type, e.Part.Text, logprobs.Records(e.Part.Logprobs), e.Part.Citations}
	}
	if e.Item != nil {
		data, err := conversations.EncodeItem(e.Item)
		if err != nil {
			return nil, err
		}
		r.Item = data
	}
	return jsonout.Marshal(r)
}

func withoutLogprobs(e Event) Event {
	e.Logprobs = nil
	if e.Part != nil {
		part := *e.Part
		part.Logprobs = nil
		e.Part = &part
	}
	if e.Item != nil {
		e.Item = conversations.WithoutLogprobs([]conversations.Item{e.Item})[0]
	}
	return e
}

// decodeEvents decodes a page whose first event has the number first.
func decodeEvents(page []byte, first int) ([]Event, error) {
	var records []eventRecord
	if err := json.Unmarshal(page, &records); err != nil {
		return nil, err
	}
	events := make([]Event, len(records))
	for i, r := range records {
		e := Event{Type: r.Type, Sequence: first + i, More: r.More, OutputIndex: r.Index, ItemID: r.ID, Text: r.Text, Name: r.Name, Logprobs: logprobs.Tokens(r.Logprobs), Citation: r.Citation, Cited: r.Cited}
		if r.Part != nil {
			e.Part = &conversations.Part{Type: r.Part.Type, Text: r.Part.Text, Logprobs: logprobs.Tokens(r.Part.Logprobs), Citations: r.Part.Citations}
		}
		if r.Item != nil {
			item, err := conversations.DecodeItem(r.Item)
			if err != nil {
				return nil, err
			}
			e.Item = item
		}
		events[i] = e
	}
	return events, nil
}
