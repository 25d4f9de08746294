package resolver

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func withCache(n int) func(*Options) { return func(o *Options) { o.Cache = n } }

func newCachingLab(t *testing.T, n firewall.Network, up *upstream, size int) (*lab, *clock) {
	l := newLab(t, n, up, withCache(size))
	c := &clock{now: time.Unix(1_000_000, 0)}
	l.server.cache.mu.Lock()
	defer l.server.cache.mu.Unlock()
	l.server.cache.now = c.read
	return l, c
}

func ttlOf(m dnsmessage.Message) uint32 {
	if len(m.Answers) == 0 {
		return 0
	}
	return m.Answers[len(m.Answers)-1].Header.TTL
}

func TestCachedAnswerGrowsNoOlderThanItsTime(t *testing.T) {
	up := newUpstream(t, zone{"ok.example. A": {cname("ok.example.", "cdn.test.", 90), a("cdn.test.", public, 60)}}.script)
	l, clock := newCachingLab(t, labNetwork, up, 10)
	first := l.ask(t, "ok.example.", dnsmessage.TypeA)
	clock.pass(25 * time.Second)
	second := l.ask(t, "OK.example.", dnsmessage.TypeA)
	if n := len(up.received()); n != 1 {
		t.Errorf("upstream was asked %d times, want once", n)
	}
	if ttlOf(first) != 60 || ttlOf(second) != 35 || !slices.Equal(addresses(second), []string{public}) || len(second.Answers) != 2 {
		t.Errorf("TTL %d, then %d: %v", ttlOf(first), ttlOf(second), second.Answers)
	}
	// The sets hear of it again, but not for longer than before.
	sets := l.installs()
	if len(sets) != 2 || sets[0].timeout != 60*time.Second+graceTTL || sets[1].timeout != 35*time.Second+graceTTL {
		t.Errorf("installed %v", sets)
	}
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if n := len(l.installs()); n != 2 {
		t.Errorf("installed %d times within a moment", n)
	}
	if n := len(l.audit()); n != 3 {
		t.Errorf("%d records of 3 questions", n)
	}
	clock.pass(35 * time.Second)
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if n := len(up.received()); n != 2 {
		t.Errorf("upstream was asked %d times, want again after the answer's time", n)
	}
}

func TestAbsenceCountsShortly(t *testing.T) {
	up := newUpstream(t, zone{}.script)
	l, clock := newCachingLab(t, labNetwork, up, 10)
	for range 3 {
		if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError {
			t.Errorf("rcode %s", m.RCode)
		}
	}
	clock.pass(absentTTL)
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if n := len(up.received()); n != 2 {
		t.Errorf("upstream was asked %d times, want twice", n)
	}
}

func TestAttackCachedAnswerOutlivesThePolicy(t *testing.T) {
	up := newUpstream(t, zone{"ok.example. A": {cname("ok.example.", "cdn.test.", 90), a("cdn.test.", public, 60)}}.script)
	l, clock := newCachingLab(t, labNetwork, up, 10)
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	narrower := func(n firewall.Network) {
		p, errs := firewall.NewPolicy(n)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		l.server.SetPolicy(p)
	}
	for _, n := range []firewall.Network{
		{Allow: []string{"other.example"}},
		{Allow: []string{"ok.example"}, Deny: []string{"cdn.test"}},
	} {
		narrower(n)
		clock.pass(2 * time.Second)
		before := len(l.installs())
		if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeRefused || len(m.Answers) > 0 {
			t.Errorf("%v: %s with %d records", n, m.RCode, len(m.Answers))
		}
		if len(l.installs()) != before {
			t.Errorf("%v: an address was opened", n)
		}
	}
	narrower(labNetwork)
	asked := len(up.received())
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if len(up.received()) != asked+1 {
		t.Error("an answer of an earlier policy's time was used")
	}
}

// An answer that is under way while the policy changes is judged by the new
// one, and is not kept: the question was the old one's.
func TestAnswerUnderWayIsNotKept(t *testing.T) {
	c := newCache(10, time.Now)
	key := cacheKey{"ok.example", dnsmessage.TypeA}
	l := answer{exists: true, addrs: []netip.Addr{netip.MustParseAddr(public)}, ttl: time.Minute}
	generation := c.currentGeneration()
	c.clear()
	c.put(generation, key, l)
	if _, _, ok := c.get(key); ok {
		t.Error("it was kept")
	}
	c.put(c.currentGeneration(), key, l)
	if _, _, ok := c.get(key); !ok {
		t.Error("nothing is kept at all")
	}
}

// An answer that is refused, in part or as a whole, is refused and recorded each
// time, but the zone is not asked each time.
func TestAttackAnswersThatAreRefusedTellTheZoneNothing(t *testing.T) {
	for want, addrs := range map[string][]dnsmessage.Resource{
		"in part":    {a("ok.example.", public, 60), a("ok.example.", "169.254.169.254", 60)},
		"as a whole": {a("ok.example.", "169.254.169.254", 60)},
	} {
		t.Run(want, func(t *testing.T) {
			up := newUpstream(t, zone{"ok.example. A": addrs}.script)
			l, clock := newCachingLab(t, labNetwork, up, 10)
			for range 3 {
				if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); len(got) != len(addrs)-1 {
					t.Errorf("answer %q", got)
				}
			}
			if n := len(up.received()); n != 1 {
				t.Errorf("upstream was asked %d times, want once", n)
			}
			denied := slices.DeleteFunc(l.audit(), func(r audit.Record) bool { return r.Dst != "169.254.169.254" })
			if len(denied) != 3 {
				t.Errorf("%d of 3 refusals are recorded", len(denied))
			}
			clock.pass(time.Minute)
			l.ask(t, "ok.example.", dnsmessage.TypeA)
			if n := len(up.received()); n != 2 {
				t.Errorf("upstream was asked %d times, want again after the answer's time", n)
			}
		})
	}
}

func TestFailureCountsForAMoment(t *testing.T) {
	var works atomic.Bool
	up := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		if works.Load() {
			return okZone().script(q, network)
		}
		m := replyTo(q)
		m.RCode = dnsmessage.RCodeServerFailure
		return []dnsmessage.Message{m}
	})
	l, clock := newCachingLab(t, labNetwork, up, 10)
	for range 3 {
		if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure {
			t.Errorf("rcode %s", m.RCode)
		}
	}
	if n := len(up.received()); n != 1 {
		t.Errorf("upstream was asked %d times, want once", n)
	}
	if n := len(l.audit()); n != 3 {
		t.Errorf("%d of 3 failures are recorded", n)
	}
	works.Store(true)
	clock.pass(failureTTL)
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); len(got) != 1 {
		t.Errorf("answer %q after the failure's time", got)
	}
}

// A name whose address moves every few seconds: the answer counts for as long as
// the record says and no longer, while the address stays open for those who were
// told of it.
func TestAddressThatRotates(t *testing.T) {
	for ttl := range uint32(4) {
		t.Run(fmt.Sprint(ttl), func(t *testing.T) {
			var now atomic.Uint32
			now.Store(1)
			up := newUpstream(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
				m := replyTo(q)
				m.Answers = []dnsmessage.Resource{a("ok.example.", fmt.Sprintf("93.184.216.%d", now.Load()), ttl)}
				return []dnsmessage.Message{m}
			})
			l, clock := newCachingLab(t, labNetwork, up, 10)
			for turn := range uint32(3) {
				want := fmt.Sprintf("93.184.216.%d", turn+1)
				for second := range max(ttl, 1) {
					m := l.ask(t, "ok.example.", dnsmessage.TypeA)
					if got := addresses(m); !slices.Equal(got, []string{want}) || ttlOf(m) != ttl-min(second, ttl) {
						t.Errorf("turn %d, second %d: answer %q for %d s", turn, second, got, ttlOf(m))
					}
					if ttl > 0 {
						clock.pass(time.Second)
					}
				}
				now.Add(1)
			}
			if n := len(up.received()); n != 3 {
				t.Errorf("upstream was asked %d times, want once for each address", n)
			}
			for _, set := range l.installs() {
				if set.timeout > 65*time.Second || set.timeout < 62*time.Second {
					t.Errorf("%s is open for %v", set.addr, set.timeout)
				}
			}
		})
	}
}

// Answers that must not be kept are shared by all who ask while the question is
// under way, over either protocol.
func TestPendingQuestionIsShared(t *testing.T) {
	const clients = 50
	hold := make(chan struct{})
	up := newUpstream(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		<-hold
		m := replyTo(q)
		m.Answers = []dnsmessage.Resource{a("ok.example.", public, 0)}
		return []dnsmessage.Message{m}
	})
	l := newLab(t, labNetwork, up, func(o *Options) { o.Cache, o.Timeout = 10, 5*time.Second })
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
				t.Errorf("answer %q", got)
			}
		})
	}
	key := pendingKey{cacheKey{"ok.example", dnsmessage.TypeA}, l.server.cache.currentGeneration()}
	for waiting := 0; waiting < clients-1; runtime.Gosched() {
		l.server.pending.mu.Lock()
		waiting = len(l.server.pending.clients[key])
		l.server.pending.mu.Unlock()
	}
	close(hold)
	all.Wait()
	if n := len(up.received()); n != 1 {
		t.Errorf("upstream was asked %d times, want once", n)
	}
	if n := len(l.audit()); n != clients {
		t.Errorf("%d records of %d questions", n, clients)
	}
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if n := len(up.received()); n != 2 {
		t.Errorf("upstream was asked %d times, want again for an answer without a time", n)
	}
}

func TestAttackFillingTheCache(t *testing.T) {
	c := newCache(100, time.Now)
	for i := range 1000 {
		c.put(0, cacheKey{fmt.Sprintf("n%d.example", i), dnsmessage.TypeA}, answer{ttl: time.Minute})
	}
	if n := len(c.answers); n > 100 || n < 80 {
		t.Errorf("%d answers, want at most 100, and not many less", n)
	}
}

func TestFirstUpstreamComesBack(t *testing.T) {
	var broken sync.Map // upstream -> struct{}
	script := func(name string) func(dnsmessage.Message, string) []dnsmessage.Message {
		return func(q dnsmessage.Message, network string) []dnsmessage.Message {
			if _, yes := broken.Load(name); yes {
				return nil
			}
			return okZone().script(q, network)
		}
	}
	first, second := newUpstream(t, script("first")), newUpstream(t, script("second"))
	l := newLab(t, labNetwork, first, func(o *Options) { o.Upstreams = []netip.AddrPort{first.addr, second.addr} })
	c := &clock{now: time.Unix(1_000_000, 0)}
	l.server.upstreams.mu.Lock()
	l.server.upstreams.now = c.read
	l.server.upstreams.mu.Unlock()
	ask := func() {
		t.Helper()
		if m := l.ask(t, "ok.example.", dnsmessage.TypeA); len(addresses(m)) == 0 {
			t.Fatalf("no answer: %s", m.RCode)
		}
	}
	counts := func(a, b int) {
		t.Helper()
		if got := [2]int{len(first.received()), len(second.received())}; got != [2]int{a, b} {
			t.Errorf("asked %v times, want %v", got, [2]int{a, b})
		}
	}
	ask()
	counts(1, 0)
	broken.Store("first", struct{}{})
	ask()
	ask()
	counts(2, 2) // it sticks to the second
	c.pass(backAfter)
	ask()
	ask()
	counts(3, 4) // one question in a minute tries the first
	broken.Delete("first")
	c.pass(backAfter)
	ask()
	ask()
	counts(5, 4) // and it is back
}

func TestAttackForgedReplyInOtherLetters(t *testing.T) {
	lower := func(m dnsmessage.Message) dnsmessage.Message {
		m.Questions = slices.Clone(m.Questions)
		m.Questions[0].Name = dnsmessage.MustNewName(strings.ToLower(m.Questions[0].Name.String()))
		return m
	}
	mixed := func(o *Options) { o.MixCase = true }
	const forged = "93.184.216.66"
	var stopped sync.Map
	up := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		good := replyTo(q)
		good.Answers = []dnsmessage.Resource{a("git.example.", public, 60)}
		if _, yes := stopped.Load("repeating"); yes {
			return []dnsmessage.Message{lower(good)}
		}
		bad := lower(replyTo(q))
		bad.Answers = []dnsmessage.Resource{a("git.example.", forged, 60)}
		if strings.EqualFold(q.Questions[0].Name.String(), "ok.example.") {
			return []dnsmessage.Message{good}
		}
		return []dnsmessage.Message{bad, good}
	})
	l := newLab(t, labNetwork, up, mixed)
	for range 20 { // some question has an upper-case letter, and the upstream is known to repeat it
		l.ask(t, "ok.example.", dnsmessage.TypeA)
	}
	wrong := 0
	for range 20 {
		if got := addresses(l.ask(t, "git.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
			wrong++
		}
	}
	if wrong > 2 { // all ten letters are lower case once in a thousand times
		t.Errorf("%d forged answers of 20", wrong)
	}
	spellings := map[string]bool{}
	for _, m := range up.received() {
		var q dnsmessage.Message
		if q.Unpack(m) == nil {
			spellings[q.Questions[0].Name.String()] = true
		}
	}
	if len(spellings) < 20 {
		t.Errorf("%d spellings of 40 questions", len(spellings))
	}
	stopped.Store("repeating", true) // another program took its place
	if got := addresses(l.ask(t, "git.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
		t.Errorf("an upstream that repeats letters no more: %v", got)
	}
	plain := newUpstream(t, func(q dnsmessage.Message, network string) []dnsmessage.Message {
		var out []dnsmessage.Message
		for _, m := range okZone().script(q, network) {
			out = append(out, lower(m))
		}
		return out
	})
	l = newLab(t, labNetwork, plain, mixed)
	if got := addresses(l.ask(t, "ok.example.", dnsmessage.TypeA)); len(got) == 0 {
		t.Error("an upstream that never repeats letters is not believed")
	}
	if ctx := context.Background(); len(l.server.Addresses(ctx, "ok.example", netip.MustParseAddr(public))) == 0 {
		t.Error("the address is not known")
	}
}
