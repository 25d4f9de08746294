package kernel_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// broken returns the plan with a rule that no kernel takes at the end of the
// named table of one family.
func broken(plan firewall.Plan, ipv6 bool, table string) firewall.Plan {
	spoil := func(tables []firewall.Table) []firewall.Table {
		tables = slices.Clone(tables)
		for i := range tables {
			if tables[i].Name == table {
				tables[i].Chains = slices.Clone(tables[i].Chains)
				tables[i].Chains[0].Rules = append(slices.Clone(tables[i].Chains[0].Rules), firewall.Rule{Spec: "-j NO-SUCH-CHAIN"})
			}
		}
		return tables
	}
	if ipv6 {
		plan.V6 = spoil(plan.V6)
	} else {
		plan.V4 = spoil(plan.V4)
	}
	return plan
}

func TestErrorMidwayStaysClosed(t *testing.T) {
	for _, backend := range []kernel.Backend{kernel.NFT, kernel.Legacy} {
		for _, before := range []string{"fresh", "open"} {
			for _, where := range []struct {
				ipv6  bool
				table string
			}{{false, "filter"}, {false, "nat"}, {true, "filter"}, {true, "nat"}} {
				name := string(backend) + "/" + before + "/" + where.table
				if where.ipv6 {
					name += "6"
				}
				t.Run(name, func(t *testing.T) {
					b := newBench(t, backend)
					plan := b.plan(firewall.Network{Allow: []string{allowed + ":443", "[" + allowed6 + "]:443"}})
					if before == "open" {
						b.apply(plan)
					}
					var err error
					b.Sandbox.Do(func() { err = b.k.Apply(context.Background(), broken(plan, where.ipv6, where.table)) })
					if err == nil {
						t.Fatal("Apply of a broken plan succeeded")
					}
					c := b.Capture(t)
					for _, to := range []string{allowed + ":443", "[" + allowed6 + "]:443", other + ":443", "[" + other6 + "]:443", upstream + ":53"} {
						_ = b.send(agentUID, 0, to, "leak")
						_ = b.send(0, mark, to, "leak")
					}
					c.Nothing("after the error", nil)
					if err := b.verify(firewall.ClosedPlan(b.k.Facts())); err != nil {
						t.Error(err)
					}
					b.apply(plan) // and it is no dead end
					if err := b.verify(plan); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// Between the first step and the last, nothing may be open in the family whose
// turn has not come; and what is right already is left alone.
func TestPolicyDropComesFirst(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for _, program := range []string{"iptables-nft-restore", "ip6tables-nft-restore"} {
		script := "#!/bin/sh\nin=$(cat)\ncase $in in *'OUTPUT DROP'*) what=drop;; " +
			"*'SBX-OUT -j DROP'*SBX-PROBE*) what=close;; *) what=load;; esac\n" +
			"echo $what >>" + log + "\nprintf '%s\\n' \"$in\" | " + testenv.Program(t, program) + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	b := newBench(t, kernel.NFT)
	b.apply(b.plan(firewall.Network{}))
	b.apply(b.plan(firewall.Network{}))
	b.run("iptables-nft", "-P", "OUTPUT", "ACCEPT")
	b.apply(b.plan(firewall.Network{Inbound: []int{3000}}))
	steps, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(strings.Fields(string(steps)), " "), "close close drop drop load load drop drop load load"; got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
}

func TestCancelledApplyStaysClosed(t *testing.T) {
	b := newBench(t, "")
	plan := b.plan(firewall.Network{Allow: []string{allowed + ":443"}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var err error
	b.Sandbox.Do(func() { err = b.k.Apply(ctx, plan) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	c := b.Capture(t)
	_ = b.send(agentUID, 0, other+":443", "leak")
	_ = b.send(agentUID, 0, "["+other6+"]:443", "leak")
	c.Nothing("after a cancelled Apply", nil)
}

func TestSecondApplyKeepsAFlow(t *testing.T) {
	b := closedBench(t)
	listen(t, b.Internet, allowed+":443")
	conn, err := b.dial("tcp", allowed+":443")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	echo(t, conn, "before")
	for range 3 {
		b.apply(b.plan(firewall.Network{Allow: []string{allowed + ":443", other + ":8443"}}))
		echo(t, conn, "after")
	}
	if n := strings.Count(b.saved(), "-A OUTPUT -j "+firewall.ChainOut); n != 2 {
		t.Errorf("%d jumps in OUTPUT of both families, want 2", n)
	}

	b.apply(b.plan(firewall.Network{Allow: []string{other + ":8443"}, Deny: []string{allowed}}))
	c := b.Capture(t)
	_, _ = conn.Write([]byte("leak"))
	c.Nothing("a flow to a network that is now denied", nil)
}

func TestExpiredAddress(t *testing.T) {
	b := closedBench(t)
	for _, to := range []string{other + ":8443", "[" + other6 + "]:8443"} {
		listen(t, b.Internet, to)
		addr := netip.MustParseAddrPort(to).Addr()
		if conn, err := b.dial("tcp", to); err == nil {
			conn.Close()
			t.Fatalf("%s is open before it is learned", to)
		}
		if err := b.k.Allow(addr, []firewall.Port{{Number: 8443, Proto: firewall.TCP}}, time.Second); err != nil {
			t.Fatal(err)
		}
		conn, err := b.dial("tcp", to)
		if err != nil {
			t.Fatalf("%s is learned: %v", to, err)
		}
		defer conn.Close()
		echo(t, conn, "while it is open")
		deadline := time.Now().Add(30 * time.Second)
		for ; ; time.Sleep(20 * time.Millisecond) {
			again, err := b.dial("tcp", to)
			if err != nil {
				break
			}
			again.Close()
			if time.Now().After(deadline) {
				t.Fatalf("%s never expires", to)
			}
		}
		echo(t, conn, "after it has expired")
	}
}

func TestAllowIsSafeForConcurrentUse(t *testing.T) {
	b := closedBench(t)
	errs := make(chan error)
	const workers, each = 8, 50
	for w := range workers {
		go func() {
			for i := range each {
				addr := netip.AddrFrom4([4]byte{203, 0, byte(w), byte(i)})
				if err := b.k.Allow(addr, []firewall.Port{{Number: 443, Proto: firewall.TCP}}, time.Hour); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(b.run("ipset", "save", firewall.SetName4), "add "); n != workers*each {
		t.Errorf("the set holds %d addresses, want %d", n, workers*each)
	}
}

func TestAllowErrs(t *testing.T) {
	b := newBench(t, "")
	ports := []firewall.Port{{Number: 443, Proto: firewall.TCP}}
	if err := b.k.Allow(netip.MustParseAddr(other), ports, time.Hour); err == nil {
		t.Error("Allow before Apply succeeded")
	}
	b.apply(b.plan(firewall.Network{}))
	if err := b.k.Allow(netip.MustParseAddr(other), ports, 0); err == nil {
		t.Error("Allow for ever succeeded")
	}
}

func TestVerifyFindsTampering(t *testing.T) {
	b := newBench(t, "")
	plan := b.plan(firewall.Network{Allow: []string{allowed + ":443", "[" + allowed6 + "]:443"}})
	for _, tamper := range []struct {
		what    string
		command string
		want    string
	}{
		{"a rule before ours", "iptables -I OUTPUT 1 -p udp -j ACCEPT", "not the first rule"},
		{"an open policy", "ip6tables -P OUTPUT ACCEPT", "not DROP"},
		{"an open policy for packets in transit", "iptables -P FORWARD ACCEPT", "not DROP"},
		{"a flushed chain", "iptables -F SBX-OUT", "lacks the rule"},
		{"a rule more", "ip6tables -I SBX-OUT 1 -j ACCEPT", "rule 1 of the chain"},
		{"a rule at the end", "iptables -A SBX-DNS -j RETURN", "is foreign"},
		{"a missing redirect", "iptables -t nat -F SBX-DNS", "lacks the rule"},
		{"a missing jump", "ip6tables -t nat -D OUTPUT -j SBX-DNS", "not the first rule"},
		{"another static network", "ipset add SBX-STATIC4 203.0.113.0/24,tcp:443", "not in the plan"},
		{"a static network less", "ipset flush SBX-STATIC6", "lacks"},
	} {
		b.apply(plan)
		if err := b.verify(plan); err != nil {
			t.Fatalf("before %s: %v", tamper.what, err)
		}
		args := strings.Fields(tamper.command)
		if strings.Contains(tamper.command, "SBX-DNS") && args[1] != "-t" {
			args = append([]string{args[0], "-t", "nat"}, args[1:]...)
		}
		b.run(args[0], args[1:]...)
		if err := b.verify(plan); err == nil || !strings.Contains(err.Error(), tamper.want) {
			t.Errorf("%s: Verify says %v, want %q", tamper.what, err, tamper.want)
		}
		if strings.Contains(tamper.what, "rule before ours") {
			b.run("iptables", "-D", "OUTPUT", "1")
		}
	}
}

// The listing is not all that Verify trusts: a plan without any rule is held by
// every kernel, and the packets tell.
func TestVerifyFindsPacketsThatPass(t *testing.T) {
	b := newBench(t, "")
	b.apply(b.plan(firewall.Network{Mode: firewall.ModeHost}))
	none := firewall.Plan{V4: []firewall.Table{{Name: "filter"}}, V6: []firewall.Table{{Name: "filter"}}}
	if err := b.verify(none); err == nil {
		t.Error("Verify without packets to send says nothing")
	}
	none.Probes = firewall.ClosedPlan(firewall.Facts{IPv6: true}).Probes
	if err := b.verify(none); err == nil || !strings.Contains(err.Error(), "it was let out") {
		t.Errorf("Verify without rules says %v", err)
	}
}

// In a container every user may open an ICMP socket, which hides refusals over
// IPv6; Verify must neither be misled by it nor let ICMP pass unseen.
func TestVerifyWherePingNeedsNoCapability(t *testing.T) {
	b := newBench(t, "")
	var err error
	b.Sandbox.Do(func() {
		err = os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte("0 2147483647"), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	plan := b.plan(firewall.Network{})
	b.apply(plan)
	if err := b.verify(plan); err != nil {
		t.Error(err)
	}
	// A plan with a hole is held by the kernel to the letter; the packets tell.
	for _, hole := range []struct {
		ipv6       bool
		spec, want string
	}{
		{false, "-p icmp -j ACCEPT", "IPv4: an ICMP echo"},
		{true, "-p ipv6-icmp -j ACCEPT", "IPv6: an ICMP echo"},
		{false, "-p udp -m udp --dport 9 -j ACCEPT", "IPv4: a UDP packet"},
		{true, "-p udp -m udp --dport 9 -j ACCEPT", "IPv6: a UDP packet"},
		{false, "-p tcp -m tcp --dport 9 -j ACCEPT", "IPv4: a TCP connection"},
	} {
		holed := b.plan(firewall.Network{})
		chain := &holed.V4[0].Chains[0]
		if hole.ipv6 {
			chain = &holed.V6[0].Chains[0]
		}
		chain.Rules = append([]firewall.Rule{{Spec: hole.spec}}, chain.Rules...)
		b.apply(holed)
		if err := b.verify(holed); err == nil || !strings.Contains(err.Error(), hole.want) {
			t.Errorf("%s: Verify says %v, want %q", hole.spec, err, hole.want)
		}
	}
}

// Where nobody answers at the next hop, the kernel says so soon, and to a program
// that sounds like a refusal.
func TestVerifyFindsPacketsThatPassToADeadNeighbour(t *testing.T) {
	b := newBench(t, "")
	var errs []error
	b.Sandbox.Do(func() {
		for _, family := range []string{"ipv4", "ipv6"} {
			for name, value := range map[string]string{"mcast_solicit": "1", "retrans_time_ms": "1"} {
				errs = append(errs, os.WriteFile("/proc/sys/net/"+family+"/neigh/eth0/"+name, []byte(value), 0o644))
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, ipv6 := range []bool{false, true} {
		holed := b.plan(firewall.Network{})
		chain, want := &holed.V4[0].Chains[0], "IPv4: a TCP connection"
		if ipv6 {
			chain, want = &holed.V6[0].Chains[0], "IPv6: a TCP connection"
		}
		chain.Rules = append([]firewall.Rule{{Spec: "-p tcp -m tcp --dport 9 -j ACCEPT"}}, chain.Rules...)
		b.apply(holed)
		if err := b.verify(holed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Verify says %v, want %q", err, want)
		}
	}
}

func TestOpenNamesWhatIsMissing(t *testing.T) {
	b := &bench{Lab: netnstest.New(t), t: t}
	testenv.Program(t, "iptables-restore")
	open := func(uid int) error {
		var err error
		b.Sandbox.As(uid, func() {
			var k *kernel.Kernel
			if k, err = kernel.Open(context.Background()); err == nil {
				k.Close()
			}
		})
		return err
	}
	if err := open(agentUID); !errors.Is(err, kernel.ErrMissingCapability) || !strings.Contains(diag.HintOf(err), "--cap-add=NET_ADMIN") {
		t.Errorf("without NET_ADMIN: %v, hint %q", err, diag.HintOf(err))
	}
	// Without NET_RAW the rules cannot be completed, and yet the network closes.
	capsh := testenv.Program(t, "capsh")
	var out []byte
	var err error
	b.Sandbox.Do(func() {
		cmd := exec.Command(capsh, "--drop=cap_net_raw", "--", "-c", os.Args[0]+" -test.run=^TestOpenWithoutNetRaw$ -test.v")
		cmd.Env = append(os.Environ(), "SBX_TEST_NO_NET_RAW=1")
		out, err = cmd.CombinedOutput()
	})
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("without NET_RAW: %v\n%s", err, out)
	}
	if n := strings.Count(b.saved(), ":OUTPUT DROP"); n != 2 {
		t.Errorf("without NET_RAW: %d families closed, want 2", n)
	}
	t.Setenv("PATH", t.TempDir())
	if err := open(0); !errors.Is(err, kernel.ErrMissingProgram) || !strings.Contains(diag.HintOf(err), "iptables") {
		t.Errorf("without programs: %v, hint %q", err, diag.HintOf(err))
	}
}

// TestOpenWithoutNetRaw is run by TestOpenNamesWhatIsMissing, in a lab and
// without the capability.
func TestOpenWithoutNetRaw(t *testing.T) {
	if os.Getenv("SBX_TEST_NO_NET_RAW") == "" {
		return
	}
	_, err := kernel.Open(context.Background())
	if !errors.Is(err, kernel.ErrMissingCapability) || !strings.Contains(err.Error(), "NET_RAW") ||
		!strings.Contains(diag.HintOf(err), "--cap-add=NET_RAW") {
		t.Errorf("%v, hint %q", err, diag.HintOf(err))
	}
}

func TestAnotherNamespaceIsLeftAlone(t *testing.T) {
	b := closedBench(t)
	plan := b.plan(firewall.Network{})
	var apply, verify error
	b.Internet.Do(func() {
		apply = b.k.Apply(context.Background(), plan)
		verify = b.k.Verify(context.Background(), plan)
	})
	if apply == nil || verify == nil {
		t.Errorf("Apply %v, Verify %v in another namespace, want errors", apply, verify)
	}
	var conn net.Conn
	var err error
	listen(t, b.Sandbox, "127.0.0.1:4000")
	b.Sandbox.Do(func() { conn, err = net.Dial("tcp", "127.0.0.1:4000") })
	if err != nil {
		t.Fatalf("loopback: %v", err)
	}
	conn.Close()
}

// In a rootless container only some user ids exist, and the kernel refuses
// rules that name another one, or a range whose ends lie the other way round for it. The
// test runs itself again as such a user, among ids that are several ranges of the kernel's.
func TestRootlessContainer(t *testing.T) {
	if os.Getenv("SBX_TEST_ROOTLESS") == "" {
		testenv.Root(t)
		testenv.Program(t, "iptables-restore")
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestRootlessContainer$", "-test.v")
		cmd.Env = append(os.Environ(), "SBX_TEST_ROOTLESS=1")
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 300000, Size: 1234}, {ContainerID: 1234, HostID: 1234, Size: 1},
			{ContainerID: 1235, HostID: 200000, Size: 100}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET, UidMappings: ids, GidMappings: ids,
			Credential: &syscall.Credential{}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestRootlessContainer") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	// On this thread, whose namespace is the process's own.
	k, err := kernel.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	p, errs := firewall.NewPolicy(firewall.Network{Allow: []string{allowed + ":443"}})
	if errs != nil {
		t.Fatal(errs)
	}
	f := facts
	f.IPv6, f.UIDs = k.Facts().IPv6, k.Facts().UIDs
	plan, err := firewall.Compile(p, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Apply(context.Background(), plan); err != nil {
		t.Fatal(err)
	}
	if err := k.Verify(context.Background(), plan); err != nil {
		t.Fatal(err)
	}
}
