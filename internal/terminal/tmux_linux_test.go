package terminal

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// onTerminal is a supervisor on a shell's terminal: its program writes what a file holds,
// and the Client, another process, leaves in one way when a key comes.
func onTerminal(way, file string) error {
	program, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if way == "without" {
		_, err := os.Stdout.Write(program)
		return err
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "client")
	ours := os.NewFile(uintptr(pair[0]), "supervisor")
	conn, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		return err
	}
	client := exec.Command(os.Args[0], "client")
	client.Stdin, client.Stdout, client.Stderr, client.ExtraFiles = os.Stdin, os.Stdout, os.Stderr, []*os.File{theirs}
	if err := client.Start(); err != nil {
		return err
	}
	_ = theirs.Close()
	s := NewServer()
	s.Suspends = true
	rescue, rescued := Rescue(os.Stdin, os.Stdout), make(chan bool, 1)
	s.Serve(conn, func(undo string) {
		rescue(undo)
		rescued <- true
	})
	s.Begin()
	_, _ = s.Write(program)
	_, _ = s.Write([]byte("\r\nSHOWN"))
	go func() {
		if n, _ := s.Read(make([]byte, 1)); n == 0 {
			return
		}
		switch way {
		case "ends":
			s.Close(0)
		case "lost":
			_ = conn.Close()
		case "taken":
			_, other := net.Pipe()
			s.Serve(other, nil)
		case "killed":
			_ = client.Process.Kill()
		case "panics":
			_ = client.Process.Signal(syscall.SIGQUIT)
		}
	}()
	_ = client.Wait()
	if way == "killed" || way == "panics" {
		<-rescued
	}
	return nil
}

// asClient is the Client's process.
func asClient() error {
	conn, err := net.FileConn(os.NewFile(3, "supervisor"))
	if err == nil {
		(&Client{In: os.Stdin, Out: os.Stdout, Words: os.Stderr}).Run(conn)
	}
	return err
}

// terminalFlags is the state of a terminal as tmux tells it.
const terminalFlags = "#{alternate_on} #{cursor_flag} #{insert_flag} #{keypad_cursor_flag} #{keypad_flag} " +
	"#{mouse_any_flag} #{mouse_sgr_flag} #{mouse_utf8_flag} #{origin_flag} #{wrap_flag} " +
	"#{scroll_region_upper}-#{scroll_region_lower} #{pane_tabs}"

// A real terminal is as it was before on every way out, after a program that has changed
// all of it: its flags, its line discipline, letters and alphabet. Without the Client
// every second flag differs.
func TestAttackAStateOutlivesTheProgramInTmux(t *testing.T) {
	t.Parallel()
	tmux, dir := testenv.Program(t, "tmux"), t.TempDir()
	file, shown := filepath.Join(dir, "program"), filepath.Join(dir, "state")
	program := ""
	for _, name := range slices.Sorted(maps.Keys(outliving)) {
		program += outliving[name]
	}
	if err := os.WriteFile(file, []byte(program+outliving["the alphabet"]+outliving["hidden letters"]), 0o600); err != nil {
		t.Fatal(err)
	}
	for way, keys := range map[string][]string{
		"without": nil, "ends": {"x"}, "lost": {"x"}, "taken": {"x"}, "killed": {"x"}, "panics": {"x"},
		"detaches": {"C-p", "C-q"}, "suspends": {"C-z"},
	} {
		t.Run(way, func(t *testing.T) {
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.Command(tmux, append([]string{"-S", filepath.Join(dir, way), "-f", "/dev/null"}, args...)...)
				cmd.Env = append(os.Environ(), "TERM=xterm", "LC_ALL=C.UTF-8")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("tmux %v: %v: %s", args, err, out)
				}
				return string(out)
			}
			until := func(what string, is func() bool) {
				t.Helper()
				for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("%s does not come:\n%s", what, run("capture-pane", "-p"))
					}
				}
			}
			run("new-session", "-d", "-x", "100", "-y", "24", "env PS1='$ ' bash --norc --noprofile -i")
			t.Cleanup(func() { _ = exec.Command(tmux, "-S", filepath.Join(dir, way), "kill-server").Run() })
			state := func(n string) string {
				name := shown + way + n
				run("send-keys", "clear; stty -a > "+name+"; printf '\\r\\nlq%s\\n' k; echo done >> "+name, "Enter")
				until("the state", func() bool { text, _ := os.ReadFile(name); return strings.HasSuffix(string(text), "done\n") })
				line := ""
				until("a line", func() bool {
					for l := range strings.Lines(run("capture-pane", "-p", "-e")) {
						if !strings.Contains(l, "printf") && strings.Contains(l, "lqk") || strings.Contains(l, "┌") || strings.Contains(l, "\x0e") {
							line = l
						}
					}
					return line != "" || way == "without"
				})
				text, _ := os.ReadFile(name)
				return run("display-message", "-p", terminalFlags) + line + string(text)
			}
			before := state("before")
			run("send-keys", fmt.Sprintf("%s terminal %q %s", os.Args[0], way, file), "Enter")
			if way != "without" {
				until("the program", func() bool { return strings.Contains(run("capture-pane", "-p"), "SHOWN") })
				if during := run("display-message", "-p", terminalFlags); strings.HasPrefix(before, during) {
					t.Errorf("the program changes nothing: %s", during)
				}
				run(append([]string{"send-keys"}, keys...)...)
			}
			until("the end", func() bool {
				return strings.TrimSpace(run("display-message", "-p", "#{pane_current_command}")) == "bash"
			})
			if after := state("after"); (after == before) != (way != "without") {
				t.Errorf("before\n%safter\n%s", before, after)
			}
		})
	}
}
