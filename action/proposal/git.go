package proposal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/hostprogram"
)

// Repository is a checkout in which no agent has worked.
type Repository struct {
	Dir string // absolute
}

// maxTime bounds one command of git.
const maxTime = 2 * time.Minute

// call is one command of git.
type call struct {
	args   []string
	stdin  io.Reader
	env    []string
	config [][2]string // that it has in addition
}

// git runs a command and returns what it prints. It obeys the repository's configuration,
// which no agent could write, but for its hooks and monitors.
func (r Repository) git(ctx context.Context, c call) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	program, err := hostprogram.Find("git")
	if err != nil {
		return "", fmt.Errorf("there is no git to run: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, c.args...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = r.Dir, c.stdin, time.Second
	for _, v := range os.Environ() { // variables of the caller's could lead git elsewhere
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "INPUT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	config := append([][2]string{
		{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"core.sparseCheckout", "false"}, {"index.sparse", "false"},
		{"safe.directory", r.Dir}, {"gc.auto", "0"}, {"commit.gpgSign", "false"}, {"push.gpgSign", "false"}, {"credential.helper", ""},
	}, c.config...)
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)))
	for i, pair := range config {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, pair[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, pair[1]))
	}
	cmd.Env = append(cmd.Env, c.env...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %.500s", c.args[0], err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// line runs a command and returns the one line that it prints.
func (r Repository) line(ctx context.Context, args ...string) (string, error) {
	out, err := r.git(ctx, call{args: args})
	return strings.TrimSpace(out), err
}

// Head returns the commit that is checked out.
func (r Repository) Head(ctx context.Context) (string, error) {
	return r.line(ctx, "rev-parse", "--verify", "HEAD^{commit}")
}

// Ignored returns those of the paths, slash-separated, that the repository's rules leave out of
// commits. It errs for a path below a link or in a submodule. None may begin with a colon.
func (r Repository) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	if len(paths) == 0 {
		return ignored, nil
	}
	list := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := r.git(ctx, call{args: []string{"check-ignore", "--no-index", "-z", "--stdin"}, stdin: list})
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == 1 { // it ignores none
		err = nil
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		ignored[path] = path != ""
	}
	return ignored, err
}

// Server is where a branch goes.
type Server struct {
	URL        string // of the server, as GITHUB_SERVER_URL has it
	Repository string // OWNER/NAME
	Token      string
}

// CheckBranch errs for a name that git takes for no branch's.
func (r Repository) CheckBranch(ctx context.Context, branch string) error {
	if strings.HasPrefix(branch, "-") || strings.HasPrefix(branch, "refs/") {
		return fmt.Errorf("%q is no name of a branch", branch)
	}
	if _, err := r.git(ctx, call{args: []string{"check-ref-format", "refs/heads/" + branch}}); err != nil {
		return fmt.Errorf("%q is no name of a branch", branch)
	}
	return nil
}

// Push makes a new branch on the server. It errs when the branch is there.
func (r Repository) Push(ctx context.Context, s Server, commit, branch string) error {
	_, err := r.push(ctx, s, "--force-with-lease=refs/heads/"+branch+":", commit+":refs/heads/"+branch)
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "stale info"):
		return diag.WithHint(fmt.Errorf("the branch %s is there already", branch), "give another name as branch")
	case strings.Contains(err.Error(), "workflow"):
		return diag.WithHint(err, "a job's token may not change workflows: give one that may as github_token, or let a person apply that part")
	}
	return err
}

// Delete removes the branch, if it is still at the commit.
func (r Repository) Delete(ctx context.Context, s Server, commit, branch string) error {
	_, err := r.push(ctx, s, "--force-with-lease=refs/heads/"+branch+":"+commit, ":refs/heads/"+branch)
	return err
}

func (r Repository) push(ctx context.Context, s Server, lease, ref string) (string, error) {
	server := strings.TrimSuffix(s.URL, "/") + "/"
	header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+s.Token))
	config := [][2]string{
		{"http." + server + ".extraHeader", ""}, {"http." + server + ".extraHeader", header}, // the first takes away what the checkout's has
		{"http.followRedirects", "false"},
	}
	return r.git(ctx, call{args: []string{"push", "--quiet", "--no-verify", "--no-recurse-submodules", lease, server + s.Repository, ref},
		config: config})
}

// scratch makes a folder for an index of our own.
func scratch() (index string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "sbx-apply-")
	return filepath.Join(dir, "index"), func() { _ = os.RemoveAll(dir) }, err
}
