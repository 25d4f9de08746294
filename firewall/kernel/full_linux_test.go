package kernel_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
)

// A set that is full of live addresses says so, in a way that whoever fills it
// can tell, takes what is in it already, and has room again for what others give
// up. The kernel spreads a set by a hash of its own over regions with a share of
// the room each, so none is full at the same number, nor all places at once.
func TestASetThatIsFull(t *testing.T) {
	b := closedBench(t)
	var ports []firewall.Port // of one address, so that few calls fill the set
	for n := range uint16(1 << 9) {
		ports = append(ports, firewall.Port{Number: 1 + n, Proto: firewall.TCP})
	}
	for _, base := range []netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("2001:db8:b::1")} {
		addr := base
		for range 2 * 65536 / len(ports) {
			err := b.k.Allow(addr, ports, time.Hour)
			if errors.Is(err, kernel.ErrFull) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", addr, err)
			}
			addr = addr.Next()
		}
		refused := slices.IndexFunc(ports, func(p firewall.Port) bool {
			return errors.Is(b.k.Allow(addr, []firewall.Port{p}, time.Hour), kernel.ErrFull)
		})
		if refused < 0 {
			t.Fatalf("%s: nothing was refused, want %v", addr, kernel.ErrFull)
		}
		if err := b.k.Allow(base, ports, time.Hour); err != nil {
			t.Errorf("%s is there already: %v", base, err)
		}
		err := kernel.ErrFull
		for gone := base; err != nil && gone != addr; gone = gone.Next() {
			if err := b.k.Forget(gone, ports); err != nil {
				t.Fatal(err)
			}
			err = b.k.Allow(addr, ports[refused:refused+1], time.Hour)
		}
		if err != nil {
			t.Errorf("%s, with room for it: %v", addr, err)
		}
	}
}
