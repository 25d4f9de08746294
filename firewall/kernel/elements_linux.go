package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// The elements of ipsets, added and removed many in one message and listed without an
// object for each: sets of learned addresses have thousands.

// element is an entry that is added to a set or removed from it.
type element struct {
	firewall.SetEntry
	timeout uint32 // seconds; 0 = the set knows none, or the element goes
}

const (
	// maxBatch is how many elements go into one message: an attribute's length
	// has 16 bits, and an IPv6 element with all it can have takes 76 bytes.
	maxBatch = 500

	flagListHeader = 1 << 2 // IPSET_FLAG_LIST_HEADER of linux/netfilter/ipset/ip_set.h

	ipset = unix.NFNL_SUBSYS_IPSET << 8
)

// aboutSet begins a message about a set.
func aboutSet(m *message, set string) {
	m.netfilter(unix.AF_NETLINK, 0)
	m.attribute(nl.IPSET_ATTR_PROTOCOL, nl.IPSET_PROTOCOL)
	m.attribute(nl.IPSET_ATTR_SETNAME, append([]byte(set), 0)...)
}

// addElements puts elements into a set; those that are there get their new time.
func (c *conn) addElements(set string, elements []element) error {
	return c.changeElements(nl.IPSET_CMD_ADD, 0, set, elements)
}

// removeElements takes elements out of a set. It errs when one is not there.
func (c *conn) removeElements(set string, elements []element) error {
	return c.changeElements(nl.IPSET_CMD_DEL, unix.NLM_F_EXCL, set, elements)
}

// changeElements sends one command for all elements. With the flag NLM_F_EXCL it errs when
// the set is that way already.
func (c *conn) changeElements(command, flags uint16, set string, elements []element) error {
	for len(elements) > 0 {
		n := min(len(elements), maxBatch)
		err := c.ask(ipset|command, unix.NLM_F_ACK|flags, func(m *message) {
			aboutSet(m, set)
			m.attribute(nl.IPSET_ATTR_LINENO|unix.NLA_F_NET_BYTEORDER, 0, 0, 0, 0)
			m.nest(nl.IPSET_ATTR_ADT, func() {
				for _, e := range elements[:n] {
					m.nest(nl.IPSET_ATTR_DATA, func() { e.fill(m) })
				}
			})
		}, nil)
		if err != nil {
			return err
		}
		elements = elements[n:]
	}
	return nil
}

func (e element) fill(m *message) {
	m.nest(nl.IPSET_ATTR_IP, func() {
		if addr := e.Prefix.Addr(); addr.Is4() {
			a := addr.As4()
			m.attribute(nl.IPSET_ATTR_IPADDR_IPV4|unix.NLA_F_NET_BYTEORDER, a[:]...)
		} else {
			a := addr.As16()
			m.attribute(nl.IPSET_ATTR_IPADDR_IPV6|unix.NLA_F_NET_BYTEORDER, a[:]...)
		}
	})
	if !e.Prefix.IsSingleIP() {
		m.attribute(nl.IPSET_ATTR_CIDR, byte(e.Prefix.Bits()))
	}
	m.attribute(nl.IPSET_ATTR_PORT|unix.NLA_F_NET_BYTEORDER, byte(e.Port.Number>>8), byte(e.Port.Number))
	m.attribute(nl.IPSET_ATTR_PROTO, protocol(e.Port.Proto))
	if e.timeout > 0 {
		m.attribute(nl.IPSET_ATTR_TIMEOUT|unix.NLA_F_NET_BYTEORDER, be32(e.timeout)...)
	}
}

// listSet calls each for every element of a set and returns the set's type. each
// nil means that the type is all that is wanted.
func (c *conn) listSet(set string, each func(firewall.SetEntry)) (typeName string, err error) {
	err = c.ask(ipset|nl.IPSET_CMD_LIST, unix.NLM_F_ACK|unix.NLM_F_DUMP, func(m *message) {
		aboutSet(m, set)
		if each == nil {
			m.attribute(nl.IPSET_ATTR_FLAGS|unix.NLA_F_NET_BYTEORDER, be32(flagListHeader)...)
		}
	}, func(body []byte) {
		for kind, value := range netfilterAttributes(body) {
			switch kind {
			case nl.IPSET_ATTR_TYPENAME:
				typeName = text(value)
			case nl.IPSET_ATTR_ADT:
				for _, data := range attributes(value) {
					if e, ok := parseElement(data); ok {
						each(e)
					}
				}
			}
		}
	})
	return typeName, err
}

// parseElement reads an element that has an address and a port.
func parseElement(data []byte) (e firewall.SetEntry, ok bool) {
	var addr netip.Addr
	bits := -1
	port := firewall.Port{Proto: firewall.TCP}
	complete := 0
	for kind, value := range attributes(data) {
		switch {
		case kind == nl.IPSET_ATTR_IP:
			for _, value := range attributes(value) {
				addr, _ = netip.AddrFromSlice(value)
			}
		case kind == nl.IPSET_ATTR_CIDR && len(value) == 1:
			bits = int(value[0])
		case kind == nl.IPSET_ATTR_PORT && len(value) == 2:
			port.Number = binary.BigEndian.Uint16(value)
			complete++
		case kind == nl.IPSET_ATTR_PROTO && len(value) == 1:
			if value[0] == unix.IPPROTO_UDP {
				port.Proto = firewall.UDP
			}
			complete++
		}
	}
	if !addr.IsValid() || complete != 2 {
		return e, false
	}
	if bits <= 0 {
		bits = addr.BitLen() // a whole address is listed without a length
	}
	return firewall.SetEntry{Prefix: netip.PrefixFrom(addr, bits), Port: port}, true
}

func protocol(p firewall.Proto) byte {
	if p == firewall.UDP {
		return unix.IPPROTO_UDP
	}
	return unix.IPPROTO_TCP
}

// text is an attribute's text without the NUL at its end.
func text(value []byte) string {
	for len(value) > 0 && value[len(value)-1] == 0 {
		value = value[:len(value)-1]
	}
	return string(value)
}

// learned calls each for the entries of a set of learned addresses; for none
// when there is no such set.
func (k *Kernel) learned(name string, each func(firewall.SetEntry)) error {
	_, err := k.lister.listSet(name, each)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return errSets("listing the set "+name, err)
	}
	return nil
}

// EachLearned calls each for every address and port that is open because of a
// name.
func (k *Kernel) EachLearned(each func(netip.Addr, firewall.Port)) error {
	for _, name := range []string{firewall.SetName4, firewall.SetName6} {
		if err := k.learned(name, func(e firewall.SetEntry) { each(e.Prefix.Addr(), e.Port) }); err != nil {
			return err
		}
	}
	return nil
}

// Prune takes every learned address and port that keep does not want out of
// the sets and returns how many those were. Sets that do not exist hold
// nothing. Elements that are added meanwhile may be removed, too.
func (k *Kernel) Prune(keep func(netip.Addr, firewall.Port) bool) (int, error) {
	pruned := 0
	for _, name := range []string{firewall.SetName4, firewall.SetName6} {
		var foreign []element
		err := k.learned(name, func(e firewall.SetEntry) {
			if !keep(e.Prefix.Addr(), e.Port) {
				foreign = append(foreign, element{SetEntry: e})
			}
		})
		if err != nil {
			return pruned, err
		}
		// One may end by itself meanwhile.
		if err := k.adder.changeElements(nl.IPSET_CMD_DEL, 0, name, foreign); err != nil {
			return pruned, fmt.Errorf("removing %d entries from the set %s: %w", len(foreign), name, err)
		}
		pruned += len(foreign)
	}
	return pruned, nil
}
