package resolver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

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
		s.record(s.noQuestion(message, err, proto, client))
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

// noQuestion is the record of a message that asks for nothing. It has the name
// that the message begins with, if it is one, and where it was sent.
func (s *Server) noQuestion(message []byte, err error, proto firewall.Proto, client netip.AddrPort) audit.Record {
	rec := audit.Record{
		Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: cmp.Or(firstName(message), audit.NoQuestion),
		Rule: ruleNoQuestion, Reason: err.Error(), Src: client, SrcProto: proto,
	}
	if s.opts.Meant == nil {
		return rec
	}
	if meant := s.opts.Meant(client, proto); meant.IsValid() {
		rec.Dst, rec.Port, rec.Proto = meant.Addr().String(), meant.Port(), proto
	}
	return rec
}

// answerQuestion is answer for a message that has been read.
func (s *Server) answerQuestion(ctx context.Context, q question, proto firewall.Proto, client netip.AddrPort) []byte {
	rcode, l, why := s.resolve(ctx, q, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Src: client, SrcProto: proto})
	return q.reply(nil, rcode, l, why, q.limit(proto))
}

// Rules of refusals that no entry of an allowlist would lift.
const (
	ruleNoQuestion = "no question"
	ruleAddresses  = "addresses only"
)

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
		rec.Name, rec.Rule = written(q.q.Name.String()), ruleNoQuestion
		rec.Reason = "questions of class " + q.q.Class.GoString() + " are not answered"
		if err != nil {
			rec.Reason = err.Error()
		}
		return "", toRefuse
	}
	rec.Name = name
	d := (*s.policy.Load()).DecideName(name)
	rec.Rule, rec.Reason = d.Rule, d.Reason
	addresses := q.q.Type == dnsmessage.TypeA || q.q.Type == dnsmessage.TypeAAAA
	switch {
	case !d.Allowed():
		if domain := s.searchDomain(name); domain != "" && d.Rule == "" {
			rec.Rule = audit.SearchRule + domain
			rec.Reason += " (completed with the search domain " + domain + ")"
			return name, toDeny
		}
		if !addresses && q.q.Type != typeHTTPS && q.q.Type != typeSVCB {
			rec.Rule = cmp.Or(d.Rule, ruleAddresses)
			rec.Reason += "; besides, only addresses are resolved, not questions of type " + typeName(q.q.Type)
		}
		return name, toRefuse
	case s.ours.has(askedAs(q.header.ID, q.q)):
		rec.Reason = "the upstream resolver sent our own question back to us: it asks from within this network, and that is not open to it"
		return name, toRefuse
	case q.q.Type == typeHTTPS || q.q.Type == typeSVCB:
		return name, toSayNone
	case q.q.Type == dnsmessage.TypeAAAA && s.opts.NoIPv6:
		return name, toSayNone
	case !addresses:
		rec.Reason = "only addresses are resolved, not questions of type " + typeName(q.q.Type)
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
	key := cacheKey{name, q.q.Type}
	if l, install, ok := s.cache.get(key); ok {
		if l.failure != nil {
			return s.fail(rec, l.failure)
		}
		rcode, answer, why, done := s.grant(name, q, l, rec, install)
		if done == notOpened {
			s.cache.forget(key)
		}
		return rcode, answer, why
	}
	return s.askUpstream(ctx, name, q, rec)
}

// errBudget is why a question that the budget does not allow was not asked, and
// errBusy why one was not for which there was no room.
var (
	errBudget = errors.New("too many questions upstream under this wildcard")
	errBusy   = errors.New("too many questions at a time")
)

// askUpstream asks upstream for an allowed name and grants what comes back. When
// ctx ends before, the question goes on for those who wait for it as well.
func (s *Server) askUpstream(ctx context.Context, name string, q question, rec audit.Record) (dnsmessage.RCode, learnt, *extendedError) {
	key := pendingKey{cacheKey{name, q.q.Type}, s.cache.begin()}
	done := make(chan result, 1)
	if s.pending.join(key, func(reply []byte, err error) { done <- result{reply: bytes.Clone(reply), err: err} }) {
		if s.budget.spend(rec.Rule, name) {
			go func() {
				reply, err := s.exchange(context.WithoutCancel(ctx), key.cacheKey, s.order.turns(), nil)
				s.pending.end(key, reply, err)
			}()
		} else {
			s.pending.end(key, nil, errBudget)
		}
	}
	select {
	case r := <-done:
		return s.learn(name, q, rec, key.generation, r.reply, r.err)
	case <-ctx.Done():
		return s.fail(rec, ctx.Err())
	}
}

// learn grants what an upstream replied since the cache's generation, or fails
// with err.
func (s *Server) learn(name string, q question, rec audit.Record, generation int, reply []byte, err error) (dnsmessage.RCode, learnt, *extendedError) {
	key := cacheKey{name, q.q.Type}
	if errors.Is(err, errBudget) {
		return s.overBudget(name, q, rec)
	}
	var l learnt
	if err == nil {
		if l, err = readReply(reply, name); err != nil {
			err = fmt.Errorf("the upstream reply: %w", err)
		}
	}
	if err != nil {
		if !errors.Is(err, errBusy) {
			s.cache.putFailure(generation, key, learnt{failure: err})
		}
		return s.fail(rec, err)
	}
	rcode, answer, why, done := s.grant(name, q, l, rec, true)
	switch done {
	case given:
		s.cache.put(generation, key, l)
	case refused:
		s.cache.putFailure(generation, key, l)
	}
	return rcode, answer, why
}

// overBudget answers a question that may not go upstream: with the last answer,
// as long as its addresses are open, so that work goes on that asks again and
// again for a name whose answers count for a moment.
func (s *Server) overBudget(name string, q question, rec audit.Record) (dnsmessage.RCode, learnt, *extendedError) {
	if l, ok := s.cache.stale(cacheKey{name, q.q.Type}); ok {
		rcode, answer, why, _ := s.grant(name, q, l, rec, true)
		return rcode, answer, why
	}
	rec.Reason = fmt.Sprintf("more than %d new names, %d long ones, or %d questions for known ones under this wildcard within %v look like data in names",
		budgetShort, budgetLong, budgetRepeats+budgetRate*int(budgetWindow/time.Second), budgetWindow)
	return s.refuse(rec)
}

// granting is what became of an answer.
type granting int

const (
	notOpened granting = iota // it could not be opened or recorded
	refused                   // the policy refuses all of it
	given                     // the policy allows it, or a part of it
)

// grant judges what was learnt of an allowed name, opens the packet filter and
// only then lets the answer go. Without install the packet filter was told a
// moment ago.
func (s *Server) grant(name string, q question, l learnt, rec audit.Record, install bool) (dnsmessage.RCode, learnt, *extendedError, granting) {
	policy := *s.policy.Load()
	names := []string{name}
	for _, a := range l.aliases {
		if d := policy.DecideAlias(name, a.name); !d.Allowed() {
			rec.Rule, rec.Reason = d.Rule, d.Reason
			rcode, answer, why := s.refuse(rec)
			return rcode, answer, why, refused
		}
		names = append(names, a.name)
	}
	kept, denied := l.addrs[:0:0], rec
	for _, addr := range l.addrs {
		d := policy.DecideAnswer(name, addr)
		switch {
		case addr.Is4In6():
			d = firewall.Decision{Verdict: firewall.Deny, Reason: "an IPv4 address in the form of an IPv6 one is no answer"}
		case addr.Is4() != (q.q.Type == dnsmessage.TypeA):
			d = firewall.Decision{Verdict: firewall.Deny, Reason: fmt.Sprintf("%s is no answer to a question of type %s", addr, typeName(q.q.Type))}
		}
		if d.Allowed() {
			kept = append(kept, addr)
			continue
		}
		denied.Dst, denied.Rule, denied.Reason = addr.String(), d.Rule, d.Reason
		s.record(denied)
	}
	if len(l.addrs) > 0 && len(kept) == 0 {
		return dnsmessage.RCodeRefused, learnt{}, &extendedError{edeBlocked, denied.Reason}, refused
	}
	l.addrs = kept

	if install {
		ports := policy.Ports(name)
		for _, addr := range l.addrs {
			if err := s.opts.Installer.Allow(names, addr, ports, l.open); err != nil {
				rcode, answer, why := s.fail(rec, fmt.Errorf("opening %s: %w", addr, err))
				return rcode, answer, why, notOpened
			}
		}
		s.book.note(name, names[1:], l.addrs, l.open)
	}
	rec.Verdict = firewall.Allow
	if !l.exists && rec.Rule == firewall.RuleUnlisted { // nothing that a list lacks
		rec.Rule = audit.RuleAbsent
		if domain := s.searchDomain(name); domain != "" {
			rec.Rule = audit.SearchRule + domain
		}
	}
	if err := s.opts.Record(rec); err != nil {
		return dnsmessage.RCodeServerFailure, learnt{}, &extendedError{edeOther, "the decision could not be recorded"}, notOpened
	}
	if !l.exists {
		return dnsmessage.RCodeNameError, learnt{}, nil, given
	}
	return dnsmessage.RCodeSuccess, l, nil, given
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
