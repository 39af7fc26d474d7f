package egress

import (
	"fmt"
	"net/netip"
	"strings"
)

// special are the ranges of addresses with a special purpose (IANA's registries for
// IPv4 and IPv6), for IPv6 those within 2000::/3.
var special = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20") // Teredo and others, examples, 6to4, examples

// unicast is where public IPv6 addresses are. Loopback, link-local, unique local,
// multicast, IPv4-mapped and NAT64 addresses are outside.
var unicast = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !unicast.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// checkHost returns a [RefusedError] for a host that is neither a public address nor
// a name. Numbers that some resolvers read as an address (0177.0.0.1, 0x7f000001,
// 2130706433, 127.1) are neither.
func checkHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		if !public(a) {
			return &RefusedError{fmt.Sprintf("%s is not a public address", host)}
		}
		return nil
	}
	if name := strings.TrimSuffix(host, "."); !isName(name) {
		return &RefusedError{fmt.Sprintf("%q is neither a host name of ASCII letters, digits, hyphens and dots nor an address in the usual notation", host)}
	}
	return nil
}

// isName reports whether a host is a DNS name and cannot be read as a number.
func isName(host string) bool {
	if len(host) == 0 || len(host) > 253 {
		return false
	}
	var label string
	for label = range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	number := strings.TrimPrefix(strings.ToLower(label), "0x")
	return strings.Trim(label, "0123456789") != "" && (len(number) == len(label) || strings.Trim(number, "0123456789abcdef") != "")
}
