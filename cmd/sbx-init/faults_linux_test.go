package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// faultsEnv, when set, has every single call fail in turn; otherwise it is
// every few.
const faultsEnv = "SBX_ALL_FAULTS"

const ran = "COMMAND RAN"

// fault is one way in which a start can go wrong.
type fault struct {
	name   string
	before string   // shell commands in the mount namespace of sbx-init
	around []string // a program that starts sbx-init
	path   string   // PATH; "" = the usual one
	says   string   // what the error must say; "" = nothing in particular
	passes bool     // the command may run, and the firewall must then stand
	mute   bool     // the message may be what fails
	early  bool     // it may come before the closing, or make that impossible
}

// start runs sbx-init with a fault, judges the outcome by what arrives at the
// internet, and reports whether the command ran.
func (f fault) start(t *testing.T) bool {
	t.Helper()
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	wire := in.Capture(t)
	script := `mount --bind "$0" /etc/resolv.conf && ` + f.before + ` exec "$@"`
	args := append([]string{"--mount", "sh", "-c", script, b.path("resolv.conf")}, f.around...)
	args = append(args, filepath.Join(b.bin, "sbx-init"), "run", "--policy", b.path("policy.jsonc"), "--audit", b.path("run/audit.jsonl"),
		"--user", "54321:54321", "--", "/bin/sh", "-c", "echo "+ran)
	cmd := exec.Command("unshare", args...)
	cmd.Dir = b.path("work")
	path := f.path
	if path == "" {
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	cmd.Env = append(os.Environ(), "PATH="+path, "BOX="+b.dir)
	r := b.finish(cmd)
	did := strings.Contains(r.stdout, ran)
	// Until the closing, what the kernel says of its new interface may arrive.
	wire.Nothing("until it ended", toAllowed)
	v4, v6 := closed(in, "iptables", did), closed(in, "ip6tables", did)
	// The log's folder is made after the closing.
	_, err := os.Stat(b.path("run"))
	if !(v4 && v6) && (did || err == nil && f.before == "" || !f.early) {
		t.Errorf("it ended with %d and left a family open (IPv4 closed: %v, IPv6: %v)\n%s", r.code, v4, v6, r.stderr)
	}
	if v4 {
		knock(in, evilAddr)
	}
	if v6 {
		knock(in, "["+evilAddr6+"]")
	}
	wire.Nothing("afterwards", toAllowed)
	if did && !f.passes {
		t.Errorf("the command ran\n%s", r.stderr)
	}
	if !did && r.code == exitcode.Internal && !f.mute &&
		(!strings.Contains(r.stderr, "sbx-init: error: ") || !strings.Contains(r.stderr, f.says)) {
		t.Errorf("it does not say what failed, with %q: %q", f.says, r.stderr)
	}
	t.Logf("exit %d, the command ran: %v", r.code, did)
	return did
}

// closed reports whether nothing leaves a family that no rule accepts: by
// policy, or, unless it must be by policy, by the jump that closes first.
func closed(in *internet, program string, policy bool) bool {
	var out []byte
	in.Sandbox.Do(func() {
		out, _ = exec.Command("sh", "-c", "for b in nft legacy; do "+program+"-$b -S OUTPUT 2>/dev/null; done").Output()
	})
	return strings.Contains(string(out), "-P OUTPUT DROP") || !policy &&
		strings.Contains(string(out), "-P OUTPUT ACCEPT\n-A OUTPUT -j SBX-OUT\n")
}

// knock tries a host outside as the agent.
func knock(in *internet, host string) {
	for _, network := range []string{"udp", "tcp"} {
		in.Sandbox.As(agentUID, func() {
			if conn, err := net.DialTimeout(network, host+":80", 100*time.Millisecond); err == nil {
				_, _ = conn.Write([]byte("leak"))
				conn.Close()
			}
		})
	}
}

func TestFaultsWhileStarting(t *testing.T) {
	binaries(t)
	only := t.TempDir() // the programs of one backend, and what starts them
	if err := os.Chmod(only, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"mount", "sh", "cat", "unshare"} {
		if err := os.Symlink(testenv.Program(t, p), filepath.Join(only, p)); err != nil {
			t.Fatal(err)
		}
	}
	// Each call of a program of the packet filter counts, and one of them fails.
	for _, p := range []string{"iptables-nft-restore", "ip6tables-nft-restore", "iptables-nft-save", "ip6tables-nft-save"} {
		script := fmt.Sprintf(
			"#!/bin/sh\nn=x$(cat \"$BOX/%s\" 2>/dev/null)\necho $n >\"$BOX/%s\"\n[ \"$FAIL\" = \"%s $n\" ] && { echo 'it was told to fail' >&2; "+
				"exit 1; }\nexec %s \"$@\"\n",
			p, p, p, testenv.Program(t, p))
		if err := os.WriteFile(filepath.Join(only, p), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	check := func(f fault) {
		t.Run(f.name, func(t *testing.T) { f.start(t) })
	}
	for p, calls := range map[string]int{"iptables-nft-restore": 3, "ip6tables-nft-restore": 3, "iptables-nft-save": 2,
		"ip6tables-nft-save": 2} {
		for n := 1; n <= calls+1; n++ {
			did := false
			// The first probe asks for more than every kernel has: what fails there
			// is tried with less.
			passes := n > calls || n == 1 && strings.HasSuffix(p, "restore")
			t.Run(fmt.Sprintf("%s fails at call %d", p, n), func(t *testing.T) {
				did = fault{path: only, before: "export FAIL='" + p + " " + strings.Repeat("x", n) + "';", passes: passes}.start(t)
			})
			if passes && !did {
				t.Errorf("%s: call %d may fail, and yet the command did not run", p, n)
			}
		}
	}
	empty := t.TempDir()
	for _, p := range []string{"mount", "sh", "unshare"} {
		if err := os.Symlink(testenv.Program(t, p), filepath.Join(empty, p)); err != nil {
			t.Fatal(err)
		}
	}
	setpriv, prlimit := testenv.Program(t, "setpriv"), testenv.Program(t, "prlimit")
	without := func(caps string) []string { return []string{setpriv, "--bounding-set", caps, "--inh-caps", caps} }
	for _, f := range []fault{
		{name: "no iptables", path: empty, says: "iptables", early: true},
		{name: "no NET_ADMIN", around: without("-net_admin"), says: "NET_ADMIN", early: true},
		{name: "no NET_RAW", around: without("-net_raw"), says: "NET_RAW"},
		{name: "no SETUID", around: without("-setuid"), says: "SETUID"},
		{name: "no SETGID", around: without("-setgid"), says: "SETGID"},
		{name: "no SETPCAP", around: without("-setpcap"), says: "SETPCAP"},
		{name: "no policy file", before: `rm "$BOX/policy.jsonc";`, says: "policy.jsonc"},
		{name: "a policy that is a folder", before: `rm "$BOX/policy.jsonc"; mkdir "$BOX/policy.jsonc";`, says: "policy.jsonc"},
		{name: "a policy with an error", before: `echo '{"network": {"allow": ["*"]}}' >"$BOX/policy.jsonc";`},
		{name: "a policy cut short", before: `echo '{"network": {"allow": [' >"$BOX/policy.jsonc";`},
		{name: "a resolv.conf that cannot be read",
			before: `umount /etc/resolv.conf; mount --bind "$BOX" /etc/resolv.conf 2>/dev/null || mount -t tmpfs -o mode=0 none /etc;`,
			passes: true},
		{name: "no resolv.conf", before: `umount /etc/resolv.conf; mount -t tmpfs none /etc;`, passes: true},
		{name: "a read-only place for the log", before: `mkdir -p "$BOX/run"; mount -t tmpfs -o ro none "$BOX/run";`, says: "audit"},
		{name: "a full place for the log", before: `mkdir -p "$BOX/run"; mount -t tmpfs -o size=4k,nr_inodes=1 none "$BOX/run";`, says: "audit"},
		{name: "a read-only /proc/sys", before: `mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys;`, passes: true},
		{name: "no /proc", before: `mount -t tmpfs none /proc;`, early: true},
		{name: "no files can grow", around: []string{prlimit, "--fsize=0"}, early: true},
		{name: "no processes", around: []string{prlimit, "--nproc=1"}, passes: true}, // root has no such limit
	} {
		check(f)
	}
	for n := 3; n <= 24; n += 3 {
		check(fault{name: fmt.Sprintf("%d open files", n), around: []string{prlimit, fmt.Sprintf("--nofile=%d", n)}, passes: true, early: true})
	}
}

// TestFaultsInSystemCalls has calls of sbx-init and of the programs that it
// starts fail, or the process killed there, one after the other.
func TestFaultsInSystemCalls(t *testing.T) {
	binaries(t)
	strace := testenv.Program(t, "strace")
	steps := []int{1, 2, 4, 9}
	if os.Getenv(faultsEnv) != "" {
		steps = nil
		for n := 1; n <= 60; n++ {
			steps = append(steps, n)
		}
	}
	for _, c := range []struct{ calls, how string }{
		{"sendto,sendmsg", "error=EPERM"}, {"recvfrom,recvmsg", "error=ENOBUFS"}, {"socket", "error=EMFILE"}, {"bind", "error=EADDRINUSE"},
		{"connect", "error=ENETUNREACH"}, {"setsockopt", "error=EPERM"}, {"openat", "error=EACCES"}, {"execve", "error=EAGAIN"},
		{"prctl", "error=EPERM"}, {"capset", "error=EPERM"}, {"setresuid,setresgid,setgroups", "error=EPERM"},
		{"renameat,renameat2,unlinkat", "error=EROFS"}, {"clone,clone3", "error=EAGAIN"}, {"write", "error=ENOSPC"},
		{"openat,socket,execve", "signal=KILL"}, {"sendto,sendmsg,write", "signal=KILL"},
	} {
		for _, n := range steps {
			name := fmt.Sprintf("%s %s at call %d", c.calls, c.how, n)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				// Some calls may fail without harm; then the firewall must stand.
				fault{name: name, passes: true, early: true, mute: strings.Contains(c.calls, "write"),
					around: []string{strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + c.calls, "-e",
						fmt.Sprintf("inject=%s:%s:when=%d", c.calls, c.how, n)}}.start(t)
			})
		}
	}
}

// A resolver that cannot ask anybody opens nothing and does not hold the start up.
func TestUpstreamIsDown(t *testing.T) {
	lab := netnstest.New(t)
	in := &internet{Lab: lab}
	b := newBox(t, lab.Sandbox, openPolicy)
	wire := in.Capture(t)
	r := b.sh(testenv.Program(t, "dig") + ` +tries=1 +time=5 ok.test | grep -o 'status: [A-Z]*'; echo ` + ran)
	r.mustExit(t, 0)
	r.mustSay(t, "status: SERVFAIL", ran)
	knock(in, evilAddr)
	knock(in, "["+evilAddr6+"]")
	wire.Nothing("with no upstream", toAllowed)
}
