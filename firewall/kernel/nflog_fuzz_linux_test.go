package kernel

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// The agent chooses the content of a reported packet, and the parser runs
// in the firewall's own process.
func FuzzReportedPacket(f *testing.F) {
	f.Add([]byte{0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 2, 203, 0, 113, 7, 0x12, 0x34, 1, 187})
	f.Add([]byte{0x4f, 0, 0, 40, 0, 0, 0x20, 1, 64, 17, 0, 0, 192, 0, 2, 2, 203, 0, 113, 7, 1, 1, 1, 1})
	v6 := append(make([]byte, 40), unix.IPPROTO_FRAGMENT, 0, 0, 0, 0, 0, 0, 0, unix.IPPROTO_UDP, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 53)
	v6[0], v6[6] = 0x60, unix.IPPROTO_HOPOPTS
	f.Add(v6)
	f.Fuzz(func(t *testing.T, packet []byte) {
		message := make([]byte, 20)
		binary.NativeEndian.PutUint16(message[4:], unix.NFNL_SUBSYS_ULOG<<8)
		for _, a := range []struct {
			kind  uint16
			value []byte
		}{{nfulaPayload, packet}, {nfulaUID, []byte{0, 0, 3, 232}}, {nfulaSeq, []byte{0, 0, 0, 7}}} {
			if len(a.value) > 1<<15 {
				t.Skip()
			}
			message = binary.NativeEndian.AppendUint16(message, uint16(4+len(a.value)))
			message = binary.NativeEndian.AppendUint16(message, a.kind)
			message = append(message, a.value...)
			for len(message)%4 != 0 {
				message = append(message, 0)
			}
		}
		binary.NativeEndian.PutUint32(message, uint32(len(message)))
		got := 0
		eachReport(append(message, packet...), func(m logMessage) { // garbage behind it
			if got++; got > 1 {
				return
			}
			if string(m.payload) != string(packet) || m.uid != 1000 || !m.hasUID || m.seq != 7 {
				t.Errorf("read %+v of %x", m, message)
			}
			r, ok := parsePacket(m.payload)
			if !ok {
				return
			}
			if !r.Src.Addr().IsValid() || r.Dst.Addr().Is4() != (packet[0]>>4 == 4) {
				t.Errorf("%x: %+v", packet, r)
			}
			if r.Dst.Port() != 0 && r.Proto != unix.IPPROTO_TCP && r.Proto != unix.IPPROTO_UDP {
				t.Errorf("%x: a port of protocol %d", packet, r.Proto)
			}
		})
		if got == 0 {
			t.Error("the message was not read")
		}
		eachReport(packet, func(m logMessage) { parsePacket(m.payload) }) // must not panic
		binary.NativeEndian.PutUint16(message[4:], unix.NFNL_SUBSYS_QUEUE<<8)
		eachHeld(message, func(m heldMessage) {
			t.Errorf("a packet without an id was read: %+v", m)
		})
		eachHeld(packet, func(m heldMessage) { parsePacket(m.payload) })
	})
}

func TestPortsAreFoundBehindHeaders(t *testing.T) {
	v6 := func(next byte, behind ...byte) []byte {
		b := make([]byte, 40)
		b[0], b[6] = 0x60, next
		addr := netip.MustParseAddr("2001:db8::7").As16()
		copy(b[24:], addr[:])
		return append(b, behind...)
	}
	v4 := func(first, fragment byte, behind ...byte) []byte {
		return append([]byte{first, 0, 0, 0, 0, 0, 0, fragment, 64, unix.IPPROTO_UDP, 0, 0, 192, 0, 2, 2, 203, 0, 113, 7}, behind...)
	}
	ports := []byte{0x12, 0x34, 1, 187}
	options := []byte{unix.IPPROTO_UDP, 0, 0, 0, 0, 0, 0, 0}
	for name, tt := range map[string]struct {
		packet []byte
		want   string
		proto  uint8
	}{
		"IPv4":                {v4(0x45, 0, ports...), "203.0.113.7:443", unix.IPPROTO_UDP},
		"IPv4 with options":   {v4(0x46, 0, append([]byte{1, 1, 1, 1}, ports...)...), "203.0.113.7:443", unix.IPPROTO_UDP},
		"IPv4 later fragment": {v4(0x45, 1, ports...), "203.0.113.7:0", unix.IPPROTO_UDP},
		"IPv4 cut":            {v4(0x45, 0, 0x12), "203.0.113.7:0", unix.IPPROTO_UDP},
		"IPv6":                {v6(unix.IPPROTO_TCP, ports...), "[2001:db8::7]:443", unix.IPPROTO_TCP},
		"IPv6 with options":   {v6(unix.IPPROTO_DSTOPTS, append(options, ports...)...), "[2001:db8::7]:443", unix.IPPROTO_UDP},
		"IPv6 first fragment": {v6(unix.IPPROTO_FRAGMENT, append([]byte{unix.IPPROTO_UDP, 0, 0, 1, 0, 0, 0, 0}, ports...)...),
			"[2001:db8::7]:443", unix.IPPROTO_UDP},
		"IPv6 later fragment": {v6(unix.IPPROTO_FRAGMENT, append([]byte{unix.IPPROTO_UDP, 0, 0, 8, 0, 0, 0, 0}, ports...)...),
			"[2001:db8::7]:0", unix.IPPROTO_UDP},
		"IPv6 echo has no port": {v6(unix.IPPROTO_ICMPV6, 128, 0, 0, 0, 0x12, 0x34), "[2001:db8::7]:0", unix.IPPROTO_ICMPV6},
	} {
		r, ok := parsePacket(tt.packet)
		if ok && r.Proto == unix.IPPROTO_ICMPV6 && r.Src.Port() != 0x1234 {
			t.Errorf("%s: from %s, want the number 0x1234", name, r.Src)
		}
		if !ok || r.Dst.String() != tt.want || r.Proto != tt.proto {
			t.Errorf("%s: %s protocol %d (%v), want %s protocol %d", name, r.Dst, r.Proto, ok, tt.want, tt.proto)
		}
	}
}
