package resolver

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
)

// silentUpstream never answers for names under wild.example.
func silentUpstream(t *testing.T) *upstream {
	return newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		if q.Questions[0].Name.String() == "ok.example." {
			return okZone().script(q, network)
		}
		return nil
	})
}

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

// The agent sees in /proc from which port a question is asked that is not
// answered for long, and tells it to a forger outside. The question that they
// want to forge the reply to may not come from there.
func TestAttackQuestionFromAPortThatIsKnown(t *testing.T) {
	up := silentUpstream(t)
	l := newLab(t, labNetwork, up, nil)
	var held sync.WaitGroup
	defer held.Wait()
	held.Go(func() { l.server.answer(t.Context(), mustPack(t, "held.wild.example."), firewall.UDP, l.addr) })
	up.waitFor(t, 1)
	lines := l.server.lines[0]
	lines.mu.Lock()
	lines.now.made = lines.now.made.Add(-20 * time.Millisecond) // as if so much had passed
	lines.mu.Unlock()
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if ports := up.portsAsked(); ports[0] == ports[1] {
		t.Error("both questions come from one port")
	}
}

func TestAttackManyQuestionsFromOnePort(t *testing.T) {
	up := silentUpstream(t)
	l := newLab(t, labNetwork, up, nil)
	var asking sync.WaitGroup
	const questions = 4 * lineQuestions
	for i := range questions {
		message := mustPack(t, fmt.Sprintf("n%d.wild.example.", i))
		asking.Go(func() { l.server.answer(t.Context(), message, firewall.UDP, l.addr) })
	}
	asking.Wait()
	count := map[uint16]int{}
	for _, port := range up.portsAsked() {
		count[port]++
	}
	if len(up.portsAsked()) != questions {
		t.Errorf("%d questions arrived of %d", len(up.portsAsked()), questions)
	}
	for port, n := range count {
		if n > lineQuestions {
			t.Errorf("%d questions come from port %d", n, port)
		}
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
