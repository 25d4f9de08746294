package control

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/netnstest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

func refuse(err error) Response { return Response{Code: 70, Stderr: err.Error()} }

// serve answers at a path below a folder that everybody can enter.
func serve(t *testing.T, handle func(Request) Response) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "control-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = Path(filepath.Join(dir, "log", "audit.jsonl"), true)
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go Serve(l, handle, refuse)
	return path
}

func TestRootsCommandsAreHandledOneAtATime(t *testing.T) {
	testenv.Root(t)
	var now, most atomic.Int32
	path := serve(t, func(r Request) Response {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		return Response{Code: 3, Stdout: "did " + r.Command, Stderr: "said"}
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if r, err := Call(path, Request{Command: "reload"}); err != nil || r != (Response{3, "did reload", "said"}) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d commands at a time", most.Load())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v, %v", info.Mode(), err)
	}
	if found := Find(filepath.Join(filepath.Dir(filepath.Dir(path)), "log", "audit.jsonl")); found != path {
		t.Errorf("found %s, want %s", found, path)
	}
}

// Attack: the agent speaks to the firewall, also where the modes of the socket
// and its folder have been opened.
func TestAttackAnotherUserSpeaks(t *testing.T) {
	testenv.Root(t)
	path := serve(t, func(Request) Response { return Response{Stdout: "handled"} })
	as := netnstest.New(t).Sandbox
	call := func() (r Response, err error) {
		as.As(54321, func() { r, err = Call(path, Request{Command: "reload"}) })
		return r, err
	}
	if r, err := call(); err == nil || diag.HintOf(err) == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := errors.Join(os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755), os.Chmod(filepath.Dir(path), 0o755),
		os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	if r, err := call(); err != nil || r.Code != 70 || r.Stdout != "" || !strings.Contains(r.Stderr, "user 54321 is not root") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRequestsThatAreNone(t *testing.T) {
	testenv.Root(t)
	path := serve(t, func(Request) Response { return Response{Stdout: "handled"} })
	for _, text := range []string{"", "x\n", `{"command":"` + strings.Repeat("x", 2*maxRequestBytes) + `"}`} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.UnixConn).CloseWrite()
		if got, _ := io.ReadAll(conn); strings.Contains(string(got), "handled") {
			t.Errorf("%.20q: %s", text, got)
		}
		conn.Close()
	}
}

func TestCallWithoutAFirewall(t *testing.T) {
	dir := t.TempDir()
	path := Path(filepath.Join(dir, "audit.jsonl"), false)
	if _, err := Call(path, Request{Command: "status"}); err == nil || diag.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if found := Find(filepath.Join(dir, "audit.jsonl")); found != path {
		t.Errorf("found %s, want %s", found, path)
	}
	// A socket that a firewall has left is replaced.
	for range 2 {
		l, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
	}
	if _, err := Call(path, Request{Command: "status"}); err == nil || !strings.Contains(err.Error(), "no firewall answers") {
		t.Errorf("%v", err)
	}
}

// A command that goes on keeps its connection, and every byte behind the response; a
// user who is not root gets no such connection.
func TestAttackAnotherUserKeepsTheConnection(t *testing.T) {
	testenv.Root(t)
	path := serve(t, func(r Request) Response {
		r.Keep(func(c net.Conn) {
			defer c.Close()
			_, _ = io.WriteString(c, "kept")
			_, _ = io.CopyN(c, c, 4)
		})
		return Response{Stdout: r.Command}
	})
	r, conn, err := Open(path, Request{Command: "keys"})
	if err != nil || r.Stdout != "keys" {
		t.Fatal(r, err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "echo")
	if got, err := io.ReadAll(conn); string(got) != "keptecho" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := errors.Join(os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755), os.Chmod(filepath.Dir(path), 0o755),
		os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	netnstest.New(t).Sandbox.As(54321, func() {
		r, conn, err := Open(path, Request{Command: "keys"})
		if err != nil || r.Code != 70 {
			t.Errorf("%+v, %v", r, err)
			return
		}
		defer conn.Close()
		if got, _ := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("it hears %q", got)
		}
	})
}
