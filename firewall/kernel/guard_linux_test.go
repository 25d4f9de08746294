package kernel_test

import (
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// The redirect and the refusal each hold alone. Were there only the redirect,
// a packet could find its address not yet learned in the nat table and learned
// in the filter table a moment later, and would leave.
func TestAttackLearnedWebPortPastTheRedirect(t *testing.T) {
	b := newBench(t, "")
	plan := b.plan(firewall.Network{Allow: []string{"ok.test", "ok.test:8443"}})
	b.apply(plan)
	for _, text := range []string{allowed, allowed6} {
		addr := netip.MustParseAddr(text)
		for _, number := range []uint16{80, 443, 8443} {
			listen(t, b.Internet, netip.AddrPortFrom(addr, number).String())
			if err := b.k.Allow(addr, []firewall.Port{{Number: number, Proto: firewall.TCP}}, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, redirected := range []bool{true, false} {
		if !redirected {
			b.run("iptables-nft", "-t", "nat", "-F", firewall.ChainGuard)
			b.run("ip6tables-nft", "-t", "nat", "-F", firewall.ChainGuard)
		}
		for _, text := range []string{allowed, allowed6} {
			for _, number := range []uint16{80, 443, 8443} {
				to := netip.AddrPortFrom(netip.MustParseAddr(text), number).String()
				agent, err := b.dial("tcp", to)
				if got, want := err == nil, number == 8443; got != want {
					t.Errorf("redirected %v: the agent's connection to %s: %v", redirected, to, err)
				}
				if err == nil {
					agent.Close()
				}
				daemon, err := b.dialAsDaemon(to)
				if err != nil {
					t.Errorf("redirected %v: the guard's connection to %s: %v", redirected, to, err)
					continue
				}
				echo(t, daemon, "guard")
				daemon.Close()
			}
		}
	}
	// The guard reaches learned addresses, and no others.
	for _, to := range []string{other + ":443", "[" + other6 + "]:80"} {
		if conn, err := b.dialAsDaemon(to); err == nil {
			conn.Close()
			t.Errorf("the guard reached %s", to)
		}
	}
}

// dialAsDaemon connects as root with the mark.
func (b *bench) dialAsDaemon(to string) (conn net.Conn, err error) {
	dialer := net.Dialer{Timeout: dialLimit, Control: func(_, _ string, c syscall.RawConn) (err error) {
		if failure := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, mark) }); failure != nil {
			return failure
		}
		return err
	}}
	b.Sandbox.Do(func() { conn, err = dialer.Dial("tcp", to) })
	return conn, err
}
