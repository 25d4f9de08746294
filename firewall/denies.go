package firewall

import (
	"net/netip"
	"slices"
	"strings"
)

// Denies returns the deny entry that stands against a destination, so that no
// entry that allows it would help; "" when there is none. With name "" the
// address alone counts, with a zero addr the name alone. With port 0 only an
// entry that speaks of every port does.
func (p *Policy) Denies(name string, addr netip.Addr, port Port) string {
	means := func(e *entry) bool { return e.opens(port) }
	if port.Number == 0 {
		means = wholeEntry
	}
	if canonical, err := CanonicalName(name); err == nil {
		if e := p.deny.name(canonical, means); e != nil {
			return e.rule
		}
	}
	if addr.IsValid() {
		if e := p.deniesAddr(addr.Unmap().WithZone(""), means); e != nil {
			return e.rule
		}
	}
	return ""
}

// IsInternet reports whether addr is an address of the internet, and no private
// one, metadata service or address that is no destination.
func IsInternet(addr netip.Addr) bool {
	class, _ := classify(addr.Unmap())
	return class == classGlobal
}

// metadataNames are what clouds call their metadata services; whatever is below
// them belongs to them, too. Google: metadata.google.internal, its short forms, which
// the search domains of its machines complete, and metadata.goog (Google Cloud,
// "About VM metadata"). AWS: instance-data (the name in ec2.internal). The others
// are named in their own documentation of metadata. Azure, Oracle, DigitalOcean
// and Alibaba document addresses only.
var metadataNames = []string{
	"metadata.google.internal", "metadata.goog", "metadata",
	"instance-data.ec2.internal", "instance-data",
	"metadata.tencentyun.com", "api.metadata.cloud.ibm.com", "metadata.platformequinix.com", "metadata.packet.net",
}

// IsMetadataName reports whether a canonical name is that of a cloud's metadata
// service. Names decide nothing about what is let out, which goes by the answer
// (IsMetadata); this is for what people are told to add.
func IsMetadataName(name string) bool {
	return slices.ContainsFunc(metadataNames, func(m string) bool { return name == m || strings.HasSuffix(name, "."+m) })
}

// IsLocalName reports whether a canonical name belongs to a local network and so
// leads to private addresses: a name without a dot, or one below the domains that
// RFC 6762 (.local), RFC 8375 (home.arpa) and ICANN (.internal) keep for that.
// Like IsMetadataName it is for advice and decides nothing.
func IsLocalName(name string) bool {
	if name == "" || name == "localhost" {
		return false
	}
	return !strings.Contains(name, ".") || slices.ContainsFunc([]string{".internal", ".local", ".home.arpa"},
		func(zone string) bool { return strings.HasSuffix(name, zone) })
}

// IsMetadata reports whether addr is that of a cloud's metadata service, which
// hands out credentials.
func IsMetadata(addr netip.Addr) bool {
	class, _ := classify(addr.Unmap())
	return class == classMetadata
}
