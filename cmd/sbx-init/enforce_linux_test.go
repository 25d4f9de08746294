package main

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// toAllowed accepts what an honest run sends: to the DNS server, to the
// allowed hosts, and IPv6 address resolution.
func toAllowed(p netnstest.Packet) bool {
	switch p.Dst.String() {
	case okAddr, okAddr6, dnsAddr:
		return true
	}
	return isNeighbour(p)
}

// isNeighbour accepts IPv6 address resolution, and what the kernel itself says
// when an interface comes up: before sbx-init starts, while the wire is already
// recorded.
func isNeighbour(p netnstest.Packet) bool {
	const routerSolicitation, solicitation, advertisement, listenerReport = 133, 135, 136, 143
	if p.Proto != 58 {
		return false
	}
	switch p.Type {
	case solicitation, advertisement:
		return true
	case routerSolicitation, listenerReport:
		return (p.Src.IsLinkLocalUnicast() || p.Src.IsUnspecified()) && p.Dst.IsMulticast() // unspecified until it has an address
	}
	return false
}

func TestAllowedNamesWorkAndNothingElseLeaves(t *testing.T) {
	in := newInternet(t)
	curl := testenv.Program(t, "curl")
	b := newBox(t, in.Sandbox, openPolicy)
	wire := in.Capture(t)
	r := b.sh(`set -u
		get() { echo "$1 -> $(` + curl + ` -sS --noproxy '*' --max-time 5 "$@" 2>&1 | head -1)"; }
		get http://ok.test/
		get http://ok6.test/
		get http://cdn.wild.test/
		get http://git.test:22/
		get http://git.test/
		get http://ok.test:22/
		get http://evil.test/
		get http://` + evilAddr + `/
		get 'http://[` + evilAddr6 + `]/'
		get http://` + okAddr + `:853/
		get http://` + evilAddr + `:53/
		get http://rebind.test/
		get http://` + metadata + `/
	`)
	r.mustExit(t, 0)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	for _, line := range lines {
		host := strings.TrimPrefix(strings.Fields(line)[0], "http://")
		allowed := slices.Contains([]string{"ok.test/", "ok6.test/", "cdn.wild.test/", "git.test:22/"}, host)
		// Learned sets are by address and port: git.test shares okAddr, where
		// port 22 is open, and other ports than the web's have no guard.
		if host == "ok.test:22/" {
			continue
		}
		if got := strings.Contains(line, "hello from"); got != allowed {
			t.Errorf("%s: answered %v, want %v", line, got, allowed)
		}
	}
	if len(lines) != 13 {
		t.Errorf("%d answers, want 13:\n%s", len(lines), r.stdout)
	}
	wire.Nothing("a sandboxed run", toAllowed)
	for _, request := range in.requests() {
		if !strings.HasPrefix(request, okAddr+":") && !strings.HasPrefix(request, "["+okAddr6+"]:") {
			t.Errorf("a request arrived at %s", request)
		}
	}
	if got := in.questions(); slices.Contains(got, "evil.test") {
		t.Errorf("names that arrived at the DNS server: %q", got)
	}
	denied := map[string]bool{}
	for _, rec := range b.records() {
		if rec.Verdict == firewall.Deny {
			denied[rec.Name] = true
		}
	}
	if !denied["evil.test"] || !denied["rebind.test"] {
		t.Errorf("the audit log lacks a refusal: %v", denied)
	}
}

func TestEveryDNSServerIsOurs(t *testing.T) {
	in := newInternet(t)
	dig := testenv.Program(t, "dig")
	b := newBox(t, in.Sandbox, openPolicy)
	wire := in.Capture(t)
	r := b.sh(`
		ask() { echo "$* -> $(` + dig + ` +tries=1 +time=2 "$@" | grep -E 'status:|EDE|^ok' | tr '\n' ' ')"; }
		ask @` + evilAddr + ` ok.test
		ask @` + evilAddr + ` evil.test
		ask @` + evilAddr + ` +tcp evil.test
		ask @` + evilAddr6 + ` evil.test
		ask @` + dnsAddr + ` secret.evil.test TXT
		ask @127.0.0.1 evil.test
	`)
	r.mustExit(t, 0)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	for i, line := range lines {
		want := "REFUSED"
		if i == 0 {
			want = okAddr
		}
		if !strings.Contains(line, want) {
			t.Errorf("%s: want %s", line, want)
		}
	}
	r.mustSay(t, "no allowlist entry matches evil.test")
	wire.Nothing("questions to many servers", func(p netnstest.Packet) bool {
		return p.Dst.String() == dnsAddr || isNeighbour(p)
	})
	if got := in.questions(); !slices.Equal(got, []string{"ok.test"}) {
		t.Errorf("arrived at the DNS server: %q", got)
	}
}

func TestModeNoneHasNoNetwork(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, `{"network": {"mode": "none", "allow": ["ok.test"]}}`)
	wire := in.Capture(t)
	r := b.sh(`curl -sS --max-time 3 http://ok.test/ http://` + okAddr + `/; echo still here`)
	r.mustExit(t, 0)
	r.mustSay(t, "still here")
	wire.Nothing("mode none", isNeighbour)
}

// startSidecar starts the firewall alone and waits until it says it stands.
func startSidecar(t testing.TB, b *box, flags ...string) *exec.Cmd {
	t.Helper()
	b.flags = append([]string{"--sidecar"}, flags...)
	cmd := b.command()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut strings.Builder
	cmd.Stderr = &errOut
	b.start(cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no ready line: %v\n%s", err, errOut.String())
	}
	var ready struct {
		Ready          bool
		FirewallMillis *int64
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil || !ready.Ready || ready.FirewallMillis == nil {
		t.Fatalf("the ready line is %q (%v)", line, err)
	}
	b.firewallMillis = *ready.FirewallMillis
	return cmd
}

// curlAsAgent runs curl in the sandbox's network as the agent, outside
// sbx-init. It succeeds when any of the URLs answers.
func curlAsAgent(t testing.TB, in *internet, urls ...string) (string, error) {
	t.Helper()
	args := append([]string{"-sS", "--parallel", "--max-time", "1", "--noproxy", "*"}, urls...)
	cmd := asAgent(exec.Command(testenv.Program(t, "curl"), args...))
	var out []byte
	var err error
	in.Sandbox.Do(func() { out, err = cmd.CombinedOutput() })
	return string(out), err
}

func TestSidecarOwnsTheNetworkOfOthers(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, `{"network": {"allow": ["`+okAddr+`:80"]}}`)
	cmd := startSidecar(t, b)
	wire := in.Capture(t)
	if out, err := curlAsAgent(t, in, "http://"+okAddr+"/"); err != nil {
		t.Errorf("an allowed address: %v: %s", err, out)
	}
	if out, err := curlAsAgent(t, in, "http://"+evilAddr+"/"); err == nil {
		t.Errorf("a denied address answered: %s", out)
	}
	wire.Nothing("the others in a sidecar's network", toAllowed)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := waitFor(cmd); err != nil {
		t.Errorf("SIGTERM: %v, want exit 0", err)
	}
}

func TestAttackKillingTheDaemonOpensNothing(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	cmd := startSidecar(t, b)
	wire := in.Capture(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, url := range []string{"http://ok.test/", "http://evil.test/", "http://" + evilAddr + "/", "http://[" + evilAddr6 + "]/",
		"http://" + dnsAddr + ":53/"} {
		if out, err := curlAsAgent(t, in, url); err == nil {
			t.Errorf("%s answered: %s", url, out)
		}
	}
	wire.Nothing("after the daemon's death", isNeighbour)
}

func TestAttackBrokenPolicyLeavesTheNetworkOpen(t *testing.T) {
	in := newInternet(t)
	for name, tt := range map[string]struct {
		policy string
		code   int
		says   []string
	}{
		"syntax": {`{"network": {`, exitcode.Config, []string{"policy.jsonc:1:"}},
		"unknown key": {`{"network": {"alow": ["ok.test"], "mod": "none"}}`, exitcode.Config,
			[]string{`did you mean "allow"`, `did you mean "mode"`}},
		"bad entries":    {`{"network": {"allow": ["http://x/y", "a b", "*"]}}`, exitcode.Config, []string{"http://x/y", "a b"}},
		"unknown preset": {`{"network": {"presets": ["antropic"]}}`, exitcode.Config, []string{"anthropic"}},
		"empty":          {``, exitcode.Config, nil},
		"missing list":   {`{"network": {"allow": ["@hosts.txt"]}}`, exitcode.Config, []string{"hosts.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, in.Sandbox, tt.policy)
			wire := in.Capture(t)
			r := b.sh("echo COMMAND RAN")
			r.mustExit(t, tt.code)
			r.mustSay(t, append(tt.says, "sbx-init: error: ", "sbx-init: hint: ")...)
			if r.stdout != "" {
				t.Errorf("stdout: %q", r.stdout)
			}
			// Judged by what arrives: with everything dropped, curl just waits.
			out, _ := curlAsAgent(t, in, "http://"+okAddr+"/", "http://["+okAddr6+"]/", "http://"+dnsAddr+":53/")
			if strings.Contains(out, "hello") {
				t.Errorf("somebody answered: %s", out)
			}
			wire.Nothing("after a broken policy", isNeighbour)
		})
	}
}
