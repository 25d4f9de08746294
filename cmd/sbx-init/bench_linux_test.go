package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// freshZones is how many wildcards the new names of a benchmark are spread over:
// each has a budget, see the resolver.
const freshZones = 1000

// freshName is the nth name that nobody has asked for.
func freshName(n int) string { return fmt.Sprintf("n%d.z%d.wild.test", n, n%freshZones) }

// benchPolicy has so many entries of every kind, and wildcards for freshName
// besides, if they are wanted.
func benchPolicy(entries, zones int) string {
	var b strings.Builder
	b.WriteString(`{"network": {"allow": ["ok.test"`)
	for i := range zones {
		fmt.Fprintf(&b, `, "*.z%d.wild.test"`, i)
	}
	for i := range entries - 1 {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, `, "host%d.example.org"`, i)
		case 1:
			fmt.Fprintf(&b, `, "*.zone%d.example.net"`, i)
		case 2:
			fmt.Fprintf(&b, `, "git%d.example.com:22"`, i)
		case 3:
			fmt.Fprintf(&b, `, "203.0.%d.%d:8443"`, i>>8&255, i&255)
		}
	}
	b.WriteString(`]}}`)
	return b.String()
}

// resolverCase is a place where names are resolved.
type resolverCase struct {
	name   string
	server string
	start  func(b *testing.B, in *internet) (pid int) // 0 = there is no process
}

// resolverCases are no filter at all, ours as the agent meets it, and dnsmasq,
// which fills an ipset as well but refuses nothing and records nothing: once
// behind the packet filter that ours stands behind, so that a question's way to
// it is as long, and once with none.
func resolverCases(b *testing.B) []resolverCase {
	dnsmasq := testenv.Program(b, "dnsmasq")
	return []resolverCase{
		{"none", dnsAddr + ":53", func(*testing.B, *internet) int { return 0 }},
		{"sbx-init", dnsAddr + ":53", func(b *testing.B, in *internet) int {
			return startSidecar(b, newBox(b, in.Sandbox, benchPolicy(200, freshZones)), "--process-lookup").Process.Pid
		}},
		{"dnsmasq", dnsAddr + ":53", func(b *testing.B, in *internet) int {
			leadTo(b, in, peerPort)
			return startDnsmasq(b, in, dnsmasq)
		}},
		{"dnsmasq-unfiltered", fmt.Sprintf("127.0.0.1:%d", peerPort), func(b *testing.B, in *internet) int {
			return startDnsmasq(b, in, dnsmasq)
		}},
	}
}

// peerPort is where dnsmasq listens.
const peerPort = 5399

func startDnsmasq(b *testing.B, in *internet, program string) int {
	run := func(argv ...string) *exec.Cmd {
		cmd := exec.Command(argv[0], argv[1:]...)
		in.Sandbox.Do(func() {
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
		})
		return cmd
	}
	if err := run("ipset", "create", "peer", "hash:ip", "timeout", "3600").Wait(); err != nil {
		b.Fatal(err)
	}
	cmd := run(program, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=",
		"--server="+dnsAddr, "--min-port=61000", fmt.Sprintf("--port=%d", peerPort), "--listen-address=127.0.0.1", "--bind-interfaces",
		"--cache-size=4096", "--ipset=/ok.test/wild.test/peer")
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// leadTo sets the rules of benchPolicy with another resolver, which sets no mark
// and is let out by its user.
func leadTo(b *testing.B, in *internet, resolverPort uint16) {
	var settings struct{ Network firewall.Network }
	if err := json.Unmarshal([]byte(benchPolicy(200, freshZones)), &settings); err != nil {
		b.Fatal(err)
	}
	policy, errs := firewall.NewPolicy(settings.Network)
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	in.Sandbox.Do(func() {
		k, err := kernel.Open(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(k.Close)
		facts := k.Facts()
		facts.Upstreams, facts.ResolverPort, facts.GuardPort, facts.Mark = []netip.Addr{netip.MustParseAddr(dnsAddr)}, resolverPort, 1, 1
		plan, err := firewall.Compile(policy, facts)
		if err == nil {
			err = k.Apply(b.Context(), plan)
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, table := range []string{"filter", "nat"} {
			rule := exec.Command("iptables", "-t", table, "-I", "OUTPUT", "-p", "udp", "-d", dnsAddr, "-m", "owner",
				"--uid-owner", "0", "-j", "ACCEPT")
			if out, err := rule.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

// client asks one server from one socket.
type client struct {
	conn net.Conn
	buf  []byte
	id   uint16
}

func newClient(in *internet, server string) (*client, error) {
	c := &client{buf: make([]byte, 4096)}
	var err error
	in.Sandbox.As(agentUID, func() { c.conn, err = net.Dial("udp", server) })
	return c, err
}

// ask wants an address for each of the names, which it asks for at once.
func (c *client) ask(names ...string) error {
	var err error
	for range 5 { // a datagram may get lost
		before := c.id
		for _, name := range names {
			c.id++
			if err = c.send(name); err != nil {
				break // refused until the server listens
			}
		}
		_ = c.conn.SetReadDeadline(time.Now().Add(2 * time.Second))
		for left := len(names); left > 0 && err == nil; {
			var n int
			if n, err = c.conn.Read(c.buf); err != nil || n < 12 {
				continue
			}
			id := uint16(c.buf[0])<<8 | uint16(c.buf[1])
			if id-before-1 >= uint16(len(names)) {
				continue // late
			}
			if c.buf[7] == 0 { // the low byte of how many answers there are
				return fmt.Errorf("%s has no address: code %d", names[id-before-1], c.buf[3]&15)
			}
			left--
		}
		if err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

func (c *client) send(name string) error {
	q := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: c.id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name + "."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	message, err := q.Pack()
	if err != nil {
		return err
	}
	_, err = c.conn.Write(message)
	return err
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// agentPace is the time between two questions of a busy agent. A processor that
// idles for so long takes longer to wake than one that does not.
const agentPace = 25 * time.Millisecond

// BenchmarkDNSLatency is one lookup after another, each from a socket of its own
// as the C library does it: of one name, and of a new one each time; without a
// pause and at an agent's pace. A program in a container as the agent's is asks
// all servers in turn, so that whatever else the machine does meets each of them.
func BenchmarkDNSLatency(b *testing.B) {
	var fresh atomic.Int64
	for _, kind := range []struct {
		name   string
		cached bool
		pace   time.Duration
	}{{"cached", true, 0}, {"new", false, 0}, {"cached-paced", true, agentPace}, {"new-paced", false, agentPace}} {
		b.Run(kind.name, func(b *testing.B) {
			cases := resolverCases(b)
			times := make([][]time.Duration, len(cases))
			askers := make([]*asker, len(cases))
			for i, c := range cases {
				in := newInternet(b)
				c.start(b, in)
				askers[i] = startAsker(b, in, c.server)
				askers[i].ask(b, "ok.test") // until the server listens
			}
			for b.Loop() {
				for i, a := range askers {
					name := "ok.test"
					if !kind.cached {
						name = freshName(int(fresh.Add(1)))
					}
					time.Sleep(kind.pace / time.Duration(len(cases)))
					times[i] = append(times[i], a.ask(b, name))
				}
			}
			for i, c := range cases {
				b.ReportMetric(float64(median(times[i]).Nanoseconds())/1000, "µs-"+c.name)
			}
		})
	}
}

// asker is a program of the agent that looks up names.
type asker struct {
	names io.Writer
	times *bufio.Scanner // nanoseconds, one line for each name
}

// startAsker starts one in a container of its own that joins the sandbox's network.
func startAsker(b *testing.B, in *internet, server string) *asker {
	cmd := first(b, 0o111, filepath.Join(binaries(b), "agent"), server)
	cmd.Env = append(cmd.Env, agentEnv+"=ask")
	cmd.Stderr = os.Stderr
	names, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	times, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	in.Sandbox.Do(func() { err = cmd.Start() })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { names.Close(); _ = cmd.Wait() })
	return &asker{names, bufio.NewScanner(times)}
}

// ask returns how long the look-up of a name took.
func (a *asker) ask(b *testing.B, name string) time.Duration {
	if _, err := fmt.Fprintln(a.names, name); err != nil || !a.times.Scan() {
		b.Fatalf("asking for %s: %v %v", name, err, a.times.Err())
	}
	took, err := strconv.Atoi(a.times.Text())
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(took)
}

// askAgent is the asker's program.
func askAgent(server string) error {
	names := bufio.NewScanner(os.Stdin)
	for names.Scan() {
		conn, err := net.Dial("udp", server)
		if err != nil {
			return err
		}
		c := &client{conn: conn, buf: make([]byte, 4096)}
		begin := time.Now()
		err = c.ask(names.Text())
		took := time.Since(begin)
		conn.Close()
		if err != nil {
			return err
		}
		fmt.Println(took.Nanoseconds())
	}
	return nil
}

// BenchmarkDNSThroughput is eight clients that ask without a pause, one question
// at a time, or sixteen.
func BenchmarkDNSThroughput(b *testing.B) {
	var fresh atomic.Int64
	const clients = 8
	for _, kind := range []struct {
		name   string
		cached bool
		atOnce int
	}{{"cached", true, 1}, {"cached16", true, 16}, {"new", false, 1}, {"new16", false, 16}} {
		for _, c := range resolverCases(b) {
			b.Run(kind.name+"/"+c.name, func(b *testing.B) {
				in := newInternet(b)
				pid := c.start(b, in)
				var all []*client
				for range clients {
					client, err := newClient(in, c.server)
					if err == nil {
						err = client.ask("ok.test")
					}
					if err != nil {
						b.Fatal(err)
					}
					all = append(all, client)
				}
				spent := cpuOf(b, pid)
				b.ResetTimer()
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				for _, client := range all {
					wg.Go(func() {
						names := slices.Repeat([]string{"ok.test"}, kind.atOnce)
						for left.Add(-int64(kind.atOnce)) > -int64(kind.atOnce) {
							for i := range names {
								if !kind.cached {
									names[i] = freshName(int(fresh.Add(1)))
								}
							}
							if err := client.ask(names...); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
				if pid != 0 {
					b.ReportMetric(float64((cpuOf(b, pid)-spent).Nanoseconds())/1000/float64(b.N), "µs-cpu/query")
				}
			})
		}
	}
}

// cpuOf is the time that a process has had of the processors (proc_pid_stat(5),
// fields 14 and 15, in hundredths of a second).
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	if pid == 0 {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// BenchmarkConnect is a TCP connection to an address entry, which the guard
// has no part in.
func BenchmarkConnect(b *testing.B) {
	for _, filtered := range []bool{false, true} {
		b.Run(map[bool]string{false: "none", true: "sbx-init"}[filtered], func(b *testing.B) {
			in := newInternet(b)
			if filtered {
				startSidecar(b, newBox(b, in.Sandbox, `{"network": {"allow": ["`+okAddr+`:80"]}}`))
			}
			var times []time.Duration
			for b.Loop() {
				var conn net.Conn
				var err error
				var took time.Duration
				in.Sandbox.As(agentUID, func() {
					begin := time.Now()
					conn, err = net.Dial("tcp", okAddr+":80")
					took = time.Since(begin)
				})
				if err != nil {
					b.Fatal(err)
				}
				times = append(times, took)
				_ = conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
			b.ReportMetric(float64(median(times).Nanoseconds())/1000, "µs-median")
		})
	}
}

// BenchmarkReady is the sidecar's start with so many entries: until nothing
// leaves any more, by the packets of somebody who tries without a pause, and
// until it says that it is ready. No network is there to help. The processors'
// time is that of the firewall and its programs, with what starts it.
func BenchmarkReady(b *testing.B) {
	for _, backend := range []kernel.Backend{kernel.NFT, kernel.Legacy} {
		for _, entries := range []int{20, 200, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", backend, entries), func(b *testing.B) { benchmarkReady(b, backend, entries) })
		}
	}
}

func benchmarkReady(b *testing.B, backend kernel.Backend, entries int) {
	legacy := testenv.Program(b, "iptables-legacy")
	var ready, inside, closed []time.Duration
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		in := newInternet(b)
		box := newBox(b, in.Sandbox, benchPolicy(entries, 0))
		box.flags = []string{"--sidecar"}
		if backend == kernel.Legacy {
			box.inNamespace(legacy, "-t", "nat", "-L") // makes the table, as an engine does
		}
		var last atomic.Int64
		stop := make(chan struct{})
		var knocking sync.WaitGroup
		var conn net.Conn
		in.Sandbox.As(agentUID, func() { conn, _ = net.Dial("udp", netip.AddrPortFrom(netip.MustParseAddr(evilAddr), 9).String()) })
		knocking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := conn.Write([]byte("x")); err == nil {
					last.Store(time.Now().UnixNano())
				}
				time.Sleep(200 * time.Microsecond)
			}
		})
		begin := time.Now()
		b.StartTimer()
		cmd := startSidecar(b, box)
		ready = append(ready, time.Since(begin))
		b.StopTimer()
		close(stop)
		knocking.Wait()
		conn.Close()
		closed = append(closed, time.Unix(0, last.Load()).Sub(begin))
		inside = append(inside, time.Duration(box.firewallMillis)*time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		b.StartTimer()
	}
	b.ReportMetric(float64(median(ready).Microseconds())/1000, "ms-ready")
	b.ReportMetric(float64(median(closed).Microseconds())/1000, "ms-closed")
	b.ReportMetric(float64(median(inside).Microseconds())/1000, "ms-by-itself")
	b.ReportMetric(float64(slices.Min(inside).Microseconds())/1000, "ms-by-itself-fastest")
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "ms-cpu")
}

// BenchmarkMemory is what the sidecar holds with 10,000 live addresses and as
// many entries.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		in := newInternet(b)
		box := newBox(b, in.Sandbox, benchPolicy(10_000, freshZones))
		cmd := startSidecar(b, box)
		pid := sbxInitBelow(b, cmd.Process.Pid)
		before := residentKiB(b, pid)
		client, err := newClient(in, dnsAddr+":53")
		if err != nil {
			b.Fatal(err)
		}
		for i := range 10_000 {
			if err := client.ask(freshName(i)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(before)/1024, "MiB-start")
		b.ReportMetric(float64(residentKiB(b, pid))/1024, "MiB-10000-addresses")
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// sbxInitBelow is pid, which unshare and sh have become.
func sbxInitBelow(b *testing.B, pid int) int {
	b.Helper()
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || filepath.Base(exe) != "sbx-init" {
		b.Fatalf("process %d is %s (%v)", pid, exe, err)
	}
	return pid
}

func residentKiB(b *testing.B, pid int) int {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(text)[0])
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
