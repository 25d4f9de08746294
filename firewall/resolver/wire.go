package resolver

import (
	"encoding/binary"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
)

// Messages are read by package dnsmessage and written here, into room that the
// caller has: it is the same few records each time, and dnsmessage needs a map
// for the names of each message.

// Bits of a message's header (RFC 1035 section 4.1.1), and its size.
const (
	flagResponse           = 1 << 15
	flagTruncated          = 1 << 9
	flagRecursionDesired   = 1 << 8
	flagRecursionAvailable = 1 << 7
	shiftOpCode            = 11
	headerSize             = 12
)

func appendHeader(b []byte, id, flags uint16, questions, answers, additionals int) []byte {
	for _, field := range [...]uint16{id, flags, uint16(questions), uint16(answers), 0, uint16(additionals)} {
		b = binary.BigEndian.AppendUint16(b, field)
	}
	return b
}

func appendQuestion(b []byte, q dnsmessage.Question) []byte {
	b = appendName(b, &q.Name)
	b = binary.BigEndian.AppendUint16(b, uint16(q.Type))
	return binary.BigEndian.AppendUint16(b, uint16(q.Class))
}

// appendName writes a name that ends in a dot, without compression.
func appendName(b []byte, n *dnsmessage.Name) []byte {
	at := len(b) // of the label's length
	b = append(b, 0)
	for _, c := range n.Data[:n.Length] {
		if c != '.' {
			b = append(b, c)
			continue
		}
		size := len(b) - at - 1
		if size == 0 {
			return b // the root
		}
		b[at] = byte(size)
		at = len(b)
		b = append(b, 0)
	}
	return b
}

// appendRecord writes a record of the name at an offset of the message, without
// its data.
func appendRecord(b []byte, owner int, typ dnsmessage.Type, ttl time.Duration, size int) []byte {
	b = binary.BigEndian.AppendUint16(b, 0xc000|uint16(owner))
	b = binary.BigEndian.AppendUint16(b, uint16(typ))
	b = binary.BigEndian.AppendUint16(b, uint16(dnsmessage.ClassINET))
	b = binary.BigEndian.AppendUint32(b, uint32(ttl/time.Second))
	return binary.BigEndian.AppendUint16(b, uint16(size))
}

// appendOPT writes what says that we know EDNS (RFC 6891), and why.
func appendOPT(b []byte, why *extendedError) []byte {
	b = append(b, 0) // the root
	b = binary.BigEndian.AppendUint16(b, uint16(dnsmessage.TypeOPT))
	b = binary.BigEndian.AppendUint16(b, maxReply)
	b = binary.BigEndian.AppendUint32(b, 0) // version 0, and no flags
	if why == nil {
		return binary.BigEndian.AppendUint16(b, 0)
	}
	const extendedErrorOption = 15 // RFC 8914
	size := 2 + len(why.text)
	b = binary.BigEndian.AppendUint16(b, uint16(4+size))
	b = binary.BigEndian.AppendUint16(b, extendedErrorOption)
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	b = binary.BigEndian.AppendUint16(b, why.code)
	return append(b, why.text...)
}

// appendAsked writes the message that asks an upstream.
func appendAsked(b []byte, id uint16, q dnsmessage.Question, edns bool) []byte {
	additionals := 0
	if edns {
		additionals = 1
	}
	b = appendQuestion(appendHeader(b, id, flagRecursionDesired, 1, 0, additionals), q)
	if edns {
		b = appendOPT(b, nil)
	}
	return b
}

// limit is how many bytes a reply may have.
func (q *question) limit(proto firewall.Proto) int {
	if proto == firewall.TCP {
		return 0xffff
	}
	return q.maxSize
}

// reply writes the answer to q to buf. A message that is larger than the client
// takes over UDP is cut down to its header and question, and says so.
func (q *question) reply(buf []byte, rcode dnsmessage.RCode, l learnt, why *extendedError, limit int) []byte {
	flags := uint16(flagResponse|flagRecursionAvailable) | uint16(q.header.OpCode)<<shiftOpCode | uint16(rcode)
	if q.header.RecursionDesired {
		flags |= flagRecursionDesired
	}
	questions, additionals := 0, 0
	if q.q.Name.Length > 0 {
		questions = 1
	}
	if q.edns {
		additionals = 1
	}
	b := appendHeader(buf[:0], q.header.ID, flags, questions, len(l.aliases)+len(l.addrs), additionals)
	if questions > 0 {
		b = appendQuestion(b, q.q)
	}
	end := len(b)
	owner := headerSize // the question's name
	for i := range l.aliases {
		target := &l.aliases[i].target
		b = appendRecord(b, owner, dnsmessage.TypeCNAME, l.ttl, int(target.Length)+1)
		owner = len(b)
		b = appendName(b, target)
	}
	for _, addr := range l.addrs {
		if addr.Is4() {
			a := addr.As4()
			b = append(appendRecord(b, owner, dnsmessage.TypeA, l.ttl, len(a)), a[:]...)
		} else {
			a := addr.As16()
			b = append(appendRecord(b, owner, dnsmessage.TypeAAAA, l.ttl, len(a)), a[:]...)
		}
	}
	if q.edns {
		b = appendOPT(b, why)
	}
	if len(b) <= limit {
		return b
	}
	if end > limit {
		return nil
	}
	appendHeader(b[:0], q.header.ID, flags|flagTruncated, questions, 0, 0)
	return b[:end]
}
