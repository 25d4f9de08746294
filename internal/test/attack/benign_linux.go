package attack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// Honest is a piece of traffic that must pass.
type Honest struct {
	ID, What string
	Do       func() error
}

// Benign returns the traffic that must pass in every sandbox.
func Benign() []Honest {
	web := func(name string, typ dnsmessage.Type, port int) func() error {
		return func() error {
			addrs, err := resolve(name, typ)
			if err != nil {
				return err
			}
			if port == 443 {
				return shake(at(addrs[0].String(), port), name)
			}
			line, err := fetch(at(addrs[0].String(), port), name)
			if err == nil && !strings.Contains(line, "200") {
				err = errors.New(line)
			}
			return err
		}
	}
	echo := func(network, address string) error {
		conn, err := net.DialTimeout(network, address, 2*time.Second)
		if err != nil {
			return err
		}
		defer hangUp(conn)
		_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
		if _, err := conn.Write([]byte("hello")); err != nil {
			return err
		}
		buf := make([]byte, 64)
		n, err := conn.Read(buf)
		if err == nil && !strings.Contains(string(buf[:n]), "hello") {
			err = fmt.Errorf("got %q", buf[:n])
		}
		return err
	}
	after := func(name string, do func() error) func() error {
		return func() error { return all(learn(name), do()) }
	}
	return []Honest{
		{"ok-http", "HTTP to an allowed name", web("ok.test", typeA, 80)},
		{"ok-https", "HTTPS to an allowed name", web("ok.test", typeA, 443)},
		{"ok-http-6", "HTTP to an allowed name over IPv6", web("ok.test", dnsmessage.TypeAAAA, 80)},
		{"ok-https-6", "HTTPS to an allowed name over IPv6", web("ok.test", dnsmessage.TypeAAAA, 443)},
		{"ok-upper-case", "an allowed name in upper case", web("OK.TEST", typeA, 443)},
		{"ok-alias", "an allowed name that is an alias of an unlisted one", web("cdn-customer.test", typeA, 443)},
		{"ok-wildcard", "a name below a wildcard", web("cdn.wild.test", typeA, 443)},
		{"ok-deep-wildcard", "a name deep below a wildcard", web("a.b.c.d.wild.test", typeA, 80)},
		{"ok-fifty-names", "fifty short names below a wildcard in a row", func() error {
			for i := range 50 {
				if err := learn(fmt.Sprintf("b%d.wild.test", i)); err != nil {
					return err
				}
			}
			return nil
		}},
		{"ok-git-ssh", "port 22 of a host that is allowed for it", after("git.test", func() error { return echo("tcp", at(gitAddr, 22)) })},
		{"ok-udp", "datagrams to a host that is allowed for them", after("udp.test", func() error { return echo("udp", at(udpAddr, 4000)) })},
		{"ok-static", "an address entry", func() error { return echo("tcp", at(staticAddr, 8080)) }},
		{"ok-static-6", "an IPv6 address entry", func() error { return echo("tcp", at(staticAddr6, 8080)) }},
		{"ok-many-addresses", "a name with forty addresses, over TCP where UDP is too small", func() error {
			addrs, err := resolve("many.test", typeA)
			if err == nil && len(addrs) != 40 {
				err = fmt.Errorf("%d addresses", len(addrs))
			}
			return all(err, shake(at(many()[39], 443), "many.test"))
		}},
		{"ok-dns-any-server", "an allowed name, whatever resolver is asked", func() error {
			m := pack(query("ok.test", typeA))
			for _, network := range []string{"udp", "tcp"} {
				for _, server := range []string{at(publicDNS, 53), at(publicDNS6, 53), at(gatewayAddr, 53), "127.0.0.1:53"} {
					if _, err := exchange(network, server, 2*time.Second, m); err != nil && server != "127.0.0.1:53" {
						return fmt.Errorf("%s %s: %w", network, server, err)
					}
				}
			}
			return nil
		}},
		{"ok-dns-stream", "five questions in one TCP stream", func() error {
			m := pack(query("ok.test", typeA))
			_, err := exchange("tcp", system, 2*time.Second, m, m, m, m, m)
			return err
		}},
		{"ok-kept-connection", "three requests over one connection", after("ok.test", func() error {
			conn, err := net.DialTimeout("tcp", at(okAddr, 80), 2*time.Second)
			if err != nil {
				return err
			}
			defer hangUp(conn)
			_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
			for range 3 {
				if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n"); err != nil {
					return err
				}
				buf := make([]byte, 4096)
				n, err := conn.Read(buf)
				if err != nil || !bytes.Contains(buf[:n], []byte("200 OK")) {
					return fmt.Errorf("%q: %w", buf[:n], err)
				}
			}
			return nil
		})},
		{"ok-parallel", "twenty connections at once", after("ok.test", func() error {
			done := make(chan error)
			for range 20 {
				go func() { done <- shake(at(okAddr, 443), "ok.test") }()
			}
			var failed []error
			for range 20 {
				failed = append(failed, <-done)
			}
			return all(failed...)
		})},
		{"ok-loopback", "a server of the agent's on loopback", func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			go func() {
				if conn, err := l.Accept(); err == nil {
					_, _ = io.Copy(conn, conn)
					conn.Close()
				}
			}()
			return echo("tcp", l.Addr().String())
		}},
		{"ok-loopback-6", "the same over IPv6", func() error {
			l, err := net.Listen("tcp", "[::1]:0")
			if err != nil {
				return err
			}
			defer l.Close()
			go func() {
				if conn, err := l.Accept(); err == nil {
					_, _ = io.Copy(conn, conn)
					conn.Close()
				}
			}()
			return echo("tcp", l.Addr().String())
		}},
		{"ok-own-address", "a server of the agent's at its own address", func() error {
			l, err := net.Listen("tcp", "192.0.2.2:0")
			if err != nil {
				return err
			}
			defer l.Close()
			go func() {
				if conn, err := l.Accept(); err == nil {
					_, _ = io.Copy(conn, conn)
					conn.Close()
				}
			}()
			return echo("tcp", l.Addr().String())
		}},
		{"ok-unix", "a Unix socket of the agent's", func() error {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fds[0])
			defer unix.Close(fds[1])
			_, err = unix.Write(fds[0], []byte("x"))
			return err
		}},
	}
}
