package resolver

import (
	"context"
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// Bounds of a memo. A client can write one question in many ways, each of which
// would take a place.
const (
	memoSize     = 256 // replies
	memoQuestion = 512 // bytes of a message that is remembered
)

// memo holds the replies to messages that came a moment ago, by all of the
// message but its id. The same bytes under the same policy get the same reply as
// long as the cache holds the same answer with as many seconds left. It belongs
// to one goroutine.
type memo map[string]*remembered

// remembered is a reply, and all that it depends on.
type remembered struct {
	policy *Policy
	name   string // in the letters that were asked for
	key    cacheKey
	held   held
	rec    audit.Record // of each time that it is given, without the client
	reply  []byte
}

// again returns the reply to a message that is remembered, written to buf and
// recorded, and nil for one that has to be judged: also when the sets are to be
// told again, when the question may be our own that came back, and when the
// decision could not be recorded.
func (s *Server) again(m memo, message []byte, client netip.AddrPort, buf []byte) []byte {
	if len(message) < 2 {
		return nil
	}
	r := m[string(message[2:])]
	if r == nil || r.policy != s.policy.Load() || !s.cache.same(r.key, r.held) {
		return nil
	}
	id := binary.BigEndian.Uint16(message)
	if s.ours.has(asked{id, r.name, r.key.typ}) {
		return nil
	}
	rec := r.rec
	rec.Src = client
	if s.opts.Record(rec) != nil {
		return nil
	}
	buf = append(buf[:0], r.reply...)
	binary.BigEndian.PutUint16(buf, id)
	return buf
}

// answerKnown is answer for a question over UDP that the cache knew a moment
// ago. It remembers a reply that has all of what the cache held.
func (s *Server) answerKnown(ctx context.Context, m memo, message []byte, q question, key cacheKey, client netip.AddrPort) []byte {
	policy, before := s.policy.Load(), s.cache.hold(key)
	reply := s.answerQuestion(ctx, q, firewall.UDP, client)
	// What was the same before and after was the same meanwhile: neither a
	// policy nor an answer comes back, and time only passes.
	if before.answer == nil || before != s.cache.hold(key) || policy != s.policy.Load() || len(message) > memoQuestion {
		return reply
	}
	var p dnsmessage.Parser
	h, err := p.Start(reply)
	const records = 6 // offset of the number of answers
	whole := len(before.answer.aliases) + len(before.answer.addrs)
	if err != nil || h.RCode != dnsmessage.RCodeSuccess || h.Truncated || int(binary.BigEndian.Uint16(reply[records:])) != whole {
		return reply
	}
	if len(m) >= memoSize {
		clear(m)
	}
	d := (*policy).DecideName(key.name)
	m[string(message[2:])] = &remembered{policy: policy, name: askedAs(0, q.q).name, key: key, held: before, reply: reply, rec: audit.Record{
		Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: key.name, Rule: d.Rule, Reason: d.Reason, SrcProto: firewall.UDP,
	}}
	return reply
}

// held is an answer of the cache with the time that is left of it, in whole
// seconds, as get would return it.
type held struct {
	answer *cachedAnswer
	left   time.Duration
}

// hold returns what the cache holds; nothing of what is about to end or was
// refused.
func (c *cache) hold(key cacheKey) held {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.answers[key]
	if a == nil {
		return held{}
	}
	left := a.until.Sub(c.now())
	if left <= 2*time.Second || a.refused {
		return held{}
	}
	return held{a, left.Truncate(time.Second)}
}

// same reports whether get would return h's answer with the same time, and not
// ask for the sets to be told again.
func (c *cache) same(key cacheKey, h held) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	return c.answers[key] == h.answer && h.answer.until.Sub(now).Truncate(time.Second) == h.left && now.Sub(h.answer.installed) < installEvery
}
