package console

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/model"
)

func (c *Console) auditPage(v *request) error {
	result, err := search(v, func(p svc.Page) (svc.List[accounts.AuditEntry], error) { return c.service.AuditLog(v.ctx(), p) },
		func(e accounts.AuditEntry) string { return e.ID },
		func(e accounts.AuditEntry, words string) bool {
			return has(words, e.Action, e.Subject, string(e.Change))
		})
	if err != nil {
		return err
	}
	return v.render("audit", "Audit log", result)
}

// changed is a field that an administrative change names.
type changed struct{ Name, Value string }

// changes are the fields of a change, without those that say nothing.
func changes(change json.RawMessage) []changed {
	var fields map[string]any
	if err := json.Unmarshal(change, &fields); err != nil {
		return nil // there are none
	}
	var all []changed
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch value := fields[name].(type) {
		case nil:
		case string:
			if value != "" {
				all = append(all, changed{name, value})
			}
		default:
			text, err := json.Marshal(value)
			if err == nil && value != false && value != 0.0 {
				all = append(all, changed{name, string(text)})
			}
		}
	}
	return all
}

// systemView is how the processes, the store and the model servers do.
type systemView struct {
	Token      string
	Servers    []Server
	MCPServers []MCPServer
	Replicas   int   // processes that are alive on the store
	StoreBytes int64 // on disk; 0 where the store does not know
	Waiting    int   // files whose text is to be extracted
	Models     []model.Info
}

func (c *Console) systemPage(v *request) error {
	view := systemView{
		Token: v.session.Token, Replicas: c.service.Replicas(), Waiting: c.service.WaitingFiles(),
	}
	var err error
	if view.Models, err = c.service.Models(v.ctx(), svc.Caller{}); err != nil {
		return err
	}
	if view.StoreBytes, err = c.service.StoreSize(); err != nil {
		return err
	}
	if c.opts.Servers != nil {
		view.Servers = c.opts.Servers()
	}
	if c.opts.MCPServers != nil {
		view.MCPServers = c.opts.MCPServers()
	}
	return v.render("system", "System", view)
}
