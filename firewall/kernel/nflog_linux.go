package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// Refusal is what is known of packets that the packet filter refused, or let
// out in mode audit.
type Refusal struct {
	Src, Dst netip.AddrPort // port 0 where the protocol has none, and in later fragments; an echo request's number is Src's
	Proto    uint8          // IP protocol number; the transport's, behind IPv6 extension headers
	UID      int            // the user that owns the socket
	Passed   bool           // it was let out
	Headers  bool           // it has IP options, or extension headers that are none of a fragment's
}

// Refusals receives the packets that rules with firewall.Facts.NFLOG report.
type Refusals struct {
	sockets []*conn
}

// probeMark is on the packets with which Verify tries the rules, so that they
// are not taken for somebody's. No rule matches it.
const probeMark = 0x736270

// socketBytes is how many bytes the kernel may hold for one socket of ours:
// some ten thousand packets. Reports that come while it is full are lost and counted.
const socketBytes = 8 << 20

// packetBytes is how much of a packet is wanted: the IP header with its
// options or extension headers, and the ports.
const packetBytes = 128

// OpenRefusals subscribes to all groups. It must be called on a thread of the
// namespace and errs when the kernel has no NFLOG, or when another
// process holds one of the groups there.
func (k *Kernel) OpenRefusals() (*Refusals, error) {
	if err := k.here(); err != nil {
		return nil, fmt.Errorf("listening for refused packets: %w", err)
	}
	if !k.nflog {
		return nil, fmt.Errorf("listening for refused packets: %w: nfnetlink_log or xt_NFLOG", ErrMissingModule)
	}
	r := &Refusals{}
	for _, group := range groups {
		c, err := group.open()
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("listening for refused packets: %w", err)
		}
		r.sockets = append(r.sockets, c)
	}
	return r, nil
}

// Drain has the kernel deliver what it holds, and Serve end after that. A packet that is
// refused from then on is not reported.
func (r *Refusals) Drain() error {
	var errs []error
	for i, c := range r.sockets {
		err := c.send(configKind, unix.NLM_F_ACK, func(m *message) {
			m.netfilter(unix.AF_UNSPEC, groups[i].number)
			m.attribute(nfulaCfgCmd, nfulnlCfgCmdUnbind)
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("ending the reports of refused packets: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Close ends Serve at once.
func (r *Refusals) Close() {
	for _, c := range r.sockets {
		c.close()
	}
}

// groups are the groups in the order of Refusals.sockets.
var groups = []logGroup{
	{firewall.LogFirst, 1, 0},     // at once: the process may be gone in a moment
	{firewall.LogRepeat, 100, 10}, // in batches, a tenth of a second late at most
	{firewall.LogPassed, 1, 0},
}

// Serve calls refused for every packet, and lost with the number of packets
// that could not be received in time, until Drain or Close. It calls them from
// one goroutine for each group. An error means that nothing is received any more; the packet
// filter goes on refusing.
func (r *Refusals) Serve(refused func(Refusal), lost func(packets int, passed bool)) error {
	errs := make([]error, len(r.sockets))
	var wg sync.WaitGroup
	for i, c := range r.sockets {
		wg.Go(func() {
			passed := groups[i].number == firewall.LogPassed
			if errs[i] = receiveRefusals(c, passed, refused, lost); errs[i] != nil {
				r.Close()
			}
		})
	}
	wg.Wait()
	r.Close()
	return errors.Join(errs...)
}

// receiveRefusals reads one socket. The packets' sequence numbers tell what was lost.
func receiveRefusals(c *conn, passed bool, refused func(Refusal), lost func(packets int, passed bool)) error {
	next := uint32(0)
	for {
		datagram, err := c.receive()
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil
		case errors.Is(err, unix.ENOBUFS):
			continue // the next packet's number says how many are missing
		case err != nil:
			return fmt.Errorf("receiving refused packets: %w", err)
		}
		confirmed := eachReport(datagram, func(m logMessage) {
			if missing := int32(m.seq - next); missing > 0 {
				lost(int(missing), passed)
			}
			next = m.seq + 1
			if p, ok := parsePacket(m.payload); ok && m.mark != probeMark && m.hasUID {
				p.UID, p.Passed = int(m.uid), passed
				refused(p)
			}
		})
		if confirmed {
			return nil // the end of the group, which Drain asked for
		}
	}
}

// logGroup is how one group is to be delivered.
type logGroup struct {
	number uint16
	batch  uint32 // packets in one message
	delay  uint32 // hundredths of a second that a batch may wait; 0 = the kernel's own second
}

// Numbers of linux/netfilter/nfnetlink_log.h that x/sys does not have.
const (
	nfulnlMsgPacket = 0
	nfulnlMsgConfig = 1

	nfulaCfgCmd     = 1
	nfulaCfgMode    = 2
	nfulaCfgTimeout = 4
	nfulaCfgQthresh = 5
	nfulaCfgFlags   = 6

	nfulnlCfgCmdBind   = 1
	nfulnlCfgCmdUnbind = 2
	nfulnlCopyPacket   = 2
	nfulnlCfgFSeq      = 1

	nfulaMark    = 2
	nfulaPayload = 9
	nfulaUID     = 11
	nfulaSeq     = 12
)

const configKind = unix.NFNL_SUBSYS_ULOG<<8 | nfulnlMsgConfig

func (g logGroup) open() (*conn, error) {
	c, err := subscribe(configKind, func(m *message) {
		m.netfilter(unix.AF_UNSPEC, g.number)
		m.attribute(nfulaCfgCmd, nfulnlCfgCmdBind)
		m.attribute(nfulaCfgMode, append(be32(packetBytes), nfulnlCopyPacket, 0)...)
		m.attribute(nfulaCfgQthresh, be32(g.batch)...)
		m.attribute(nfulaCfgFlags, 0, nfulnlCfgFSeq)
		if g.delay > 0 {
			m.attribute(nfulaCfgTimeout, be32(g.delay)...)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("binding NFLOG group %d: %w", g.number, err)
	}
	return c, nil
}

// logMessage is what is wanted of one reported packet.
type logMessage struct {
	payload []byte
	seq     uint32
	mark    uint32
	uid     uint32
	hasUID  bool
}

// eachReport calls yield for every packet in a datagram of the kernel's, and
// reports whether the kernel confirmed a configuration in it.
func eachReport(datagram []byte, yield func(logMessage)) (confirmed bool) {
	for m := range messages(datagram) {
		switch m.kind {
		case unix.NLMSG_ERROR:
			confirmed = true
		case unix.NFNL_SUBSYS_ULOG<<8 | nfulnlMsgPacket:
			yield(parseReport(m.body))
		}
	}
	return confirmed
}

func parseReport(body []byte) (m logMessage) {
	for kind, data := range netfilterAttributes(body) {
		if kind == nfulaPayload {
			m.payload = data
		} else if len(data) == 4 {
			switch v := binary.BigEndian.Uint32(data); kind {
			case nfulaMark:
				m.mark = v
			case nfulaSeq:
				m.seq = v
			case nfulaUID:
				m.uid, m.hasUID = v, true
			}
		}
	}
	return m
}

// Types of ICMP and ICMPv6 (RFC 792, RFC 4443 section 4.1).
const (
	echoRequest  = 8
	echoRequest6 = 128
)

// parsePacket reads the addresses and ports of an IP packet, which may be cut.
func parsePacket(b []byte) (r Refusal, ok bool) {
	var payload []byte
	var src, dst netip.Addr
	first := true // the first fragment, or no fragment
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		src, dst, r.Proto = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:])), b[9]
		first = binary.BigEndian.Uint16(b[6:])&0x1fff == 0
		r.Headers = b[0]&15 > 5
		payload = b[min(len(b), int(b[0]&15)*4):]
	case len(b) >= 40 && b[0]>>4 == 6:
		src, dst, r.Proto = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:])), b[6]
		payload = b[40:]
		for isExtension(r.Proto) && len(payload) >= 8 {
			length := 8 + int(payload[1])*8
			if r.Proto == unix.IPPROTO_FRAGMENT {
				length = 8
				first = first && binary.BigEndian.Uint16(payload[2:])&^7 == 0
			}
			r.Headers = r.Headers || r.Proto != unix.IPPROTO_FRAGMENT
			r.Proto = payload[0]
			payload = payload[min(len(payload), length):]
		}
	default:
		return r, false
	}
	var srcPort, dstPort uint16
	if (r.Proto == unix.IPPROTO_TCP || r.Proto == unix.IPPROTO_UDP) && first && len(payload) >= 4 {
		srcPort, dstPort = binary.BigEndian.Uint16(payload), binary.BigEndian.Uint16(payload[2:])
	}
	isEcho := len(payload) >= 6 &&
		(r.Proto == unix.IPPROTO_ICMP && payload[0] == echoRequest || r.Proto == unix.IPPROTO_ICMPV6 && payload[0] == echoRequest6)
	if first && isEcho {
		srcPort = binary.BigEndian.Uint16(payload[4:])
	}
	r.Src, r.Dst = netip.AddrPortFrom(src, srcPort), netip.AddrPortFrom(dst, dstPort)
	return r, true
}

// isExtension reports whether an IPv6 header of this kind stands before the
// transport's (RFC 8200 section 4).
func isExtension(proto uint8) bool {
	switch proto {
	case unix.IPPROTO_HOPOPTS, unix.IPPROTO_ROUTING, unix.IPPROTO_FRAGMENT, unix.IPPROTO_DSTOPTS:
		return true
	}
	return false
}
