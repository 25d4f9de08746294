package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/firewall/control"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// amend changes the policy of the box's running firewall.
func (b *box) amend(change string) (answer control.Amended, r result) {
	b.t.Helper()
	cmd := b.initCommand("amend", "--audit", b.path("run/audit.jsonl"))
	cmd.Stdin = strings.NewReader(change)
	if r = b.finish(cmd); r.code == 0 {
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
			b.t.Fatalf("%q: %v", r.stdout, err)
		}
	}
	return answer, r
}

const amendedPolicy = `{
  // ours
  "network": {"guard": "off", "allow": ["git.test:22"]}
}
`

func TestAmendOpensAndClosesAndKeepsComments(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, amendedPolicy)
	startSidecar(t, b)
	if err := resolveAsAgent(t, in, b, "ok.test"); err == nil {
		t.Fatal("ok.test resolves before it is allowed")
	}
	answer, r := b.amend(`{"add": {"allow": ["ok.test"]}}`)
	r.mustExit(t, 0)
	if answer.Lost != "" || strings.Join(answer.Network.Allow, " ") != "git.test:22 ok.test" {
		t.Errorf("answered %+v", answer)
	}
	mustResolve(t, in, b, "ok.test")
	conn := dialAgent(t, in.Sandbox, okAddr+":80")
	if !stillServed(conn, yes) {
		t.Error("ok.test is not served")
	}
	info, err := os.Stat(b.path("policy.jsonc"))
	if err != nil || info.Mode().Perm() != 0o644 || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the policy file: %v, %v", info, err)
	}
	if text, _ := os.ReadFile(b.path("policy.jsonc")); string(text) != strings.Replace(amendedPolicy, `22"`, `22", "ok.test"`, 1) {
		t.Errorf("the policy file is\n%s", text)
	}
	_, r = b.amend(`{"add": {"deny": ["ok.test"]}}`)
	r.mustExit(t, 0)
	if stillServed(conn, no) {
		t.Error("the connection lives on after a deny")
	}
	_, r = b.amend(`{"remove": {"deny": ["ok.test"], "allow": ["ok.test"]}}`)
	r.mustExit(t, 0)
	if text, _ := os.ReadFile(b.path("policy.jsonc")); !strings.Contains(string(text), `"allow": ["git.test:22"]`) {
		t.Errorf("the policy file is\n%s", text)
	}
}

func TestAmendRefusesWhatIsWrong(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, amendedPolicy)
	startSidecar(t, b)
	for change, says := range map[string]string{
		``:                                "reading the change",
		`{"add": {"alow": ["x.test"]}}`:   "alow",
		`{"add": {"allow": ["*.co.uk"]}}`: "co.uk",
		`{"add": {"presets": ["nmp"]}}`:   "nmp",
	} {
		_, r := b.amend(change)
		r.mustExit(t, exitcode.Config)
		r.mustSay(t, says)
	}
	if text, _ := os.ReadFile(b.path("policy.jsonc")); string(text) != amendedPolicy {
		t.Errorf("the policy file is\n%s", text)
	}
	if s := b.status(); s.Policy.Reloads != 0 {
		t.Errorf("status: %+v", s)
	}
}

// Attack: the agent's user has the policy file or its folder, or has put a link in
// its place, and waits for root to write there.
func TestAttackAmendThroughAFileOfTheAgents(t *testing.T) {
	in := newInternet(t)
	for name, prepare := range map[string]func(b *box) error{
		"the file is the agent's": func(b *box) error { return os.Chown(b.path("policy.jsonc"), agentUID, agentUID) },
		"a link to a file of the agent's": func(b *box) error {
			own := b.path("work/own.jsonc")
			return errors.Join(os.WriteFile(own, []byte(`{"network": {"allow": ["*.test"]}}`), 0o644), os.Chown(own, agentUID, agentUID),
				os.Remove(b.path("policy.jsonc")), os.Symlink(own, b.path("policy.jsonc")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, in.Sandbox, amendedPolicy)
			cmd := startSidecar(t, b)
			if err := prepare(b); err != nil {
				t.Fatal(err)
			}
			_, r := b.amend(`{"add": {"allow": ["git.test:2222"]}}`)
			r.mustExit(t, exitcode.Internal)
			r.mustSay(t, "is not safe")
			if err := resolveAsAgent(t, in, b, "ok.test"); err == nil {
				t.Error("the agent's own policy is in force")
			}
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		})
	}
}

// Attack: the agent fills the disk, so that the policy file cannot be written. The
// change is in force all the same, and what is on the disk is the old file, whole.
func TestAttackFillTheDiskDuringAmend(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, amendedPolicy)
	small := b.path("etc")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16k,mode=0755", "tmpfs", small).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", small).Run() })
	policy := filepath.Join(small, "policy.jsonc")
	if err := os.WriteFile(policy, []byte(amendedPolicy), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(b.path("policy.jsonc")); err != nil {
		t.Fatal(err)
	}
	b.policy = policy
	startSidecar(t, b)
	_ = os.WriteFile(filepath.Join(small, "fill"), make([]byte, 64<<10), 0o644) // as much as fits
	answer, r := b.amend(`{"add": {"allow": ["ok.test"]}}`)
	r.mustExit(t, 0)
	if !strings.Contains(answer.Lost, "no space left") {
		t.Errorf("answered %+v", answer)
	}
	mustResolve(t, in, b, "ok.test")
	if text, err := os.ReadFile(policy); err != nil || string(text) != amendedPolicy {
		t.Errorf("the policy file is %q, %v", text, err)
	}

	// The next change is one of the policy in force, not of the file that lacks this one.
	for _, tt := range []struct{ change, want string }{
		{`{"remove": {"allow": ["git.test:22"]}}`, "ok.test"},
		{`{"add": {"allow": ["api.test"]}}`, "ok.test api.test"},
	} {
		answer, r := b.amend(tt.change)
		r.mustExit(t, 0)
		if got := strings.Join(answer.Network.Allow, " "); got != tt.want || answer.Lost == "" {
			t.Errorf("%s: in force are %q, want %q; lost: %q", tt.change, got, tt.want, answer.Lost)
		}
	}
	mustResolve(t, in, b, "ok.test")

	// A file that was changed meanwhile is the user's word.
	const own = `{"network": {"guard": "off", "allow": ["git.test:22"]}}`
	if err := os.WriteFile(policy, []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	if answer, _ := b.amend(`{"add": {"allow": ["ok.test"]}}`); strings.Join(answer.Network.Allow, " ") != "git.test:22 ok.test" {
		t.Errorf("answered %+v", answer)
	}
}
