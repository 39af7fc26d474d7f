package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ParseProxies reads the addresses of proxies: IP addresses and CIDR blocks with
// commas between them.
func ParseProxies(text string) ([]netip.Prefix, error) {
	var proxies []netip.Prefix
	for one := range strings.SplitSeq(text, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		if address, err := netip.ParseAddr(one); err == nil {
			proxies = append(proxies, netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(one)
		if err != nil {
			return nil, err
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

// TrustProxies returns a handler that calls next with the address of the client
// where a request comes through one of the proxies: the last one in X-Forwarded-For
// that is not a proxy itself. The header of anybody else is removed, as it may say
// anything. Without proxies it is next.
func TrustProxies(proxies []netip.Prefix, next http.Handler) http.Handler {
	if len(proxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		if client, ok := forwardedFor(r, proxies); ok {
			r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
		}
		r.Header.Del("X-Forwarded-For")
		next.ServeHTTP(w, r)
	})
}

// forwardedFor returns the client that trusted proxies say a request is of.
func forwardedFor(r *http.Request, proxies []netip.Prefix) (client netip.Addr, ok bool) {
	trusted := func(a netip.Addr) bool {
		return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	peer, ok := parseAddress(r.RemoteAddr)
	if !ok || !trusted(peer) {
		return peer, false
	}
	client = peer
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := parseAddress(strings.TrimSpace(hop))
		if !ok {
			break // what a proxy did not write nobody vouches for
		}
		client = address
		if !trusted(address) {
			break
		}
	}
	return client, true
}

// parseAddress reads an IP address with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return address.Unmap().WithZone(""), err == nil
}
