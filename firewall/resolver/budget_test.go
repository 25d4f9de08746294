package resolver

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// budgetLab is a caching lab whose budget has the same clock.
func budgetLab(t *testing.T, script func(dnsmessage.Message, string) []dnsmessage.Message) (*lab, *clock) {
	l, c := newCachingLab(t, labNetwork, newUpstream(t, script), 2048)
	l.server.budget.mu.Lock()
	defer l.server.budget.mu.Unlock()
	l.server.budget.now = c.read
	return l, c
}

// repeatsWithin is how many questions for known names may go upstream in a time.
func repeatsWithin(d time.Duration) int { return budgetRepeats + int(d.Seconds()*budgetRate) }

// Attack: one byte of a secret by each question, as the choice among 256 names
// that the zone's servers know from before. Whatever they answer, and whichever
// type is asked for, so many questions reach them as docs/threat-model.md says.
func TestAttackTunnelInTheOrderOfKnownNames(t *testing.T) {
	answer := func(addr string, ttl uint32) func(dnsmessage.Message, string) []dnsmessage.Message {
		return func(q dnsmessage.Message, _ string) []dnsmessage.Message {
			m := replyTo(q)
			record := a(q.Questions[0].Name.String(), addr, ttl)
			if q.Questions[0].Type == dnsmessage.TypeAAAA {
				record = aaaa(q.Questions[0].Name.String(), "2a00:1450::5", ttl)
			}
			m.Answers = []dnsmessage.Resource{record}
			return []dnsmessage.Message{m}
		}
	}
	failure := func(rcode dnsmessage.RCode) func(dnsmessage.Message, string) []dnsmessage.Message {
		return func(q dnsmessage.Message, _ string) []dnsmessage.Message {
			m := replyTo(q)
			m.RCode = rcode
			return []dnsmessage.Message{m}
		}
	}
	for name, script := range map[string]func(dnsmessage.Message, string) []dnsmessage.Message{
		"an address that is refused": answer("10.0.0.1", 0),
		"an answer without a time":   answer(public, 0),
		"a failure":                  failure(dnsmessage.RCodeServerFailure),
		"no such name":               failure(dnsmessage.RCodeNameError),
	} {
		for _, typ := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA} {
			t.Run(name+" "+typeName(typ), func(t *testing.T) {
				l, clock := budgetLab(t, script)
				secret := make([]byte, 2500)
				for i := range secret {
					secret[i] = byte(rand.IntN(256))
				}
				host := func(b byte) string { return fmt.Sprintf("n%03d.wild.example.", b) }
				for i := range 256 {
					l.ask(t, host(byte(i)), dnsmessage.TypeA)
				}
				clock.pass(time.Minute)
				learnt := len(l.up.received())
				const pace = 20 * time.Millisecond
				for _, b := range secret {
					l.ask(t, host(b), typ)
					clock.pass(pace)
				}
				var arrived []byte
				for _, asked := range l.up.names(t)[learnt:] {
					var b byte
					if _, err := fmt.Sscanf(asked, "n%d.wild.example.", &b); err != nil {
						t.Fatal(err)
					}
					arrived = append(arrived, b)
				}
				took := time.Duration(len(secret)) * pace
				if most := repeatsWithin(took); len(arrived) > most || bytes.Equal(arrived, secret) {
					t.Errorf("%d of %d bytes arrived in order within %v, want %d at most", len(arrived), len(secret), took, most)
				}
			})
		}
	}
}

// The figure of the threat model, counted out of the constants.
func TestWildcardTunnelCarries200KBAnHour(t *testing.T) {
	const (
		char   = 5.25 / 8 // bytes: log2 of the 38 kinds
		long   = 249 * char
		short  = budgetBytes * char
		repeat = 10.3 / 8 // log2 of 600 names in 2 types
	)
	hour := (float64(budgetLong)*long + float64(budgetShort)*short +
		float64(repeatsWithin(budgetWindow))*repeat) * float64(time.Hour/budgetWindow)
	if hour > 205_000 || hour < 190_000 {
		t.Errorf("%.0f bytes an hour, and the documents say 200 KB", hour)
	}
}

// Work that asks again and again goes on when the budget is spent: with the last
// answer, which the zone's servers do not hear of.
func TestPopularNameWithoutATimeIsAlwaysAnswered(t *testing.T) {
	l, clock := budgetLab(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		m := replyTo(q)
		m.Answers = []dnsmessage.Resource{a(q.Questions[0].Name.String(), public, 0)}
		return []dnsmessage.Message{m}
	})
	const asked = 3000
	for range asked {
		if got := addresses(l.ask(t, "s3.wild.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
			t.Fatalf("answer %q", got)
		}
		clock.pass(10 * time.Millisecond)
	}
	if n := len(l.up.received()); n > 1+repeatsWithin(asked*10*time.Millisecond) {
		t.Errorf("upstream was asked %d times", n)
	}
	if n := len(l.audit()); n != asked {
		t.Errorf("%d records of %d questions", n, asked)
	}
	clock.pass(minOpen + graceTTL)
	if got := addresses(l.ask(t, "s3.wild.example.", dnsmessage.TypeA)); !slices.Equal(got, []string{public}) {
		t.Errorf("answer %q after a pause", got)
	}
}

// An hour of what delivery networks do to a busy client: 60 names, both types,
// answers that count for 20 seconds. Every question is answered, and none of an
// answer that is over for lack of budget.
func TestDeliveryNetworksFitTheBudget(t *testing.T) {
	l, clock := budgetLab(t, func(q dnsmessage.Message, _ string) []dnsmessage.Message {
		m := replyTo(q)
		m.Answers = []dnsmessage.Resource{a(q.Questions[0].Name.String(), public, 20)}
		if q.Questions[0].Type == dnsmessage.TypeAAAA {
			m.Answers = nil
		}
		return []dnsmessage.Message{m}
	})
	for range 20 {
		for i := range 60 {
			for _, typ := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA} {
				if m := l.ask(t, fmt.Sprintf("e%d.wild.example.", i), typ); m.RCode != dnsmessage.RCodeSuccess ||
					typ == dnsmessage.TypeA && ttlOf(m) == 0 {
					t.Fatalf("name %d: %s, TTL %d", i, m.RCode, ttlOf(m))
				}
			}
		}
		clock.pass(30 * time.Second)
	}
}

func TestBudgetOfKnownNamesIsPerWildcard(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBudget(func() time.Time { return now })
	count := func(rule, name string) (n int) {
		for n < 10_000 && b.spend(rule, name) {
			n++
		}
		return n
	}
	if n := count("*.a.example", "x.a.example"); n != 1+budgetRepeats {
		t.Errorf("%d questions at once", n)
	}
	if n := count("*.b.example", "x.b.example"); n != 1+budgetRepeats {
		t.Errorf("another wildcard: %d", n)
	}
	if n := count("ok.example", "ok.example"); n != 10_000 {
		t.Errorf("an exact name: %d", n)
	}
	now = now.Add(10 * time.Second)
	if n := count("*.a.example", "x.a.example"); n != 10*budgetRate {
		t.Errorf("%d questions after ten seconds", n)
	}
	if !b.spend("*.a.example", strings.Repeat("y", 5)+".a.example") {
		t.Error("a new name is refused for the repetitions of another")
	}
}
