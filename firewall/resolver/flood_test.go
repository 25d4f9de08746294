package resolver

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall/audit"
)

// heldLab is a lab that writes no record before release is called.
func heldLab(t *testing.T) (l *lab, release func()) {
	hold := make(chan struct{})
	l = newLab(t, labNetwork, newUpstream(t, okZone().script), func(o *Options) {
		record := o.Record
		o.Record = func(r audit.Record) error {
			<-hold
			return record(r)
		}
	})
	release = sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release) // before the server is waited for
	return l, release
}

// flood sends questions for so many names, as fast as it can.
func flood(t *testing.T, l *lab, names int) {
	t.Helper()
	conn, err := net.Dial("udp", l.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range names {
		m := question4(uint16(i), fmt.Sprintf("flood-%d.leak.test.", i), dnsmessage.TypeA)
		packed, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := conn.Write(packed); err == nil {
				break
			} // replies that nobody reads are refused by the socket, and the next write says so
		}
	}
}

// accounted waits until so many questions are in the records, and returns how
// many of them are lost.
func accounted(t *testing.T, l *lab, questions int) (lost int) {
	t.Helper()
	found := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		found, lost = 0, 0
		for _, r := range l.audit() {
			found += max(r.Count, 1)
			if r.Name == audit.LostRecords {
				lost += r.Count
			}
		}
		if found >= questions {
			break
		}
	}
	if found != questions {
		t.Errorf("the records stand for %d of %d questions", found, questions)
	}
	return lost
}

// Attack: a burst of names around the one that must not be seen. None is lost.
// A socket with the kernel's usual buffer has room for all of them.
func TestAttackNameInABurstOfOthers(t *testing.T) {
	l, release := heldLab(t)
	flood(t, l, 200)
	special := make(chan dnsmessage.Message, 1)
	go func() {
		defer close(special) // also when there is no answer
		special <- l.ask(t, "secret.leak.test.", dnsmessage.TypeA)
	}()
	flood(t, l, 200)
	release()
	if m := <-special; m.RCode != dnsmessage.RCodeRefused {
		t.Errorf("rcode %s", m.RCode)
	}
	if lost := accounted(t, l, 401); lost != 0 {
		t.Errorf("%d questions of a burst of 400 are lost", lost)
	}
	if !slices.ContainsFunc(l.audit(), func(r audit.Record) bool { return r.Name == "secret.leak.test" }) {
		t.Error("the name in the burst is not recorded")
	}
}

// Attack: so many questions at once that what they hold takes the firewall's memory.
func TestAttackQuestionsAtOnce(t *testing.T) {
	hold := make(chan struct{})
	var held atomic.Int64
	l := newLab(t, labNetwork, newUpstream(t, okZone().script), func(o *Options) {
		o.Record = func(audit.Record) error {
			held.Add(1)
			<-hold
			return nil
		}
	})
	t.Cleanup(func() { close(hold) }) // before the server is waited for
	for end := time.Now().Add(20 * time.Second); held.Load() < maxInFlight && time.Now().Before(end); {
		flood(t, l, 100)
	}
	flood(t, l, 200) // these must wait in the socket
	for end := time.Now().Add(200 * time.Millisecond); held.Load() == maxInFlight && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := held.Load(); n != maxInFlight {
		t.Errorf("%d questions are held at once, want %d", n, maxInFlight)
	}
}

// Attack: more names than anybody could look at. The records say how many are
// missing, wherever they got lost.
func TestAttackFloodOfNamesIsCounted(t *testing.T) {
	l, release := heldLab(t)
	const names = 40_000
	flood(t, l, names)
	release()
	lost := accounted(t, l, names)
	if lost == 0 {
		t.Fatalf("%d questions at a time are no flood", names)
	}
	t.Logf("%d of %d questions are lost", lost, names)
	i := slices.IndexFunc(l.audit(), func(r audit.Record) bool { return r.Name == audit.LostRecords })
	if r := l.audit()[i]; r.Verdict != "deny" || r.Layer != audit.LayerLog || r.Reason == "" {
		t.Errorf("recorded: %+v", r)
	}
}

// A name that can be asked for never looks like what stands for no name, nor like
// another one.
func TestAttackNamesThatLookLikeOurWords(t *testing.T) {
	l := newLab(t, labNetwork, newUpstream(t, okZone().script), nil)
	wire := func(labels ...string) []byte {
		message := []byte{0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
		for _, label := range labels {
			message = append(append(message, byte(len(label))), label...)
		}
		return append(message, 0, 0, 1, 0, 1)
	}
	for _, message := range [][]byte{wire(audit.LostRecords), wire(audit.NoQuestion), wire("a.b", "test"), wire("a\x00b", "test"),
		wire(`a\000b`, "test")} {
		if m := l.sendRaw(t, message); m.RCode == dnsmessage.RCodeSuccess {
			t.Errorf("%q was answered", message)
		}
	}
	var names []string
	for _, r := range l.audit() {
		names = append(names, r.Name)
		if r.Rule == "" {
			t.Errorf("an entry is offered for %q", r.Name)
		}
	}
	want := []string{`\040lost\032records\041`, `\040no\032question\041`, `a\046b.test`, `a\000b.test`, `a\092000b.test`}
	if !slices.Equal(names, want) {
		t.Errorf("recorded as %q, want %q", names, want)
	}
}
