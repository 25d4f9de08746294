package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
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

// respond judges one message of a client's and returns the reply, or nil for no
// reply.
func (s *Server) respond(ctx context.Context, message []byte, proto firewall.Proto, client netip.AddrPort) []byte {
	q, err := parseQuestion(message)
	if err != nil {
		s.record(s.noQuestion(message, err, proto, client))
	}
	var r response
	switch {
	case err == nil:
		r = s.resolve(ctx, q, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Src: client, SrcProto: proto})
	case errors.Is(err, errNoQuestion):
		return nil
	case errors.Is(err, errOpCode):
		r.rcode = dnsmessage.RCodeNotImplemented
	default:
		r.rcode = dnsmessage.RCodeFormatError
	}
	if proto == firewall.TCP {
		return r.pack(q, maxReplyTCP)
	}
	return r.pack(q, q.maxSize)
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
	d := s.policy.Load().DecideName(name)
	rec.Rule, rec.Reason = d.Rule, d.Reason
	addresses := q.q.Type == dnsmessage.TypeA || q.q.Type == dnsmessage.TypeAAAA
	_, ours := s.ours.Load(openQuestionOf(q.header.ID, q.q))
	switch {
	case !d.Allowed():
		if domain := s.searchDomain(name); domain != "" && d.Rule == "" {
			rec.Rule = audit.SearchRule + domain
			rec.Reason += " (completed with the search domain " + domain + ")"
			return name, toDeny
		}
		if !addresses && q.q.Type != typeHTTPS && q.q.Type != typeSVCB {
			rec.Rule = cmp.Or(d.Rule, ruleAddresses)
			rec.Reason += "; and only addresses are resolved, not questions of type " + typeName(q.q.Type)
		}
		return name, toRefuse
	case ours:
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
func (s *Server) resolve(ctx context.Context, q question, rec audit.Record) response {
	name, do := s.decide(q, &rec)
	switch do {
	case toRefuse:
		return s.refuse(rec)
	case toDeny:
		s.record(rec)
		return response{rcode: dnsmessage.RCodeNameError, why: &extendedError{edeBlocked, rec.Reason}}
	case toSayNone:
		return response{}
	}
	key := cacheKey{name, q.q.Type}
	a, install, ok := s.cache.get(key)
	switch {
	case !ok:
		return s.askUpstream(ctx, key, rec)
	case a.failure != nil:
		return s.fail(rec, a.failure)
	}
	r, done := s.grant(key, a, rec, install)
	if done == notOpened {
		s.cache.forget(key)
	}
	return r
}

// errBudget is why a question was not asked that the budget does not allow.
var errBudget = errors.New("too many questions upstream under this wildcard")

// askUpstream asks upstream for an allowed name and grants what comes back.
func (s *Server) askUpstream(ctx context.Context, key cacheKey, rec audit.Record) response {
	generation := s.cache.currentGeneration()
	var search sync.WaitGroup
	if s.opts.Complete != nil && rec.Src.IsValid() {
		found := rec
		found.Verdict = firewall.Allow
		rec.Found = &found
		search.Go(func() { s.opts.Complete(&found) })
	}
	a, err := s.pending.do(ctx, pendingKey{key, generation}, func() (answer, error) {
		if !s.budget.spend(rec.Rule, key.name) {
			return answer{}, errBudget
		}
		reply, err := s.exchange(ctx, key)
		if err != nil {
			return answer{}, err
		}
		a, err := readReply(reply, key.name)
		if err != nil {
			err = fmt.Errorf("the upstream reply: %w", err)
		}
		return a, err
	})
	search.Wait()
	switch {
	case errors.Is(err, errBudget):
		return s.overBudget(key, rec)
	case err != nil:
		if ctx.Err() == nil {
			s.cache.putFailure(generation, key, answer{failure: err})
		}
		return s.fail(rec, err)
	}
	r, done := s.grant(key, a, rec, true)
	switch done {
	case given:
		s.cache.put(generation, key, a)
	case refused:
		s.cache.putFailure(generation, key, a)
	}
	return r
}

// overBudget answers a question that may not go upstream: with the last answer,
// as long as its addresses are open, so that work goes on that asks again and
// again for a name whose answers count for a moment.
func (s *Server) overBudget(key cacheKey, rec audit.Record) response {
	if a, ok := s.cache.stale(key); ok {
		r, _ := s.grant(key, a, rec, true)
		return r
	}
	rec.Reason = fmt.Sprintf("more than %d new names, %d long ones, or %d questions for known ones"+
		" under this wildcard within %v look like data in names",
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

// grant judges the answer for an allowed name, opens the packet filter and only
// then lets the answer go. Without install the packet filter was told a moment
// ago.
func (s *Server) grant(key cacheKey, a answer, rec audit.Record, install bool) (response, granting) {
	policy := s.policy.Load()
	names := []string{key.name}
	for _, alias := range a.aliases {
		if d := policy.DecideAlias(key.name, alias.name); !d.Allowed() {
			rec.Rule, rec.Reason = d.Rule, d.Reason
			return s.refuse(rec), refused
		}
		names = append(names, alias.name)
	}
	allowed, denied := a.addrs[:0:0], rec
	for _, addr := range a.addrs {
		d := decideAddress(policy, key, addr)
		if d.Allowed() {
			allowed = append(allowed, addr)
			continue
		}
		denied.Dst, denied.Rule, denied.Reason = addr.String(), d.Rule, d.Reason
		s.record(denied)
	}
	if len(a.addrs) > 0 && len(allowed) == 0 {
		return response{rcode: dnsmessage.RCodeRefused, why: &extendedError{edeBlocked, denied.Reason}}, refused
	}
	a.addrs = allowed

	if install {
		ports := policy.Ports(key.name)
		for _, addr := range a.addrs {
			if err := s.opts.Installer.Allow(names, addr, ports, a.open); err != nil {
				return s.fail(rec, fmt.Errorf("opening %s: %w", addr, err)), notOpened
			}
		}
	}
	rec.Verdict = firewall.Allow
	if !a.exists && rec.Rule == firewall.RuleUnlisted { // nothing that a list lacks
		rec.Rule = audit.RuleAbsent
		if domain := s.searchDomain(key.name); domain != "" {
			rec.Rule = audit.SearchRule + domain
		}
	}
	if err := s.opts.Record(rec); err != nil {
		return response{rcode: dnsmessage.RCodeServerFailure, why: &extendedError{edeOther, "the decision could not be recorded"}}, notOpened
	}
	if !a.exists {
		return response{rcode: dnsmessage.RCodeNameError}, given
	}
	return response{answer: a}, given
}

// decideAddress decides about one address of the answer to key.
func decideAddress(policy *firewall.Policy, key cacheKey, addr netip.Addr) firewall.Decision {
	switch {
	case addr.Is4In6():
		return firewall.Decision{Verdict: firewall.Deny, Reason: "an IPv4 address in the form of an IPv6 one is no answer"}
	case addr.Is4() != (key.typ == dnsmessage.TypeA):
		return firewall.Decision{Verdict: firewall.Deny, Reason: fmt.Sprintf("%s is no answer to a question of type %s", addr, typeName(key.typ))}
	}
	return policy.DecideAnswer(key.name, addr)
}

// refuse records a denial. One that cannot be recorded is a denial still.
func (s *Server) refuse(rec audit.Record) response {
	s.record(rec)
	return response{rcode: dnsmessage.RCodeRefused, why: &extendedError{edeBlocked, rec.Reason}}
}

// fail answers an allowed name that could not be resolved. The policy did not
// refuse it, so the record says allow and what went wrong.
func (s *Server) fail(rec audit.Record, err error) response {
	rec.Verdict = firewall.Allow
	rec.Reason += ", but it could not be resolved: " + err.Error()
	s.record(rec)
	return response{rcode: dnsmessage.RCodeServerFailure, why: &extendedError{edeNoServer, err.Error()}}
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
