package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

func TestAttackAgentTriesToUndoTheFirewall(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	rules := func() string {
		var out []byte
		var err error
		in.Sandbox.Do(func() {
			out, err = exec.Command("sh", "-c", "iptables-nft-save; ip6tables-nft-save").Output()
		})
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "-A") || strings.HasPrefix(line, ":") {
				kept = append(kept, strings.Split(line, " [")[0])
			}
		}
		return strings.Join(kept, "\n")
	}
	// The rules as they stand while an honest command runs.
	b.run("true").mustExit(t, 0)
	before := rules()

	wire := in.Capture(t)
	r := b.sh(`
		export ` + agentEnv + `=attack
		"` + b.bin + `/agent" $PPID
		unset ` + agentEnv + `
		for undo in "iptables -F" "iptables -P OUTPUT ACCEPT" "iptables-legacy -F" "ip6tables -F" "ip6tables -P OUTPUT ACCEPT" \
			"nft flush ruleset" "ipset destroy" "ipset add SBX-STATIC4 ` + evilAddr + `,tcp:80" "conntrack -F" \
			"unshare -Ur iptables -F" "unshare -Urm mount -t tmpfs none /run" "sudo -n true" "su -c true" \
			"nsenter -t 1 -n true" "mount --bind /dev/null /etc/resolv.conf" "ip link set eth0 down" "ip route flush table main"; do
			if $undo >/dev/null 2>&1; then echo "$undo: ok"; fi
		done
		curl -sS --noproxy '*' --max-time 3 http://` + evilAddr + `/ http://evil.test/
		echo end`)
	r.mustExit(t, 0)
	r.mustSay(t, "kill the daemon: failed", "end")
	for line := range strings.Lines(r.stdout) {
		// A mount namespace of one's own on a user namespace of one's own harms nobody else.
		if strings.HasSuffix(strings.TrimSpace(line), ": ok") && !strings.HasPrefix(line, "unshare -Urm") {
			t.Errorf("the attack succeeded: %s", line)
		}
	}
	if after := rules(); after != before {
		t.Errorf("the rules changed from\n%s\nto\n%s", before, after)
	}
	if !strings.Contains(before, "SBX-OUT") {
		t.Error("there are no rules at all")
	}
	wire.Nothing("the attacks", toAllowed)
}

func TestDaemonKeepsOnlyWhatItNeeds(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	r := b.sh(`grep -E '^Cap(Eff|Prm)' /proc/$PPID/status | sort`)
	const killAndNetwork = "0000000000003020"
	if want := "CapEff:\t" + killAndNetwork + "\nCapPrm:\t" + killAndNetwork + "\n"; r.stdout != want {
		t.Errorf("%q, want %q", r.stdout, want)
	}
}

func TestAttackSetuidProgram(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	suid := b.path("suid")
	src, err := os.ReadFile(filepath.Join(b.bin, "agent"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(suid, src, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(suid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	// The program does give root away, so the test can fail.
	control := asAgent(exec.Command(suid))
	control.Env = append(os.Environ(), agentEnv+"=setuid")
	if out, err := control.CombinedOutput(); err != nil || string(out) != "setuid: 0\n" {
		testenv.Missing(t, "a temporary folder with setuid programs", fmt.Sprintf("%v: %s", err, out))
	}
	r := b.sh(agentEnv + "=setuid " + suid)
	r.mustExit(t, 0)
	if r.stdout != "setuid: 54321\n" {
		t.Errorf("the agent became %q", r.stdout)
	}
}

func TestAttackAgentWritesPolicyOrAuditLog(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	r := b.sh(`
		for f in policy.jsonc run/audit.jsonl run/policy.json; do
			test -r ../$f && echo "readable: $f"
			(echo x >> ../$f) 2>/dev/null && echo "written: $f"
			rm -f ../$f 2>/dev/null && echo "removed: $f"
			mv ../$f ../$f.old 2>/dev/null && echo "renamed: $f"
		done
		mv ../run ../old 2>/dev/null && echo "renamed: run"
		touch ../run/new 2>/dev/null && echo "made: run/new"
		exit 0`)
	r.mustExit(t, 0)
	if want := "readable: policy.jsonc\nreadable: run/audit.jsonl\nreadable: run/policy.json\n"; r.stdout != want {
		t.Errorf("the agent could:\n%s", r.stdout)
	}
}

func TestAttackAuditLogThatTheAgentCanReplace(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	r := b.finish(b.initCommand("run", "--policy", b.path("policy.jsonc"), "--audit", b.path("work/audit.jsonl"), "--user", "54321:54321",
		"--", "echo", "COMMAND RAN"))
	r.mustExit(t, exitcode.Internal)
	r.mustSay(t, "sbx-init: error: the audit log", "is not safe", "sbx-init: hint: ")
	if r.stdout != "" {
		t.Errorf("stdout: %q", r.stdout)
	}
}

func TestAttackPolicyThatTheAgentCanChange(t *testing.T) {
	in := newInternet(t)
	for name, prepare := range map[string]func(b *box) error{
		"owns the file": func(b *box) error { return os.Chown(b.path("policy.jsonc"), agentUID, 0) },
		"all may write": func(b *box) error { return os.Chmod(b.path("policy.jsonc"), 0o666) },
		"its group may write": func(b *box) error {
			return errors.Join(os.Chown(b.path("policy.jsonc"), 0, agentUID), os.Chmod(b.path("policy.jsonc"), 0o664))
		},
		"owns the folder": func(b *box) error { return os.Chown(b.dir, agentUID, 0) },
		"owns a list": func(b *box) error {
			b.write("hosts.txt", "evil.test\n")
			b.write("policy.jsonc", `{"network": {"allow": ["@hosts.txt"]}}`)
			return os.Chown(b.path("hosts.txt"), agentUID, 0)
		},
		"a link through its folder": func(b *box) error {
			b.write("real.jsonc", openPolicy)
			return errors.Join(os.Remove(b.path("policy.jsonc")),
				os.Symlink("work/link", b.path("policy.jsonc")), os.Symlink("../real.jsonc", b.path("work/link")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, in.Sandbox, openPolicy)
			if err := prepare(b); err != nil {
				t.Fatal(err)
			}
			wire := in.Capture(t)
			r := b.run("curl", "-sS", "http://ok.test/")
			if r.code != exitcode.Internal && r.code != exitcode.Config {
				t.Errorf("exit %d, want a refusal", r.code)
			}
			r.mustSay(t, "sbx-init: error: ", "is not safe", "54321")
			wire.Nothing("a policy that the agent can change", isNeighbour)
		})
	}
}

func TestAttackRunWithoutPrivileges(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	cmd := asAgent(exec.Command(filepath.Join(b.bin, "sbx-init"), "run", "--policy", b.path("policy.jsonc"), "--", "echo", "COMMAND RAN"))
	r := b.finish(cmd)
	r.mustExit(t, exitcode.Internal)
	r.mustSay(t, "sbx-init: error: ", "sbx-init: hint: ", "NET_ADMIN")
	if r.stdout != "" {
		t.Errorf("stdout: %q", r.stdout)
	}
}

func TestAttackBorrowedShim(t *testing.T) {
	b := binaries(t)
	cmd := asAgent(exec.Command(filepath.Join(b, "sbx-init"), shimCommand, "0", "0", "", "--", "id"))
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(out), "uid=") {
		t.Errorf("the shim ran a command as root: %s", out)
	}
}

func TestAttackProtectedMountsAreNoReasonToRefuse(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	// As in a dev container: the workspace is the agent's, .devcontainer in it
	// is mounted over itself read-only.
	folder := b.path("work/.devcontainer")
	policy := filepath.Join(folder, "sandbox.jsonc")
	if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(policy, []byte(openPolicy), 0o644),
		os.Chown(folder, agentUID, agentUID), os.Chown(policy, agentUID, agentUID)); err != nil {
		t.Fatal(err)
	}
	script := `mount --bind "$0" /etc/resolv.conf && mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"`
	args := []string{"--mount", "sh", "-c", script, b.path("resolv.conf"), folder, filepath.Join(b.bin, "sbx-init"),
		"run", "--policy", policy, "--audit", b.path("run/audit.jsonl"), "--user", "54321:54321", "--", "sh", "-c",
		"mv " + folder + " away || echo fast; (echo x >" + policy + ") || echo still"}
	r := b.finish(exec.Command("unshare", args...))
	r.mustExit(t, 0)
	r.mustSay(t, "fast", "still")

	// Without the mount the same file is refused.
	r = b.finish(b.initCommand("run", "--policy", policy, "--audit", b.path("run/audit.jsonl"), "--user", "54321:54321", "--", "true"))
	r.mustSay(t, "is not safe")
}
