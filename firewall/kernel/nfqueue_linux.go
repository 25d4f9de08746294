package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// Holder receives the packets that firewall.ChainHold holds. All that it can do
// is to let them go on to the filter table.
type Holder struct {
	conn *conn
}

// maxHeld is how many packets may wait. Further ones go on unseen.
const maxHeld = 16

// OpenHolder subscribes to the queue of held packets. It must be called on a
// thread of the namespace and errs when the kernel has no NFQUEUE, or when
// another process holds the queue there.
func (k *Kernel) OpenHolder() (*Holder, error) {
	if err := k.here(); err != nil {
		return nil, fmt.Errorf("listening for held packets: %w", err)
	}
	if !k.queue {
		return nil, fmt.Errorf("listening for held packets: %w: nfnetlink_queue or xt_NFQUEUE", ErrMissingModule)
	}
	c, err := subscribe(unix.NFNL_SUBSYS_QUEUE<<8|nfqnlMsgConfig, func(m *message) {
		m.netfilter(unix.AF_UNSPEC, firewall.HoldQueue)
		m.attribute(nfqaCfgCmd, nfqnlCfgCmdBind, 0, 0, 0)
		m.attribute(nfqaCfgParams, append(be32(packetBytes), nfqnlCopyPacket)...)
		m.attribute(nfqaCfgQueueMaxlen, be32(maxHeld)...)
		m.attribute(nfqaCfgMask, be32(nfqaCfgFFailOpen|nfqaCfgFUIDGID)...)
		m.attribute(nfqaCfgFlags, be32(nfqaCfgFFailOpen|nfqaCfgFUIDGID)...) // "open" is on to the filter table
	})
	if err != nil {
		return nil, fmt.Errorf("listening for held packets: %w", err)
	}
	return &Holder{c}, nil
}

// Close ends Serve. A packet that is held then is lost, and sent again by its socket; it
// goes on unheld.
func (h *Holder) Close() { h.conn.close() }

// Serve calls look for every held packet of a program's, one at a time, and lets the
// packet go when it returns, until Close. An error means that nothing is held
// any more.
func (h *Holder) Serve(look func(src, dst netip.AddrPort)) error {
	defer h.Close()
	for {
		datagram, err := h.conn.receive()
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil
		case errors.Is(err, unix.ENOBUFS):
			continue // the kernel has let them go
		case err != nil:
			return fmt.Errorf("receiving held packets: %w", err)
		}
		eachHeld(datagram, func(m heldMessage) {
			if p, ok := parsePacket(m.payload); ok && m.mark != probeMark && m.hasUID && p.Proto == unix.IPPROTO_TCP {
				look(p.Src, p.Dst)
			}
			if e := h.release(m.id); e != nil && !errors.Is(e, os.ErrClosed) {
				err = fmt.Errorf("letting a held packet go: %w", e)
			}
		})
		if err != nil {
			return err
		}
	}
}

// release lets the packet go on to the next table.
func (h *Holder) release(id uint32) error {
	return h.conn.send(unix.NFNL_SUBSYS_QUEUE<<8|nfqnlMsgVerdict, 0, func(m *message) {
		m.netfilter(unix.AF_UNSPEC, firewall.HoldQueue)
		m.attribute(nfqaVerdictHdr, append(be32(nfAccept), be32(id)...)...)
	})
}

// Numbers of linux/netfilter/nfnetlink_queue.h and linux/netfilter.h that x/sys
// does not have.
const (
	nfqnlMsgPacket  = 0
	nfqnlMsgVerdict = 1
	nfqnlMsgConfig  = 2

	nfqaCfgCmd         = 1
	nfqaCfgParams      = 2
	nfqaCfgQueueMaxlen = 3
	nfqaCfgMask        = 4
	nfqaCfgFlags       = 5

	nfqnlCfgCmdBind  = 1
	nfqnlCopyPacket  = 2
	nfqaCfgFFailOpen = 1 << 0
	nfqaCfgFUIDGID   = 1 << 3

	nfqaPacketHdr  = 1
	nfqaVerdictHdr = 2
	nfqaMark       = 3
	nfqaPayload    = 10
	nfqaUID        = 16

	nfAccept = 1
)

// heldMessage is what is wanted of one held packet.
type heldMessage struct {
	id      uint32
	payload []byte
	mark    uint32
	hasUID  bool
}

// eachHeld calls yield for every packet in a datagram of the kernel's that can
// be let go.
func eachHeld(datagram []byte, yield func(heldMessage)) {
	for m := range messages(datagram) {
		if m.kind != unix.NFNL_SUBSYS_QUEUE<<8|nfqnlMsgPacket {
			continue
		}
		if held, ok := parseHeld(m.body); ok {
			yield(held)
		}
	}
}

func parseHeld(body []byte) (m heldMessage, ok bool) {
	for kind, data := range netfilterAttributes(body) {
		switch {
		case kind == nfqaPayload:
			m.payload = data
		case kind == nfqaPacketHdr && len(data) >= 4:
			m.id, ok = binary.BigEndian.Uint32(data), true
		case kind == nfqaMark && len(data) == 4:
			m.mark = binary.BigEndian.Uint32(data)
		case kind == nfqaUID && len(data) == 4:
			m.hasUID = true
		}
	}
	return m, ok
}
