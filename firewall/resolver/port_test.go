package resolver

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
)

// portsAsked are the source ports that questions came from, in their order.
func (u *upstream) portsAsked() []uint16 {
	u.mu.Lock()
	defer u.mu.Unlock()
	var ports []uint16
	for _, from := range u.from {
		ports = append(ports, from.Port())
	}
	return ports
}

// waitFor waits until so many questions have arrived.
func (u *upstream) waitFor(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); len(u.received()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d questions of %d arrived", len(u.received()), n)
		}
	}
}

// Attack: the agent sees in /proc from which port a question is asked that is not
// answered for long, and tells it to a forger outside. No other question may come
// from there.
func TestAttackQuestionFromAPortThatIsKnown(t *testing.T) {
	up := newUpstream(t, func(dnsmessage.Message, string) []dnsmessage.Message { return nil })
	l := newLab(t, labNetwork, up, func(o *Options) { o.Timeout = 2 * time.Second })
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	const questions = 64
	for i := range questions {
		message := mustPack(t, fmt.Sprintf("n%d.wild.example.", i))
		asking.Go(func() { l.server.respond(ctx, message, firewall.UDP, l.addr) })
	}
	up.waitFor(t, questions)
	cancel()
	asking.Wait()
	seen := map[uint16]bool{}
	for _, port := range up.portsAsked() {
		if seen[port] {
			t.Errorf("two questions come from port %d", port)
		}
		seen[port] = true
	}
}

func mustPack(t *testing.T, name string) []byte {
	t.Helper()
	m := question4(7, name, dnsmessage.TypeA)
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return packed
}
