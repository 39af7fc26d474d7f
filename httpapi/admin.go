package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
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
	body := &wire.OrganizationRequest{}
	if err := c.adminRequest(body); err != nil {
		return err
	}
	n, err := convert.FromOrganizationRequest(body)
	if err != nil {
		return err
	}
	o, err := c.admin().CreateOrganization(c.ctx(), n)
	if err != nil {
		return err
	}
	return c.json(convert.ToOrganization(&o))
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
	return c.json(convert.ToList(result, convert.ToOrganization, func(w *wire.Organization) string { return w.ID }))
}

func (a *API) getOrganization(c *call) error {
	o, err := a.service.Organization(c.ctx(), c.r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToOrganization(&o))
}

func (a *API) updateOrganization(c *call) error {
	body := &wire.OrganizationUpdate{}
	if err := c.adminRequest(body); err != nil {
		return err
	}
	o, err := c.admin().UpdateOrganization(c.ctx(), c.r.PathValue("id"), convert.FromOrganizationUpdate(body))
	if err != nil {
		return err
	}
	return c.json(convert.ToOrganization(&o))
}

func (a *API) deleteOrganization(c *call) error {
	id := c.r.PathValue("id")
	if err := c.admin().DeleteOrganization(c.ctx(), id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "organization.deleted", Deleted: true})
}

func (a *API) addCredits(c *call) error {
	body := &wire.CreditsRequest{}
	if err := c.adminRequest(body); err != nil {
		return err
	}
	amount, err := convert.FromDollars("amount", body.Amount)
	if err != nil {
		return err
	}
	o, replayed, err := c.admin().AddCreditsOnce(c.ctx(), c.r.PathValue("id"), amount, c.r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	if replayed {
		c.w.Header().Set("Idempotent-Replay", "true")
	}
	return c.json(convert.ToOrganization(&o))
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
	return c.json(convert.ToList(result, convert.ToUsageRecord, func(w *wire.UsageRecord) string { return w.ID }))
}

func (a *API) updateKey(c *call) error {
	body := &wire.KeyUpdate{}
	if err := c.adminRequest(body); err != nil {
		return err
	}
	u, err := convert.FromKeyUpdate(body)
	if err != nil {
		return err
	}
	key, err := c.admin().UpdateKey(c.ctx(), c.r.PathValue("id"), u)
	if err != nil {
		return err
	}
	return c.json(convert.ToKey(&key))
}

func (a *API) createKey(c *call) error {
	body := &wire.KeyRequest{}
	if err := c.adminRequest(body); err != nil {
		return err
	}
	n, err := convert.FromKeyRequest(body)
	if err != nil {
		return err
	}
	key, err := c.admin().CreateKey(c.ctx(), n)
	if err != nil {
		return err
	}
	return c.json(convert.ToKey(&key))
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
	return c.json(convert.ToList(result, convert.ToKey, func(w *wire.APIKey) string { return w.ID }))
}

func (a *API) revokeKey(c *call) error {
	id := c.r.PathValue("id")
	if err := c.admin().RevokeKey(c.ctx(), id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "api_key.deleted", Deleted: true})
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
	return c.json(convert.ToList(result, convert.ToAuditEntry, func(w *wire.AuditEntry) string { return w.ID }))
}
