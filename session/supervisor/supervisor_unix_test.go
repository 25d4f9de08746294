//go:build unix

package supervisor

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/terminal"
)

// part makes this program a supervisor, which does one of these parts.
const part = "SBX_TEST_PART"

func TestMain(m *testing.M) {
	if what := os.Getenv(part); what != "" {
		supervise(what)
	}
	os.Exit(m.Run())
}

// supervise is a run without containers.
func supervise(what string) {
	last := os.Args[len(os.Args)-1]
	descriptor, err := strconv.Atoi(strings.TrimPrefix(last, "--"+Flag+"="))
	if err != nil || what == "refuses" {
		os.Exit(78)
	}
	run, err := Join(Options{Run: "r-1", Descriptor: descriptor})
	if err != nil {
		os.Exit(exitcode.Internal)
	}
	switch what {
	case "ends":
		fmt.Fprintln(run.Words(), "working")
		run.Leave(7, func(w io.Writer) { fmt.Fprintln(w, "the last words") })
	case "dies":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "goes on":
		run.Begin()
		fmt.Fprintln(os.NewFile(4, "done"), "joined")
		_, _ = io.ReadAll(os.NewFile(5, "until"))
		run.Leave(0, nil)
	}
	os.Exit(0)
}

func startPart(t *testing.T, what string, files ...*os.File) *Process {
	t.Helper()
	p, err := Start(os.Args[0], nil, append(os.Environ(), part+"="+what), func(cmd *exec.Cmd) (func(), error) {
		cmd.ExtraFiles = append(cmd.ExtraFiles, files...)
		cmd.Stdout, cmd.Stderr = nil, nil
		return func() {}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheExitCodeIsTheRuns(t *testing.T) {
	for what, want := range map[string]struct {
		code  int
		words string
		err   string
	}{
		"ends":    {7, "working\nthe last words\n", ""},
		"refuses": {78, "", ""},
		"dies":    {exitcode.Internal, "", "ended by a signal: killed"},
	} {
		var words bytes.Buffer
		err := startPart(t, what).Follow(&terminal.Client{Words: &words})
		code, show := exitcode.Of(err, 1)
		if code != want.code || words.String() != want.words || (show == nil) != (want.err == "") {
			t.Errorf("%s: code %d, %v, words %q", what, code, show, &words)
		}
		if show != nil && !strings.Contains(show.Error(), want.err) {
			t.Errorf("%s: %v", what, show)
		}
	}
}

func TestARunGoesOnWithoutItsFirstProcess(t *testing.T) {
	joined, done, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	until, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := startPart(t, "goes on", done, until)
	var words bytes.Buffer
	if err := p.Follow(&terminal.Client{Words: &words, Detach: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(words.String(), "the run r-1 goes on; to see it: sbx-devc logs -f r-1, to end it: sbx-devc stop r-1") {
		t.Errorf("%q", &words)
	}
	if err := done.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(io.LimitReader(joined, 6)); err != nil || string(text) != "joined" {
		t.Errorf("%q %v", text, err)
	}
	if err := release.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAnotherTerminalTakesTheRun(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "made", "run")
	ours, theirs := net.Pipe()
	run := &Run{Server: terminal.NewServer(), left: make(chan struct{})}
	close(run.left)
	run.Serve(theirs, nil)
	if err := run.Listen(socket); err != nil {
		t.Fatal(err)
	}
	if stat, err := os.Stat(filepath.Dir(socket)); err != nil || stat.Mode().Perm() != 0o700 {
		t.Error(stat.Mode(), err)
	}
	first := make(chan error, 1)
	var words bytes.Buffer
	go func() {
		how, err := Follow(&terminal.Client{Words: &words}, ours)
		if how != terminal.Taken {
			err = fmt.Errorf("%v %w", how, err)
		}
		first <- err
	}()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		_, err := Follow(&terminal.Client{Words: io.Discard}, conn)
		second <- err
	}()
	if err := <-first; err != nil || !strings.Contains(words.String(), "another terminal has joined") {
		t.Errorf("%v, %q", err, &words)
	}
	run.Leave(3, nil)
	if code, show := exitcode.Of(<-second, 1); code != 3 || show != nil {
		t.Error(code, show)
	}
	if _, err := net.Dial("unix", socket); err == nil {
		t.Error("a run that is over can be joined")
	}
}

func TestTheFlagComesBeforeThePrompt(t *testing.T) {
	for args, want := range map[string]string{
		"run -d":            "run -d --supervise-for=3",
		"run -- --model x":  "run --supervise-for=3 -- --model x",
		"run -- a -- again": "run --supervise-for=3 -- a -- again",
	} {
		if got := strings.Join(arguments(strings.Fields(args)), " "); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
}
