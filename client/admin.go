package client

import (
	"context"
	"io"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// The methods of this file administer: their client has the admin key.

const (
	organizationsPath = "/admin/v1/organizations"
	keysPath          = "/admin/v1/api_keys"
)

func (c *Client) organization(ctx context.Context, method, path string, body any) (accounts.Organization, error) {
	var w wire.Organization
	if err := c.Do(ctx, method, path, body, &w); err != nil {
		return accounts.Organization{}, err
	}
	return unpaid(convert.FromOrganization(&w))
}

// unpaid is the error of an answer whose amounts are no dollars.
func unpaid[T any](v T, err error) (T, error) {
	if err != nil {
		err = fault.Upstreamf(err, "The server's answer has an amount that cannot be read.")
	}
	return v, err
}

// CreateOrganization creates an organization, whose ID the server chooses. The error
// is Invalid where a field is out of bounds.
func (c *Client) CreateOrganization(ctx context.Context, n accounts.NewOrganization) (accounts.Organization, error) {
	if n.ID != "" {
		return accounts.Organization{}, fault.Invalidf("id", "id cannot be sent: the server chooses it.")
	}
	return c.organization(ctx, "POST", organizationsPath, convert.ToOrganizationRequest(&n))
}

// Organization returns an organization. The error is NotFound.
func (c *Client) Organization(ctx context.Context, id string) (accounts.Organization, error) {
	return c.organization(ctx, "GET", under(organizationsPath, id), nil)
}

// Organizations returns a page of all organizations.
func (c *Client) Organizations(ctx context.Context, p Page) (List[accounts.Organization], error) {
	return amounts(ctx, c, organizationsPath, p, convert.FromOrganization)
}

// UpdateOrganization changes what u names. The error is NotFound, or Invalid where a
// field is out of bounds.
func (c *Client) UpdateOrganization(ctx context.Context, id string, u accounts.OrganizationUpdate) (accounts.Organization, error) {
	return c.organization(ctx, "POST", under(organizationsPath, id), convert.ToOrganizationUpdate(&u))
}

// DeleteOrganization deletes an organization and all that belongs to it. The error
// is NotFound.
func (c *Client) DeleteOrganization(ctx context.Context, id string) error {
	return c.Do(ctx, "DELETE", under(organizationsPath, id), nil, nil)
}

// AddCredits adds credits to an organization, or takes away where amount is
// negative.
func (c *Client) AddCredits(ctx context.Context, id string, amount accounts.Micros) (accounts.Organization, error) {
	o, _, err := c.AddCreditsOnce(ctx, id, amount, "")
	return o, err
}

// AddCreditsOnce is AddCredits that is done once for each idempotency key. replayed
// says that it had been done before.
func (c *Client) AddCreditsOnce(ctx context.Context, id string, amount accounts.Micros, key string) (o accounts.Organization, replayed bool, err error) {
	body, err := jsonContent(convert.ToCreditsRequest(amount))
	if err != nil {
		return o, false, err
	}
	resp, err := c.send(ctx, "POST", under(organizationsPath, id, "credits"), body, key)
	if err != nil {
		return o, false, err
	}
	defer resp.Body.Close()
	var w wire.Organization
	if err := decode(resp.Body, &w); err != nil {
		return o, false, failed(ctx, err)
	}
	o, err = unpaid(convert.FromOrganization(&w))
	return o, resp.Header.Get("Idempotent-Replay") == "true", err
}

// Usage returns a page of what an organization was charged for. The error is NotFound
// where there is no such organization.
func (c *Client) Usage(ctx context.Context, organization string, p Page) (List[accounts.Entry], error) {
	return amounts(ctx, c, under(organizationsPath, organization, "usage"), p, convert.FromUsageRecord)
}

func (c *Client) apiKey(ctx context.Context, path string, body any) (accounts.APIKey, error) {
	var w wire.APIKey
	if err := c.Do(ctx, "POST", path, body, &w); err != nil {
		return accounts.APIKey{}, err
	}
	return unpaid(convert.FromKey(&w))
}

// CreateKey creates a key and returns it with its Secret, which cannot be read again.
func (c *Client) CreateKey(ctx context.Context, n accounts.NewKey) (accounts.APIKey, error) {
	return c.apiKey(ctx, keysPath, convert.ToKeyRequest(&n))
}

// Keys returns a page of an organization's keys, or of all keys where the ID is
// empty.
func (c *Client) Keys(ctx context.Context, organization string, p Page) (List[accounts.APIKey], error) {
	return amounts(ctx, c, keysPath, p, convert.FromKey, "organization_id", organization)
}

// UpdateKey changes what u names. The error is NotFound, or Invalid where a field is
// out of bounds.
func (c *Client) UpdateKey(ctx context.Context, id string, u accounts.KeyUpdate) (accounts.APIKey, error) {
	return c.apiKey(ctx, under(keysPath, id), convert.ToKeyUpdate(&u))
}

// RevokeKey deletes a key. The error is NotFound.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.Do(ctx, "DELETE", under(keysPath, id), nil, nil)
}

// AuditLog returns a page of the administrative changes.
func (c *Client) AuditLog(ctx context.Context, p Page) (List[accounts.AuditEntry], error) {
	return list(ctx, c, "/admin/v1/audit_log", p, func(w wire.AuditEntry) accounts.AuditEntry { return convert.FromAuditEntry(&w) })
}

// Backup writes a backup of everything that the server keeps. Read it with
// storage/backup to know that it is whole.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	resp, err := c.send(ctx, "GET", "/admin/v1/backup", nil, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}

// amounts is list for objects with amounts, which may turn out to be none.
func amounts[W, T any](ctx context.Context, c *Client, path string, p Page, convert func(*W) (T, error), more ...string) (List[T], error) {
	var wrong error
	result, err := list(ctx, c, path, p, func(w W) T {
		v, err := unpaid(convert(&w))
		if err != nil {
			wrong = err
		}
		return v
	}, more...)
	if err == nil {
		err = wrong
	}
	return result, err
}
