package resolver

import (
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
)

// knowingLab is a lab whose cache has the answer for ok.example.
func knowingLab(t *testing.T) (*lab, *clock) {
	t.Helper()
	up := newUpstream(t, zone{"ok.example. A": {cname("ok.example.", "cdn.test.", 90), a("cdn.test.", public, 60)}}.script)
	l, clock := newCachingLab(t, labNetwork, up, 10)
	for range 3 { // from upstream, then from the cache
		l.ask(t, "ok.example.", dnsmessage.TypeA)
	}
	return l, clock
}

// installedAt sets when the sets were last told.
func (l *lab) installedAt(when time.Time) {
	l.server.cache.mu.Lock()
	defer l.server.cache.mu.Unlock()
	l.server.cache.answers[cacheKey{"ok.example", dnsmessage.TypeA}].installed = when
}

func TestCacheThatWasClearedAnswersNothing(t *testing.T) {
	l, _ := knowingLab(t)
	l.server.cache.clear()
	asked := len(l.up.received())
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if len(l.up.received()) != asked+1 {
		t.Error("what the cache has forgotten was answered")
	}
}

func TestCachedAnswersAreAlikeAndRecorded(t *testing.T) {
	l, clock := knowingLab(t)
	if n := len(l.audit()); n != 3 {
		t.Errorf("%d of 3 answers are recorded", n)
	}
	for _, id := range []uint16{7, 0xbeef} {
		m := l.send(t, dnsmessage.Message{
			Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
			Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("ok.example."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
		})
		if m.ID != id || len(m.Answers) != 2 || addresses(m)[0] != public {
			t.Errorf("id %d: %+v", id, m)
		}
	}
	records := l.audit()
	for _, r := range records {
		first := records[0]
		if !r.Src.IsValid() {
			t.Error("a record has no client")
		}
		r.Src = first.Src
		if r != first {
			t.Errorf("recorded %+v and then %+v", first, r)
		}
	}
	clock.pass(5 * time.Second)
	l.installedAt(clock.read()) // or it would be judged anew for that
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.Answers[0].Header.TTL != 55 {
		t.Errorf("after 5 s of 60 the answer counts for %d s", m.Answers[0].Header.TTL)
	}
	clock.pass(56 * time.Second)
	asked := len(l.up.received())
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if len(l.up.received()) != asked+1 {
		t.Error("an answer outlived its time")
	}
}

func TestAttackCachedAnswerBetweenTwoPolicies(t *testing.T) {
	l, _ := knowingLab(t)
	p, errs := firewall.NewPolicy(firewall.Network{Allow: []string{"ok.example"}, Deny: []string{"cdn.test"}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	// The cache as it is between the two steps of SetPolicy.
	l.server.policy.Store(p)
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeRefused || len(m.Answers) > 0 {
		t.Errorf("%s with %d records", m.RCode, len(m.Answers))
	}
}

// Somebody has emptied the sets: the answer may not leave for long without them.
func TestCachedAnswerFillsTheSetsAgain(t *testing.T) {
	l, clock := knowingLab(t)
	before := len(l.installs())
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if len(l.installs()) != before {
		t.Error("the sets were told within the second")
	}
	// The time left changes with each second as well, which must not be why.
	l.installedAt(clock.read().Add(-installEvery))
	l.ask(t, "ok.example.", dnsmessage.TypeA)
	if len(l.installs()) != before+1 {
		t.Error("the sets were not told again")
	}
}

func TestAttackOwnQuestionIsNotAnsweredFromTheCache(t *testing.T) {
	l, _ := knowingLab(t)
	ours := openQuestion{7, "ok.example.", dnsmessage.TypeA}
	l.server.ours.Store(ours, true)
	defer l.server.ours.Delete(ours)
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeRefused {
		t.Errorf("our own question got %s", m.RCode)
	}
}

func TestCachedAnswerThatCannotBeRecorded(t *testing.T) {
	l, _ := knowingLab(t)
	l.mu.Lock()
	l.logErr = errFull
	l.mu.Unlock()
	if m := l.ask(t, "ok.example.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeServerFailure || len(m.Answers) > 0 {
		t.Errorf("%s with %d records", m.RCode, len(m.Answers))
	}
}
