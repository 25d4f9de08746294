package live

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/firewall/owner"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// inNetwork names the test that this process runs in a network of its own.
const inNetwork = "LIVE_TEST_IN_NETWORK"

// alone reports whether the test has a network namespace of its own. Otherwise it
// runs the test once more, in a process that has one, because the firewall works
// on the namespace of its whole process.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNetwork) == t.Name() {
		for _, c := range []string{
			"ip link set lo up", "ip link add v0 type veth peer name v1", "ip addr add 10.99.0.1/24 dev v0",
			"ip link set v0 up", "ip link set v1 up",
			"ip route add default via 10.99.0.2",
		} {
			change(t, c)
		}
		return true
	}
	testenv.Root(t)
	for _, program := range []string{"ip", "iptables", "ipset"} {
		testenv.Program(t, program)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inNetwork+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// change runs a command as root in the firewall's network.
func change(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(command)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// host is what the firewall tells its surroundings.
type host struct {
	mu      sync.Mutex
	records []audit.Record
	told    []string
}

func (h *host) record(r audit.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records = append(h.records, r)
	return nil
}

func (h *host) tell(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, err.Error())
}

func (h *host) reasons() (reasons []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.records {
		reasons = append(reasons, r.Reason)
	}
	return reasons
}

func policyOf(t *testing.T, n firewall.Network) Policy {
	t.Helper()
	return Policy{Policy: mustPolicy(t, n), File: "/policy", SHA256: "abc"}
}

// opened is a firewall that enforces the network's policy.
func opened(t *testing.T, n firewall.Network) (*Firewall, *host) {
	t.Helper()
	k, err := kernel.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lookup, err := owner.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{}
	f, err := Open(t.Context(), Options{
		Kernel: k, Topology: "single", Record: h.record, Lookup: lookup, Programs: func(run func()) { run() }, Tell: h.tell, Warn: h.tell,
		Publish: func([]byte) error { return nil },
	}, policyOf(t, n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, h
}

var (
	allowA = firewall.Network{Allow: []string{"a.test"}}
	allowB = firewall.Network{Allow: []string{"b.test"}}
)

func TestOpenEnforcesThePolicy(t *testing.T) {
	if !alone(t) {
		return
	}
	f, h := opened(t, allowA)
	if err := f.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	s := f.Status()
	if !s.Ready || s.Topology != "single" || s.Mode != firewall.ModeAllowlist || s.Policy.File != "/policy" || s.Policy.SHA256 != "abc" ||
		s.Resolver.Port != firewall.ResolverPort || !s.Guard.On || s.Guard.Port != firewall.GuardPort || s.Drift.Restored != 0 {
		t.Errorf("status %+v", s)
	}
	if s.Allowed+s.Denied != 0 {
		t.Errorf("test questions are on record: %q", h.reasons())
	}
	if err := askRefused(t.Context(), "udp", netip.MustParseAddrPort("127.0.0.1:53"), "evil.test"); err != nil {
		t.Error(err)
	}
	if s := f.Status(); s.Denied != 1 {
		t.Errorf("%d denied, want the one question: %q", s.Denied, h.reasons())
	}
	if text := f.Status().Text(); !strings.Contains(text, "guard      port ") || !strings.Contains(text, "/policy (sha256 abc)") {
		t.Errorf("for people:\n%s", text)
	}
	_, err := net.DialTimeout("tcp", "192.0.2.77:8080", 5*time.Second)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("an address off the list: %v", err)
	}
}

func TestModeNoneStartsNoServer(t *testing.T) {
	if !alone(t) {
		return
	}
	f, _ := opened(t, firewall.Network{Mode: firewall.ModeNone})
	if s := f.Status(); s.Resolver.Port != 0 || s.Guard.On || s.Guard.Port != 0 || strings.Contains(s.Text(), "resolver") {
		t.Errorf("status %+v", s)
	}
	if err := f.Reload(t.Context(), policyOf(t, allowA)); err != nil {
		t.Fatal(err)
	}
	if s := f.Status(); s.Resolver.Port == 0 || !s.Guard.On || s.Policy.Reloads != 1 {
		t.Errorf("status after a reload that needs them: %+v", s)
	}
}

// learned lists the learned addresses that the kernel holds.
func learned(t *testing.T, f *Firewall) (addrs []netip.Addr) {
	t.Helper()
	if err := f.options.Kernel.EachLearned(func(a netip.Addr, _ firewall.Port) { addrs = append(addrs, a) }); err != nil {
		t.Fatal(err)
	}
	return addrs
}

// Attack: an address that the old policy opened, and an answer of the old
// policy's time that arrives after the reload.
func TestAttackAddressesOfTheOldPolicy(t *testing.T) {
	if !alone(t) {
		return
	}
	f, _ := opened(t, allowA)
	answer := func(name string, addr netip.Addr) error {
		return f.allowed.Allow([]string{name}, addr, []firewall.Port{https}, time.Minute)
	}
	if err := answer("a.test", addrA); err != nil || !slices.Contains(learned(t, f), addrA) {
		t.Fatalf("%v, learned %v", err, learned(t, f))
	}
	if err := f.Reload(t.Context(), policyOf(t, allowB)); err != nil {
		t.Fatal(err)
	}
	if err := answer("a.test", addrA); err == nil {
		t.Error("an answer for a name that is no longer allowed opens an address")
	}
	if got := learned(t, f); len(got) > 0 {
		t.Errorf("learned %v after the reload", got)
	}
	if err := answer("b.test", addrB); err != nil {
		t.Error(err)
	}
}

// A reload that fails leaves the old policy's rules to be restored, and says so.
func TestReloadThatFails(t *testing.T) {
	if !alone(t) {
		return
	}
	f, _ := opened(t, allowA)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Reload(over, policyOf(t, firewall.Network{Allow: []string{"b.test", "192.0.2.9"}})); err == nil {
		t.Fatal("a reload that had no time has succeeded")
	}
	if s := f.Status(); s.Policy.Reloads != 0 || s.Ready != (s.Error == "") {
		t.Errorf("status %+v", s)
	}
	f.reconcile()
	if s := f.Status(); !s.Ready {
		t.Errorf("it is not restored: %+v", s)
	}
	if err := f.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if !f.allowed.inForce().DecideName("a.test").Allowed() {
		t.Error("the new policy judges names")
	}
}

// A key goes with no request while a policy could not be put in force, nor the one before,
// and does again when the reconciler has restored that one.
func TestKeysOfAReloadThatFails(t *testing.T) {
	if !alone(t) {
		return
	}
	const entry = "https://a.test GET /v1/**"
	n := firewall.Network{Allow: []string{entry}}
	f, _ := opened(t, n)
	used, _, err := credential.Bind([]credential.Binding{{Name: "a", For: entry}}, n.Allow)
	if err != nil {
		t.Fatal(err)
	}
	p := policyOf(t, n)
	if p.Keys, err = credential.Fill(used, map[string]string{"a": "canary-key-91b2"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Reload(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if s := f.Status(); len(s.Keys) != 1 {
		t.Fatalf("in force: %+v", s)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	next := policyOf(t, firewall.Network{Allow: []string{entry, "192.0.2.9"}})
	next.Keys = p.Keys
	if err := f.Reload(over, next); err == nil {
		t.Fatal("a reload that had no time has succeeded")
	}
	if s := f.Status(); s.Ready || len(s.Keys) != 0 {
		t.Errorf("not in force: %+v", s)
	}
	f.reconcile()
	if s := f.Status(); !s.Ready || len(s.Keys) != 1 {
		t.Errorf("restored: %+v", s)
	}
}

// Attack: root in the namespace opens the rules, the policy of a chain, and an
// address that no name led to.
func TestAttackRulesChangedFromOutside(t *testing.T) {
	if !alone(t) {
		return
	}
	f, h := opened(t, allowA)
	f.reconcile()
	for i, command := range []string{
		"iptables -I SBX-OUT 1 -j ACCEPT", "iptables -P OUTPUT ACCEPT", "iptables -t nat -F SBX-DNS",
		"ipset add SBX-LEARNED4 93.184.216.99,tcp:443",
	} {
		change(t, command)
		if f.reconcile(); f.Status().Drift.Restored != i+1 {
			t.Errorf("%s: restored %d times, want %d", command, f.Status().Drift.Restored, i+1)
		}
		if err := f.Verify(t.Context()); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if reasons := h.reasons(); len(reasons) != i+1 || !strings.HasPrefix(reasons[i], driftReason) {
			t.Errorf("%s: recorded %q", command, reasons)
		}
	}
	f.reconcile()
	if s := f.Status(); s.Drift.Restored != 4 || s.Drift.Last == nil {
		t.Errorf("without a change: %+v", s.Drift)
	}
}

func TestVerifyNamesEachDifference(t *testing.T) {
	if !alone(t) {
		return
	}
	f, _ := opened(t, allowA)
	change(t, "iptables -I SBX-OUT 1 -j ACCEPT")
	change(t, "iptables -P FORWARD ACCEPT")
	found := Differences(f.Verify(t.Context()))
	for _, want := range []string{"rule 1 of the chain SBX-OUT in table filter is foreign", "the policy of FORWARD", "a UDP packet to "} {
		if !slices.ContainsFunc(found, func(d string) bool { return strings.Contains(d, want) }) {
			t.Errorf("no %q in %q", want, found)
		}
	}
}

// A port that another program has is no reason to fail, and both families have
// the same one.
func TestServersListenOnAnyPort(t *testing.T) {
	if !alone(t) {
		return
	}
	taken, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), firewall.GuardPort).String())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	f, _ := opened(t, allowA)
	port := f.Status().Guard.Port
	if port == 0 || port == firewall.GuardPort {
		t.Errorf("the guard's port is %d", port)
	}
	for _, e := range append(f.servers.guardAt, f.servers.resolverAt...) {
		if want := map[bool]uint16{true: firewall.ResolverPort, false: port}[e.udp != nil]; e.addr().Port() != want ||
			!e.addr().Addr().IsLoopback() {
			t.Errorf("it listens on %s, want port %d", e.addr(), want)
		}
	}
	if len(f.servers.guardAt) != len(f.servers.resolverAt) {
		t.Errorf("%d and %d endpoints", len(f.servers.guardAt), len(f.servers.resolverAt))
	}
}
