package kernel

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// Meant returns where a client sent its packets that a rule led to server, one of
// our own sockets; ok is false when the kernel knows of no such connection.
func (k *Kernel) Meant(proto firewall.Proto, client, server netip.AddrPort) (to netip.AddrPort, ok bool) {
	client, server = unmapped(client), unmapped(server)
	if client.Addr().Is4() != server.Addr().Is4() {
		return netip.AddrPort{}, false
	}
	// See linux/netfilter/nfnetlink_conntrack.h.
	const (
		get                        = unix.NFNL_SUBSYS_CTNETLINK<<8 | 1 // IPCTNL_MSG_CT_GET
		tupleOrig, tupleReply      = 1, 2
		tupleIP, tupleProto        = 1, 2
		protoNum, srcPort, dstPort = 1, 2, 3
	)
	family, src, dst := byte(unix.AF_INET), uint16(1), uint16(2) // CTA_IP_V4_SRC, _DST
	if client.Addr().Is6() {
		family, src, dst = unix.AF_INET6, 3, 4
	}
	port := func(p uint16) []byte { return binary.BigEndian.AppendUint16(nil, p) }
	err := k.lister.ask(get, 0, func(m *message) {
		m.netfilter(family, 0)
		m.nest(tupleReply, func() {
			m.nest(tupleIP, func() {
				m.attribute(src, server.Addr().AsSlice()...)
				m.attribute(dst, client.Addr().AsSlice()...)
			})
			m.nest(tupleProto, func() {
				m.attribute(protoNum, protocol(proto))
				m.attribute(srcPort, port(server.Port())...)
				m.attribute(dstPort, port(client.Port())...)
			})
		})
	}, func(body []byte) {
		tuple := attribute(netfilterAttributes(body), tupleOrig)
		addr, valid := netip.AddrFromSlice(attribute(attributes(attribute(attributes(tuple), tupleIP)), dst))
		number := attribute(attributes(attribute(attributes(tuple), tupleProto)), dstPort)
		if valid && len(number) == 2 {
			to, ok = netip.AddrPortFrom(addr, binary.BigEndian.Uint16(number)), true
		}
	})
	return to, ok && err == nil
}
