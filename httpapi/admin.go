package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/wire"
)

// adminRoutes are the routes of the administration. Without an admin key there
// are none.
func (a *API) adminRoutes() map[string]methods {
	if a.opts.AdminKey == "" {
		return nil
	}
	routes := map[string]methods{
		"/admin/v1/organizations":              {"GET": administered(a.listOrganizations), "POST": administered(a.createOrganization)},
		"/admin/v1/organizations/{id}":         {"GET": administered(a.getOrganization), "POST": administered(a.updateOrganization), "DELETE": administered(a.deleteOrganization)},
		"/admin/v1/organizations/{id}/credits": {"POST": administered(a.addCredits)},
		"/admin/v1/organizations/{id}/usage":   {"GET": administered(a.listUsage)},
		"/admin/v1/api_keys":                   {"GET": administered(a.listKeys), "POST": administered(a.createKey)},
		"/admin/v1/api_keys/{id}":              {"POST": administered(a.updateKey), "DELETE": administered(a.revokeKey)},
		"/admin/v1/audit_log":                  {"GET": administered(a.listAuditLog)},
		"/admin/v1/backup":                     {"GET": administered(a.backup)},
		"/admin/v1/debug/pprof":                {"GET": administered(a.listProfiles)},
		"/admin/v1/debug/pprof/{profile}":      {"GET": administered(a.getProfile)},
	}
	if a.opts.Metrics != nil {
		routes["/metrics"] = methods{"GET": administered(a.metrics)}
	}
	return routes
}

// administered runs e for the bearer of the admin key. Who sends another key is
// noted and kept waiting, which the right key never is.
func administered(e endpoint) endpoint {
	return func(c *call) error {
		given := bearer(c.r)
		// Hashes have one length, so that the comparison tells nothing of the key's.
		sent, key := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(c.api.opts.AdminKey))
		if subtle.ConstantTimeCompare(sent[:], key[:]) == 1 {
			return e(c)
		}
		if given != "" {
			c.guessed()
		}
		return &fault.Error{Kind: fault.Unauthenticated, Code: accounts.CodeInvalidKey, Message: "The admin key is missing or invalid."}
	}
}

// admin is the service for who has sent the request, for changes.
func (c *call) admin() *svc.Service {
	address, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		address = c.r.RemoteAddr
	}
	return c.api.service.As(accounts.Actor{By: "api " + address, Claim: c.caller.Claim})
}

// Of wrong admin keys a few are answered at once, and then one a second, for
// which a client waits guessWait at most.
const (
	guesses   = 5
	guessWait = 10 * time.Second
)

// guessed slows down who guesses admin keys.
func (c *call) guessed() {
	c.api.opts.Logger.LogAttrs(c.ctx(), slog.LevelWarn, "wrong admin key",
		slog.String("request_id", c.id), slog.String("remote", c.r.RemoteAddr), slog.String("path", clip(c.r.URL.Path)))
	turn := c.api.guesses.Reserve()
	wait := turn.Delay()
	if wait > guessWait {
		turn.Cancel()
		wait = guessWait
	}
	background.Sleep(c.ctx(), wait)
}

func (a *API) metrics(c *call) error {
	a.opts.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

func (a *API) createOrganization(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	n := accounts.NewOrganization{
		Name:              root.Field("name").Text(),
		Credits:           dollars(root.Field("credits")),
		ZeroDataRetention: root.Field("zero_data_retention").True(),
		RequestsPerMinute: orZero(root.Field("requests_per_minute").Int()),
		TokensPerMinute:   orZero(root.Field("tokens_per_minute").Int()),

		ConcurrentRequests: orZero(root.Field("concurrent_requests").Int()),
	}
	if r := retention(root.Field("retention")); r != nil {
		n.Retention = *r
	}
	if err := root.Err(); err != nil {
		return err
	}
	o, err := c.admin().CreateOrganization(c.ctx(), n)
	if err != nil {
		return err
	}
	return c.json(o)
}

// dollars reads an amount of money: a string or a number. Absent is nothing.
func dollars(n *jsonin.Node) accounts.Micros {
	if n.Absent() {
		return 0
	}
	text := string(n.Raw())
	if n.IsText() {
		text = n.Text()
	}
	amount, err := accounts.ParseDollars(text)
	if err != nil {
		n.Fail(`must be a decimal number of US dollars with at most 6 digits after the point, such as "12.50"`)
	}
	return amount
}

func orZero(i *int) int {
	if i == nil {
		return 0
	}
	return *i
}

func (a *API) listOrganizations(c *call) error {
	p, err := pageParams(c.r.URL.Query(), false)
	if err != nil {
		return err
	}
	result, err := a.service.Organizations(c.ctx(), p)
	if err != nil {
		return err
	}
	return c.json(newList(result, func(o accounts.Organization) (accounts.Organization, string) { return o, o.ID }))
}

func (a *API) getOrganization(c *call) error {
	o, err := a.service.Organization(c.ctx(), c.r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.json(o)
}

func (a *API) updateOrganization(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	u := accounts.OrganizationUpdate{
		Name:              optional(root.Field("name"), (*jsonin.Node).Text),
		Status:            optional(root.Field("status"), func(n *jsonin.Node) accounts.Status { return accounts.Status(n.Text()) }),
		ZeroDataRetention: root.Field("zero_data_retention").Bool(),
		RequestsPerMinute: root.Field("requests_per_minute").Int(),
		TokensPerMinute:   root.Field("tokens_per_minute").Int(),
		Retention:         retention(root.Field("retention")),

		ConcurrentRequests: root.Field("concurrent_requests").Int(),
	}
	if err := root.Err(); err != nil {
		return err
	}
	o, err := c.admin().UpdateOrganization(c.ctx(), c.r.PathValue("id"), u)
	if err != nil {
		return err
	}
	return c.json(o)
}

// optional returns what read makes of a node, or nil where it is absent.
func optional[T any](n *jsonin.Node, read func(*jsonin.Node) T) *T {
	if n.Absent() {
		return nil
	}
	value := read(n)
	return &value
}

func (a *API) deleteOrganization(c *call) error {
	id := c.r.PathValue("id")
	if err := c.admin().DeleteOrganization(c.ctx(), id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "organization.deleted", Deleted: true})
}

// retention reads for how long things are kept; absent is nil.
func retention(n *jsonin.Node) *accounts.Retention {
	return optional(n, func(n *jsonin.Node) accounts.Retention {
		return accounts.Retention{
			Completions: orZero(n.Field("completions_days").Int()), Responses: orZero(n.Field("responses_days").Int()),
			Conversations: orZero(n.Field("conversations_days").Int()), Files: orZero(n.Field("files_days").Int()),
		}
	})
}

func (a *API) addCredits(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	amount := root.Field("amount")
	if amount.Absent() {
		amount.Fail("is required")
	}
	value := dollars(amount)
	if err := root.Err(); err != nil {
		return err
	}
	o, replayed, err := c.admin().AddCreditsOnce(c.ctx(), c.r.PathValue("id"), value, c.r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	if replayed {
		c.w.Header().Set("Idempotent-Replay", "true")
	}
	return c.json(o)
}

func (a *API) listUsage(c *call) error {
	p, err := pageParams(c.r.URL.Query(), false)
	if err != nil {
		return err
	}
	result, err := a.service.Usage(c.ctx(), c.r.PathValue("id"), p)
	if err != nil {
		return err
	}
	return c.json(newList(result, func(e accounts.Entry) (accounts.Entry, string) { return e, e.ID }))
}

// maxKeyModels is how many models of a key are read: one more than it may have,
// for package accounts to refuse.
const maxKeyModels = 1001

func period(n *jsonin.Node) accounts.Period { return accounts.Period(n.Text()) }

func (a *API) updateKey(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	u := accounts.KeyUpdate{
		Name:              optional(root.Field("name"), (*jsonin.Node).Text),
		RequestsPerMinute: root.Field("requests_per_minute").Int(),
		TokensPerMinute:   root.Field("tokens_per_minute").Int(),
		Budget:            optional(root.Field("budget"), dollars),
		BudgetPeriod:      optional(root.Field("budget_period"), period),
	}
	if err := root.Err(); err != nil {
		return err
	}
	key, err := c.admin().UpdateKey(c.ctx(), c.r.PathValue("id"), u)
	if err != nil {
		return err
	}
	return c.json(key)
}

func (a *API) createKey(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	n := accounts.NewKey{OrganizationID: root.Field("organization_id").Text(), Name: root.Field("name").Text()}
	if models := root.Field("models"); !models.Absent() {
		n.Models = []string{}
		for _, id := range models.First(maxKeyModels) {
			n.Models = append(n.Models, id.Text())
		}
	}
	n.RequestsPerMinute = orZero(root.Field("requests_per_minute").Int())
	n.TokensPerMinute = orZero(root.Field("tokens_per_minute").Int())
	n.Budget, n.BudgetPeriod = dollars(root.Field("budget")), period(root.Field("budget_period"))
	if err := root.Err(); err != nil {
		return err
	}
	key, err := c.admin().CreateKey(c.ctx(), n)
	if err != nil {
		return err
	}
	return c.json(key)
}

func (a *API) listKeys(c *call) error {
	q := c.r.URL.Query()
	p, err := pageParams(q, false)
	if err != nil {
		return err
	}
	result, err := a.service.Keys(c.ctx(), q.Get("organization_id"), p)
	if err != nil {
		return err
	}
	return c.json(newList(result, func(k accounts.APIKey) (accounts.APIKey, string) { return k, k.ID }))
}

func (a *API) revokeKey(c *call) error {
	id := c.r.PathValue("id")
	if err := c.admin().RevokeKey(c.ctx(), id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "api_key.deleted", Deleted: true})
}

// auditObject is an entry of the audit log on the wire. Change is null where the
// action says it all.
type auditObject struct {
	ID        string          `json:"id"`
	Object    string          `json:"object"`
	Action    string          `json:"action"`
	Subject   string          `json:"subject"`
	Change    json.RawMessage `json:"change"`
	By        string          `json:"by,omitempty"`
	CreatedAt int64           `json:"created_at"`
}

func (a *API) listAuditLog(c *call) error {
	p, err := pageParams(c.r.URL.Query(), false)
	if err != nil {
		return err
	}
	result, err := a.service.AuditLog(c.ctx(), p)
	if err != nil {
		return err
	}
	return c.json(newList(result, func(e accounts.AuditEntry) (auditObject, string) {
		return auditObject{e.ID, "audit_entry", e.Action, e.Subject, e.Change, e.By, e.CreatedAt}, e.ID
	}))
}
