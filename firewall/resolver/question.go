package resolver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// question is what is kept of a client's message. Everything else in it, such
// as further records and EDNS options, ends here.
type question struct {
	header  dnsmessage.Header
	q       dnsmessage.Question // as asked, for the reply
	edns    bool                // the client understands EDNS
	maxSize int                 // of a UDP reply, in bytes
}

// The least and the most that a reply over UDP has, in bytes: RFC 1035 and the
// size that passes every network unfragmented (DNS flag day 2020).
const (
	minReply = 512
	maxReply = 1232

	maxReplyTCP = 0xffff
)

var (
	errNoQuestion = errors.New("the message is not a question")                   // no reply at all: it could be a reply itself
	errMalformed  = errors.New("the question cannot be understood")               // FORMERR
	errOpCode     = errors.New("the operation is not a query")                    // NOTIMP
	errHostName   = errors.New("the name has characters that no host name has")   // REFUSED
	errNameLength = errors.New("the name or one of its labels has no legal size") // REFUSED
)

// parseQuestion reads a client's message. With errMalformed and errOpCode the
// header is valid.
func parseQuestion(message []byte) (question, error) {
	var p dnsmessage.Parser
	var q question
	var err error
	if q.header, err = p.Start(message); err != nil || q.header.Response {
		return q, errNoQuestion
	}
	q.maxSize = minReply
	if q.header.OpCode != 0 {
		return q, errOpCode
	}
	// Exactly one question: with two, one could be judged and the other sent.
	if q.q, err = p.Question(); err != nil {
		q.q = dnsmessage.Question{}
		return q, errMalformed
	}
	if err := p.SkipQuestion(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		q.q = dnsmessage.Question{}
		return q, errMalformed
	}
	if err := p.SkipAllAnswers(); err != nil {
		return q, errMalformed
	}
	if err := p.SkipAllAuthorities(); err != nil {
		return q, errMalformed
	}
	for {
		h, err := p.AdditionalHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return q, nil
		}
		if err != nil {
			return q, errMalformed
		}
		if h.Type == dnsmessage.TypeOPT {
			q.edns = true
			q.maxSize = min(max(int(h.Class), minReply), maxReply)
		}
		if err := p.SkipAdditional(); err != nil {
			return q, errMalformed
		}
	}
}

// hostName turns a name of a message into the form that policies know: lower
// case, no trailing dot. It accepts letters, digits, hyphens and underscores
// only. Other bytes that a label can hold on the wire, NUL above all, mean
// different things to different programs.
func hostName(n dnsmessage.Name) (string, error) {
	s := strings.TrimSuffix(n.String(), ".")
	if s == "" || len(s) > 253 {
		return "", errNameLength
	}
	name := []byte(s)
	label := 0
	for i, c := range name {
		switch {
		case c == '.':
			if label == 0 {
				return "", errNameLength
			}
			label = -1
		case 'A' <= c && c <= 'Z':
			name[i] = c + 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return "", errHostName
		}
		if label++; label > 63 {
			return "", errNameLength
		}
	}
	if label == 0 {
		return "", errNameLength
	}
	return string(name), nil
}

// written is a name as records have it when it is none of a host's: with every
// byte that no host name has as \DDD (RFC 1035 section 5.1). So it differs from
// all others, and from the words in brackets that stand for no name.
func written(name string) string {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for i, l := range labels {
		labels[i] = writtenLabel(l)
	}
	return strings.Join(labels, ".")
}

func writtenLabel(label string) string {
	var b strings.Builder
	for _, c := range []byte(label) {
		letter, digit := 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9'
		if letter || digit || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "\\%03d", c)
		}
	}
	return b.String()
}

// firstName is the name of the first question of a message that could not be
// understood, as written has it; "" when there is none. A dot within a label is
// no border.
func firstName(message []byte) string {
	const headerSize = 12 // RFC 1035 section 4.1.1
	if len(message) < headerSize || binary.BigEndian.Uint16(message[4:]) == 0 {
		return ""
	}
	var labels []string
	rest, length := message[headerSize:], 0
	for len(rest) > 0 && rest[0] > 0 {
		size := int(rest[0])
		length += size + 1
		if size > 63 || length > 254 || len(rest) < size+1 {
			return ""
		}
		labels = append(labels, writtenLabel(string(rest[1:size+1])))
		rest = rest[size+1:]
	}
	if len(rest) == 0 {
		return ""
	}
	return strings.Join(labels, ".")
}

// extendedError is an Extended DNS Error, RFC 8914: what dig and systemd show
// in addition to the response code.
type extendedError struct {
	code uint16
	text string
}

// Codes of RFC 8914 section 4.
const (
	edeOther    = 0
	edeBlocked  = 15
	edeNoServer = 22 // "No Reachable Authority"
)
