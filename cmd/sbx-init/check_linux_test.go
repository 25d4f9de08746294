package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckSaysVerdictRuleReasonAndFix(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.jsonc")
	policy := `{"network": {"presets": ["github"], "allow": ["ok.test", "git.test:22", "*.wild.test", "192.0.2.0/24:8443", "2001:db8::/32"], "deny": ["gist.github.com"]}}`
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
		{"metadata.google.internal", 1, nil, "to open it"},
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

func TestCheckOfAURL(t *testing.T) {
	var errOut strings.Builder
	p := &program{stdout: io.Discard, stderr: &errOut}
	if code := p.main([]string{"check", "https://ok.test/x"}); code != exitUsage {
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
		if code := p.main(args); code != exitConfig || !strings.Contains(errOut.String(), `did you mean "allow"`) {
			t.Errorf("%q: exit %d: %s", args, code, errOut.String())
		}
	}
	var errOut strings.Builder
	p := &program{stdout: io.Discard, stderr: &errOut}
	if code := p.main([]string{"plan", "--policy", file + ".missing"}); code != exitInternal || !strings.Contains(errOut.String(), "hint: ") {
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
