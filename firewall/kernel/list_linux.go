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

// listSocket lists ipsets one element after the other. Package netlink makes
// six objects of each, and sets of learned addresses have thousands. It also
// counts connections. It belongs to one goroutine.
type listSocket struct {
	fd  int
	seq uint32
	out []byte
	in  [1 << 15]byte // the most that the kernel writes at a time (net/netlink/af_netlink.c)
}

func openListSocket() (*listSocket, error) {
	fd, err := openIpset()
	if err != nil {
		return nil, err
	}
	return &listSocket{fd: fd}, nil
}

func (s *listSocket) close() { unix.Close(s.fd) }

const (
	flagListHeader = 1 << 2 // IPSET_FLAG_LIST_HEADER of linux/netfilter/ipset/ip_set.h
	typeMask       = 0x3fff // NLA_TYPE_MASK of linux/netlink.h
)

// list calls each for every element of a set and returns the set's type. each
// nil means that the type is all that is wanted.
func (s *listSocket) list(set string, each func(firewall.SetEntry)) (typeName string, err error) {
	s.seq++
	b := message(s.out[:0], nl.IPSET_CMD_LIST, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_DUMP, s.seq)
	b = attribute(b, nl.IPSET_ATTR_SETNAME, append([]byte(set), 0)...)
	if each == nil {
		b = attribute(b, nl.IPSET_ATTR_FLAGS|unix.NLA_F_NET_BYTEORDER, 0, 0, 0, flagListHeader)
	}
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	s.out = b
	if _, err := unix.Write(s.fd, b); err != nil {
		return "", err
	}
	for {
		n, err := unix.Read(s.fd, s.in[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return "", err
		}
		for rest := s.in[:n]; len(rest) >= unix.SizeofNlMsghdr; {
			size := int(binary.NativeEndian.Uint32(rest))
			if size < unix.SizeofNlMsghdr || size > len(rest) {
				return "", errors.New("the kernel's list is cut short")
			}
			m := rest[:size]
			rest = rest[min(aligned(size), len(rest)):]
			if binary.NativeEndian.Uint32(m[8:]) != s.seq {
				continue // of a list that was given up
			}
			switch kind := binary.NativeEndian.Uint16(m[4:]); {
			case kind == unix.NLMSG_DONE:
				return typeName, nil
			case kind == unix.NLMSG_ERROR:
				return "", failure(m)
			case size >= unix.SizeofNlMsghdr+nfgenSize:
				attributes(m[unix.SizeofNlMsghdr+nfgenSize:], func(kind uint16, value []byte) {
					switch kind {
					case nl.IPSET_ATTR_TYPENAME:
						typeName = text(value)
					case nl.IPSET_ATTR_ADT:
						elements(value, each)
					}
				})
			}
		}
	}
}

// elements calls each for the elements of a list that have an address and a
// port.
func elements(list []byte, each func(firewall.SetEntry)) {
	attributes(list, func(_ uint16, data []byte) {
		var addr netip.Addr
		bits := -1
		port := firewall.Port{Proto: firewall.TCP}
		complete := 0
		attributes(data, func(kind uint16, value []byte) {
			switch {
			case kind == nl.IPSET_ATTR_IP:
				attributes(value, func(_ uint16, value []byte) { addr, _ = netip.AddrFromSlice(value) })
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
		})
		if !addr.IsValid() || complete != 2 {
			return
		}
		if bits <= 0 {
			bits = addr.BitLen() // a whole address is listed without a length
		}
		each(firewall.SetEntry{Prefix: netip.PrefixFrom(addr, bits), Port: port})
	})
}

// attributes calls each for the attributes one after the other.
func attributes(b []byte, each func(kind uint16, value []byte)) {
	for len(b) >= 4 {
		size := int(binary.NativeEndian.Uint16(b))
		if size < 4 || size > len(b) {
			return
		}
		each(binary.NativeEndian.Uint16(b[2:])&typeMask, b[4:size])
		b = b[min(aligned(size), len(b)):]
	}
}

// aligned is how much a length takes up in a message.
func aligned(size int) int { return (size + 3) &^ 3 }

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
	_, err := k.lister.list(name, each)
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
// nothing. What is added meanwhile may be removed, too.
func (k *Kernel) Prune(keep func(netip.Addr, firewall.Port) bool) (int, error) {
	pruned := 0
	for _, name := range []string{firewall.SetName4, firewall.SetName6} {
		var foreign []firewall.SetEntry
		err := k.learned(name, func(e firewall.SetEntry) {
			if !keep(e.Prefix.Addr(), e.Port) {
				foreign = append(foreign, e)
			}
		})
		if err != nil {
			return pruned, err
		}
		for _, e := range foreign {
			entry := setEntry(e.Prefix, e.Port)
			entry.CIDR = 0       // hash:ip,port takes no length
			entry.Replace = true // it may end by itself meanwhile
			if err := k.sets.IpsetDel(name, entry); err != nil {
				return pruned, fmt.Errorf("removing %s from the set %s: %w", e, name, err)
			}
			pruned++
		}
	}
	return pruned, nil
}
