package accounts

import (
	"context"
	"encoding/json"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// Retention is for how many days an organization keeps what is stored for it; 0
// is for ever. What is older is removed in the background, within ten minutes.
type Retention struct {
	Completions   int `json:"completions_days,omitempty"`   // since a chat completion was made
	Responses     int `json:"responses_days,omitempty"`     // since a response was made; its items stay in its conversation
	Conversations int `json:"conversations_days,omitempty"` // since something was last said in a conversation
	Files         int `json:"files_days,omitempty"`         // since a file was uploaded
	Decisions     int `json:"decisions_days,omitempty"`     // since a stored decision was made; its labels go with it
}

// maxRetention is the longest time that can be set, in days: a hundred years.
const maxRetention = 36_500

func (r Retention) check() error {
	for field, days := range map[string]int{
		"completions_days": r.Completions, "responses_days": r.Responses, "conversations_days": r.Conversations, "files_days": r.Files,
		"decisions_days": r.Decisions,
	} {
		if days < 0 || days > maxRetention {
			return fault.Invalidf("retention."+field, "retention.%s must be 0 to %d.", field, maxRetention)
		}
	}
	return nil
}

// Kept is an organization and for how long it keeps things.
type Kept struct {
	Organization string
	Retention    Retention
}

// Retentions returns a page of all organizations, 1 to 1,000, with what they keep.
// It reads no ledger.
func (s *Service) Retentions(ctx context.Context, p page.Params) (page.Page[Kept], error) {
	return listSystem(ctx, s, organizationPrefix, "", p, func(_ storage.Tx, e storage.Entry) (Kept, error) {
		var record organizationRecord
		err := json.Unmarshal(e.Value, &record)
		return Kept{record.ID, Retention(record.Retention)}, err
	})
}
