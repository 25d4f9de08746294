package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/kernel"
)

// maxTable bounds what is read of the kernel's list of sockets, in bytes: some
// 7,000 of them.
const maxTable = 1 << 20

// socket is who holds a socket, as the kernel lists it.
type socket struct {
	uid   int
	inode uint64
}

// findSocket finds the client's socket in this network namespace.
func (w *witness) findSocket(r *audit.Record) (socket, bool) {
	switch r.SrcProto {
	case firewall.TCP, firewall.UDP:
	case protoICMP, protoICMPv6:
		return listedSocket(r.SrcProto, r.Src)
	default:
		return socket{}, false
	}
	// Both ends name a socket. Of a question to the resolver, which was led to
	// us, the other end is the server that the client meant.
	remotes := w.servers
	if dst, err := netip.ParseAddr(r.Dst); err == nil && r.Layer != audit.LayerDNS {
		remotes = []netip.AddrPort{netip.AddrPortFrom(dst, r.Port)}
	}
	for _, remote := range remotes {
		if s, ok := connectedSocket(r.SrcProto, r.Src, remote); ok {
			return s, true
		}
	}
	if r.SrcProto == firewall.TCP && r.Layer != audit.LayerDNS {
		return socket{}, false // the list would not have it either
	}
	return listedSocket(r.SrcProto, r.Src)
}

// connectedSocket asks the kernel for the socket with these ends.
func connectedSocket(proto firewall.Proto, local, remote netip.AddrPort) (socket, bool) {
	s, ok := kernel.FindSocket(proto, local, remote, searchLimit)
	return socket{s.UID, s.Inode}, ok
}

// listedSocket finds the socket that is bound to local, or to its port on every
// address, in the kernel's list (proc_pid_net(5)). The port of a socket for
// echo requests is the number that they bear.
func listedSocket(proto firewall.Proto, local netip.AddrPort) (socket, bool) {
	addr := local.Addr().Unmap()
	tables := []string{string(proto) + "6"}
	switch {
	case proto == protoICMP:
		tables = []string{"icmp"}
	case proto == protoICMPv6:
		tables = []string{"icmp6"}
	case addr.Is4():
		tables = []string{string(proto), string(proto) + "6"} // a socket of IPv6 can speak IPv4
	}
	for _, table := range tables {
		f, err := os.Open("/proc/thread-self/net/" + table)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(io.LimitReader(f, maxTable))
		for lines.Scan() {
			if s, ok := parseSocket(lines.Bytes(), addr, local.Port()); ok {
				f.Close()
				return s, true
			}
		}
		f.Close()
	}
	return socket{}, false
}

func parseSocket(line []byte, addr netip.Addr, port uint16) (socket, bool) {
	fields := bytes.Fields(line)
	if len(fields) < 10 {
		return socket{}, false
	}
	address, portText, _ := strings.Cut(string(fields[1]), ":")
	if p, err := strconv.ParseUint(portText, 16, 16); err != nil || uint16(p) != port {
		return socket{}, false
	}
	raw, err := hex.DecodeString(address)
	if err != nil || len(raw)%4 != 0 {
		return socket{}, false
	}
	for i := 0; i < len(raw); i += 4 { // words in the machine's order
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	bound, ok := netip.AddrFromSlice(raw)
	if bound = bound.Unmap(); !ok || bound != addr && !bound.IsUnspecified() {
		return socket{}, false
	}
	uid, err1 := strconv.Atoi(string(fields[7]))
	inode, err2 := strconv.ParseUint(string(fields[9]), 10, 64)
	if err1 != nil || err2 != nil || inode == 0 { // without an inode nobody holds it any more
		return socket{}, false
	}
	return socket{uid, inode}, true
}
