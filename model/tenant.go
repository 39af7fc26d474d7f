package model

import "strings"

// backgroundPrefix begins the tenants of work in the background. No ID of an
// organization has a space.
const backgroundPrefix = "background "

// Tenant returns the tenant that requests for an organization have. Those in the
// background, for which nobody waits, have one of their own: a backend lets it have
// only what others leave free.
func Tenant(organization string, background bool) string {
	if background {
		return backgroundPrefix + organization
	}
	return organization
}

// IsBackground reports whether a tenant is that of work in the background.
func IsBackground(tenant string) bool { return strings.HasPrefix(tenant, backgroundPrefix) }

// TenantOf returns what [Tenant] made a tenant of.
func TenantOf(tenant string) (organization string, background bool) {
	organization, background = strings.CutPrefix(tenant, backgroundPrefix)
	return organization, background
}
