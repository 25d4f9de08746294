package resolver

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Attack: an address record of another size than an address. Programs that read on
// would take the rest for something else.
func TestAttackAddressRecordOfAnotherSize(t *testing.T) {
	m := dnsmessage.Message{Header: dnsmessage.Header{Response: true}, Answers: []dnsmessage.Resource{a("ok.example.", public, 60)}}
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readReply(packed, "ok.example"); err != nil {
		t.Fatalf("an honest reply: %v", err)
	}
	size := len(packed) - 4 - 2 // of the record's length
	for extra := 1; extra < 4; extra++ {
		packed = append(packed, 0)
		binary.BigEndian.PutUint16(packed[size:], uint16(4+extra))
		if l, err := readReply(packed, "ok.example"); err == nil {
			t.Errorf("a record of %d bytes: %v", 4+extra, l.addrs)
		}
	}
}

// Attack: an address of the other family than was asked for.
func TestAttackAnswerOfAnotherFamily(t *testing.T) {
	up := newUpstream(t, zone{"ok.example. A": {aaaa("ok.example.", "2a00:1450::5", 60)}}.script)
	l := newLab(t, labNetwork, up, nil)
	mustRefuse(t, l, l.ask(t, "ok.example.", dnsmessage.TypeA))
	if r := l.audit()[0]; r.Reason != "2a00:1450::5 is no answer to a question of type A" {
		t.Errorf("recorded: %+v", r)
	}
}

// A refused question of a type that no entry opens says so, and nobody is told to
// add the name of a service.
func TestRefusedTypesOfferNoEntry(t *testing.T) {
	l := newLab(t, labNetwork, newUpstream(t, zone{}.script), nil)
	l.ask(t, "_http._tcp.apt.test.", dnsmessage.TypeSRV)
	if r := l.audit()[0]; r.Rule == "" || r.Name != "_http._tcp.apt.test" {
		t.Errorf("recorded: %+v", r)
	}
}
