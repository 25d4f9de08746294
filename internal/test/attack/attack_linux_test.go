package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// slowEnv, when set, includes the attacks that wait for more than a minute.
const slowEnv = "SBX_ATTACK_SLOW"

// policyOf is Policy, compiled.
func policyOf(t testing.TB) *firewall.Policy {
	t.Helper()
	var settings struct{ Network firewall.Network }
	text := regexp.MustCompile(`,(\s*])`).ReplaceAllString(Policy, "$1")
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		t.Fatal(err)
	}
	p, errs := firewall.NewPolicy(settings.Network)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return p
}

func TestTheListIsWellFormed(t *testing.T) {
	seen := map[string]bool{}
	list := All()
	for n, a := range list {
		if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(a.ID) || seen[a.ID] || a.Family == "" || a.Tries == "" || a.Do == nil {
			t.Errorf("attack %d %q is incomplete or there twice", n, a.ID)
		}
		seen[a.ID] = true
	}
	if len(list) < 100 || len(list) > 250 {
		t.Errorf("%d attacks", len(list))
	}
	for _, b := range Benign() {
		if seen[b.ID] {
			t.Errorf("%s is there twice", b.ID)
		}
		seen[b.ID] = true
	}
}

// outcome is what an attack achieved in one column of the report.
type outcome struct {
	leaks []Event
	said  string
}

// column runs every attack of the list that wants accepts.
func column(p *place, want func(Attack) bool, session func(Attack) *session, judge func(a Attack, n int, e Event) bool) map[string]outcome {
	results := map[string]outcome{}
	p.arrived() // what came before is nobody's
	for n, a := range All() {
		if !want(a) || a.Slow && os.Getenv(slowEnv) == "" {
			continue
		}
		events, said := session(a).attempt(a, n)
		o := outcome{said: said}
		for _, e := range events {
			if judge(a, n, e) {
				o.leaks = append(o.leaks, e)
			}
		}
		if len(o.leaks) < a.Least {
			o.leaks = nil
		}
		results[a.ID] = o
	}
	return results
}

// open judges where nothing protects: what bears the attack's mark.
func openJudge(a Attack, n int, e Event) bool { return a.leaks(n, e) && (a.Leak != nil || !chatter(e)) }

// strict judges where everything is protected.
func strictJudge(policy *firewall.Policy) func(Attack, int, Event) bool {
	j := judge{policy}
	return func(a Attack, n int, e Event) bool {
		if a.Least > 0 && a.Leak(e) {
			return true // counted
		}
		return j.leak(e)
	}
}

func (p *place) mustPass(s *session) {
	p.t.Helper()
	for _, b := range Benign() {
		if said := s.do(b.ID); said != "ok" {
			p.t.Errorf("denied, but must pass: %s (%s): %s", b.ID, b.What, said)
		}
	}
}

func (p *place) mustHold(results map[string]outcome) {
	p.t.Helper()
	for id, o := range results {
		if len(o.leaks) > 0 {
			p.t.Errorf("LEAK: %s: %v (and %d more); the agent said: %s", id, o.leaks[0], len(o.leaks)-1, o.said)
		}
	}
}

// TestAttacks runs the whole list in network namespaces: without a firewall,
// with the design of init-firewall.sh, and with ours, by itself and as a
// sidecar, on both backends. docs/attacks.md is what it found.
func TestAttacks(t *testing.T) {
	programs(t)
	policy := policyOf(t)
	usual := func(a Attack) bool { return a.Event == "" }
	var mu sync.Mutex
	rep := report{walls: map[string]outcome{}, life: map[string]outcome{}}
	keep := func(where *map[string]outcome, what map[string]outcome) {
		mu.Lock()
		defer mu.Unlock()
		*where = what
	}
	t.Run("columns", func(t *testing.T) {
		t.Run("none", func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("over", "")
			user, root := p.asUser(), p.asRoot()
			keep(&rep.none, column(p, func(a Attack) bool { return !a.Wall }, func(a Attack) *session {
				if a.Needs != "" {
					return root
				}
				return user
			}, openJudge))
		})
		t.Run("init-firewall", func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("over", "")
			p.initFirewall()
			user := p.asUser()
			keep(&rep.design, column(p, func(a Attack) bool { return !a.Wall }, func(Attack) *session { return user }, openJudge))
		})
		for _, backend := range []string{"nft", "legacy"} {
			t.Run("single-"+backend, func(t *testing.T) {
				t.Parallel()
				testenv.Program(t, "iptables-"+backend)
				p := newPlace(t)
				p.backend = backend
				s := p.single()
				p.mustPass(s)
				results := column(p, usual, func(Attack) *session { return s }, strictJudge(policy))
				p.mustHold(results)
				p.mustPass(s)
				keep(&rep.ours, results)
			})
		}
		t.Run("sidecar", func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := p.confined(p.sidecar().Process.Pid)
			p.mustPass(s)
			p.mustHold(column(p, usual, func(Attack) *session { return s }, strictJudge(policy)))
			p.mustPass(s)
		})
		t.Run("walls", func(t *testing.T) {
			t.Parallel()
			wallControls(t, func(id string, o outcome) { mu.Lock(); rep.walls[id] = o; mu.Unlock() })
		})
		t.Run("life", func(t *testing.T) {
			t.Parallel()
			lifeEvents(t, strictJudge(policy), func(id string, o outcome) { mu.Lock(); rep.life[id] = o; mu.Unlock() })
		})
	})
	if t.Failed() {
		return
	}
	for id, o := range rep.life {
		rep.ours[id] = o
	}
	rep.check(t)
}

// wallControls runs each attempt to take the firewall down as root, who can,
// against a firewall of its own.
func wallControls(t *testing.T, keep func(id string, o outcome)) {
	for n, a := range All() {
		if !a.Wall {
			continue
		}
		t.Run(a.ID, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			firewall := p.sidecar()
			s := p.asRoot(fmt.Sprint(firewall.Process.Pid))
			p.arrived()
			events, said := s.attempt(a, n)
			o := outcome{said: said}
			if said != "ok" {
				o.said += "; " + p.stateOf(firewall)
			}
			for _, e := range events {
				if openJudge(a, n, e) {
					o.leaks = append(o.leaks, e)
				}
			}
			keep(a.ID, o)
		})
	}
}

// lifeEvents runs the attempts during which something befalls the firewall.
func lifeEvents(t *testing.T, leak func(Attack, int, Event) bool, keep func(id string, o outcome)) {
	for n, a := range All() {
		if a.Event == "" {
			continue
		}
		t.Run(a.ID, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			var events []Event
			var said string
			if a.Event == "start" {
				p.write("over", "")
				events, said = p.single().attempt(a, n)
			} else {
				events, said = p.during(a, n)
			}
			if said != "ok" {
				t.Errorf("the attempt: %s", said)
			}
			o := outcome{said: said}
			for _, e := range events {
				// Before sbx-init starts, the kernel speaks of its new interface.
				if leak(a, n, e) && !(a.Event == "start" && chatter(e) && (e.Src.IsLinkLocalUnicast() || e.Src.IsUnspecified())) {
					o.leaks = append(o.leaks, e)
				}
			}
			p.mustHold(map[string]outcome{a.ID: o})
			keep(a.ID, o)
		})
	}
}

// during runs an attempt while a's event befalls a sidecar.
func (p *place) during(a Attack, n int) ([]Event, string) {
	p.t.Helper()
	if a.Event == "broken" {
		p.write("policy.jsonc", `{"network": {"allow": ["*"]}}`)
		cmd := p.inside(p.initArgs("--sidecar")...)
		p.start(cmd)
		if err := cmd.Wait(); err == nil {
			p.t.Fatal("a broken policy was taken")
		}
		p.write("over", "")
		s := p.confined(os.Getpid())
		p.arrived()
		return s.attempt(a, n)
	}
	firewall := p.sidecar()
	s := p.confined(firewall.Process.Pid)
	p.arrived()
	type result struct {
		events []Event
		said   string
	}
	done := make(chan result)
	go func() {
		events, said := s.attempt(a, n)
		done <- result{events, said}
	}()
	pause := func() { time.Sleep(100 * time.Millisecond) } // for the attempts, not for an outcome
	pause()
	switch a.Event {
	case "kill":
		_ = firewall.Process.Kill()
		_ = firewall.Wait()
	case "stop":
		_ = firewall.Process.Signal(syscall.SIGSTOP)
	case "restart":
		_ = firewall.Process.Kill()
		_ = firewall.Wait()
		p.sidecar()
	case "reload":
		for i := range 5 {
			if i%2 == 0 {
				p.write("policy.jsonc", `{"network": {"mode": "none"}}`)
			} else {
				p.write("policy.jsonc", Policy)
			}
			var out []byte
			var err error
			p.Sandbox.Do(func() {
				out, err = exec.Command(filepath.Join(buildDir, "sbx-init"), "reload", "--audit", p.path("run/audit.jsonl")).CombinedOutput()
			})
			if err != nil {
				p.t.Errorf("reload: %v %s", err, out)
			}
		}
	}
	pause()
	p.write("over", "")
	r := <-done
	return r.events, r.said
}

// initFirewall sets rules up as the much copied init-firewall.sh does: IPv4
// alone, DNS and SSH to anywhere, the host's whole network, and the addresses
// that the allowed names have at this moment, on every port.
func (p *place) initFirewall() {
	p.t.Helper()
	var b strings.Builder
	b.WriteString("*filter\n:INPUT DROP\n:FORWARD DROP\n:OUTPUT DROP\n")
	for _, rule := range []string{
		"-A OUTPUT -p udp --dport 53 -j ACCEPT", "-A INPUT -p udp --sport 53 -j ACCEPT",
		"-A OUTPUT -p tcp --dport 22 -j ACCEPT", "-A INPUT -p tcp --sport 22 -m state --state ESTABLISHED -j ACCEPT",
		"-A INPUT -i lo -j ACCEPT", "-A OUTPUT -o lo -j ACCEPT",
		"-A INPUT -s 192.0.2.0/24 -j ACCEPT", "-A OUTPUT -d 192.0.2.0/24 -j ACCEPT",
		"-A INPUT -m state --state ESTABLISHED,RELATED -j ACCEPT", "-A OUTPUT -m state --state ESTABLISHED,RELATED -j ACCEPT",
		"-A OUTPUT -m set --match-set allowed-domains dst -j ACCEPT",
		"-A OUTPUT -j REJECT --reject-with icmp-admin-prohibited",
	} {
		b.WriteString(rule + "\n")
	}
	b.WriteString("COMMIT\n")
	p.run("ipset", "create", "allowed-domains", "hash:net")
	for _, addr := range append([]string{okAddr, cdnAddr, wildAddr, gitAddr, udpAddr, staticAddr, deniedAddr}, many()...) {
		if addr != deniedAddr { // it has no way to deny a name, but nobody would list this one
			p.run("ipset", "add", "allowed-domains", addr)
		}
	}
	p.write("rules", b.String())
	p.run("sh", "-c", "iptables-restore < "+p.path("rules"))
}
