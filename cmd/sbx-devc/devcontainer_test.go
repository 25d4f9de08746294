package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/test/enginetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// agentUID is the user of the image; the workspace belongs to it.
const agentUID = 1000

// devProject is a git repository that init has written into, and the official
// CLI to bring it up.
type devProject struct {
	t   *testing.T
	dir string
	cli string        // the devcontainer program
	tmp string        // its TMPDIR: it keeps what it makes there
	log *bytes.Buffer // what its builds said
	// ownImages says that no other test builds what this one builds, so that
	// even its nameless images can go.
	ownImages bool
	// owner is whom the project belongs to, nil for the agent's user; as, who starts
	// the official CLI, nil for root.
	owner, as *int
	docker    string
	world     *outside
	env       []string // more variables of the official CLI
}

// newDevProject makes a repository, runs init in it and points the container's
// name server and allowlist at the world of the test.
func newDevProject(t *testing.T, initArgs ...string) *devProject {
	t.Helper()
	p := newRepository(t, "sbx-c-project")
	p.sbx(append([]string{"init", p.dir, "--allow", fmt.Sprintf("allowed.example:%d", p.world.allowed)}, initArgs...)...)
	p.edit("devcontainer.json", `"--pids-limit=2048"`, `"--pids-limit=2048", "--dns=`+p.world.addr+`"`)
	p.privateWorld()
	return p
}

// newRepository makes an empty repository in a folder of that name, and the
// world around its container.
func newRepository(t *testing.T, name string) *devProject {
	t.Helper()
	testenv.Root(t)
	p := &devProject{t: t, cli: testenv.Program(t, "devcontainer"), tmp: t.TempDir(), log: &bytes.Buffer{},
		docker: testenv.Program(t, "docker"), dir: filepath.Join(t.TempDir(), name)}
	enginetest.Carried(t)
	if _, err := imagebuild.LoadInit(t.Context(), enginetest.Connect(t)); err != nil {
		t.Fatal(err)
	}
	p.world = newOutside(t,
		p.must(p.docker, "network", "inspect", "bridge", "--format", `{{index .Options "com.docker.network.bridge.name"}}`))
	p.must("git", "init", "-q", p.dir)
	t.Cleanup(p.remove)
	return p
}

// privateWorld allows the world's private address, which everything on this
// machine has.
func (p *devProject) privateWorld() {
	p.t.Helper()
	p.edit("sandbox.jsonc", `"deny": [`, `"private": ["allowed.example"], "deny": [`)
}

func (p *devProject) edit(name, old, replacement string) {
	p.t.Helper()
	path := filepath.Join(p.dir, ".devcontainer", name)
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(old)) {
		p.t.Fatalf("%s: no %q to replace (%v)", path, old, err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(replacement), 1), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// sbx runs the command line in this process.
func (p *devProject) sbx(args ...string) {
	p.t.Helper()
	var out bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: os.Getenv}
	if code := a.main(p.t.Context(), args); code != 0 {
		p.t.Fatalf("sbx-devc %s: exit %d: %s", strings.Join(args, " "), code, &out)
	}
}

func (p *devProject) must(program string, args ...string) string {
	p.t.Helper()
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		p.t.Fatalf("%s %s: %v", filepath.Base(program), strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// try runs a program and returns both its streams.
func (p *devProject) try(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	return string(out), err
}

// official is a command of the official CLI about the project.
func (p *devProject) official(ctx context.Context, command string, args ...string) *exec.Cmd {
	program := []string{p.cli}
	if p.as != nil { // who may still read the program, which lies in root's home, and write to the engine's socket
		id := fmt.Sprint(*p.as)
		program = []string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--inh-caps=+dac_override",
			"--ambient-caps=+dac_override", p.cli}
	}
	args = append(append(program, command, "--workspace-folder", p.dir), args...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+p.tmp), p.env...)
	if p.as != nil { // the CLI asks for a name, which a user of a real machine has
		fake := filepath.Join(p.tmp, "id")
		if err := os.WriteFile(fake, []byte("#!/bin/sh\n[ \"$*\" = '-u -n' ] && exec echo other\nexec /usr/bin/id \"$@\"\n"), 0o755); err != nil {
			p.t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, "PATH="+p.tmp+":"+os.Getenv("PATH"))
	}
	return cmd
}

// building is held while the official CLI builds. Without BuildKit it gives what Features are built from
// one name on the engine, and of two builds at a time one takes the other's.
var building sync.Mutex

// build has the official CLI build the image, and returns both its streams.
func (p *devProject) build() (string, error) {
	building.Lock()
	defer building.Unlock()
	out, err := p.official(p.t.Context(), "build").CombinedOutput()
	p.log.Write(out)
	return string(out), err
}

// up brings the container up with the official CLI and returns its outcome.
func (p *devProject) up() (outcome string, log []byte) {
	p.t.Helper()
	owner := agentUID
	if p.owner != nil {
		owner = *p.owner
	}
	chown := func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, owner, owner))
	}
	if err := filepath.WalkDir(p.dir, chown); err != nil {
		p.t.Fatal(err)
	}
	building.Lock()
	defer building.Unlock()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	var stderr bytes.Buffer
	cmd := p.official(ctx, "up")
	cmd.Stderr = &stderr
	out, _ := cmd.Output() // the outcome says whether it worked
	p.log.Write(stderr.Bytes())
	var result struct{ Outcome string }
	if err := json.Unmarshal(out, &result); err != nil {
		p.t.Fatalf("devcontainer up printed %q: %v\n%s", out, err, stderr.Bytes())
	}
	return result.Outcome, stderr.Bytes()
}

// exec runs a shell script in the container as the official CLI does for an
// editor, and returns its output, both streams.
func (p *devProject) exec(script string) (string, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	out, err := p.official(ctx, "exec", "bash", "-c", script).CombinedOutput()
	return string(out), err
}

// result is what a script in the container came to.
type result struct {
	out    string // both streams
	failed bool
}

// execAll runs the scripts one after the other like exec, each in a shell of its
// own, in one session: the official CLI takes half a second for each.
func (p *devProject) execAll(t *testing.T, scripts []string) []result {
	t.Helper()
	var all strings.Builder
	for _, s := range scripts {
		fmt.Fprintf(&all, "out=$(bash -c '%s' 2>&1); printf 'RESULT %%s %%s\\n' $? \"$(printf %%s \"$out\" | base64 -w0)\"\n",
			strings.ReplaceAll(s, "'", `'\''`))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := p.official(ctx, "exec", "bash", "-c", all.String()).CombinedOutput()
	var results []result
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "RESULT" {
			text, err := base64.StdEncoding.DecodeString(strings.Join(fields[2:], ""))
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			results = append(results, result{string(text), fields[1] != "0"})
		}
	}
	if err != nil || len(results) != len(scripts) {
		t.Fatalf("%d of %d scripts ran: %v\n%s", len(results), len(scripts), err, out)
	}
	return results
}

// attack is a script that must fail.
type attack struct{ name, script string }

// repel runs the attacks in the container.
func (p *devProject) repel(t *testing.T, attacks []attack) {
	t.Helper()
	var scripts []string
	for _, a := range attacks {
		scripts = append(scripts, a.script)
	}
	for i, r := range p.execAll(t, scripts) {
		t.Run(attacks[i].name, func(t *testing.T) {
			if !r.failed {
				t.Errorf("the attack worked: %s", r.out)
			}
		})
	}
}

// in returns the project for a subtest.
func (p *devProject) in(t *testing.T) *devProject {
	q := *p
	q.t = t
	return &q
}

func (p *devProject) containers() []string {
	return strings.Fields(p.must(p.docker, "ps", "-aq", "--filter", "label=devcontainer.local_folder="+p.dir))
}

func (p *devProject) remove() {
	defer p.removeBuilds()
	for _, id := range p.containers() {
		image := p.must(p.docker, "inspect", "--format", "{{.Config.Image}}", id)
		volumes := p.must(p.docker, "inspect", "--format", `{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}`, id)
		p.must(p.docker, "rm", "-f", id)
		for _, v := range strings.Fields(volumes) {
			p.must(p.docker, "volume", "rm", v)
		}
		p.must(p.docker, "rmi", "-f", image, strings.TrimSuffix(image, "-uid"))
	}
}

// removeBuilds removes what the builds leave behind: the containers that an
// engine without BuildKit keeps of a step that fails (the official CLI cannot
// tell it not to), and images without a name.
func (p *devProject) removeBuilds() {
	for _, id := range p.logged(`Running in ([0-9a-f]{12})`) {
		_, _ = p.try(p.docker, "rm", id) // almost all are gone
	}
	if !p.ownImages {
		return
	}
	for _, id := range slices.Backward(p.logged(`(?:---> |Successfully built )([0-9a-f]{12})`)) {
		images := p.must(p.docker, "images", "--format", "{{.ID}} {{.Repository}}")
		if strings.Contains(images, id+" <none>") || strings.Contains(images, id+" dev_container_feature_content_temp") {
			_, _ = p.try(p.docker, "rmi", id)
		}
	}
}

// logged returns what the pattern's group found in the log of the official CLI,
// each once.
func (p *devProject) logged(pattern string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(p.log.Bytes(), -1) {
		if id := string(m[1]); !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	return found
}

// TestDevcontainer lets the official dev container CLI bring up what init
// wrote, and then tries from inside to get out. Its parts share one image.
func TestDevcontainer(t *testing.T) {
	t.Parallel()
	p := newDevProject(t)
	t.Run("Up", func(t *testing.T) { testUp(t, p.in(t)) })
	if t.Failed() {
		return
	}
	t.Run("AllowWhileItRuns", func(t *testing.T) { testAllow(t, p.in(t)) })
	t.Run("ClaudeAsksWithoutTheFirewall", func(t *testing.T) { testClaudeAsksWithoutTheFirewall(t, p.in(t)) })
	t.Run("LoginShellWaitsForTheFirewall", func(t *testing.T) { testLoginShell(t, p.in(t)) })
	t.Run("ProtectedPathReplacedOnTheHost", func(t *testing.T) { testReplacedOnTheHost(t, p.in(t), 71) })
	t.Run("TheSameUnderTheEnginesInit", func(t *testing.T) {
		p := p.in(t)
		p.must(p.docker, "rm", "-f", p.containers()[0])
		p.edit("devcontainer.json", `"remoteUser"`, `"init": true, "remoteUser"`)
		if outcome, log := p.up(); outcome != "success" {
			t.Fatalf("devcontainer up: %s\n%s", outcome, log)
		}
		if first := p.must(p.docker, "exec", p.containers()[0], "cat", "/proc/1/comm"); first == "sbx-init" {
			t.Fatalf("the first process is %s", first)
		}
		testReplacedOnTheHost(t, p, 71)
	})
	t.Run("OtherUsersOfTheHost", func(t *testing.T) { testHostUsers(t, p.in(t)) })
	t.Run("SubstitutedClaudeCodeIsNotInstalled", func(t *testing.T) { testSubstitutedClaude(t, p.in(t)) })
	t.Run("BrokenPolicyGivesNoContainer", func(t *testing.T) { testBrokenPolicy(t, p.in(t)) })
}

func testUp(t *testing.T, p *devProject) {
	p.sbx("validate", p.dir)
	// Git keeps no empty folder: another clone has none of those that init made.
	for _, name := range []string{".devcontainer.json", ".vscode", ".idea", ".claude", ".husky", ".githooks", "commondir"} {
		if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if outcome, log := p.up(); outcome != "success" {
		t.Fatalf("devcontainer up: %s\n%s", outcome, log)
	}
	ids := p.containers()
	if len(ids) != 1 {
		t.Fatalf("want one container, got %v", ids)
	}
	if status := p.must("git", "-c", "safe.directory=*", "-C", p.dir, "status", "--porcelain"); status != "?? .devcontainer/" {
		t.Errorf("git sees the mount points: %q", status)
	}

	url := fmt.Sprintf("http://allowed.example:%d/", p.world.allowed)
	works := []struct{ name, script, want string }{
		{"AgentIsUnprivileged", "id -un; id -u", "agent\n1000"},
		{"AgentHasNoCapability", "grep -E '^Cap(Inh|Prm|Eff|Amb)|NoNewPrivs' /proc/self/status | tr -d '\\t\\n'",
			"CapInh:0000000000000000CapPrm:0000000000000000CapEff:0000000000000000CapAmb:0000000000000000NoNewPrivs:1"},
		{"NothingIsSetuid", "find / -xdev -perm /6000 -type f 2>/dev/null; command -v sudo; true", ""},
		{"AllowedHostIsReached", "curl -sS --max-time 10 " + url, "hello from outside"},
		{"CommitWorks", "git -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m x && git log --format=%s", "x"},
		{"StateVolumeIsTheAgents", "touch $CLAUDE_CONFIG_DIR/x && echo $CLAUDE_CONFIG_DIR", "/home/agent/.claude"},
		{"ClaudeCodeRuns", "claude --version", "(Claude Code)"},
	}
	var scripts []string
	for _, tt := range works {
		scripts = append(scripts, tt.script)
	}
	for i, r := range p.execAll(t, scripts) {
		t.Run(works[i].name, func(t *testing.T) {
			if want := works[i].want; r.failed || !strings.Contains(r.out, want) || want == "" && strings.TrimSpace(r.out) != "" {
				t.Errorf("got %q (failed: %t), want %q", r.out, r.failed, want)
			}
		})
	}

	gateway := p.world.addr
	attacks := []attack{
		{"ResolveAnotherName", "getent ahosts other.example"},
		{"ReachAnotherName", fmt.Sprintf("curl -sS --max-time 10 http://other.example:%d/", p.world.allowed)},
		{"ReachAnotherPortOfAnAllowedHost", fmt.Sprintf("curl -sS --max-time 10 http://allowed.example:%d/", p.world.other)},
		{"ReachAnAddressByNumber", fmt.Sprintf("curl -sS --max-time 10 http://%s:%d/", gateway, p.world.other)},
		// A query for leak.example, straight to the name server outside; the
		// answer, if any, must be a refusal (rcode 5 in the fourth byte).
		{"AskAnotherNameServer", `exec 3<>/dev/udp/` + gateway + `/53
			printf '\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04leak\x07example\x00\x00\x01\x00\x01' >&3
			rcode=$(timeout 3 head -c 4 <&3 | od -An -tu1 | awk '{print $4 % 16}'); test "$rcode" = 0`},
		{"WriteDevcontainer", "echo x >>.devcontainer/devcontainer.json"},
		{"ReplaceDevcontainer", "mv .devcontainer old"},
		{"WriteGitHook", "echo x >.git/hooks/pre-commit"},
		{"WriteGitConfig", "git config core.fsmonitor 'touch /tmp/pwned'"},
		{"RenameGitAroundTheMounts", "mv .git old"},
		{"WriteEditorTask", "echo {} >.vscode/tasks.json"},
		{"WriteEditorRunConfiguration", "mkdir -p .idea/runConfigurations"},
		{"WriteClaudeSettings", "echo {} >.claude/settings.json"},
		{"WriteHuskyHook", "echo x >.husky/pre-commit"},
		{"WriteAnotherDevcontainer", "rmdir .devcontainer.json; echo {} >.devcontainer.json"},
		{"ReplaceACoveredFolder", "rmdir .vscode || mv .claude old || rm -r .devcontainer.json"},
		{"BecomeABareRepository",
			"rmdir commondir; mkdir -p objects refs && mv .git/HEAD HEAD.old && echo 'ref: refs/heads/main' >HEAD && git rev-parse --git-dir; " +
				"e=$?; mv HEAD.old .git/HEAD; rm -f HEAD; exit $e"},
		{"WritePolicy", "echo {} >/etc/sbx/sandbox.jsonc || mv /etc/sbx /etc/sbx.old"},
		{"FlushFirewall", "iptables -F || ip6tables -F || ipset flush || ip link set eth0 down"},
		{"KillTheInit", "kill -9 1"},
		{"EditTheGate", "echo >/etc/profile.d/00-sbx.sh || rm /run/sbx/policy.json || mv /etc/profile.d /etc/x"},
		{"Unmount", "umount .devcontainer || unshare -Urm umount .devcontainer"},
	}
	p.repel(t, attacks)
	// A restart, and a second up, raise the firewall anew before anything else.
	for _, again := range []struct {
		name string
		do   func()
	}{
		{"Restart", func() { p.must(p.docker, "restart", "-t", "1", ids[0]) }},
		{"SecondUp", func() {
			p.must(p.docker, "stop", "-t", "1", ids[0])
			if outcome, log := p.up(); outcome != "success" {
				t.Fatalf("devcontainer up: %s\n%s", outcome, log)
			}
		}},
	} {
		t.Run(again.name, func(t *testing.T) {
			again.do()
			if out, err := p.exec("curl -sS --max-time 10 " + url); err != nil || !strings.Contains(out, "hello from outside") {
				t.Errorf("an allowed host: %q %v", out, err)
			}
			p.repel(t, attacks[:4])
		})
	}
	if leaks := p.world.leaks("allowed.example"); len(leaks) > 0 {
		t.Errorf("arrived outside: %v", leaks)
	}
	if !p.world.wasHit() {
		t.Error("nothing arrived outside at all; the test proves nothing")
	}
	for _, program := range []string{"iptables", "ip6tables"} {
		rules := p.must(p.docker, "exec", "-u", "0", ids[0], program, "-S")
		for _, policy := range []string{"-P INPUT DROP", "-P OUTPUT DROP", "-P FORWARD DROP"} {
			if !strings.Contains(rules, policy) {
				t.Errorf("%s lacks %s:\n%s", program, policy, rules)
			}
		}
	}
}

// testLoginShell plays an agent that left code in its own
// start-up file for the moment between a restart and the firewall: here that
// moment lasts, because sbx-init never runs.
func testLoginShell(t *testing.T, p *devProject) {
	id := p.containers()[0]
	if out, err := p.exec("echo 'echo code of the agent' >>~/.bashrc; bash -lic true"); err != nil ||
		!strings.Contains(out, "code of the agent") {
		t.Fatalf("with the firewall up the start-up file must run: %q %v", out, err)
	}

	image := "sbx-c-gate:" + id[:12]
	p.must(p.docker, "commit", "--change", `ENTRYPOINT ["sleep", "infinity"]`, id, image)
	t.Cleanup(func() { p.must(p.docker, "rmi", "-f", image) })
	gated := p.must(p.docker, "run", "-d", "--tmpfs=/run/sbx:mode=0755", "--env=SBX_WAIT_FOR=/run/sbx/policy.json", image)
	t.Cleanup(func() { p.must(p.docker, "rm", "-f", gated) })
	login := func(seconds string) (string, error) {
		out, err := exec.Command(p.docker, "exec", "-u", "agent", gated, "timeout", "-s", "KILL", seconds, "bash", "-lic",
			"echo ran").CombinedOutput()
		return string(out), err
	}
	if out, err := login("2"); err == nil || strings.Contains(out, "code of the agent") || strings.Contains(out, "ran") {
		t.Errorf("without a firewall the shell ran: %q %v", out, err)
	}
	if out, err := exec.Command(p.docker, "exec", "-u", "agent", gated, "touch", "/run/sbx/policy.json").CombinedOutput(); err == nil {
		t.Errorf("the agent can open the gate: %s", out)
	}
	p.must(p.docker, "exec", "-u", "root", gated, "touch", "/run/sbx/policy.json")
	if out, err := login("20"); err != nil || !strings.Contains(out, "ran") {
		t.Errorf("the gate stays closed: %q %v", out, err)
	}
}

// testBrokenPolicy: with settings that cannot be read a new container must end,
// and not go on without a firewall.
func testBrokenPolicy(t *testing.T, p *devProject) {
	// Its layers stay for the build, its name goes to the next image.
	before := p.containers()[0]
	image := p.must(p.docker, "inspect", "--format", "{{.Image}}", before)
	p.must(p.docker, "rm", "-f", before)
	t.Cleanup(func() { p.must(p.docker, "rmi", "-f", image) })
	p.edit("sandbox.jsonc", `"network"`, `"netwrok"`)
	_, log := p.up() // may say success: the CLI does not wait for the entrypoint
	out, err := p.exec(fmt.Sprintf("curl -sS --max-time 5 http://%s:%d/", p.world.addr, p.world.other))
	if err == nil {
		t.Errorf("a command ran and reached out: %s", out)
	}
	deadline := time.Now().Add(2 * time.Minute)
	state := ""
	ids := p.containers()
	if len(ids) != 1 {
		t.Fatalf("want one container, got %v\n%s", ids, log)
	}
	for ; time.Now().Before(deadline) && !strings.HasPrefix(state, "exited "); time.Sleep(50 * time.Millisecond) {
		state = p.must(p.docker, "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", ids[0])
	}
	if state != "exited 65" {
		t.Errorf("the container is %q, want \"exited 65\"", state)
	}
	if out, err := p.exec("true"); err == nil {
		t.Errorf("the container is usable: %s", out)
	}
	if leaks := p.world.leaks("allowed.example"); len(leaks) > 0 {
		t.Errorf("arrived outside: %v", leaks)
	}
}

// testReplacedOnTheHost: a session of the agent's lies in wait until somebody on
// the host replaces a protected path, here with git, and writes there. The
// container must end, with that exit code and the reason in its log.
func testReplacedOnTheHost(t *testing.T, p *devProject, code int) {
	id := p.containers()[0]
	if out, err := p.exec("git config a.b evil"); err == nil {
		t.Fatalf("the path is not protected: %s", out)
	}
	p.must(p.docker, "exec", "-d", "-u", fmt.Sprint(agentUID), "-w", "/workspaces/"+filepath.Base(p.dir), id, "bash", "-c",
		"while :; do echo '#evil' >>.git/config; done 2>/dev/null")
	p.must("git", "-c", "safe.directory=*", "-C", p.dir, "config", "user.name", "somebody")
	config := filepath.Join(p.dir, ".git", "config")
	if err := os.Chown(config, agentUID, agentUID); err != nil { // git is root's here
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, p.docker, "wait", id).Output(); err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(code) {
		text, _ := os.ReadFile(config)
		t.Errorf("the container: exit code %s (%v), want %d; %d lines of the agent's are in .git/config", out, err, code,
			bytes.Count(text, []byte("evil")))
	}
	if log, _ := p.try(p.docker, "logs", id); !strings.Contains(log, "/.git/config: removed, renamed or replaced from outside") {
		t.Errorf("its log does not say why:\n%s", log)
	}
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("in the moment between, the agent wrote %d lines", bytes.Count(before, []byte("#evil")))
}

// testSubstitutedClaude: a registry that serves another
// program under the same name and version must not get it into the image.
func testSubstitutedClaude(t *testing.T, p *devProject) {
	other := "sha512-" + strings.Repeat("A", 86) + "=="
	out, err := exec.Command(p.docker, "build", "--force-rm", "--target", "claude", "--build-arg", "CLAUDE_INTEGRITY_X64="+other,
		"--build-arg", "CLAUDE_INTEGRITY_ARM64="+other, filepath.Join(p.dir, ".devcontainer")).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("Claude Code is not what was pinned: got sha512-")) {
		t.Errorf("the build went on (%v):\n%s", err, out)
	}
}
