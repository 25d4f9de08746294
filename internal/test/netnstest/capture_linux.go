package netnstest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Packet is what one frame on the wire carried, seen from the sandbox.
type Packet struct {
	Src, Dst netip.Addr
	Proto    uint8  // IP protocol number; the transport's, behind IPv6 extension headers
	Type     uint8  // of ICMP and ICMPv6
	SrcPort  uint16 // of TCP and UDP
	DstPort  uint16
	Options  bool   // the header has options, or further headers follow it
	Raw      []byte // the whole packet, from the IP header on
}

func (p Packet) String() string {
	name, ok := map[uint8]string{1: "icmp", 2: "igmp", 6: "tcp", 17: "udp", 58: "icmpv6"}[p.Proto]
	if !ok {
		name = fmt.Sprintf("proto %d", p.Proto)
	}
	switch p.Proto {
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP:
		return fmt.Sprintf("%s %s -> %s", name, netip.AddrPortFrom(p.Src, p.SrcPort), netip.AddrPortFrom(p.Dst, p.DstPort))
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		return fmt.Sprintf("%s type %d %s -> %s", name, p.Type, p.Src, p.Dst)
	}
	return fmt.Sprintf("%s %s -> %s", name, p.Src, p.Dst)
}

// Capture records every IP packet that arrives at the internet's end.
type Capture struct {
	t    testing.TB
	lab  *Lab
	file *os.File // packet socket in the internet

	fences uint32 // how many were sent
}

// fenceType is an Ethernet type for local experiments (IEEE 802, 88-B5). A
// frame of it marks a point in the stream of frames.
const fenceType = 0x88b5

// captureWait bounds the wait for a fence, which in truth comes at once, and
// fenceAgain is when another one is sent.
const (
	captureWait = 10 * time.Second
	fenceAgain  = 200 * time.Millisecond
)

// Capture begins to record.
func (lab *Lab) Capture(t testing.TB) *Capture {
	t.Helper()
	var fd int
	var err error
	lab.Internet.Do(func() { fd, err = packetSocket(internetLink) })
	if err != nil {
		t.Fatalf("capturing: %v", err)
	}
	c := &Capture{t: t, lab: lab, file: os.NewFile(uintptr(fd), "capture")}
	t.Cleanup(func() { c.file.Close() })
	return c
}

// Frame is one Ethernet frame.
type Frame struct {
	Type    uint16 // Ethernet type (IEEE 802), unix.ETH_P_IP and so on
	Payload []byte // behind the Ethernet header
}

// Packet reads the frame as an IP packet; ok is false for what is not one.
func (f Frame) Packet() (p Packet, ok bool) {
	if f.Type != unix.ETH_P_IP && f.Type != unix.ETH_P_IPV6 {
		return p, false
	}
	return readPacket(f.Payload)
}

// Arrived returns the IP packets among the frames that have arrived.
func (c *Capture) Arrived() []Packet {
	c.t.Helper()
	var packets []Packet
	for _, f := range c.Frames() {
		if p, ok := f.Packet(); ok {
			packets = append(packets, p)
		}
	}
	return packets
}

// Frames returns the frames that have arrived since the last call, or since
// the capture began. It does not wait for a time: it sends a frame of its own
// after them, past the packet filter, and reads until that arrives.
func (c *Capture) Frames() []Frame {
	c.t.Helper()
	c.fences++
	c.fence()
	var frames []Frame
	frame := make([]byte, 65536)
	for begin := time.Now(); ; {
		if err := c.file.SetReadDeadline(time.Now().Add(fenceAgain)); err != nil {
			c.t.Fatalf("capturing: %v", err)
		}
		n, err := c.file.Read(frame)
		if errors.Is(err, os.ErrDeadlineExceeded) && time.Since(begin) < captureWait {
			c.fence() // a link that has just come up loses frames
			continue
		}
		if err != nil {
			c.t.Fatalf("capturing: %v", err)
		}
		if n < 18 {
			continue
		}
		kind := binary.BigEndian.Uint16(frame[12:])
		if kind == fenceType {
			if binary.BigEndian.Uint32(frame[14:]) == c.fences {
				return frames
			}
			continue
		}
		frames = append(frames, Frame{kind, bytes.Clone(frame[14:n])})
	}
}

// Nothing fails the test when a packet has arrived that want does not accept;
// want nil accepts none.
func (c *Capture) Nothing(what string, want func(Packet) bool) {
	c.t.Helper()
	var leaks []string
	for _, p := range c.Arrived() {
		if want == nil || !want(p) {
			leaks = append(leaks, p.String())
		}
	}
	if len(leaks) > 0 {
		c.t.Errorf("%s: arrived at the internet:\n\t%s", what, strings.Join(leaks, "\n\t"))
	}
}

func (c *Capture) fence() {
	c.t.Helper()
	var err error
	c.lab.Sandbox.Do(func() {
		var fd int
		if fd, err = packetSocket(sandboxLink); err != nil {
			return
		}
		defer unix.Close(fd)
		frame := make([]byte, 60)
		copy(frame, "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01")
		binary.BigEndian.PutUint16(frame[12:], fenceType)
		binary.BigEndian.PutUint32(frame[14:], c.fences)
		_, err = unix.Write(fd, frame)
	})
	if err != nil {
		c.t.Fatalf("sending the fence: %v", err)
	}
}

// packetSocket opens a socket for whole frames on a link of the calling
// thread's namespace.
func packetSocket(link string) (int, error) {
	iface, err := net.InterfaceByName(link)
	if err != nil {
		return 0, err
	}
	all := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff}) // network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	// A flood must not push anything out.
	const buffer = 256 << 20
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer); err != nil {
		unix.Close(fd)
		return 0, err
	}
	// Answers from the internet are no leak.
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		unix.Close(fd)
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: iface.Index}); err != nil {
		unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

// readPacket reads an IP packet; ok is false for what is not one.
func readPacket(b []byte) (p Packet, ok bool) {
	var payload []byte
	p.Raw = b
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		p.Options = b[0]&15 > 5
		p.Src, p.Dst, p.Proto = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), b[9]
		payload = b[min(len(b), int(b[0]&15)*4):]
	case len(b) >= 40 && b[0]>>4 == 6:
		p.Src, p.Dst, p.Proto = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40])), b[6]
		payload = b[40:]
		// Such as the hop-by-hop header before MLD reports (RFC 3810 section 5).
		for isExtension(p.Proto) && len(payload) >= 8 {
			p.Proto, p.Options = payload[0], true
			payload = payload[min(len(payload), 8+int(payload[1])*8):]
		}
	default:
		return p, false
	}
	switch p.Proto {
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP:
		if len(payload) >= 4 {
			p.SrcPort, p.DstPort = binary.BigEndian.Uint16(payload), binary.BigEndian.Uint16(payload[2:])
		}
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		if len(payload) >= 1 {
			p.Type = payload[0]
		}
	}
	return p, true
}

// isExtension reports whether proto is an IPv6 header before the transport's
// whose length is counted in eight bytes (RFC 8200 section 4).
func isExtension(proto uint8) bool {
	return proto == unix.IPPROTO_HOPOPTS || proto == unix.IPPROTO_ROUTING || proto == unix.IPPROTO_DSTOPTS
}
