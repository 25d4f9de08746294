package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// BenchmarkKeystroke is a key's way to a program in the sandbox and back to the
// screen: over a run's terminal, and over the engine's own to the same container.
func BenchmarkKeystroke(b *testing.B) {
	r := runProgram(b, nil)
	r.Args = []string{r.Path, "run", "--shell", "--no-cache"}
	ours := newTypist(b, r.Cmd)
	ours.until("agent@")
	ids := r.containers(b, "--filter", "label="+runplan.LabelRole+"=agent")
	if len(ids) != 1 {
		b.Fatalf("the agent's containers are %q", ids)
	}
	peer := newTypist(b, exec.Command("docker", "exec", "-it", ids[0], "sh"))
	peer.until("$ ")
	typists := []*typist{ours, peer}
	times := make([][]time.Duration, len(typists))
	for _, t := range typists {
		t.press("stty raw -echo; echo it is re''ady; exec cat\r")
		t.until("it is ready")
	}
	for b.Loop() {
		for i, t := range typists {
			time.Sleep(5 * time.Millisecond) // nobody types faster
			begin := time.Now()
			t.press("x")
			t.until("x")
			times[i] = append(times[i], time.Since(begin))
		}
	}
	for i, name := range []string{"µs-run", "µs-docker-exec"} {
		slices.Sort(times[i])
		b.ReportMetric(float64(times[i][len(times[i])/2].Nanoseconds())/1000, name)
	}
}

// typist is a person at the terminal of a program.
type typist struct {
	b        *testing.B
	terminal *os.File
	shown    []byte
}

// newTypist starts a program on a terminal of its own.
func newTypist(b *testing.B, cmd *exec.Cmd) *typist {
	master, terminal := testenv.Terminal(b)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	terminal.Close()
	late := time.AfterFunc(time.Minute, func() { master.Close() })
	b.Cleanup(func() {
		late.Stop()
		master.Close() // the line is lost
		_ = cmd.Wait()
	})
	return &typist{b: b, terminal: master}
}

func (t *typist) press(keys string) {
	if _, err := io.WriteString(t.terminal, keys); err != nil {
		t.b.Fatal(err)
	}
}

// until reads until a text is on the screen.
func (t *typist) until(text string) {
	buf := make([]byte, 4096)
	for !bytes.Contains(t.shown, []byte(text)) {
		n, err := t.terminal.Read(buf)
		if err != nil {
			t.b.Fatalf("waiting for %q: %v after %q", text, err, t.shown)
		}
		t.shown = append(t.shown, buf[:n]...)
	}
	t.shown = t.shown[:0]
}

// BenchmarkRunMemory is the most memory that a process of ours has on the host
// during a run: without a terminal, and on one, where the client and the supervisor
// are two processes.
func BenchmarkRunMemory(b *testing.B) {
	for _, onTerminal := range []bool{false, true} {
		b.Run(map[bool]string{false: "headless", true: "terminal"}[onTerminal], func(b *testing.B) {
			most := map[int]int{}
			for b.Loop() {
				clear(most)
				r := runProgram(b, []string{scripted(b, "seq 1000")}, "--no-cache")
				if onTerminal {
					r.Args = []string{r.Path, "run", "--shell", "--no-cache"}
					t := newTypist(b, r.Cmd)
					t.until("agent@")
					t.press("seq 100000; echo it is re''ady\r")
					t.until("it is ready")
					noteMemory(most, r.Process.Pid, r.Path)
					t.press("exit\r")
				} else {
					r.begin(b, "work")
				}
				ended := make(chan struct{})
				go func() {
					_ = r.Wait()
					close(ended)
				}()
				for going := true; going; {
					select {
					case <-ended:
						going = false
					case <-time.After(2 * time.Millisecond):
						noteMemory(most, r.Process.Pid, r.Path)
					}
				}
			}
			largest := 0
			for _, kib := range most {
				largest = max(largest, kib)
			}
			b.ReportMetric(float64(largest)/1024, "MiB-largest")
			b.ReportMetric(float64(len(most)), "processes")
		})
	}
}

// noteMemory keeps in most how much memory, in KiB, a process and those below it that
// run a program had at a time.
func noteMemory(most map[int]int, pid int, program string) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if exe, _ := os.Readlink(filepath.Join(dir, "exe")); exe == program {
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		for line := range strings.Lines(string(status)) {
			if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kib, _ := strconv.Atoi(strings.Fields(text)[0])
				most[pid] = max(most[pid], kib)
			}
		}
	}
	tasks, _ := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for child := range strings.FieldsSeq(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				noteMemory(most, n, program)
			}
		}
	}
}
