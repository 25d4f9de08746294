package kernel_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
)

// A set that is full of live addresses says so, in a way that whoever fills it
// can tell, takes what is in it already, and has room again for what one gives up.
func TestASetThatIsFull(t *testing.T) {
	b := closedBench(t)
	var ports []firewall.Port // of one address, so that few calls fill the set
	for n := range uint16(1 << 9) {
		ports = append(ports, firewall.Port{Number: 1 + n, Proto: firewall.TCP})
	}
	for _, base := range []netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("2001:db8:b::1")} {
		addr := base
		for range 65536 / len(ports) {
			if err := b.k.Allow(addr, ports, time.Hour); err != nil {
				t.Fatalf("%s: %v", addr, err)
			}
			addr = addr.Next()
		}
		web := []firewall.Port{{Number: 80, Proto: firewall.TCP}, {Number: 443, Proto: firewall.TCP}}
		if err := b.k.Allow(addr, web, time.Hour); !errors.Is(err, kernel.ErrFull) {
			t.Errorf("%s: %v, want %v", addr, err, kernel.ErrFull)
		}
		if err := b.k.Allow(base, web, time.Hour); err != nil {
			t.Errorf("%s is there already: %v", base, err)
		}
		if err := b.k.Forget(base, web); err != nil {
			t.Error(err)
		}
		if err := b.k.Allow(addr, web, time.Hour); err != nil {
			t.Errorf("%s, with room for it: %v", addr, err)
		}
	}
}
