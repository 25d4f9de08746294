package unconfined

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/hostprogram"
)

// Session is what Claude is asked to do. The prompt is no part of it: claude reads it from
// standard input.
type Session struct {
	Headless     bool
	OutputFormat string // of a headless one: "text", "json" or "stream-json"; "" = text
	Model        string // "" = claude's default
	MaxTurns     int    // 0 = no limit
	MaxBudgetUSD float64
	SystemPrompt string // to be added to claude's own
	Continue     bool   // the newest conversation here
	Resume       string // the conversation to go on with
	Arguments    []string
}

// Args are claude's arguments, without the program's name.
func (s Session) Args() []string {
	args := []string{"--dangerously-skip-permissions"}
	add := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	if s.Headless {
		args = append(args, "-p")
		add("--output-format", s.OutputFormat)
		if s.OutputFormat == "stream-json" {
			args = append(args, "--verbose") // print mode refuses stream-json without it
		}
	}
	add("--model", s.Model)
	if s.MaxTurns > 0 {
		add("--max-turns", strconv.Itoa(s.MaxTurns))
	}
	if s.MaxBudgetUSD > 0 {
		add("--max-budget-usd", strconv.FormatFloat(s.MaxBudgetUSD, 'f', -1, 64))
	}
	add("--append-system-prompt", s.SystemPrompt)
	if s.Continue {
		args = append(args, "--continue")
	}
	add("--resume", s.Resume)
	return append(args, s.Arguments...)
}

// Find returns the path of the user's claude. One in the project is not taken, also where
// PATH leads into it: the project would choose what runs on this machine.
func Find() (string, error) {
	name, err := hostprogram.Find("claude")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", exitcode.With(exitcode.Unavailable, diag.WithHint(fmt.Errorf("there is no Claude Code on this machine: %w", err),
			"install it (npm install -g @anthropic-ai/claude-code), or use the sandbox, which brings its own"))
	case err != nil:
		return "", exitcode.With(exitcode.Refused, err)
	}
	return name, nil
}

// Command is Claude Code as it is started.
type Command struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Dir     string   `json:"dir"`
}

// Streams are the standard streams of claude.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run starts claude with the environment env and returns its exit code, 128+n after a signal.
// It passes on the signals for which forward says so: a terminal sends some itself.
func (c Command) Run(env []string, s Streams, signals <-chan os.Signal, forward func(os.Signal) bool) (int, error) {
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, env, s.In, s.Out, s.Err
	if err := cmd.Start(); err != nil {
		return exitcode.NoStart, exitcode.With(exitcode.NoStart, fmt.Errorf("starting claude: %w", err))
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case sig := <-signals:
				if forward(sig) {
					_ = cmd.Process.Signal(sig)
				}
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return exitcode.Internal, exitcode.With(exitcode.Internal, fmt.Errorf("running claude: %w", err))
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitcode.Signal + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// Environment is environ with the keys of the model API, which claude needs itself here.
func Environment(environ []string, getenv func(string) string) []string {
	out := append([]string{}, environ...)
	for _, name := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"} {
		has := false
		for _, v := range environ {
			has = has || strings.HasPrefix(v, name+"=")
		}
		if value := getenv(name); value != "" && !has {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// Outcome is the judgement on a run without a sandbox: there is none, also where claude
// ends with 0.
func (c Choice) Outcome() agent.Outcome {
	return agent.Outcome{Conclusion: agent.Unsandboxed,
		Message: "Claude worked without a sandbox (" + c.Origin + "); nothing was recorded or judged"}
}
