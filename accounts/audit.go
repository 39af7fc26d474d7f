package accounts

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// The actions in the audit log.
const (
	ActionCreateOrganization = "organization.create"
	ActionUpdateOrganization = "organization.update"
	ActionAddCredits         = "organization.credits"
	ActionDeleteOrganization = "organization.delete"
	ActionCreateKey          = "api_key.create"
	ActionUpdateKey          = "api_key.update"
	ActionRevokeKey          = "api_key.revoke"
	ActionBlock              = "policy.block" // of what a policy blocked; the subject is the organization
)

// AuditEntry is one administrative change. Entries are never changed or deleted.
type AuditEntry struct {
	ID        string // audit_…
	Action    string
	Subject   string          // ID of the organization or key that was changed
	Change    json.RawMessage // what was asked for, as JSON; nothing secret
	By        string          // who asked for it, see [Actor]; empty where nobody said
	CreatedAt int64           // Unix seconds
}

// auditRecord is how an [AuditEntry] is stored.
type auditRecord struct {
	ID        string          `json:"id"`
	Action    string          `json:"action"`
	Subject   string          `json:"subject"`
	Change    json.RawMessage `json:"change,omitempty"`
	By        string          `json:"by,omitempty"`
	CreatedAt int64           `json:"created_at"`
}

// by is what is kept of By.
func (a Actor) by() string { return a.By[:min(len(a.By), maxName)] }

// record writes an entry of the audit log into the transaction that makes the
// change, which is one in the namespace system. It stands after all that others
// have committed, whatever their clocks say, so that nobody who reads on after an
// entry misses one.
func (s *Service) record(tx storage.Tx, action, subject string, change any) error {
	return s.appendAudit(tx, auditRecord{Action: action, Subject: subject, By: s.actor.by(), CreatedAt: s.now().Unix()}, change)
}

// Record writes an entry of the audit log about what a part of the service has done by
// itself.
func (s *Service) Record(ctx context.Context, action, subject string, change any) error {
	return s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return s.record(tx, action, subject, change)
	})
}

// recordCredits writes what a ledger says of credits into the audit log.
func (s *Service) recordCredits(tx storage.Tx, organization string, e entryRecord) error {
	return s.appendAudit(tx, auditRecord{Action: ActionAddCredits, Subject: organization, By: e.By, CreatedAt: e.CreatedAt}, map[string]Micros{"amount": e.Amount})
}

func (s *Service) appendAudit(tx storage.Tx, entry auditRecord, change any) (err error) {
	if entry.ID, err = s.nextAuditID(tx); err != nil {
		return err
	}
	if change != nil {
		if entry.Change, err = json.Marshal(change); err != nil {
			return err
		}
	}
	return storage.SetJSON(tx, auditKey(entry.ID), entry)
}

// nextAuditID returns an ID that sorts after the last entry's.
func (s *Service) nextAuditID(tx storage.Tx) (string, error) {
	id := s.newID("audit")
	last := storage.Prefix([]byte(auditPrefix))
	last.Reverse, last.KeysOnly, last.Limit = true, true, 1
	for e, err := range tx.Scan(last) {
		if err != nil {
			return "", err
		}
		if before := string(e.Key[len(auditPrefix):]); id <= before {
			return successor(before), nil
		}
	}
	return id, nil
}

// successor returns an ID of the same form that sorts after id: its last
// character that is not the largest is raised by one, those behind it begin anew.
func successor(id string) string {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz" // as package ids has them
	next := []byte(id)
	for i := len(next) - 1; i >= 0 && next[i] != '_'; i-- {
		at := strings.IndexByte(digits, next[i])
		if at < 0 {
			break
		}
		if at < len(digits)-1 {
			next[i] = digits[at+1]
			return string(next)
		}
		next[i] = digits[0]
	}
	return id + digits[:1]
}

// AuditLog returns a page of the audit log, 1 to 1,000 entries, by the time of
// the change.
func (s *Service) AuditLog(ctx context.Context, p page.Params) (page.Page[AuditEntry], error) {
	return listSystem(ctx, s, auditPrefix, "audit", p, func(_ storage.Tx, e storage.Entry) (AuditEntry, error) {
		var entry auditRecord
		err := json.Unmarshal(e.Value, &entry)
		return AuditEntry(entry), err
	})
}

// maxPage is the largest page of the administration's lists.
const maxPage = 1000

// listSystem returns a page of the objects whose keys in the service's own
// namespace are prefix and their ID, which begins with kind; empty is any.
func listSystem[T any](ctx context.Context, s *Service, prefix, kind string, p page.Params,
	decode func(storage.Tx, storage.Entry) (T, error)) (page.Page[T], error) {
	p, err := page.Within(p, maxPage, kind)
	if err != nil {
		return page.Page[T]{}, err
	}
	var after []byte
	if p.After != "" {
		after = []byte(prefix + p.After)
	}
	var result page.Page[T]
	err = s.store.View(ctx, system, func(tx storage.Tx) error {
		var err error
		result, err = page.Read(tx, page.Range(p, []byte(prefix), after), p.Limit, func(e storage.Entry) (T, bool, error) {
			item, err := decode(tx, e)
			return item, true, err
		})
		return err
	})
	return result, err
}
