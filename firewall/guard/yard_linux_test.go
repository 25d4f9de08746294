package guard_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

const squidAddr = "127.0.0.1:3128"

// yard is a sandbox with the guard and a client, and an internet with sites,
// each a process. The packet filter leads the guarded port to the guard, as
// firewall.Compile's rules do.
type yard struct {
	t                   testing.TB
	lab                 *netnstest.Lab
	guard, site, client *process
}

func newYard(t testing.TB) *yard {
	t.Helper()
	iptables := testenv.Program(t, "iptables")
	y := &yard{t: t, lab: netnstest.New(t, echoAddr, bulkAddr, halfAddr, sinkAddr, tlsAddr, openAddr)}
	rule := []string{"-t", "nat", "-A", "OUTPUT", "-p", "tcp", "--dport", strconv.Itoa(guardedBy), "-m", "mark", "!", "--mark",
		strconv.Itoa(guardMark),
		"-j", "REDIRECT", "--to-ports", strconv.Itoa(guardPort)}
	y.lab.Sandbox.Do(func() {
		if out, err := exec.Command(iptables, append([]string{"-w"}, rule...)...).CombinedOutput(); err != nil {
			t.Errorf("iptables: %v: %s", err, out)
		}
		for name, value := range map[string]string{
			"ipv4/ip_local_port_range":                 "1024 65000",
			"netfilter/nf_conntrack_tcp_timeout_close": "1", // the client ends with resets
		} {
			if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	y.site = y.start(y.lab.Internet, "site")
	y.guard = y.start(y.lab.Sandbox, "guard", filepath.Join(t.TempDir(), "audit.jsonl"))
	y.client = y.start(y.lab.Sandbox, "client")
	return y
}

// process is one part of the yard, spoken to by lines.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.Writer
	lines *bufio.Scanner
}

func (y *yard) start(ns *netnstest.Namespace, part string, args ...string) *process {
	y.t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), partEnv+"="+part)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	ns.Do(func() { err = cmd.Start() })
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := &process{y.t, cmd, in, bufio.NewScanner(out)}
	if word := p.line(); word != "ready" {
		y.t.Fatalf("%s says %q", part, word)
	}
	return p
}

func (p *process) line() string {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("the process ended: %v", p.lines.Err())
	}
	return p.lines.Text()
}

// ask says one line and returns the numbers of the answer.
func (p *process) ask(format string, args ...any) []int {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
	var numbers []int
	for _, word := range strings.Fields(p.line()) {
		n, err := strconv.Atoi(word)
		if err != nil {
			p.t.Fatalf(format+": %s", append(args, p.lines.Text())...)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// resident is the memory of a process that is in RAM, in bytes.
func resident(t testing.TB, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no VmRSS of process %d", pid)
	return 0
}

// manyConns is ten thousand, or fewer where a process may not open two files
// for each and some more.
func manyConns(t testing.TB) int {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return min(10000, (int(limit.Max)-1000)/2)
}

// state is what the guard holds.
type state struct{ files, goroutines, bytes, resident int }

func (y *yard) state() state {
	y.t.Helper()
	n := y.guard.ask("state")
	return state{n[0], n[1], n[2], resident(y.t, y.guard.cmd.Process.Pid)}
}

// startSquid runs Squid as a CONNECT proxy with an access list, as one would
// instead of the guard, and returns its process id.
func (y *yard) startSquid() int {
	y.t.Helper()
	path, err := exec.LookPath("squid")
	if err != nil {
		y.t.Skip("needs squid (Debian package squid) to compare with")
	}
	// Squid gives up root for this user, who must reach its folder.
	dir, err := os.MkdirTemp("", "sbx-squid-")
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() { os.RemoveAll(dir) })
	proxy, err := user.Lookup("proxy")
	if err != nil {
		y.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(proxy.Uid)
	if err := os.Chown(dir, uid, -1); err != nil {
		y.t.Fatal(err)
	}
	hosts := ""
	for name, addr := range zone {
		hosts += addr + " " + name + "\n"
	}
	files := map[string]string{"hosts": hosts, "squid.conf": `http_port ` + squidAddr + `
hosts_file ` + dir + `/hosts
acl allowed dstdomain echo.test bulk.test half.test sink.test tls.test
acl tls port ` + strconv.Itoa(plainPort) + `
http_access allow CONNECT tls allowed
http_access deny all
cache deny all
access_log stdio:` + dir + `/access.log
cache_log ` + dir + `/cache.log
coredump_dir ` + dir + `
pid_filename none
shutdown_lifetime 0 seconds
`}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			y.t.Fatal(err)
		}
	}
	cmd := exec.Command(path, "-N", "-f", filepath.Join(dir, "squid.conf"))
	var output strings.Builder
	cmd.Stderr = &output
	y.lab.Sandbox.Do(func() { err = cmd.Start() })
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		log, _ := os.ReadFile(filepath.Join(dir, "cache.log"))
		if strings.Contains(string(log), "Accepting HTTP Socket connections") {
			return cmd.Process.Pid
		}
		if time.Now().After(deadline) {
			y.t.Fatalf("squid does not start: %s%s", log, output.String())
		}
	}
}
