package resolver

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// public is an address that no range of special use holds.
const public = "93.184.216.34"

func question4(id uint16, name string, typ dnsmessage.Type) dnsmessage.Message {
	return dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: typ, Class: dnsmessage.ClassINET}},
	}
}

func okZone() *zone {
	return &zone{"ok.example. A": {a("ok.example.", public, 60)}}
}

func mustRefuse(t *testing.T, l *lab, m dnsmessage.Message) {
	t.Helper()
	if m.RCode != dnsmessage.RCodeRefused || len(m.Answers) != 0 {
		t.Errorf("rcode %s with %d answers, want REFUSED", m.RCode, len(m.Answers))
	}
	if sets := l.installs(); len(sets) != 0 {
		t.Errorf("addresses were opened: %+v", sets)
	}
}

func mustNotArrive(t *testing.T, up *upstream) {
	t.Helper()
	if got := up.names(t); len(got) != 0 {
		t.Errorf("arrived upstream: %q", got)
	}
}

func TestAttackTunnelThroughLabelsOfAnUnlistedZone(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	for i := range 20 {
		secret := hex.EncodeToString(bytes.Repeat([]byte{byte(i)}, 30))
		mustRefuse(t, l, l.ask(t, secret+".leak.test.", dnsmessage.TypeA))
	}
	mustNotArrive(t, up)
	if n := len(l.audit()); n != 20 {
		t.Errorf("%d records, want one per attempt", n)
	}
}

func TestAttackTunnelBelowAnExactName(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	for _, name := range []string{"secret.ok.example.", "wild.example.", "xok.example.", "ok.example.leak.test.",
		"denied.wild.example.", "."} {
		mustRefuse(t, l, l.ask(t, name, dnsmessage.TypeA))
	}
	mustNotArrive(t, up)
}

// Attack: messages that the resolver does not understand, which somebody else
// might. None goes on, and none goes without a record.
func TestAttackTriesThatAreNoQuestion(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	pack := func(change func(m *dnsmessage.Message)) []byte {
		m := question4(7, "odd.example.", dnsmessage.TypeA)
		change(&m)
		text, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	named := map[string]string{"an update": "odd.example", "two questions": "odd.example", "a reply": "odd.example"}
	for name, message := range map[string][]byte{
		"an update":     pack(func(m *dnsmessage.Message) { m.OpCode = 5 }),
		"two questions": pack(func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) }),
		"no question":   pack(func(m *dnsmessage.Message) { m.Questions = nil }),
		"a reply":       pack(func(m *dnsmessage.Message) { m.Response = true }),
		"anything":      []byte("anything else to port 53"),
		"five bytes":    []byte("12345"),
	} {
		t.Run(name, func(t *testing.T) {
			before := len(l.audit())
			conn, err := net.Dial("udp", l.addr.String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write(message); err != nil {
				t.Fatal(err)
			}
			l.ask(t, "ok.example.", dnsmessage.TypeTXT) // which is answered later
			var got []audit.Record
			for end := time.Now().Add(5 * time.Second); len(got) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
				got = slices.DeleteFunc(l.audit()[before:], func(r audit.Record) bool { return r.Name == "ok.example" })
			}
			if len(got) != 1 || got[0].Verdict != firewall.Deny || got[0].Layer != audit.LayerDNS ||
				got[0].Name != cmp.Or(named[name], audit.NoQuestion) || got[0].Rule == "" || got[0].Reason == "" || !got[0].Src.IsValid() {
				t.Errorf("recorded: %+v", got)
			}
		})
	}
	mustNotArrive(t, up)
}

func TestAttackDeniedQuestionPipelinedBehindAnAllowedOne(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	conn, err := net.Dial("tcp", l.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var segment []byte
	for i, name := range []string{"ok.example.", "secret.leak.test.", "ok.example."} {
		m := question4(uint16(i), name, dnsmessage.TypeA)
		packed, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		segment = append(segment, framed(packed)...)
	}
	if _, err := conn.Write(segment); err != nil {
		t.Fatal(err)
	}
	for i, want := range []dnsmessage.RCode{dnsmessage.RCodeSuccess, dnsmessage.RCodeRefused, dnsmessage.RCodeSuccess} {
		reply, err := readFramed(conn)
		if err != nil {
			t.Fatal(err)
		}
		if m := unpack(t, reply); m.RCode != want || m.ID != uint16(i) {
			t.Errorf("message %d: id %d, %s, want %s", i, m.ID, m.RCode, want)
		}
	}
	if got := up.names(t); !slices.Equal(got, []string{"ok.example. A", "ok.example. A"}) {
		t.Errorf("arrived upstream: %q", got)
	}
}

func TestAttackTwoQuestionsInOneMessage(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	m := question4(3, "ok.example.", dnsmessage.TypeA)
	m.Questions = append(m.Questions, question4(3, "secret.leak.test.", dnsmessage.TypeA).Questions...)
	if got := l.send(t, m); got.RCode != dnsmessage.RCodeFormatError {
		t.Errorf("rcode %s, want FORMERR", got.RCode)
	}
	mustNotArrive(t, up)
}

func TestAttackTunnelInRecordTypesWithRoomForData(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	const null, any = 10, 255
	for _, typ := range []dnsmessage.Type{dnsmessage.TypeTXT, null, any, dnsmessage.TypeMX, dnsmessage.TypeCNAME, dnsmessage.TypeNS,
		dnsmessage.TypeSRV, dnsmessage.TypePTR, dnsmessage.TypeSOA, 65280} {
		mustRefuse(t, l, l.ask(t, "ok.example.", typ))
	}
	chaos := question4(4, "ok.example.", dnsmessage.TypeA)
	chaos.Questions[0].Class = dnsmessage.ClassCHAOS
	mustRefuse(t, l, l.send(t, chaos))
	mustNotArrive(t, up)
}

func TestAttackSmugglingDataInWhatSurroundsTheQuestion(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	plain := question4(5, "ok.example.", dnsmessage.TypeA)
	l.send(t, plain)

	// The letters' case, the id, spare header bits, EDNS options and further
	// records could all carry data to whoever runs the name servers.
	m := ednsQuestion("oK.ExAmPlE.",
		[]dnsmessage.Option{{Code: 65001, Data: []byte("SECRET-IN-EDNS")}, {Code: 8, Data: []byte("SECRET-SUBNET!")}})
	m.AuthenticData, m.CheckingDisabled = true, true
	txt := dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName("secret.leak.test."), Type: dnsmessage.TypeTXT,
			Class: dnsmessage.ClassINET},
		Body: &dnsmessage.TXTResource{TXT: []string{"SECRET-IN-TXT"}},
	}
	m.Answers, m.Authorities = []dnsmessage.Resource{txt}, []dnsmessage.Resource{txt}
	m.Additionals = append(m.Additionals, txt)
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	l.sendRaw(t, append(packed, "SECRET-BEHIND-THE-END"...))

	got := up.received()
	if len(got) != 2 {
		t.Fatalf("%d messages arrived, want 2", len(got))
	}
	if honest, smuggler := got[0][2:], got[1][2:]; !bytes.Equal(honest, smuggler) { // but for the random id
		t.Errorf("the smuggler's message differs from an honest one:\n%q\n%q", honest, smuggler)
	}
}

func TestAttackChoosingTheIdOrThePortUpstreamSees(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	ids, ports := map[string]bool{}, map[uint16]bool{}
	for range 16 {
		l.send(t, question4(0x4141, "ok.example.", dnsmessage.TypeA))
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	for i, m := range up.got {
		ids[string(m[:2])] = true
		ports[up.from[i].Port()] = true
	}
	if len(ids) < 12 || len(ports) < 8 {
		t.Errorf("16 questions used %d ids and %d ports, want them random", len(ids), len(ports))
	}
}

func TestAttackAllowedNameLeadsToASpecialAddress(t *testing.T) {
	for _, addr := range []string{
		"127.0.0.1", "127.0.0.11", "10.1.2.3", "172.16.9.9", "192.168.1.1", "169.254.169.254", "169.254.1.1",
		"100.64.0.1", "0.0.0.0", "224.0.0.251", "255.255.255.255", "198.18.0.1",
	} {
		t.Run(addr, func(t *testing.T) {
			up := newUpstream(t, zone{"ok.example. A": {a("ok.example.", addr, 60)}}.script)
			l := newLab(t, labNetwork, up, nil)
			mustRefuse(t, l, l.ask(t, "ok.example.", dnsmessage.TypeA))
			if r := l.audit()[0]; r.Verdict != firewall.Deny || r.Dst != addr {
				t.Errorf("record %+v, want the refused address", r)
			}
		})
	}
	for _, addr := range []string{"::ffff:0:a9fe:a9fe", "5f00::1", "::1", "::", "fe80::1", "fd00::1", "ff02::1", "fd00:ec2::254",
		"::ffff:10.0.0.1", "::ffff:93.184.216.34", "64:ff9b::7f00:1"} {
		t.Run(addr, func(t *testing.T) {
			up := newUpstream(t, zone{"ok.example. AAAA": {aaaa("ok.example.", addr, 60)}}.script)
			l := newLab(t, labNetwork, up, nil)
			mustRefuse(t, l, l.ask(t, "ok.example.", dnsmessage.TypeAAAA))
		})
	}
}

func TestAttackPrivateAddressHiddenAmongPublicOnes(t *testing.T) {
	up := newUpstream(t, zone{"ok.example. A": {a("ok.example.", public, 60), a("ok.example.", "10.0.0.1", 60)}}.script)
	l := newLab(t, labNetwork, up, nil)
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
		t.Errorf("answer %q, want the public address alone", got)
	}
	if sets := l.installs(); len(sets) != 1 || sets[0].addr.String() != public {
		t.Errorf("opened %+v", sets)
	}
}

func TestPrivateNamesMayLeadToPrivateAddresses(t *testing.T) {
	up := newUpstream(t, zone{"db.example. A": {a("db.example.", "10.0.0.5", 60)}}.script)
	n := labNetwork
	n.Private = []string{"db.example"}
	l := newLab(t, n, up, nil)
	if got := addresses(l.ask(t, "db.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{"10.0.0.5"}) {
		t.Errorf("answer %q", got)
	}
}

func TestAttackAliasOfADeniedName(t *testing.T) {
	up := newUpstream(t, zone{"ok.example. A": {
		cname("ok.example.", "fine.test.", 60), cname("fine.test.", "BAD.example.", 60), a("bad.example.", public, 60),
	}}.script)
	l := newLab(t, labNetwork, up, nil)
	mustRefuse(t, l, l.ask(t, "ok.example.", dnsmessage.TypeA))
}

func TestAttackRecordsAboutOtherNamesInTheReply(t *testing.T) {
	up := newUpstream(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		m := replyTo(q)
		m.Answers = []dnsmessage.Resource{a("ok.example.", public, 60), a("evil.test.", "93.184.216.66", 60),
			cname("other.test.", "ok.example.", 60)}
		m.Authorities = []dnsmessage.Resource{a("ok.example.", "93.184.216.67", 60)}
		m.Additionals = []dnsmessage.Resource{a("ok.example.", "93.184.216.68", 60)}
		return []dnsmessage.Message{m}
	})
	l := newLab(t, labNetwork, up, nil)
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
		t.Errorf("answer %q", got)
	}
	if sets := l.installs(); len(sets) != 1 {
		t.Errorf("opened %+v, want the one address", sets)
	}
}

func TestAttackCircleOfAliases(t *testing.T) {
	up := newUpstream(t, zone{"ok.example. A": {cname("ok.example.", "b.test.", 60), cname("b.test.", "ok.example.", 60)}}.script)
	l := newLab(t, labNetwork, up, nil)
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure {
		t.Errorf("rcode %s, want SERVFAIL", m.RCode)
	}
}

func TestAttackNameThatProgramsReadDifferently(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	for _, label := range []string{"leak\x00", "leak ", "le/ak", "l\xc3\xa9ak", "*", "leak\n", "%2e", "leak\\"} {
		// "<label>.wild.example" in wire form.
		message := []byte{0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
		for _, part := range []string{label, "wild", "example"} {
			message = append(append(message, byte(len(part))), part...)
		}
		message = append(message, 0, 0, 1, 0, 1)
		if m := l.sendRaw(t, message); m.RCode == dnsmessage.RCodeSuccess {
			t.Errorf("label %q was answered", label)
		}
	}
	mustNotArrive(t, up)
}

func TestAttackTunnelBelowAWildcard(t *testing.T) {
	up := newUpstream(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		m := replyTo(q)
		m.Answers = []dnsmessage.Resource{a(q.Questions[0].Name.String(), public, 60)}
		return []dnsmessage.Message{m}
	})
	l := newLab(t, labNetwork, up, nil)
	refused := 0
	for i := range budgetLong + 20 {
		data := fmt.Sprintf("%041d", i)
		if i%2 == 0 {
			data = fmt.Sprintf("%020d.%020d", i, i) // the same in two labels
		}
		if m := l.ask(t, data+".wild.example.", dnsmessage.TypeA); m.RCode == dnsmessage.RCodeRefused {
			refused++
		}
	}
	if refused != 20 || len(up.received()) != budgetLong {
		t.Errorf("%d refused and %d arrived, want 20 and %d", refused, len(up.received()), budgetLong)
	}
	for i := range 50 {
		if m := l.ask(t, fmt.Sprintf("short-%d.wild.example.", i), dnsmessage.TypeA); m.RCode != dnsmessage.RCodeSuccess {
			t.Fatalf("short name %d: %s", i, m.RCode)
		}
	}
	// Names of 40 bytes that are many carry as much.
	refused = 0
	before := len(up.received())
	for i := range budgetShort - 50 + 20 {
		if m := l.ask(t, fmt.Sprintf("%040d.wild.example.", i), dnsmessage.TypeA); m.RCode == dnsmessage.RCodeRefused {
			refused++
		}
	}
	if arrived := len(up.received()) - before; refused != 20 || arrived != budgetShort-50 {
		t.Errorf("%d refused and %d arrived, want 20 and %d", refused, arrived, budgetShort-50)
	}
	known := fmt.Sprintf("%020d.%020d.wild.example.", 0, 0)
	if m := l.ask(t, known, dnsmessage.TypeA); m.RCode != dnsmessage.RCodeSuccess {
		t.Errorf("a name that was let through before is %s", m.RCode)
	}
}

func TestWildcardBudgetRefills(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBudget(func() time.Time { return now })
	name := func(i int) string { return fmt.Sprintf("%050d.wild.example", i) }
	for i := range budgetLong {
		if !b.spend("preset:x *.wild.example:443", name(i)) {
			t.Fatalf("name %d was refused", i)
		}
	}
	if b.spend("preset:x *.wild.example:443", name(budgetLong)) {
		t.Error("the budget is endless")
	}
	short := func(i int) string { return fmt.Sprintf("%040d.wild.example", i) }
	for i := range budgetShort {
		if !b.spend("preset:x *.wild.example:443", short(i)) {
			t.Fatalf("short name %d was refused", i)
		}
	}
	if b.spend("preset:x *.wild.example:443", short(budgetShort)) {
		t.Error("the budget of short names is endless")
	}
	if !b.spend("preset:x *.wild.example:443", short(0)) {
		t.Error("a known name costs something")
	}
	if !b.spend("*.other.example", strings.Repeat("x", 50)+".other.example") || !b.spend("ok.example", "ok.example") {
		t.Error("another entry shares the budget")
	}
	now = now.Add(budgetWindow)
	if !b.spend("preset:x *.wild.example:443", name(budgetLong)) || !b.spend("preset:x *.wild.example:443", short(budgetShort)) {
		t.Error("the budget does not refill")
	}
	if got := len(b.spent[account{"preset:x *.wild.example:443", false}]); got != 1 {
		t.Errorf("%d short names are remembered, want 1", got)
	}
}

// TestAttackReplyOvertakesItsAddress holds the packet filter's set back and
// looks whether the client has its answer already.
func TestAttackReplyOvertakesItsAddress(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	client, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(l.addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	buf := make([]byte, 1500)
	installed := make(chan error, 1)
	l.mu.Lock()
	l.onAllow = func(netip.Addr) error {
		// A reply that was sent first lies in the socket already: loopback delivers within the call.
		if err := client.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			return err
		}
		_, err := client.Read(buf)
		installed <- err
		return nil
	}
	l.mu.Unlock()
	m := question4(6, "ok.example.", dnsmessage.TypeA)
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(packed); err != nil {
		t.Fatal(err)
	}
	if err := <-installed; !os.IsTimeout(err) {
		t.Fatalf("the client had its answer before the address was open (%v)", err)
	}
	if err := client.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := client.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	if got := addresses(unpack(t, buf[:n])); !slices.Equal(got, []string{public}) {
		t.Errorf("answer %q", got)
	}
}

func TestAddressThatCannotBeOpenedIsNoAnswer(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	l.mu.Lock()
	l.onAllow = func(netip.Addr) error { return errFull }
	l.mu.Unlock()
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure {
		t.Errorf("rcode %s, want SERVFAIL", m.RCode)
	}
}

func TestAttackFillingTheDiskToHideFromTheLog(t *testing.T) {
	up := newUpstream(t, okZone().script)
	l := newLab(t, labNetwork, up, nil)
	l.mu.Lock()
	l.logErr = errFull
	l.mu.Unlock()
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure || len(m.Answers) != 0 {
		t.Errorf("%s with %d answers: what cannot be recorded was answered", m.RCode, len(m.Answers))
	}
}
