package owner

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/kernel"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// agentUID is the unprivileged user of these tests. It need not exist.
const agentUID = 54321

// connection is a TCP connection on loopback whose client is held by another
// process alone.
type connection struct {
	local, remote netip.AddrPort
	holder        *exec.Cmd
}

// heldBy starts program as the user uid with a connection's socket in its hands.
func heldBy(t testing.TB, program string, uid int) *connection {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := &connection{remote: l.Addr().(*net.TCPAddr).AddrPort(), holder: exec.Command(program, "60")}
	// The socket is made by that user: it is his in the kernel's eyes.
	var conn net.Conn
	dial := func() { conn, err = net.Dial("tcp", l.Addr().String()) }
	if uid == os.Getuid() {
		dial()
	} else {
		asUser(t, uid, dial)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	c.local = conn.LocalAddr().(*net.TCPAddr).AddrPort()
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.holder.ExtraFiles = []*os.File{file}
	if uid != os.Getuid() {
		c.holder.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	if err := c.holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.holder.Process.Kill(); _ = c.holder.Wait() })
	return c
}

func (c *connection) record(layer audit.Layer, verdict firewall.Verdict) *audit.Record {
	return &audit.Record{
		Verdict: verdict, Layer: layer, Dst: c.remote.Addr().String(), Port: c.remote.Port(), Proto: firewall.TCP,
		Src: c.local, SrcProto: firewall.TCP,
	}
}

func lookup(t testing.TB, environ ...string) *Lookup {
	t.Helper()
	l, err := New(nil, environ)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func searching(t testing.TB, uid int) *Lookup {
	t.Helper()
	l := lookup(t, "SESSION_TOKEN=verysecretword")
	if err := l.SearchAs(uid, uid); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLookupNamesTheProcessThatHoldsTheSocket(t *testing.T) {
	sleep := testenv.Program(t, "sleep")
	c := heldBy(t, sleep, os.Getuid())
	l := lookup(t)
	if l.FindsProcesses() {
		t.Error("it finds processes before anybody said whose")
	}
	r := c.record(audit.LayerHTTP, firewall.Deny)
	if l.Complete(r); r.PID != 0 || r.UID == nil || *r.UID != os.Getuid() {
		t.Errorf("without a search: %+v, want the user alone", r)
	}
	l = searching(t, os.Getuid())
	exe, err := filepath.EvalSymlinks(sleep)
	if err != nil {
		t.Fatal(err)
	}
	mustName(t, l, c, exe)
	// An allowed destination is looked for once.
	r = c.record(audit.LayerHTTP, firewall.Allow)
	l.Complete(r)
	again := c.record(audit.LayerHTTP, firewall.Allow)
	if l.Complete(again); again.UID != nil || again.PID != 0 {
		t.Errorf("looked for twice: %+v", again)
	}
}

// mustName tries for a while: a search gives up after 20 ms, which on a busy
// machine is soon.
func mustName(t *testing.T, l *Lookup, c *connection, exe string) {
	t.Helper()
	var r *audit.Record
	for range 50 {
		r = c.record(audit.LayerHTTP, firewall.Deny)
		if l.Complete(r); r.PID != 0 {
			break
		}
		l.second = time.Time{}
	}
	if r.PID != c.holder.Process.Pid || r.Exe != exe || !strings.HasSuffix(r.Cmd, "sleep 60") {
		t.Errorf("found %+v, want process %d, %s", r, c.holder.Process.Pid, exe)
	}
}

// A process whose program cannot be read hides its sockets from its own user. It
// is not named, even where no other process can be meant.
func TestAProcessThatHidesIsNotNamed(t *testing.T) {
	testenv.Root(t)
	program, err := os.ReadFile(testenv.Program(t, "sleep"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "owner-test-") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	hidden, shown := filepath.Join(dir, "hidden", "sleep"), filepath.Join(dir, "shown", "sleep")
	for file, mode := range map[string]os.FileMode{hidden: 0o111, shown: 0o755} {
		if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, program, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l := searching(t, agentUID)
	mustName(t, l, heldBy(t, shown, agentUID), shown)
	c := heldBy(t, hidden, agentUID)
	for range 5 {
		r := c.record(audit.LayerHTTP, firewall.Deny)
		if l.Complete(r); r.PID != 0 || r.Exe != "" || r.Cmd != "" || r.UID == nil || *r.UID != agentUID {
			t.Errorf("recorded %+v, want the user alone", r)
		}
	}
}

// asUser runs f on a thread that opens sockets as the user.
func asUser(t testing.TB, uid int, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its ids
		err := setFileIDs(uid, uid)
		f()
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// The process of a held packet is remembered until its refusal is recorded,
// when it may have ended.
func TestTheProcessOfAHeldPacketIsRemembered(t *testing.T) {
	sleep := testenv.Program(t, "sleep")
	c := heldBy(t, sleep, os.Getuid())
	l := searching(t, os.Getuid())
	for range 50 {
		l.second = time.Time{}
		if l.Hold(c.local, c.remote); len(l.held) > 0 {
			break
		}
	}
	pid := c.holder.Process.Pid
	_ = c.holder.Process.Kill()
	_ = c.holder.Wait()
	r := c.record(audit.LayerIP, firewall.Deny)
	if l.Complete(r); r.PID != pid {
		t.Errorf("recorded %+v, want process %d", r, pid)
	}
	if len(l.held) > 0 {
		t.Errorf("it is remembered although it is on record: %+v", l.held)
	}
	l.held[flow{c.local, c.remote}] = heldProcess{Process{PID: pid}, time.Now().Add(-2 * rememberHeld)}
	r = c.record(audit.LayerIP, firewall.Deny)
	if l.Complete(r); r.PID != 0 {
		t.Errorf("recorded %+v long after it was held", r)
	}
}

// eventually waits for something that another goroutine does.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not happen: %s", what)
		}
	}
}

// Attack: another process answers in our place. An answer may say nothing but
// which process holds the socket, speak for no other user, and keep the firewall
// waiting for no longer than its limit.
func TestAttackAnswersThatAreNone(t *testing.T) {
	testenv.Root(t)
	in := netnstest.New(t)
	answers := map[string]struct {
		say  func(number uint64) []byte
		want Process
	}{
		"an answer": {func(n uint64) []byte { return fmt.Appendf(nil, `{"number":%d,"pid":7,"exe":"/bin/x","cmd":"x y"}`, n) },
			Process{PID: 7, Exe: "/bin/x", Cmd: "x y"}},
		"a long name": {func(n uint64) []byte {
			return fmt.Appendf(nil, `{"number":%d,"pid":7,"exe":%q,"cmd":%q}`, n, strings.Repeat("e", 1000), strings.Repeat("c", 1000))
		}, Process{PID: 7, Exe: strings.Repeat("e", maxExe), Cmd: strings.Repeat("c", maxCmd)}},
		"a megabyte": {func(n uint64) []byte {
			return fmt.Appendf(nil, `{"number":%d,"pid":7,"cmd":%q}`, n, strings.Repeat("c", 100<<10))
		}, Process{}},
		"nothing":             {func(uint64) []byte { return []byte{} }, Process{}},
		"silence":             {func(uint64) []byte { return nil }, Process{}},
		"no JSON":             {func(uint64) []byte { return []byte("\x00\xff{{{") }, Process{}},
		"another question's":  {func(n uint64) []byte { return fmt.Appendf(nil, `{"number":%d,"pid":7}`, n+1) }, Process{}},
		"a late one":          {func(n uint64) []byte { return fmt.Appendf(nil, `{"number":%d,"pid":7}`, n-1) }, Process{}},
		"a negative process":  {func(n uint64) []byte { return fmt.Appendf(nil, `{"number":%d,"pid":-7}`, n) }, Process{}},
		"a process too great": {func(n uint64) []byte { return fmt.Appendf(nil, `{"number":%d,"pid":99999999}`, n) }, Process{}},
		"a name of nobody":    {func(n uint64) []byte { return fmt.Appendf(nil, `{"number":%d,"exe":"/bin/x"}`, n) }, Process{}},
		"other fields": {func(n uint64) []byte {
			return fmt.Appendf(nil, `{"number":%d,"pid":7,"verdict":"allow","rule":"*"}`, n)
		}, Process{}},
	}
	serve := func(uid int, say func(uint64) []byte) func() {
		var l *net.UnixListener
		var err error
		in.Sandbox.As(uid, func() {
			l, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: lookupSocket, Net: "unixpacket"})
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				conn, err := l.AcceptUnix()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					q := make([]byte, questionSize)
					for {
						if n, err := conn.Read(q); err != nil || n != questionSize {
							return
						}
						if text := say(binary.BigEndian.Uint64(q)); text != nil {
							if _, err := conn.Write(text); err != nil {
								return
							}
						}
					}
				}()
			}
		}()
		return func() { l.Close() }
	}
	ask := func(c *client, uid int) (p Process) {
		in.Sandbox.Do(func() { p = c.find(kernel.Socket{UID: uid, Inode: 4711}) })
		c.until = time.Time{}
		return p
	}
	for name, tt := range answers {
		end := serve(agentUID, tt.say)
		c := &client{}
		for range 3 {
			// An answer may be late on a busy machine, and then there is none.
			if got := ask(c, agentUID); got != tt.want && got != (Process{}) {
				t.Errorf("%s: %+v, want %+v", name, got, tt.want)
			} else if tt.want != (Process{}) && got == (Process{}) {
				eventually(t, name, func() bool { return ask(c, agentUID) == tt.want })
			}
		}
		if got := ask(c, agentUID+1); got != (Process{}) {
			t.Errorf("%s, for another user's socket: %+v", name, got)
		}
		end()
	}
	end := serve(0, answers["an answer"].say)
	if got := ask(&client{}, 0); got != (Process{}) {
		t.Errorf("an answer of root's: %+v", got)
	}
	end()
	if got := ask(&client{}, agentUID); got != (Process{}) {
		t.Errorf("without anybody: %+v", got)
	}
}

// FuzzAnswer holds that what comes over the channel is bounded, whatever it is.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"number":1,"pid":7,"exe":"/bin/x","cmd":"x y"}`))
	f.Add([]byte(`{"number":18446744073709551615,"PID":7,"exe":"` + strings.Repeat("\xff", 300) + `"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parseAnswer(text)
		if err != nil && a != (answer{}) || a.PID < 0 || a.PID > maxPID || len(a.Exe) > maxExe || len(a.Cmd) > maxCmd || a.PID == 0 &&
			a.Process != (Process{}) {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
	})
}

// The cost of asking the agent's container, beside the search itself.
func BenchmarkAskingTheFirstProcess(b *testing.B) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	var conns [2]*net.UnixConn
	for i, fd := range ends {
		file := os.NewFile(uintptr(fd), "pair")
		conn, err := net.FileConn(file)
		file.Close()
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = conn.(*net.UnixConn)
		defer conns[i].Close()
	}
	holder := exec.Command("sleep", "60")
	if err := holder.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	s := &scanner{uid: os.Getuid(), redact: redact.New(redact.Options{Patterns: true})}
	go answerQuestions(conns[1], func(uint64) Process { return s.describe(holder.Process.Pid) })
	c := &client{conn: conns[0], uid: agentUID}
	for b.Loop() {
		if p := c.find(kernel.Socket{UID: agentUID, Inode: 1}); p.PID == 0 {
			b.Fatal("no answer")
		}
	}
}

// The cost of the search for a process by its socket.
func BenchmarkLookup(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	local, remote := conn.LocalAddr().(*net.TCPAddr).AddrPort(), l.Addr().(*net.TCPAddr).AddrPort()
	sockets := lookup(b).sockets
	s, ok := sockets.Find(firewall.TCP, local, remote)
	if listed, found := listedSocket(firewall.TCP, local); !ok || !found || s != listed || s.UID != os.Getuid() {
		b.Fatalf("%+v %v, listed %+v %v", s, ok, listed, found)
	}
	b.Run("connected socket", func(b *testing.B) {
		for b.Loop() {
			sockets.Find(firewall.TCP, local, remote)
		}
	})
	asking, err := net.Dial("udp", "127.0.0.1:53")
	if err != nil {
		b.Fatal(err)
	}
	defer asking.Close()
	from := asking.LocalAddr().(*net.UDPAddr).AddrPort()
	u, ok := sockets.Find(firewall.UDP, from, netip.MustParseAddrPort("127.0.0.1:53"))
	if listed, found := listedSocket(firewall.UDP, from); !ok || !found || u != listed || u.UID != os.Getuid() {
		b.Fatalf("%+v %v, listed %+v %v", u, ok, listed, found)
	}
	b.Run("connected UDP socket", func(b *testing.B) {
		for b.Loop() {
			sockets.Find(firewall.UDP, from, netip.MustParseAddrPort("127.0.0.1:53"))
		}
	})
	b.Run("listed UDP socket", func(b *testing.B) {
		for b.Loop() {
			listedSocket(firewall.UDP, from)
		}
	})
	b.Run("listed socket", func(b *testing.B) {
		for b.Loop() {
			listedSocket(firewall.TCP, local)
		}
	})
	// The scanner passes its own process over, so another one holds a socket.
	holder := exec.Command("sleep", "60")
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	holder.ExtraFiles = []*os.File{file}
	if err := holder.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	inode, nothing := s.Inode, redact.New(redact.Options{})
	known := &scanner{uid: os.Getuid(), redact: nothing}
	if o := known.find(inode); o.PID != holder.Process.Pid {
		b.Fatalf("found %+v, want process %d", o, holder.Process.Pid)
	}
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			(&scanner{uid: os.Getuid(), redact: nothing}).find(inode)
		}
	})
	b.Run("process found lately", func(b *testing.B) {
		for b.Loop() {
			known.find(inode)
		}
	})
}
