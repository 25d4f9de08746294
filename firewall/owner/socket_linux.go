package owner

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

// socketOf finds the client's socket in this network namespace.
func (l *Lookup) socketOf(r *audit.Record) (kernel.Socket, bool) {
	switch r.SrcProto {
	case firewall.TCP, firewall.UDP:
	case audit.ICMP, audit.ICMPv6:
		return listedSocket(r.SrcProto, r.Src)
	default:
		return kernel.Socket{}, false
	}
	// Both ends name a socket. If a question was led to our resolver,
	// its other end is the server that the client meant.
	remotes := l.servers
	if dst, err := netip.ParseAddr(r.Dst); err == nil && r.Layer != audit.LayerDNS {
		remotes = []netip.AddrPort{netip.AddrPortFrom(dst, r.Port)}
	}
	for _, remote := range remotes {
		if s, ok := l.sockets.Find(r.SrcProto, r.Src, remote); ok {
			return s, true
		}
	}
	if r.SrcProto == firewall.TCP && r.Layer != audit.LayerDNS {
		return kernel.Socket{}, false // the list would not have it either
	}
	return listedSocket(r.SrcProto, r.Src)
}

// listedSocket finds the socket that is bound to local, or to its port on every
// address, in the kernel's list (proc_pid_net(5)). The port of a socket for
// echo requests is the number that they bear.
func listedSocket(proto firewall.Proto, local netip.AddrPort) (kernel.Socket, bool) {
	addr := local.Addr().Unmap()
	tables := []string{string(proto) + "6"}
	switch {
	case proto == audit.ICMP:
		tables = []string{"icmp"}
	case proto == audit.ICMPv6:
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
	return kernel.Socket{}, false
}

// parseSocket reads a line of the list; ok is whether it is the socket at addr
// and port and somebody holds it.
func parseSocket(line []byte, addr netip.Addr, port uint16) (s kernel.Socket, ok bool) {
	fields := bytes.Fields(line)
	if len(fields) < 10 {
		return kernel.Socket{}, false
	}
	address, portText, _ := strings.Cut(string(fields[1]), ":")
	if p, err := strconv.ParseUint(portText, 16, 16); err != nil || uint16(p) != port {
		return kernel.Socket{}, false
	}
	raw, err := hex.DecodeString(address)
	if err != nil || len(raw)%4 != 0 {
		return kernel.Socket{}, false
	}
	for i := 0; i < len(raw); i += 4 { // words in the machine's order
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	bound, ok := netip.AddrFromSlice(raw)
	if bound = bound.Unmap(); !ok || bound != addr && !bound.IsUnspecified() {
		return kernel.Socket{}, false
	}
	uid, err1 := strconv.Atoi(string(fields[7]))
	inode, err2 := strconv.ParseUint(string(fields[9]), 10, 64)
	if err1 != nil || err2 != nil || inode == 0 { // without an inode no process holds it any more
		return kernel.Socket{}, false
	}
	return kernel.Socket{UID: uid, Inode: inode}, true
}
