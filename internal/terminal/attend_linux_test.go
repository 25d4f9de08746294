package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the program that attends, the one that Attend starts, a supervisor and its
// Client.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "attend":
		code, err := Attend(os.Stdin, append([]string{"self", "become"}, os.Args[3:]...), os.Args[2] == "tty")
		if err != nil {
			fmt.Println(err)
		}
		os.Exit(code)
	case len(os.Args) == 4 && os.Args[1] == "terminal":
		if err := onTerminal(os.Args[2], os.Args[3]); err != nil {
			fmt.Println(err)
		}
		os.Exit(0)
	case len(os.Args) == 2 && os.Args[1] == "client":
		if err := asClient(); err != nil {
			fmt.Println(err)
		}
		os.Exit(0)
	case len(os.Args) > 2 && os.Args[1] == "become":
		path, err := exec.LookPath(os.Args[2])
		if err == nil {
			err = syscall.Exec(path, os.Args[2:], os.Environ())
		}
		fmt.Println(err)
		os.Exit(127)
	}
	os.Exit(m.Run())
}

// attended is a program that Attend runs in another process.
func attended(t *testing.T, mode string, command ...string) (cmd *exec.Cmd, in io.WriteCloser, remote *Remote, out *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(os.Args[0], append([]string{"attend", mode}, command...)...)
	out = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, in, NewRemote(in), out
}

func TestAttendPassesStreamsSizesAndCodes(t *testing.T) {
	cmd, _, remote, out := attended(t, "pipes", "sh", "-c", "cat; exit 4")
	_, _ = remote.Write([]byte("some words"))
	_ = remote.CloseInput()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 4 || out.String() != "some words" {
		t.Errorf("%d %q", code, out)
	}
	cmd, _, remote, out = attended(t, "tty", "sh", "-c",
		"until stty size | grep '33 77'; do sleep 0.01; done; read x; test -t 0 && echo \"<$x>\"; kill -TERM $$")
	_ = remote.Resize(Size{77, 33})
	_, _ = remote.Write([]byte("typed\r"))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+15 || !strings.Contains(out.String(), "33 77") ||
		!strings.Contains(out.String(), "<typed>") {
		t.Errorf("%d %q", code, out)
	}
}

// A program ends with its caller, with what it has started, also when it ignores the
// signal that says so.
func TestAttendDoesNotOutliveItsCaller(t *testing.T) {
	for _, mode := range []string{"tty", "pipes"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "attend", mode, "sh", "-c", "trap '' HUP; sleep 1000 & echo $$ $! >&3; wait; sleep 1000")
		cmd.ExtraFiles = []*os.File{w}
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		_ = in.Close()
		_ = cmd.Wait()
		for word := range strings.FieldsSeq(string(buf[:n])) {
			pid, _ := strconv.Atoi(word)
			for deadline := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%s: process %d lives", mode, pid)
				}
			}
		}
	}
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
