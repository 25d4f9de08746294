package secrets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/settings"
)

// Bounds of a source.
const (
	maxValue = 256 << 10       // bytes
	patience = 2 * time.Minute // for a program, which may ask a person
)

// Wanted is a secret of a run.
type Wanted struct {
	Name string
	From string // its reference
	File bool   // delivered as a file, which may hold everything
}

// Sources are where values come from.
type Sources struct {
	Getenv func(string) string
	// Open opens a file that a reference names, as session.OpenFile.
	Open func(name string) (io.ReadCloser, error)
}

// Resolve returns the value of each secret by its name. Its error has the exit code of a
// missing secret, and names all that have none.
func (s Sources) Resolve(ctx context.Context, wanted []Wanted) (map[string]string, error) {
	values := map[string]string{}
	var failed []string
	hint := ""
	tokens := redact.New(redact.Options{Patterns: true}) // in words of programs, and in command lines
	for _, w := range wanted {
		value, err := s.resolve(ctx, w)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s from %s: %s", w.Name, tokens.String(visible.Line(w.From)),
				tokens.String(visible.Line(err.Error()))))
			hint = cmp.Or(hint, diag.HintOf(err))
			continue
		}
		values[w.Name] = value
	}
	if len(failed) == 0 {
		return values, nil
	}
	err := fmt.Errorf("the run needs secrets that cannot be found: %s", strings.Join(failed, "; "))
	hint = cmp.Or(hint, "give another source with --secret NAME=SOURCE, or leave one out with --no-secret NAME")
	return nil, exitcode.With(exitcode.NoSecret, diag.WithHint(err, "%s", hint))
}

func (s Sources) resolve(ctx context.Context, w Wanted) (string, error) {
	r, err := settings.Secret{Name: w.Name, From: w.From}.Reference()
	if err != nil {
		return "", err
	}
	var value string
	switch r.Kind {
	case settings.ReferenceEnv:
		if value = s.Getenv(r.Of); value == "" {
			return "", diag.WithHint(fmt.Errorf("the variable %s is not set", r.Of),
				"set it, name another source with --secret %s=SOURCE, or leave it out with --no-secret %[1]s", w.Name)
		}
	case settings.ReferenceFile:
		value, err = s.file(r.Of)
	default:
		value, err = s.program(ctx, r)
		if r.Kind == settings.ReferenceGit && err == nil {
			value, err = userAndPassword(value)
		}
	}
	switch {
	case err != nil:
		return "", err
	case value == "":
		return "", errors.New("it is empty")
	case len(value) > maxValue:
		return "", fmt.Errorf("it is larger than %d KiB", maxValue>>10)
	case !w.File && strings.ContainsRune(value, 0):
		return "", diag.WithHint(errors.New("it holds a NUL character, which no variable can"),
			`give it as a file: {"name": %q, "from": …, "as": "file"} in "secrets" of your own settings`, w.Name)
	}
	return value, nil
}

func (s Sources) file(name string) (string, error) {
	f, err := s.Open(name)
	if err != nil {
		return "", diag.WithoutPath(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxValue+1))
	return trimLineEnd(string(text)), diag.WithoutPath(err)
}

// trimLineEnd takes the one line end away that editors and programs add.
func trimLineEnd(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// helper is a program that knows secrets.
type helper struct {
	argv      []string
	input     string // its standard input; "" = none
	hint      string // when it fails
	firstLine bool   // only this counts
	elsewhere bool   // it runs outside of every project, whose configuration names programs, and asks no question
}

// userAndPassword reads what git says of a credential.
func userAndPassword(text string) (string, error) {
	said := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		said[name] = value
	}
	if said["username"] == "" || said["password"] == "" {
		return "", errors.New("git has no user and password for it")
	}
	return said["username"] + ":" + said["password"], nil
}

// helperOf is the program that knows a reference.
func helperOf(r settings.Reference, system string) (helper, error) {
	switch r.Kind {
	case settings.ReferenceGH:
		return helper{argv: []string{"gh", "auth", "token", "--hostname", r.Of}, hint: "sign in with: gh auth login --hostname " + r.Of}, nil
	case settings.ReferenceGit:
		return helper{argv: []string{"git", "credential", "fill"}, input: "url=" + r.Of + "\n\n", elsewhere: true,
			hint: "git's credential helper must know it: what does 'git credential fill' say outside of the project?"}, nil
	case settings.ReferenceOp:
		return helper{argv: []string{"op", "read", "--no-newline", r.String()},
			hint: "1Password's command line, op, must be installed and signed in: 'op signin'"}, nil
	case settings.ReferencePass:
		return helper{argv: []string{"pass", "show", r.Of}, firstLine: true, hint: "'pass ls' lists the entries"}, nil
	case settings.ReferenceKeyring:
		at := strings.LastIndex(r.Of, "/")
		service, account := r.Of[:at], r.Of[at+1:]
		switch system {
		case "darwin":
			return helper{argv: []string{"security", "find-generic-password", "-s", service, "-a", account, "-w"},
				hint: fmt.Sprintf("store it with: security add-generic-password -s '%s' -a '%s' -w", service, account)}, nil
		case "windows":
			return helper{}, errors.New("the keyring of Windows has no program that prints a value: use op://… or cmd:…")
		}
		return helper{argv: []string{"secret-tool", "lookup", "service", service, "username", account},
			hint: fmt.Sprintf("store it with: secret-tool store --label '%s' service '%[1]s' username '%s'", service, account)}, nil
	}
	if system == "windows" {
		return helper{argv: []string{"cmd", "/c", r.Of}}, nil
	}
	return helper{argv: []string{"/bin/sh", "-c", r.Of}}, nil
}

// program runs the helper of a reference.
func (s Sources) program(ctx context.Context, r settings.Reference) (string, error) {
	h, err := helperOf(r, runtime.GOOS)
	if err != nil {
		return "", err
	}
	value, err := h.run(ctx)
	if h.firstLine {
		value, _, _ = strings.Cut(value, "\n")
	}
	return trimLineEnd(value), err
}

// run starts the helper and returns what it prints.
func (h helper) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	program, err := hostprogram.Find(h.argv[0])
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", diag.WithHint(fmt.Errorf("the program %s is not installed", h.argv[0]), "install %s, or give another source with "+
			"--secret NAME=SOURCE, or leave it out with --no-secret NAME", h.argv[0])
	case err != nil:
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, h.argv[1:]...)
	cmd.WaitDelay = time.Second // a child of it may keep its output open
	cmd.Env = os.Environ()
	if h.elsewhere {
		cmd.Dir = filepath.VolumeName(program) + string(filepath.Separator)
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
			return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=")
		})
		cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=")
	}
	if h.input != "" {
		cmd.Stdin = strings.NewReader(h.input)
	}
	out, problem := &excerpt.Head{Most: maxValue + 1}, &excerpt.Head{Most: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, problem
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s did not end within %s", h.argv[0], patience)
	case err != nil:
		err = fmt.Errorf("%s failed (%w)", h.argv[0], err)
		if said := strings.TrimSpace(problem.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		if h.hint != "" {
			err = diag.WithHint(err, "%s", h.hint)
		}
		return "", err
	}
	return out.String(), nil
}
