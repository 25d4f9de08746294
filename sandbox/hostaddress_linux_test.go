package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/outsidetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// hostServices is this machine as a sandbox can meet it: a network of the engine's,
// and web servers on two more addresses of this machine, which are in no network
// of the sandbox's and look like the internet's.
type hostServices struct {
	network string           // for the sandbox
	resolv  string           // a resolv.conf that names our name server
	ipv4    netip.Addr       // of this machine
	ipv6    netip.Addr       // of this machine
	ports   []netip.AddrPort // where the web servers listen
	outsidetest.World
}

// newHostServices makes the networks and servers, which last as long as the test.
func newHostServices(t *testing.T, e *engine.Engine) *hostServices {
	t.Helper()
	if os.Geteuid() != 0 || !strings.HasPrefix(e.Host(), "unix://") {
		testenv.Missing(t, "root and an engine on this machine", "servers listen on the addresses of its networks")
	}
	id := os.Getpid()
	h := &hostServices{
		network: fmt.Sprintf("sbx-host-test-%d", id),
		ipv4:    netip.AddrFrom4([4]byte{203, 0, 113, byte(1 + id%254)}),
		ipv6:    netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(id >> 8), byte(id), 15: 1}),
	}
	makeNetwork(t, e, h.network, fmt.Sprintf("fd00:5b:%x::/64", id&0xffff))
	for _, addr := range []netip.Addr{h.ipv4, h.ipv6} {
		addHostAddress(t, addr)
		h.serveWeb(t, addr)
	}
	h.serveNames(t)
	h.resolv = filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(h.resolv, fmt.Appendf(nil, "nameserver %s\n", h.ipv4), 0o644); err != nil {
		t.Fatal(err)
	}
	return h
}

// addHostAddress gives this machine one more address while the test lasts. On
// the loopback interface it is the machine's as on any other, and leads nowhere.
func addHostAddress(t *testing.T, addr netip.Addr) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	a := &netlink.Addr{IPNet: &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(addr.BitLen(), addr.BitLen())}}
	if addr.Is6() {
		a.Flags = unix.IFA_F_NODAD // in use at once
	}
	if err := netlink.AddrAdd(lo, a); err != nil {
		testenv.Missing(t, "CAP_NET_ADMIN", err.Error())
	}
	t.Cleanup(func() {
		if err := netlink.AddrDel(lo, a); err != nil {
			t.Error(err)
		}
	})
}

// makeNetwork makes a network of the engine's for both families.
func makeNetwork(t *testing.T, e *engine.Engine, name, ipv6 string) {
	t.Helper()
	args := []string{"network", "create", "--label", "sbx-devc.test=true", "--ipv6", "--subnet", ipv6, name}
	if out, err := exec.Command(testenv.Program(t, "docker"), args...).CombinedOutput(); err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	t.Cleanup(func() {
		if err := e.RemoveNetwork(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
}

func (h *hostServices) serveWeb(t *testing.T, addr netip.Addr) {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(addr, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	h.ports = append(h.ports, l.Addr().(*net.TCPAddr).AddrPort())
	h.ServeWeb(t, l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

// serveNames answers every name with those addresses.
func (h *hostServices) serveNames(t *testing.T) {
	t.Helper()
	conn, err := net.ListenPacket("udp", netip.AddrPortFrom(h.ipv4, 53).String())
	if err != nil {
		t.Fatal(err)
	}
	h.ServeNames(t, conn, func(string) ([]netip.Addr, uint32, bool) { return []netip.Addr{h.ipv4, h.ipv6}, 60, true })
}

// seen returns everything that arrived since the last call.
func (h *hostServices) seen() string {
	var lines []string
	for _, r := range h.Requests() {
		lines = append(lines, fmt.Sprintf("%s asked for %s", r.At, r.Host))
	}
	h.Forget()
	return strings.Join(lines, "\n")
}

// attack has an agent ask for its allowed name at the host's servers, and for
// their addresses.
func (h *hostServices) attack(t *testing.T, e *engine.Engine, mode firewall.Mode, known []netip.Addr) string {
	t.Helper()
	var script strings.Builder
	var entries []string
	for i, place := range h.ports {
		entries = append(entries, fmt.Sprintf("rebound.sandbox-lab.test:%d", place.Port()))
		fmt.Fprintf(&script, "curl -%d -sS --noproxy '*' --max-time 5 http://rebound.sandbox-lab.test:%d/\n", 4+2*i, place.Port())
		fmt.Fprintf(&script, "curl -g -sS --noproxy '*' --max-time 5 http://%s/\n", place)
	}
	o := allow(shell(script.String()+"echo all done"), entries...)
	o.EngineNetwork, o.User.Network.Mode = h.network, mode
	tr := (&trial{options: o, hostAddresses: known, adjust: func(p *runplan.Plan) {
		p.Sidecar.Mounts = append(p.Sidecar.Mounts, engine.Mount{Source: h.resolv, Target: "/etc/resolv.conf", ReadOnly: true})
	}}).run(t, e)
	if !strings.Contains(tr.stdout.String(), "all done") {
		t.Fatalf("the attack did not come to its end: %v\n%s\n%s", tr.err, tr.stdout.String(), tr.stderr.String())
	}
	return h.seen()
}

// TestAttackRebindingToAnotherAddressOfTheHost: an allowed name answers with an
// address of this machine in a network that the sandbox is not on, which looks
// like the internet's. In mode audit the agent asks for the address as well.
func TestAttackRebindingToAnotherAddressOfTheHost(t *testing.T) {
	e := connect(t)
	h := newHostServices(t, e)
	known, err := HostAddresses()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []firewall.Mode{firewall.ModeAllowlist, firewall.ModeAudit} {
		t.Run(string(mode), func(t *testing.T) {
			if arrived := h.attack(t, e, mode, known); arrived != "" {
				t.Errorf("arrived:\n%s", arrived)
			}
			// Told of no address the firewall lets it through, so the attack is one.
			arrived := h.attack(t, e, mode, nil)
			for _, place := range h.ports {
				if !strings.Contains(arrived, fmt.Sprintf("%s asked for rebound.sandbox-lab.test", place)) {
					t.Errorf("the attack on %s proves nothing: without the protection it does not arrive either; arrived:\n%s", place, arrived)
				}
			}
		})
	}
}

func TestHostAddressesReachTheFirewall(t *testing.T) {
	addrs := []netip.Addr{netip.MustParseAddr("198.51.7.1"), netip.MustParseAddr("2a01:4f8:1:2::1")}
	p, err := newPlan(runplan.Options{ID: "test", Containers: runplan.Containers{Image: "image:1"}},
		runplan.Facts{Workspace: workspacetest.Folder(t), HostAddresses: addrs})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(p.Sidecar.Entrypoint, "--around"); i < 0 || p.Sidecar.Entrypoint[i+1] != "198.51.7.1,2a01:4f8:1:2::1" {
		t.Errorf("the firewall's command is %q", p.Sidecar.Entrypoint)
	}
}
