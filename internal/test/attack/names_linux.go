package attack

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// The machine's resolver, as resolv.conf has it.
var system = at(upstreamAddr, 53)

// query is a question as an honest client would write it.
func query(name string, typ dnsmessage.Type) dnsmessage.Message {
	owner, err := dnsmessage.NewName(name + ".")
	if err != nil {
		owner = dnsmessage.MustNewName("too-long.test.")
	}
	return dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 0x1e4b, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: owner, Type: typ, Class: dnsmessage.ClassINET}},
	}
}

func pack(m dnsmessage.Message) []byte {
	b, err := m.Pack()
	if err != nil {
		panic(err) // made of constants
	}
	return b
}

// exchange sends messages over one socket and returns the first reply. TCP
// messages go in one segment.
func exchange(network, server string, wait time.Duration, messages ...[]byte) (dnsmessage.Message, error) {
	var reply dnsmessage.Message
	conn, err := (&net.Dialer{Timeout: 2 * patience}).Dial(network, server)
	if err != nil {
		return reply, err
	}
	defer hangUp(conn)
	_ = conn.SetDeadline(time.Now().Add(wait))
	buf := make([]byte, 65535)
	if network == "tcp" {
		var stream []byte
		for _, m := range messages {
			stream = append(binary.BigEndian.AppendUint16(stream, uint16(len(m))), m...)
		}
		if _, err := conn.Write(stream); err != nil {
			return reply, err
		}
		n := 0
		for range messages { // so that each has been looked at
			var size [2]byte
			if _, err := io.ReadFull(conn, size[:]); err != nil {
				return reply, err
			}
			n = int(binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(conn, buf[:n]); err != nil {
				return reply, err
			}
		}
		return reply, reply.Unpack(buf[:n])
	}
	n := 0
	for _, m := range messages {
		if _, err := conn.Write(m); err != nil {
			return reply, err
		}
		if n, err = conn.Read(buf); err != nil {
			return reply, err
		}
	}
	return reply, reply.Unpack(buf[:n])
}

// ask asks a server over UDP and TCP for the attempt's word below a zone.
func (a *Agent) ask(server, zone string, typ dnsmessage.Type) error {
	m := pack(query(a.word+"."+zone, typ))
	_, err1 := exchange("udp", server, patience, m)
	_, err2 := exchange("tcp", server, patience, m)
	return all(err1, err2)
}

// resolve asks the machine's resolver for the addresses of a name.
func resolve(name string, typ dnsmessage.Type) ([]netip.Addr, error) {
	reply, err := exchange("udp", system, 2*time.Second, pack(query(name, typ)))
	if err == nil && reply.Truncated {
		reply, err = exchange("tcp", system, 2*time.Second, pack(query(name, typ)))
	}
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, r := range reply.Answers {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			out = append(out, netip.AddrFrom4(body.A))
		case *dnsmessage.AAAAResource:
			out = append(out, netip.AddrFrom16(body.AAAA))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no address: %s", name, reply.RCode)
	}
	return out, nil
}

// learn resolves names, so that their addresses are open.
func learn(names ...string) error {
	var failed []error
	for _, n := range names {
		_, err := resolve(n, dnsmessage.TypeA)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// fetch gets / of an HTTP server over TCP and returns the status line.
func fetch(address, host string, extra ...string) (string, error) {
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer hangUp(conn)
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	head := "GET / HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(extra, "") + "Connection: close\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 4096))
	line, _, _ := strings.Cut(string(answer), "\r\n")
	if line == "" && err == nil {
		err = io.ErrUnexpectedEOF
	}
	return line, err
}

// shake shakes hands in TLS for a name, without a wait for more.
func shake(address, name string) error {
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).Dial("tcp", address)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	c := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true}) //nolint:gosec // who answers is not the question
	if err := c.Handshake(); err != nil {
		return err
	}
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+name+"\r\nConnection: close\r\n\r\n")
	if err == nil {
		_, err = io.ReadAll(io.LimitReader(c, 4096))
	}
	return err
}
