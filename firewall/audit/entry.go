package audit

import (
	"net/netip"
	"strconv"

	"github.com/org/claude-sandbox/firewall"
)

// SearchRule begins the Rule of a record about a name that only a search
// domain made ("example.com.corp.lan"); the domain follows.
const SearchRule = "search:"

// RuleAbsent is the Rule of a record about a name that no list has and that
// does not exist: an allowlist does not lack it.
const RuleAbsent = "no such name"

// AllowEntry writes the allowlist entry for host and port: without the port
// when it is 0 and, for a name, when it is one of those that an entry without a
// port opens anyway. An address is no site, so its port is always named.
func AllowEntry(host string, port uint16, proto firewall.Proto) string {
	if host == "" {
		return ""
	}
	addr, err := netip.ParseAddr(host)
	bare := port == 0 || (err != nil && proto != firewall.UDP && (port == 80 || port == 443))
	isV6 := err == nil && addr.Is6()
	switch {
	case bare:
		return host
	case isV6:
		host = "[" + host + "]"
	}
	entry := host + ":" + strconv.Itoa(int(port))
	if proto == firewall.UDP {
		entry += "/udp"
	}
	return entry
}
