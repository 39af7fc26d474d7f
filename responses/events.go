package responses

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
)

// firstKept is the number of the first event that is stored as such. The ones
// before it, and the last ones, are made of the response.
const firstKept = 2

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
}

type eventPart struct {
	Type     conversations.PartType `json:"y"`
	Text     string                 `json:"t,omitempty"`
	Logprobs []logprobs.Record      `json:"l,omitempty"`
}

// encodeEvents encodes a page of events, which are about items.
func encodeEvents(events []Event) ([]byte, error) {
	records := make([]eventRecord, 0, len(events))
	for _, e := range events {
		r := eventRecord{Type: e.Type, Index: e.OutputIndex, ID: e.ItemID, Text: e.Text, Name: e.Name, More: e.More, Logprobs: logprobs.Records(e.Logprobs)}
		if e.Part != nil {
			r.Part = &eventPart{e.Part.Type, e.Part.Text, logprobs.Records(e.Part.Logprobs)}
		}
		if e.Item != nil {
			data, err := conversations.EncodeItem(e.Item)
			if err != nil {
				return nil, err
			}
			r.Item = data
		}
		records = append(records, r)
	}
	return jsonout.Marshal(records)
}

// decodeEvents decodes a page whose first event has the number first.
func decodeEvents(page []byte, first int) ([]Event, error) {
	var records []eventRecord
	if err := json.Unmarshal(page, &records); err != nil {
		return nil, err
	}
	events := make([]Event, len(records))
	for i, r := range records {
		e := Event{Type: r.Type, Sequence: first + i, More: r.More, OutputIndex: r.Index, ItemID: r.ID, Text: r.Text, Name: r.Name, Logprobs: logprobs.Tokens(r.Logprobs)}
		if r.Part != nil {
			e.Part = &conversations.Part{Type: r.Part.Type, Text: r.Part.Text, Logprobs: logprobs.Tokens(r.Part.Logprobs)}
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
