package main

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/control"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// drift is a change of the rules by somebody else.
type drift struct {
	name     string
	commands []string
}

// change makes the change as root in the sandbox's network.
func (b *box) change(d drift) {
	b.t.Helper()
	for _, c := range d.commands {
		fields := strings.Fields(c)
		b.inNamespace(fields[0], fields[1:]...)
	}
}

// mustRestore waits until rules have been restored n times, and wants them to hold.
func (b *box) mustRestore(in *internet, d drift, n int) {
	b.t.Helper()
	eventually(b.t, d.name+" is restored", func() bool { return b.status().Drift.Restored == n })
	b.ask("verify").mustExit(b.t, 0)
	if out, err := curlAsAgent(b.t, in, "http://"+evilAddr+"/"); err == nil {
		b.t.Errorf("%s: open after it was restored: %s", d.name, out)
	}
}

func TestRulesThatSomebodyChangedAreRestored(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	startSidecar(t, b)
	changes := []drift{
		{"an open policy and no jump",
			[]string{"iptables -P OUTPUT ACCEPT", "iptables -P INPUT ACCEPT", "iptables -D OUTPUT -j SBX-OUT", "iptables -D INPUT -j SBX-IN"}},
		{"a rule before ours", []string{"iptables -I SBX-OUT 1 -j ACCEPT"}},
		{"another rule before the jump", []string{"iptables -I OUTPUT 1 -j ACCEPT"}},
		{"IPv6", []string{"ip6tables -F SBX-OUT"}},
		{"the nat table", []string{"iptables -t nat -F SBX-DNS"}},
		{"an address in the static set", []string{"ipset add SBX-STATIC4 " + evilAddr + "/32,tcp:80"}},
		{"an address in the learned set", []string{"ipset add SBX-LEARNED4 " + evilAddr + ",tcp:80"}},
	}
	var attack net.Conn
	for i, d := range changes {
		b.change(d)
		if i == 0 {
			// It must not outlive the gap.
			attack = dialAgent(t, in.Sandbox, evilAddr+":80")
		}
		b.mustRestore(in, d, i+1)
	}
	if stillServed(attack, no) {
		t.Error("a connection from the time between lives on")
	}
	restored := 0
	for _, r := range b.records() {
		if strings.HasPrefix(r.Reason, "the rules were changed from outside and have been restored") && r.Layer == audit.LayerIP {
			restored++
		}
	}
	if restored != len(changes) {
		t.Errorf("%d records of restored rules, want %d", restored, len(changes))
	}
	b.ask("status").mustSay(t, "restored 7 times")
}

// The legacy backend has no number for its rules' state: they are listed.
func TestRulesOfTheLegacyBackendAreRestored(t *testing.T) {
	testenv.Program(t, "iptables-legacy")
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	b.inNamespace("iptables-legacy", "-t", "nat", "-L") // makes the table, as an engine does
	startSidecar(t, b)
	if s := b.status(); s.Backend != "legacy" {
		t.Fatalf("backend %s, want legacy", s.Backend)
	}
	d := drift{"an open chain", []string{"iptables-legacy -I OUTPUT 1 -j ACCEPT"}}
	b.change(d)
	b.mustRestore(in, d, 1)
}

func TestVerifySaysWhatDiffers(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	startSidecar(t, b)
	b.ask("verify").mustExit(t, 0)
	// The watch may be faster, so it is tried again.
	eventually(t, "verify finds the foreign rule", func() bool {
		b.inNamespace("iptables", "-I", "SBX-OUT", "1", "-j", "ACCEPT")
		b.inNamespace("iptables", "-P", "FORWARD", "ACCEPT")
		r := b.ask("verify")
		// All of it: two differences, and what they let out.
		return r.code == exitDiffers && strings.Contains(r.stderr, "differs: IPv4: rule 1 of the chain SBX-OUT in table filter is foreign") &&
			strings.Contains(r.stderr, "differs: IPv4: the policy of FORWARD") &&
			strings.Contains(r.stderr, "a UDP packet to 192.0.2.189:9: it was let out")
	})
}

func TestStatusNamesTheGuardsPort(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, beforeReload)
	startSidecar(t, b)
	if s := b.status(); s.Guard.On || s.Guard.Port != 0 {
		t.Errorf("with guard off the status says %+v", s.Guard)
	}
	b.write("policy.jsonc", openPolicy)
	b.ask("reload").mustExit(t, 0)
	if s := b.status(); !s.Guard.On || s.Guard.Port != firewall.GuardPort {
		t.Errorf("the status says %+v, want port %d", s.Guard, firewall.GuardPort)
	}
	b.ask("status").mustSay(t, fmt.Sprintf("guard      port %d", firewall.GuardPort))
}

// BenchmarkReload is what root waits for: from the request to the new policy
// in force, with the kernel verified.
func BenchmarkReload(b *testing.B) {
	in := newInternet(b)
	box := newBox(b, in.Sandbox, beforeReload)
	startSidecar(b, box)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		box.write("policy.jsonc", []string{afterReload, beforeReload}[i%2])
		b.StartTimer()
		r, err := control.Call(control.Path(box.path("run/audit.jsonl"), true), control.Request{Command: "reload"})
		if err != nil || r.Code != 0 {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}
