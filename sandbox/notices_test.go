package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// A workflow's author has no command line.
func TestWarningsNameNoCommandInTheAction(t *testing.T) {
	for workflow, wants := range map[bool][3]string{
		false: {"look at them with 'sbx-devc review'", "'sbx-devc apply' asks", "'sbx-devc review' shows them first"},
		true:  {"changed_files and patch_file", "before you push", "before you commit or push"},
	} {
		p := &runplan.Plan{Asked: runplan.Options{Layers: runplan.Layers{InputsNotFlags: workflow}}, Project: &workspace.Mounts{Dir: "/p"}}
		for i, got := range []string{lostCommits(p), secretInCommits(p, "KEY", "sbx/x"), secretInFiles(p, "KEY")} {
			if !strings.Contains(got, wants[i]) || strings.Contains(got, "sbx-devc") == workflow {
				t.Errorf("workflow %v: %q, want %q", workflow, got, wants[i])
			}
		}
	}
}

// A script that reads the exit code alone takes no run for a success of which something was
// lost. Any other end keeps its code, and so does a failure of ours.
func TestAnEndThatCouldNotBeKeptIsNoSuccess(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	for name, c := range map[string]struct {
		conclusion agent.Conclusion
		code       int
		failure    error
		lost       error
		want       int
	}{
		"a success":                       {agent.Success, 0, nil, full, exitcode.CantWrite},
		"an interface":                    {agent.Attended, 0, nil, full, exitcode.CantWrite},
		"an interface that failed":        {agent.Attended, 3, nil, full, 3},
		"a failure of Claude's":           {agent.Failure, 0, nil, full, exitcode.Failed},
		"a failure of ours":               {agent.Success, 0, ErrTimeout, full, exitcode.Timeout},
		"what git says of a full disk":    {agent.Success, 0, nil, errors.New("fatal: " + syscall.ENOSPC.Error()), exitcode.CantWrite},
		"what the agent left is unusable": {agent.Success, 0, nil, fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), 0},
		"nothing":                         {agent.Success, 0, nil, nil, 0},
	} {
		n := &notices{result: &Result{Outcome: agent.Outcome{Conclusion: c.conclusion}, ExitCode: c.code}}
		n.loseUnwritten("commits", c.lost)
		failure := n.settle(c.failure)
		if n.result.ExitCode != c.want || (failure != nil) != (c.want == exitcode.CantWrite || c.failure != nil) {
			t.Errorf("%s: exit code %d with the error %v, want %d", name, n.result.ExitCode, failure, c.want)
		}
	}
}
