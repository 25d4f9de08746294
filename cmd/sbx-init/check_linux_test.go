package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

func TestCheckSaysVerdictRuleReasonAndFix(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.jsonc")
	policy := `{"network": {"presets": ["github"], "allow": ["ok.test", "git.test:22", "*.wild.test", "192.0.2.0/24:8443", ` +
		`"2001:db8::/32"], "deny": ["gist.github.com"]}}`
	if err := os.WriteFile(file, []byte(policy), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host string
		code int
		says []string
		not  string
	}{
		{"ok.test", 0, []string{"allowed: ok.test\n", "rule: ok.test\n"}, "to open it"},
		{"OK.test.:443", 0, []string{"allowed"}, "to open it"},
		{"ok.test:22", 1, []string{"denied", `add this line to "allow": "ok.test:22"`}, ""},
		{"git.test:22", 0, nil, ""},
		{"git.test", 0, nil, ""},
		{"a.b.wild.test:80", 0, []string{"rule: *.wild.test"}, ""},
		{"wild.test", 1, []string{`"allow": "wild.test"`}, ""},
		{"evil.test", 1, []string{"no allowlist entry matches evil.test", `"allow": "evil.test"`}, "rule:"},
		{"evil.test:443/udp", 1, []string{`"evil.test:443/udp"`}, ""},
		{"gist.github.com", 1, []string{"deny list", "rule: gist.github.com"}, "to open it"},
		{"metadata.google.internal", 1, []string{"no line is offered: it is a cloud's metadata service"}, "to open it"},
		{"169.254.169.254:80", 1, []string{"no line is offered: it is a cloud's metadata service"}, "to open it"},
		{"ok.test:53", 1, []string{"no line is offered: "}, "to open it"},
		{"1.1.1.1:853", 1, []string{"no line is offered: "}, "to open it"},
		{"127.0.0.1:80", 0, []string{"loopback is always open inside it"}, "to open it"},
		{"localhost:8123", 0, []string{"loopback is always open inside it"}, "to open it"},
		{"127.0.0.11:53", 1, nil, "to open it"},
		{"0x7f.1:80", 1, []string{"programs read it as 127.0.0.1"}, "line is offered"},
		{"api.github.com", 0, []string{"rule: preset:github "}, ""},
		{"192.0.2.9:8443", 0, nil, ""},
		{"192.0.2.9", 1, []string{`"192.0.2.9"`}, ""},
		{"[2001:db8::5]:443", 0, nil, ""},
		{"2001:db8::5", 0, nil, ""},
		{"[2001:db8::5]:22", 1, []string{`"[2001:db8::5]:22"`}, ""},
	} {
		t.Run(tt.host, func(t *testing.T) {
			var out strings.Builder
			p := &program{stdout: &out, stderr: io.Discard}
			if code := p.main([]string{"check", tt.host, "--policy", file}); code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			for _, s := range tt.says {
				if !strings.Contains(out.String(), s) {
					t.Errorf("it does not say %q: %s", s, out.String())
				}
			}
			if tt.not != "" && strings.Contains(out.String(), tt.not) {
				t.Errorf("it says %q: %s", tt.not, out.String())
			}
		})
	}
}

// A name that the policy allows can be refused for where it leads or how it is asked
// for. check tells the agent of that, too, and what would help.
func TestCheckTellsOfRefusalsBehindThePolicy(t *testing.T) {
	in := newInternet(t)
	newWeb(t, in)
	curl := testenv.Program(t, "curl")
	b := newBox(t, in.Sandbox, `{"network": {"allow": ["ok.test", "ok6.test", "lan.test", "rebind.test"]}}`)
	r := b.sh(`
		getent hosts ok.test ok6.test lan.test rebind.test gone.ok.test >/dev/null
		` + curl + ` -sS --max-time 5 -H 'Host: ok6.test' http://` + okAddr + `/
		` + curl + ` -sSk --max-time 5 https://` + okAddr + `/
		for host in ok.test lan.test rebind.test ok6.test ok6.test:443 ` + okAddr + `:443 ` + okAddr + `:80 evil.test; do
			echo "== $host"; ` + b.bin + `/sbx-init check --audit ` + b.path("run/audit.jsonl") + ` $host
		done`)
	got := map[string]string{}
	for part := range strings.SplitSeq(r.stdout, "== ") {
		host, text, _ := strings.Cut(part, "\n")
		got[host] = text
	}
	for host, want := range map[string][]string{
		"lan.test": {"allowed: ", "on record: ", "lan.test resolves to 10.", "private (RFC 1918)",
			`add this line to "private": "lan.test",`},
		"rebind.test":   {"allowed: ", "on record: ", "a cloud metadata address", "!private\":"},
		"ok6.test":      {"allowed: ", okAddr + " is not an address of ok6.test"},
		"ok6.test:443":  {"allowed: ", "!on record"},
		okAddr + ":443": {"denied: ", "on record: ", "names no server (SNI)"},
		okAddr + ":80":  {"denied: ", "on record: ", "is not an address of ok6.test"},
		"evil.test":     {"denied: ", "!on record"},
		"ok.test":       {"allowed: ", "!on record"},
	} {
		for _, s := range want {
			text, absent := strings.CutPrefix(s, "!")
			if strings.Contains(got[host], text) == absent {
				t.Errorf("%s: %q should be there: %v\n%s", host, text, !absent, got[host])
			}
		}
	}
	if t.Failed() {
		t.Log(r.stdout, r.stderr)
	}
}

// A refusal by an older policy is no reason any more: the pasted line helped.
func TestCheckForgetsWhatAnOlderPolicyRefused(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, `{"network": {"allow": ["ok.test"]}}`)
	startSidecar(t, b)
	const lookUp = `mount --bind "$0" /etc/resolv.conf && exec setpriv --reuid 54321 --regid 54321 --clear-groups getent hosts "$1"`
	b.finish(exec.Command("unshare", "--mount", "sh", "-c", lookUp, b.path("resolv.conf"), "evil.test"))
	if !slices.ContainsFunc(b.records(), func(r audit.Record) bool { return r.Name == "evil.test" && r.Verdict == firewall.Deny }) {
		t.Fatalf("evil.test was not refused, the test shows nothing: %+v", b.records())
	}
	check := func() string { return b.ask("check", "evil.test").stdout }
	if got := check(); !strings.HasPrefix(got, "denied") {
		t.Errorf("before: %s", got)
	}
	b.write("policy.jsonc", `{"network": {"allow": ["ok.test", "evil.test"]}}`)
	b.ask("reload").mustExit(t, 0)
	if got := check(); !strings.HasPrefix(got, "allowed") || strings.Contains(got, "on record") {
		t.Errorf("after: %s", got)
	}
}

// A log that cannot be trusted to be short or whole is read from its end.
func TestCheckReadsTheEndOfALongLog(t *testing.T) {
	dir := t.TempDir()
	policy := `{"network": {"allow": ["ok.test"]}}`
	line := `{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"dns","name":"ok.test","dst":"10.0.0.1","reason":"old reason"}` + "\n"
	last := strings.ReplaceAll(line, "old reason", "\\u001b[2J new\\nreason")
	const readAtMost = 4 << 20 // of the log's end
	log := strings.Repeat(line, readAtMost/len(line)+10) + strings.Repeat("x", readAtMost) + "\n" + last + `{"ts":"2026`
	for name, text := range map[string]string{effectivePolicy: policy, "audit.jsonl": log} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, effectivePolicy), old, old); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	p := &program{stdout: &out, stderr: io.Discard}
	if code := p.main([]string{"check", "ok.test", "--audit", filepath.Join(dir, "audit.jsonl")}); code != 0 {
		t.Errorf("exit %d", code)
	}
	if got := out.String(); strings.Contains(got, "old reason") || !strings.Contains(got, `\x1b[2J new\nreason`) ||
		strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}

func TestCheckOfAURL(t *testing.T) {
	var errOut strings.Builder
	p := &program{stdout: io.Discard, stderr: &errOut}
	if code := p.main([]string{"check", "https://ok.test/x"}); code != exitcode.Usage {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{`"https://ok.test/x" is not a host: it is a URL`, "hint: give a host, or a host and a port: ok.test:443"} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("it does not say %q: %s", want, errOut.String())
		}
	}
}

func TestPlanAndCheckOfABrokenPolicy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.jsonc")
	if err := os.WriteFile(file, []byte(`{"network": {"alow": []}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plan", "--policy", file}, {"check", "--policy", file, "ok.test"}} {
		var errOut strings.Builder
		p := &program{stdout: io.Discard, stderr: &errOut}
		if code := p.main(args); code != exitcode.Config || !strings.Contains(errOut.String(), `did you mean "allow"`) {
			t.Errorf("%q: exit %d: %s", args, code, errOut.String())
		}
	}
	var errOut strings.Builder
	p := &program{stdout: io.Discard, stderr: &errOut}
	if code := p.main([]string{"plan", "--policy", file + ".missing"}); code != exitcode.Internal ||
		!strings.Contains(errOut.String(), "hint: ") {
		t.Errorf("a missing file: exit %d: %s", code, errOut.String())
	}
}

func TestPlanPrintsTheRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.jsonc")
	if err := os.WriteFile(file, []byte(`{"network": {"allow": ["192.0.2.0/24:8443"]}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	p := &program{stdout: &out, stderr: io.Discard}
	if code := p.main([]string{"plan", "--policy", file}); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for _, want := range []string{":OUTPUT DROP", "192.0.2.0/24,tcp:8443", "--to-ports 1053", "# iptables-restore --noflush"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plan lacks %q", want)
		}
	}
}
