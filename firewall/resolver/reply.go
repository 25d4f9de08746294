package resolver

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Bounds of how long an address stays open. A TTL of 0 would make it
// unreachable at once; a day would keep it open long after the name moved on.
// Answers carry the TTL of the record itself. They say an hour where it is more,
// because a client must ask again before the address is closed.
const (
	minOpen  = 5 * time.Second
	maxTTL   = time.Hour
	graceTTL = 60 * time.Second // an address stays open for this long after its answer has ended
)

// Bounds of what one upstream reply may hold. Content networks use up to five
// aliases and a few dozen addresses.
const (
	maxAliases   = 16
	maxAddresses = 64
	maxRecords   = 512
)

// alias is one CNAME on the way from the asked name to its addresses.
type alias struct {
	target dnsmessage.Name
	name   string // target as policies know it
}

// answer is what an upstream's reply says about the asked name, and nothing
// else that it may contain.
type answer struct {
	exists  bool
	aliases []alias
	addrs   []netip.Addr
	ttl     time.Duration // the least of all records used, at most maxTTL
	open    time.Duration // how long the addresses are open for new connections

	// failure says why there is no answer. It is set in the cache only.
	failure error
}

// readReply follows the aliases from the asked name and collects the addresses
// at their end. Records about other names are not looked at: a reply could
// carry any.
func readReply(reply []byte, asked string) (answer, error) {
	var p dnsmessage.Parser
	h, err := p.Start(reply)
	if err != nil {
		return answer{}, err
	}
	if err := p.SkipAllQuestions(); err != nil {
		return answer{}, err
	}
	said, err := readRecords(&p)
	if err != nil {
		return answer{}, err
	}
	a, err := said.about(asked)
	a.exists = err == nil && h.RCode == dnsmessage.RCodeSuccess
	return a, err
}

// records are those of a reply that count, by the name that they are
// about.
type records struct {
	aliases map[string]aliasRecord
	addrs   map[string][]netip.Addr
	ttls    map[string]uint32 // of the addresses: the least
}

type aliasRecord struct {
	alias
	ttl uint32
}

// readRecords reads what p has of answers, up to maxRecords.
func readRecords(p *dnsmessage.Parser) (records, error) {
	said := records{aliases: map[string]aliasRecord{}, addrs: map[string][]netip.Addr{}, ttls: map[string]uint32{}}
	for range maxRecords {
		rh, err := p.AnswerHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			break
		}
		if err != nil {
			return records{}, err
		}
		owner, ownerErr := hostName(rh.Name)
		if ownerErr != nil || rh.Class != dnsmessage.ClassINET {
			if err := p.SkipAnswer(); err != nil {
				return records{}, err
			}
			continue
		}
		var addr netip.Addr
		switch rh.Type {
		case dnsmessage.TypeCNAME:
			r, err := p.CNAMEResource()
			if err != nil {
				return records{}, err
			}
			name, err := hostName(r.CNAME)
			if err != nil {
				return records{}, fmt.Errorf("alias of %s: %w", owner, err)
			}
			said.aliases[owner] = aliasRecord{alias{r.CNAME, name}, rh.TTL}
			continue
		case dnsmessage.TypeA, dnsmessage.TypeAAAA:
			r, err := p.UnknownResource()
			if err != nil {
				return records{}, err
			}
			var ok bool
			if addr, ok = netip.AddrFromSlice(r.Data); !ok || addr.Is4() != (rh.Type == dnsmessage.TypeA) {
				return records{}, fmt.Errorf("the address of %s has %d bytes", owner, len(r.Data))
			}
		default:
			if err := p.SkipAnswer(); err != nil {
				return records{}, err
			}
			continue
		}
		if ttl, ok := said.ttls[owner]; !ok || rh.TTL < ttl {
			said.ttls[owner] = rh.TTL
		}
		if len(said.addrs[owner]) < maxAddresses {
			said.addrs[owner] = append(said.addrs[owner], addr)
		}
	}
	return said, nil
}

// about follows the aliases from the asked name to its addresses.
func (said records) about(asked string) (answer, error) {
	var a answer
	least := uint32(maxTTL / time.Second)
	name := asked
	for {
		next, ok := said.aliases[name]
		if !ok {
			break
		}
		if len(a.aliases) == maxAliases {
			return answer{}, fmt.Errorf("more than %d aliases in a row, or a circle of them", maxAliases)
		}
		a.aliases = append(a.aliases, next.alias)
		least = min(least, next.ttl)
		name = next.name
	}
	a.addrs = said.addrs[name]
	if ttl, ok := said.ttls[name]; ok {
		least = min(least, ttl)
	}
	a.ttl = time.Duration(least) * time.Second
	a.open = max(a.ttl, minOpen) + graceTTL
	return a, nil
}
