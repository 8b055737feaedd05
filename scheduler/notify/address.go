package notify

import (
	"fmt"
	"net/netip"
	"strings"
)

// notPublic are the addresses that are not those of hosts on the internet (RFC 6890 and the registries of IANA), and those
// that carry an IPv4 address which a router on the way may take out: behind both may be something that was not meant.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// ParseAllow reads addresses and prefixes such as 10.1.2.3, 10.0.0.0/8 or fd00::/8.
func ParseAllow(texts []string) (list []netip.Prefix, err error) {
	for _, text := range texts {
		text = strings.TrimSpace(text)
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, aerr := netip.ParseAddr(text)
			if aerr != nil {
				return nil, fmt.Errorf("notify: %q: want an address or a prefix such as 10.0.0.0/8", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

func in(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// checkAddress reports why an address may not be connected to; allow has those that the operator names.
func checkAddress(a netip.Addr, secure bool, allow []netip.Prefix) error {
	a = a.Unmap().WithZone("")
	switch {
	case in(allow, a):
		return nil
	case !a.IsGlobalUnicast(), in(notPublic, a):
		return fmt.Errorf("%s is not a public address; --notify-allow names those that may be connected to", a)
	case !secure:
		return fmt.Errorf("%s is to be reached without TLS, which is for addresses that --notify-allow names", a)
	}
	return nil
}
