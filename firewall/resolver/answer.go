package resolver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// Types of RFC 9460, which dnsmessage has no names for. Browsers and curl ask
// for them before every connection. They would bring Encrypted Client Hello
// keys and other ports, so the answer is that there are none.
const (
	typeSVCB  dnsmessage.Type = 64
	typeHTTPS dnsmessage.Type = 65
)

// answer judges one message of client's and returns the reply, or nil for no
// reply.
func (s *Server) answer(ctx context.Context, message []byte, proto firewall.Proto, client netip.AddrPort) []byte {
	q, err := parseQuestion(message)
	if err != nil {
		s.record(audit.Record{
			Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: audit.NoQuestion, Reason: err.Error(), Src: client, SrcProto: proto,
		})
	}
	switch {
	case errors.Is(err, errNoQuestion):
		return nil
	case errors.Is(err, errOpCode):
		return q.reply(nil, dnsmessage.RCodeNotImplemented, learnt{}, nil, q.limit(proto))
	case err != nil:
		return q.reply(nil, dnsmessage.RCodeFormatError, learnt{}, nil, q.limit(proto))
	}
	return s.answerQuestion(ctx, q, proto, client)
}

// answerQuestion is answer for a message that has been read.
func (s *Server) answerQuestion(ctx context.Context, q question, proto firewall.Proto, client netip.AddrPort) []byte {
	rcode, l, why := s.resolve(ctx, q, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Src: client, SrcProto: proto})
	return q.reply(nil, rcode, l, why, q.limit(proto))
}

// action is what a question gets.
type action int

const (
	toRefuse  action = iota
	toDeny           // the name exists nowhere: a search domain made it
	toSayNone        // there is nothing of this type
	toAnswer         // from the cache or from upstream
)

// decide says what a question gets, in rec why, and in name whom it asks for.
// It records nothing.
func (s *Server) decide(q question, rec *audit.Record) (name string, do action) {
	name, err := hostName(q.q.Name)
	if err != nil || q.q.Class != dnsmessage.ClassINET {
		rec.Name = strings.TrimSuffix(q.q.Name.String(), ".")
		rec.Reason = "questions of class " + q.q.Class.GoString() + " are not answered"
		if err != nil {
			rec.Reason = err.Error()
		}
		return "", toRefuse
	}
	rec.Name = name
	d := (*s.policy.Load()).DecideName(name)
	rec.Rule, rec.Reason = d.Rule, d.Reason
	switch {
	case !d.Allowed():
		if domain := s.searchDomain(name); domain != "" && d.Rule == "" {
			rec.Rule = audit.SearchRule + domain
			rec.Reason += " (completed with the search domain " + domain + ")"
			return name, toDeny
		}
		return name, toRefuse
	case s.ours.has(askedAs(q.header.ID, q.q)):
		rec.Reason = "the upstream resolver sent our own question back to us: it asks from within this network, and that is not open to it"
		return name, toRefuse
	case q.q.Type == typeHTTPS || q.q.Type == typeSVCB:
		return name, toSayNone
	case q.q.Type == dnsmessage.TypeAAAA && s.opts.NoIPv6:
		return name, toSayNone
	case q.q.Type != dnsmessage.TypeA && q.q.Type != dnsmessage.TypeAAAA:
		rec.Reason = "only addresses are resolved, not questions of type " + typeName(q.q.Type)
		return name, toRefuse
	case !s.budget.spend(d.Rule, name):
		rec.Reason = fmt.Sprintf("more than %d new names, or %d long ones, under this wildcard within %v look like data in names", budgetShort, budgetLong, budgetWindow)
		return name, toRefuse
	}
	return name, toAnswer
}

// resolve decides about a question and, when it is allowed, answers it. rec is
// the record of it, a refusal so far.
func (s *Server) resolve(ctx context.Context, q question, rec audit.Record) (dnsmessage.RCode, learnt, *extendedError) {
	name, do := s.decide(q, &rec)
	switch do {
	case toRefuse:
		return s.refuse(rec)
	case toDeny:
		s.record(rec)
		return dnsmessage.RCodeNameError, learnt{}, &extendedError{edeBlocked, rec.Reason}
	case toSayNone:
		return dnsmessage.RCodeSuccess, learnt{}, nil
	}
	if l, install, ok := s.cache.get(cacheKey{name, q.q.Type}); ok {
		rcode, answer, why, _ := s.grant(name, q, l, rec, install)
		return rcode, answer, why
	}
	return s.askUpstream(ctx, name, q, rec)
}

// askUpstream asks upstream for an allowed name and grants what comes back.
func (s *Server) askUpstream(ctx context.Context, name string, q question, rec audit.Record) (dnsmessage.RCode, learnt, *extendedError) {
	generation := s.cache.begin()
	reply, err := s.exchange(ctx, cacheKey{name, q.q.Type}, s.order.turns(), nil)
	return s.learn(name, q, rec, generation, reply, err)
}

// learn grants what an upstream replied since the cache's generation, or fails
// with err.
func (s *Server) learn(name string, q question, rec audit.Record, generation int, reply []byte, err error) (dnsmessage.RCode, learnt, *extendedError) {
	if err != nil {
		return s.fail(rec, err)
	}
	l, err := readReply(reply, name)
	if err != nil {
		return s.fail(rec, fmt.Errorf("the upstream reply: %w", err))
	}
	rcode, answer, why, granted := s.grant(name, q, l, rec, true)
	if granted {
		s.cache.put(generation, cacheKey{name, q.q.Type}, l)
	}
	return rcode, answer, why
}

// grant judges what was learnt of an allowed name, opens the packet filter and
// only then lets the answer go. Without install the packet filter was told a
// moment ago. granted is whether all of it may be had.
func (s *Server) grant(name string, q question, l learnt, rec audit.Record, install bool) (rcode dnsmessage.RCode, answer learnt, why *extendedError, granted bool) {
	refuse := func(rec audit.Record) (dnsmessage.RCode, learnt, *extendedError, bool) {
		rcode, answer, why := s.refuse(rec)
		return rcode, answer, why, false
	}
	policy := *s.policy.Load()
	names := []string{name}
	for _, a := range l.aliases {
		if d := policy.DecideAlias(name, a.name); !d.Allowed() {
			rec.Rule, rec.Reason = d.Rule, d.Reason
			return refuse(rec)
		}
		names = append(names, a.name)
	}
	kept, refused := l.addrs[:0:0], rec
	for _, addr := range l.addrs {
		d := policy.DecideAnswer(name, addr)
		if addr.Is4In6() {
			d = firewall.Decision{Verdict: firewall.Deny, Reason: "an IPv4 address in the form of an IPv6 one is no answer"}
		}
		if d.Allowed() && addr.Is4() == (q.q.Type == dnsmessage.TypeA) {
			kept = append(kept, addr)
			continue
		}
		refused.Dst, refused.Rule, refused.Reason = addr.String(), d.Rule, d.Reason
		s.record(refused)
	}
	if len(l.addrs) > 0 && len(kept) == 0 {
		return dnsmessage.RCodeRefused, learnt{}, &extendedError{edeBlocked, refused.Reason}, false
	}
	granted = len(kept) == len(l.addrs)
	l.addrs = kept

	if install {
		ports := policy.Ports(name)
		for _, addr := range l.addrs {
			if err := s.opts.Installer.Allow(names, addr, ports, l.ttl+graceTTL); err != nil {
				rcode, answer, why = s.fail(rec, fmt.Errorf("opening %s: %w", addr, err))
				return rcode, answer, why, false
			}
		}
		s.book.note(name, names[1:], l.addrs, l.ttl+graceTTL)
	}
	rec.Verdict = firewall.Allow
	if !l.exists && rec.Rule == firewall.RuleUnlisted { // nothing that a list lacks
		rec.Rule = audit.RuleAbsent
		if domain := s.searchDomain(name); domain != "" {
			rec.Rule = audit.SearchRule + domain
		}
	}
	if err := s.opts.Record(rec); err != nil {
		return dnsmessage.RCodeServerFailure, learnt{}, &extendedError{edeOther, "the decision could not be recorded"}, false
	}
	if !l.exists {
		return dnsmessage.RCodeNameError, learnt{}, nil, granted
	}
	return dnsmessage.RCodeSuccess, l, nil, granted
}

// refuse records a denial. One that cannot be recorded is a denial still.
func (s *Server) refuse(rec audit.Record) (dnsmessage.RCode, learnt, *extendedError) {
	s.record(rec)
	return dnsmessage.RCodeRefused, learnt{}, &extendedError{edeBlocked, rec.Reason}
}

// fail answers an allowed name that could not be resolved. The policy did not
// refuse it, so the record says allow and what went wrong.
func (s *Server) fail(rec audit.Record, err error) (dnsmessage.RCode, learnt, *extendedError) {
	rec.Verdict = firewall.Allow
	rec.Reason += ", but it could not be resolved: " + err.Error()
	s.record(rec)
	return dnsmessage.RCodeServerFailure, learnt{}, &extendedError{edeNoServer, err.Error()}
}

// record is for records whose loss changes nothing about the reply.
func (s *Server) record(rec audit.Record) { _ = s.opts.Record(rec) }

// searchDomain returns the search domain that name lies under, or "".
func (s *Server) searchDomain(name string) string {
	for _, domain := range s.opts.Search {
		if strings.HasSuffix(name, "."+domain) {
			return domain
		}
	}
	return ""
}

// typeName is "TXT" or, for types without a name here, "TYPE99" (RFC 3597).
func typeName(t dnsmessage.Type) string {
	if name, ok := strings.CutPrefix(t.String(), "Type"); ok {
		return strings.ToUpper(name)
	}
	return fmt.Sprintf("TYPE%d", uint16(t))
}
