package firewall

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// dataBytes is the length from which the chosen part of a name is taken for
// data. Names that people and services give their hosts hardly reach it; what
// is encoded into a name uses all the room there is.
const dataBytes = 40

// DataLike reports whether a canonical name looks as if somebody wrote data
// into it, to be read by whoever runs the zone's name servers: it has a label of
// more than 40 bytes, or more than that below the domain that can be registered
// (publicsuffix.org).
func DataLike(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > dataBytes {
			return true
		}
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(name)
	return err == nil && len(name)-len(domain)-1 > dataBytes
}
