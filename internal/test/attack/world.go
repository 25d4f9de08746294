//go:build linux

package attack

import (
	"net/netip"
	"strings"
)

// Policy is the sandbox.jsonc of every protected run.
const Policy = `{"network": {
  "allow": [
    "ok.test", "cdn-customer.test", "alias.test", "*.wild.test", "*.brief.test", "*.tide.test", "many.test",
    "git.test:22", "udp.test:4000/udp", "` + staticAddr + `:8080", "[` + staticAddr6 + `]:8080",
    "rebind-metadata.test", "rebind-loopback.test", "rebind-lan.test", "rebind-gateway.test", "rebind-shared.test",
    "rebind-ula.test", "rebind-mapped.test", "rebind-nat64.test", "rebind-linklocal.test", "rebind-zero.test", "rebind-6to4.test"
  ],
  "deny": ["denied.test"]
}}`

// The made-up internet. Its addresses are of no special range, as on the real
// one; they end at the lab's wire.
const (
	upstreamAddr = "93.184.216.53" // the machine's own resolver
	okAddr       = "93.184.216.10"
	okAddr6      = "2a00:1450:4001::10"
	cdnAddr      = "93.184.216.11"
	wildAddr     = "93.184.216.12"
	manyAddr     = "93.184.216.128" // and the 39 that follow
	gitAddr      = "93.184.216.22"
	udpAddr      = "93.184.216.40"
	staticAddr   = "93.184.216.80"
	staticAddr6  = "2a00:1450:4001::80"
	deniedAddr   = "93.184.216.66"
	publicDNS    = "93.184.216.88" // somebody else's resolver, with DoH and DoT
	publicDNS6   = "2a00:1450:4001::88"

	gatewayAddr  = "192.0.2.1"
	gatewayAddr6 = "2001:db8::1"
	neighbour    = "192.0.2.77" // another machine on the same link
	metadata     = "169.254.169.254"
	metadata6    = "fd00:ec2::254"
	ecsMetadata  = "169.254.170.2"
	wireServer   = "168.63.129.16"
	lanAddr      = "192.168.7.7"
	lanAddr10    = "10.1.2.3"
	lanAddr6     = "fd12:3456:789a::7"
	sharedSpace  = "100.64.0.7" // RFC 6598
)

// evilNet4 and evilNet6 hold one address for each attack.
var (
	evilNet4 = netip.MustParsePrefix("93.184.217.0/24")
	evilNet6 = netip.MustParsePrefix("2a00:1450:4666::/64")
)

// owned are the prefixes whose addresses all answer.
var owned = []string{
	"93.184.216.0/23", "2a00:1450::/32", neighbour + "/32", metadata + "/32", metadata6 + "/128", ecsMetadata + "/32",
	wireServer + "/32", lanAddr + "/32", lanAddr10 + "/32", lanAddr6 + "/128", sharedSpace + "/32",
}

// record is what the zone has for a name: addresses, or an alias.
type record struct {
	alias string
	addrs []string
}

// lookUp is the zone of the whole internet.
func lookUp(name string) (record, bool) {
	name = strings.ToLower(name)
	if r, ok := zone[name]; ok {
		return r, true
	}
	for suffix, r := range wildZone {
		if strings.HasSuffix(name, suffix) {
			return r, true
		}
	}
	return record{}, false
}

var zone = map[string]record{
	"ok.test":           {addrs: []string{okAddr, okAddr6}},
	"neighbour.test":    {addrs: []string{okAddr, okAddr6}}, // another site on the same front end
	"cdn-customer.test": {alias: "edge.cdn.test"},
	"edge.cdn.test":     {addrs: []string{cdnAddr}},
	"alias.test":        {alias: "denied.test"},
	"denied.test":       {addrs: []string{deniedAddr}},
	"many.test":         {addrs: many()},
	"git.test":          {addrs: []string{gitAddr}},
	"udp.test":          {addrs: []string{udpAddr}},

	"rebind-metadata.test":  {addrs: []string{metadata}},
	"rebind-loopback.test":  {addrs: []string{"127.0.0.1"}},
	"rebind-lan.test":       {addrs: []string{lanAddr}},
	"rebind-gateway.test":   {addrs: []string{gatewayAddr}},
	"rebind-shared.test":    {addrs: []string{sharedSpace}},
	"rebind-ula.test":       {addrs: []string{lanAddr6}},
	"rebind-mapped.test":    {addrs: []string{"::ffff:" + lanAddr}},
	"rebind-nat64.test":     {addrs: []string{"64:ff9b::a9fe:a9fe"}},
	"rebind-linklocal.test": {addrs: []string{"fe80::1"}},
	"rebind-zero.test":      {addrs: []string{"0.0.0.0"}},
	"rebind-6to4.test":      {addrs: []string{"2002:a9fe:a9fe::1"}},
}

var wildZone = map[string]record{
	".wild.test":  {addrs: []string{wildAddr}},
	".brief.test": {addrs: []string{wildAddr}},
	".tide.test":  {addrs: []string{lanAddr10}}, // which is refused
	".evil.test":  {addrs: []string{deniedAddr}},
	".ok.test":    {addrs: []string{okAddr}},
}

func many() []string {
	var out []string
	a := netip.MustParseAddr(manyAddr)
	for range 40 {
		out = append(out, a.String())
		a = a.Next()
	}
	return out
}
