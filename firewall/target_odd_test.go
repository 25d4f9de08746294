package firewall

import (
	"net/netip"
	"strings"
	"testing"
)

// Attack: an address in a spelling that programs read and lists do not know. It is
// denied with the address that it stands for, also where the address is allowed.
func TestAttackNumericSpellingsOfAnAddress(t *testing.T) {
	p, errs := NewPolicy(Network{Allow: []string{"192.0.2.1", "1.2.3.4"}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for spelling, meant := range map[string]string{
		"0x7f000001": "127.0.0.1", "2130706433": "127.0.0.1", "127.1": "127.0.0.1", "127.0.1": "127.0.0.1",
		"0177.0.0.1": "127.0.0.1", "017700000001": "127.0.0.1", "0x7F.1": "127.0.0.1", "3221225985": "192.0.2.1",
		"1.2.772": "1.2.3.4", "192.0.2.1.": "192.0.2.1", "1.2.3.4.5": "", "4294967296": "", "a.b.0x1": "", "09.1": "",
	} {
		for _, port := range []string{"", ":8123"} {
			target, err := ParseTarget(spelling + port)
			if err != nil {
				t.Errorf("%s is wrong usage: %v", spelling, err)
				continue
			}
			if target.Odd == "" {
				t.Errorf("%s is taken for %+v", spelling, target)
				continue
			}
			d := target.Decide(p)
			if d.Allowed() || d.Rule == "" || meant != "" && !strings.Contains(d.Reason, meant) || meant == "" &&
				strings.Contains(d.Reason, "read it as") {
				t.Errorf("%s: %+v", spelling, d)
			}
		}
	}
}

func TestLoopbackIsTheSandboxItself(t *testing.T) {
	for _, mode := range []Mode{ModeNone, ModeAllowlist, ModeAudit} {
		p, errs := NewPolicy(Network{Mode: mode})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for target, open := range map[string]bool{
			"localhost:8123": true, "LOCALHOST": true, "web.localhost:80": true, "127.0.0.1:8123": true, "127.9.9.9": true, "[::1]:8123": true,
			"127.0.0.11:53": false, "localhost.invalid": false, "10.0.0.1": false,
		} {
			parsed, err := ParseTarget(target)
			if err != nil {
				t.Fatal(err)
			}
			if d := parsed.Decide(p); d.Allowed() != open {
				t.Errorf("mode %s, %s: %+v", mode, target, d)
			}
		}
	}
}

func TestRefusalsAtLoopbackSayWhatIsTrue(t *testing.T) {
	p, _ := NewPolicy(Network{})
	if d := p.Refused("", netip.MustParseAddr("127.0.0.2"), 80, TCP); strings.Contains(d.Reason, "engine") || d.Rule == "" {
		t.Errorf("127.0.0.2: %+v", d)
	}
	if d := p.Refused("", netip.MustParseAddr("127.0.0.11"), 40000, UDP); !strings.Contains(d.Reason, "engine's resolver") {
		t.Errorf("127.0.0.11: %+v", d)
	}
}
