package netnstest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Lab is the sandbox and its internet.
type Lab struct {
	Sandbox  *Namespace
	Internet *Namespace
}

// The addresses of both ends of the wire. The internet's are also the
// sandbox's default gateways.
var (
	SandboxAddr4  = netip.MustParseAddr("192.0.2.2")
	SandboxAddr6  = netip.MustParseAddr("2001:db8::2")
	InternetAddr4 = netip.MustParseAddr("192.0.2.1")
	InternetAddr6 = netip.MustParseAddr("2001:db8::1")
)

const (
	sandboxLink  = "eth0"
	internetLink = "wire"
)

// New makes a lab in which the internet also has the given addresses, of
// either family. It ends the test when it does not run as root.
func New(t testing.TB, addrs ...string) *Lab {
	t.Helper()
	testenv.Root(t)
	return connect(t, newNamespace(t), addrs)
}

// NewAround makes a lab whose sandbox is the network namespace of a process,
// such as a container's that has no network of its own.
func NewAround(t testing.TB, pid int) *Lab {
	t.Helper()
	testenv.Root(t)
	sandbox := enterNamespace(t, func() error {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			return err
		}
		defer file.Close()
		return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
	})
	var err error
	sandbox.Do(func() { // engines switch it off where they make no network
		for _, link := range []string{"all", "default", "lo"} {
			err = errors.Join(err, os.WriteFile("/proc/sys/net/ipv6/conf/"+link+"/disable_ipv6", []byte("0"), 0o644))
		}
	})
	if err != nil {
		t.Fatalf("making the lab: %v", err)
	}
	return connect(t, sandbox, nil)
}

// connect makes the internet and the wire.
func connect(t testing.TB, sandbox *Namespace, addrs []string) *Lab {
	t.Helper()
	lab := &Lab{Sandbox: sandbox, Internet: newNamespace(t)}
	var err error
	lab.Sandbox.Do(func() { err = layWire(lab.Internet) })
	if err == nil {
		lab.Sandbox.Do(func() { err = bringUp(sandboxLink, SandboxAddr4, SandboxAddr6) })
	}
	if err == nil {
		lab.Internet.Do(func() {
			err = bringUp(internetLink, InternetAddr4, InternetAddr6)
			for _, a := range addrs {
				err = errors.Join(err, addAddr(internetLink, netip.PrefixFrom(netip.MustParseAddr(a), netip.MustParseAddr(a).BitLen())))
			}
		})
	}
	if err == nil {
		lab.Sandbox.Do(func() { err = errors.Join(addRoute(InternetAddr4), addRoute(InternetAddr6), settle(sandboxLink)) })
	}
	if err != nil {
		t.Fatalf("making the lab: %v", err)
	}
	return lab
}

// Own makes every address of the prefixes the internet's own, so that servers
// that listen on all addresses answer there.
func (lab *Lab) Own(t testing.TB, prefixes ...string) {
	t.Helper()
	var err error
	lab.Internet.Do(func() {
		var lo netlink.Link
		if lo, err = netlink.LinkByName("lo"); err != nil {
			return
		}
		for _, text := range prefixes {
			p := netip.MustParsePrefix(text)
			route := &netlink.Route{
				LinkIndex: lo.Attrs().Index, Table: unix.RT_TABLE_LOCAL, Type: unix.RTN_LOCAL, Scope: netlink.SCOPE_HOST,
				Dst: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())},
			}
			if add := netlink.RouteAdd(route); add != nil {
				err = errors.Join(err, fmt.Errorf("owning %s: %w", p, add))
			}
		}
	})
	if err != nil {
		t.Fatalf("making the lab: %v", err)
	}
}

// layWire runs in the sandbox and puts the other end into the internet.
func layWire(internet *Namespace) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = sandboxLink
	return netlink.LinkAdd(&netlink.Veth{
		LinkAttrs:     attrs,
		PeerName:      internetLink,
		PeerNamespace: netlink.NsFd(internet.file.Fd()),
	})
}

// settle waits until the kernel has given a link its own address of fe80::/64, which it does a little
// after both ends are up: what looks at the addresses from then on finds the same.
func settle(link string) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		addrs, err := netlink.AddrList(l, netlink.FAMILY_V6)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(addrs, func(a netlink.Addr) bool { return a.IP.IsLinkLocalUnicast() }) {
			return nil
		}
	}
	return fmt.Errorf("%s has no address of fe80::/64", link)
}

func bringUp(link string, addrs ...netip.Addr) error {
	// Without this an IPv6 address cannot be used for about a second.
	for _, name := range []string{"lo", link} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/accept_dad", []byte("0"), 0o644); err != nil {
			return err
		}
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return fmt.Errorf("bringing %s up: %w", name, err)
		}
	}
	for _, a := range addrs {
		bits := 24
		if a.Is6() {
			bits = 64
		}
		if err := addAddr(link, netip.PrefixFrom(a, bits)); err != nil {
			return err
		}
	}
	return nil
}

func addAddr(link string, p netip.Prefix) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return err
	}
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
	if p.Addr().Is6() {
		addr.Flags = unix.IFA_F_NODAD
	}
	if err := netlink.AddrAdd(l, addr); err != nil {
		return fmt.Errorf("adding %s to %s: %w", p, link, err)
	}
	return nil
}

func addRoute(gateway netip.Addr) error {
	if err := netlink.RouteAdd(&netlink.Route{Gw: gateway.AsSlice()}); err != nil {
		return fmt.Errorf("routing over %s: %w", gateway, err)
	}
	return nil
}
