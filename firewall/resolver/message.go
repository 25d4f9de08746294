package resolver

import (
	"encoding/binary"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// packQuery returns the message that asks an upstream.
func packQuery(id uint16, q dnsmessage.Question, edns bool) ([]byte, error) {
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{q},
	}
	if edns {
		m.Additionals = []dnsmessage.Resource{optRecord(nil)}
	}
	return m.Pack()
}

// response is what a client is told.
type response struct {
	rcode  dnsmessage.RCode
	answer answer
	why    *extendedError // nil = the code says it all
}

// pack returns the reply to q. A message of more than limit bytes is cut down to
// its header and question, and says so. It is nil when there is none.
func (r response) pack(q question, limit int) []byte {
	m := dnsmessage.Message{Header: dnsmessage.Header{
		ID: q.header.ID, OpCode: q.header.OpCode, RecursionDesired: q.header.RecursionDesired,
		Response: true, RecursionAvailable: true, RCode: r.rcode,
	}}
	if q.q.Name.Length > 0 {
		m.Questions = []dnsmessage.Question{q.q}
	}
	owner := q.q.Name
	add := func(body dnsmessage.ResourceBody) {
		header := dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET, TTL: uint32(r.answer.ttl / time.Second)}
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: body})
	}
	for _, alias := range r.answer.aliases {
		add(&dnsmessage.CNAMEResource{CNAME: alias.target})
		owner = alias.target
	}
	for _, addr := range r.answer.addrs {
		if addr.Is4() {
			add(&dnsmessage.AResource{A: addr.As4()})
		} else {
			add(&dnsmessage.AAAAResource{AAAA: addr.As16()})
		}
	}
	if q.edns {
		m.Additionals = []dnsmessage.Resource{optRecord(r.why)}
	}
	packed, err := m.Pack()
	if err == nil && len(packed) > limit {
		m.Truncated, m.Answers, m.Additionals = true, nil, nil
		packed, err = m.Pack()
	}
	if err != nil {
		return nil
	}
	return packed
}

// optRecord is the record that says that we know EDNS (RFC 6891), and why.
func optRecord(why *extendedError) dnsmessage.Resource {
	var body dnsmessage.OPTResource
	if why != nil {
		const extendedErrorOption = 15 // RFC 8914
		data := append(binary.BigEndian.AppendUint16(nil, why.code), why.text...)
		body.Options = []dnsmessage.Option{{Code: extendedErrorOption, Data: data}}
	}
	root := dnsmessage.Name{Data: [255]byte{'.'}, Length: 1}
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: root, Class: maxReply}, Body: &body}
}

// framed puts the length in front of a message, as DNS over TCP wants it.
func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)
}
