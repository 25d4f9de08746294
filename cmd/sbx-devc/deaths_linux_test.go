package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// deathsAsked skips tests that take minutes; see make test-deaths.
func deathsAsked(t *testing.T) {
	if os.Getenv("SBX_TEST_DEATHS") == "" {
		t.Skip("takes minutes: make test-deaths")
	}
}

// silentListener is a server that accepts and never answers; reached = somebody asks.
func silentListener(t *testing.T, network, address string) (listener net.Listener, reached func() bool) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	asked := make(chan bool, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			asked <- true
		}
	}()
	return listener, func() bool { return len(asked) > 0 }
}

// runsCommand reports whether a process of this machine, in a container or not, has these
// arguments.
func runsCommand(args ...string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && string(bytes.TrimRight(text, "\x00")) == strings.Join(args, "\x00")
	})
}

// endsInOrder expects, of a run whose program is dead, that nothing of it runs, that the
// next start removes what is left, and that the project is as the agent left it: holds is
// what git status says of it.
func (r *committing) endsInOrder(t *testing.T, holds string) {
	t.Helper()
	until(t, "the containers end", func() bool { return len(r.containers(t)) == 0 })
	if code, _, said := r.shell(t, r.project, "sbx-devc run --print </dev/null"); code != exitNoInput {
		t.Errorf("the next start ends with %d: %s", code, said)
	}
	if left := r.containers(t, "-a"); len(left) > 0 {
		t.Errorf("containers are left: %q", left)
	}
	if notes, err := filepath.Glob(filepath.Join(r.state(), "live", "*.json")); err != nil || len(notes) > 0 {
		t.Errorf("runs that go on, by their notes: %q, %v", notes, err)
	}
	if status := r.git(t, r.project, "status", "--short", "--untracked-files=all"); status != holds {
		t.Errorf("git says of the project\n%swant\n%s", status, holds)
	}
}

// hasItsCommits expects that the agent's commits are a command away.
func (r *committing) hasItsCommits(t *testing.T) {
	t.Helper()
	r.git(t, r.project, "checkout", "-q", ".")
	r.git(t, r.project, "clean", "-qf")
	if code, out, said := r.shell(t, r.project, "sbx-devc apply"); code != exitOK {
		t.Fatalf("apply ends with %d: %s%s", code, out, said)
	}
	if log := r.git(t, r.project, "log", "--all", "--format=%s"); !strings.Contains(log, "two\n") || !strings.Contains(log, "three\n") {
		t.Errorf("the commits are\n%s", log)
	}
}

// Attack: the program is killed outright at each of its phases. Nothing goes on without it,
// the next start leaves nothing behind, and no work is lost.
func TestAttackTheProgramIsKilledAtEachPhase(t *testing.T) {
	deathsAsked(t)
	kill := func(t *testing.T, r *committing) {
		t.Helper()
		if err := r.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = r.Wait()
	}
	t.Run("before the engine answers", func(t *testing.T) {
		socket := filepath.Join(t.TempDir(), "engine")
		_, reached := silentListener(t, "unix", socket)
		r := prepareCommitting(t, "true")
		real := r.Env
		r.Env = append(slices.Clone(real), "DOCKER_HOST=unix://"+socket)
		r.begin(t, "x")
		until(t, "the engine is asked", reached)
		kill(t, r)
		r.Env = real
		r.endsInOrder(t, "")
	})
	t.Run("while its image is pulled", func(t *testing.T) {
		registry, reached := silentListener(t, "tcp", "127.0.0.1:0")
		r := startCommitting(t, "true", "--image", registry.Addr().String()+"/who/ever:v1")
		until(t, "the registry is asked", reached)
		kill(t, r)
		r.endsInOrder(t, "")
	})
	t.Run("while its image is built", func(t *testing.T) {
		testenv.Root(t) // sees the processes of containers
		r := prepareCommitting(t, "true", "--trust-project")
		for name, text := range map[string]string{
			"devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}}`, "Dockerfile": "FROM debian:bookworm-slim\nRUN [\"sleep\", \"76543\"]\n",
		} {
			r.write(t, filepath.Join(".devcontainer", name), text)
		}
		r.git(t, r.project, "add", ".")
		r.git(t, r.project, "commit", "-q", "-m", "a dev container")
		r.begin(t, "x")
		until(t, "the build runs", func() bool { return runsCommand("sleep", "76543") })
		kill(t, r)
		until(t, "the build ends", func() bool { return !runsCommand("sleep", "76543") })
		r.endsInOrder(t, "")
	})
	t.Run("when the first container is made", func(t *testing.T) {
		r := startCommitting(t, "sleep 600")
		until(t, "there is a container", func() bool { return len(r.containers(t, "-a")) > 0 })
		kill(t, r)
		r.endsInOrder(t, "")
	})
	t.Run("when both run", func(t *testing.T) {
		r := startCommitting(t, "sleep 600")
		until(t, "both run", func() bool { return len(r.containers(t)) == 2 })
		kill(t, r)
		r.endsInOrder(t, "")
	})
	t.Run("at the take of the work", func(t *testing.T) {
		r := startCommitting(t, twoCommits+` && echo more >more.txt && touch committed; sleep 1`)
		until(t, "the agent has committed", func() bool { return exists(filepath.Join(r.project, "committed")) })
		until(t, "the agent ends", func() bool { return len(r.containers(t)) < 2 })
		kill(t, r)
		r.endsInOrder(t, " M sub/a.txt\n?? committed\n?? more.txt\n")
		r.hasItsCommits(t)
	})
}

// engineOnLoan is the engine behind a socket that can go away and come back.
type engineOnLoan struct {
	socket   string
	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func (e *engineOnLoan) comes(t *testing.T) {
	t.Helper()
	real, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if !ok {
		real = "/var/run/docker.sock"
	}
	listener, err := net.Listen("unix", e.socket)
	if err != nil {
		t.Fatal(err)
	}
	e.listener = listener
	go func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("unix", real)
			if err != nil {
				here.Close()
				continue
			}
			e.mu.Lock()
			e.conns = append(e.conns, here, there)
			e.mu.Unlock()
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				_ = to.(*net.UnixConn).CloseWrite()
			}
			go pass(here, there)
			go pass(there, here)
		}
	}()
}

func (e *engineOnLoan) goes() {
	_ = e.listener.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, conn := range e.conns {
		_ = conn.Close()
	}
	e.conns = nil
}

// The engine goes away in the middle of a run, as when it is restarted with its containers
// left running. The run ends by itself and says so, its containers end without anybody, and
// when the engine is back nothing is left and nothing is lost.
func TestTheEngineGoesAwayInTheMiddleOfARun(t *testing.T) {
	deathsAsked(t)
	e := &engineOnLoan{socket: filepath.Join(t.TempDir(), "engine")}
	e.comes(t)
	defer e.goes()
	r := prepareCommitting(t, twoCommits+` && touch committed; sleep 600`)
	r.Env = append(r.Env, "DOCKER_HOST=unix://"+e.socket)
	r.begin(t, "x")
	until(t, "the agent has committed", func() bool { return exists(filepath.Join(r.project, "committed")) })
	e.goes()
	if code := endOf(t, r.programRun); code != exitInternal && code != exitUnavailable {
		t.Errorf("it ends with %d: %s", code, r.said(t))
	}
	if said := r.said(t); !strings.Contains(said, "sbx-devc: error: ") {
		t.Errorf("it says %s", said)
	}
	until(t, "the containers end", func() bool { return len(r.containers(t)) == 0 })
	e.comes(t)
	r.endsInOrder(t, " M sub/a.txt\n?? committed\n")
	r.hasItsCommits(t)
}

// The disk of the state folder is full. Without room for its records a run does not start.
// When it fills up later, the run says what it could not write, the agent's work stays, and
// its commits are taken when there is room.
func TestTheStateFolderIsFull(t *testing.T) {
	deathsAsked(t)
	testenv.Root(t)
	onDisk := func(t *testing.T, size, command string, args ...string) (*committing, string) {
		t.Helper()
		state := t.TempDir()
		if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size="+size+",mode=700"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(state, syscall.MNT_DETACH) })
		r := prepareCommitting(t, command, args...)
		r.Env = append(slices.DeleteFunc(r.Env, func(v string) bool { return strings.HasPrefix(v, "XDG_STATE_HOME=") }), "XDG_STATE_HOME="+state)
		r.begin(t, "x")
		return r, state
	}
	t.Run("at the start", func(t *testing.T) {
		r, _ := onDisk(t, "4k", "touch more.txt")
		if code, said := endOf(t, r.programRun), r.said(t); code != exitCantWrite && code != exitInternal ||
			!strings.Contains(said, "no space left on device") {
			t.Errorf("it ends with %d: %s", code, said)
		}
		r.endsInOrder(t, "")
	})
	t.Run("in the middle", func(t *testing.T) {
		r, state := onDisk(t, "1m", twoCommits+` && touch committed; until [ -e full ]; do sleep 0.1; done; echo more >more.txt`)
		until(t, "the agent has committed", func() bool { return exists(filepath.Join(r.project, "committed")) })
		filler := filepath.Join(state, "filler")
		if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		r.write(t, "full", "")
		code, said := endOf(t, r.programRun), r.said(t)
		if code != exitCantWrite || !strings.Contains(said, "no space left on device") ||
			!strings.Contains(said, "error: not all that the run did could be kept: ") {
			t.Errorf("it ends with %d: %s", code, said)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		r.endsInOrder(t, " M sub/a.txt\n?? committed\n?? full\n?? more.txt\n")
		r.hasItsCommits(t)
	})
	t.Run("with a copy in it", func(t *testing.T) {
		r, state := onDisk(t, "1m", `echo two >>sub/a.txt; until [ -e full ]; do sleep 0.1; done`, "--workspace", "copy")
		at := filepath.Join(state, "sbx-devc", "runs", "*", "tree", "sub", "a.txt")
		until(t, "the agent has written", func() bool {
			found, _ := filepath.Glob(at)
			text := []byte(nil)
			if len(found) == 1 {
				text, _ = os.ReadFile(found[0])
			}
			return string(text) == "one\ntwo\n"
		})
		found, _ := filepath.Glob(at)
		filler := filepath.Join(state, "filler")
		if err := os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(found[0])), "full"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		code, said := endOf(t, r.programRun), r.said(t)
		if code != exitCantWrite || !strings.Contains(said, "no space left on device") {
			t.Errorf("it ends with %d: %s", code, said)
		}
		if code, out, said := r.shell(t, r.project, "sbx-devc apply"); code != exitCantWrite {
			t.Errorf("apply without room ends with %d: %s%s", code, out, said)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		r.endsInOrder(t, "")
		if code, out, said := r.shell(t, r.project, "sbx-devc apply"); code != exitOK {
			t.Errorf("apply ends with %d: %s%s", code, out, said)
		}
		if status := r.git(t, r.project, "status", "--short", "--untracked-files=all"); status != " M sub/a.txt\n?? full\n" {
			t.Errorf("the project has\n%s", status)
		}
	})
}
