package image

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/hostprogram"
)

// gitHead returns the git ref that is checked out, a release's tag before a
// branch; "" when nothing says so.
func gitHead(ctx context.Context, a *cli.App, dir string) string {
	if ref := a.Getenv("GITHUB_REF"); ref != "" {
		return ref
	}
	if tag := git(ctx, dir, "describe", "--exact-match", "--tags", "--match", "v*", "HEAD"); tag != "" {
		return "refs/tags/" + tag
	}
	return git(ctx, dir, "symbolic-ref", "-q", "HEAD")
}

// git asks git about the folder; "" when there is no answer.
func git(ctx context.Context, dir string, args ...string) string {
	// No program that the repository names is started for a look at its head.
	program, err := hostprogram.Find("git")
	if err != nil {
		return ""
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-C", cmp.Or(dir, "."),
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if cmd.Run() != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

// sourceDate is the time of an image's content: SOURCE_DATE_EPOCH, the
// commit's, or now.
func sourceDate(ctx context.Context, a *cli.App, dir string) (time.Time, error) {
	text := a.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		text = git(ctx, dir, "show", "-s", "--format=%ct", "HEAD")
	}
	if text == "" {
		return time.Now().UTC().Truncate(time.Second), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, exitcode.With(exitcode.Usage, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", text))
	}
	return time.Unix(seconds, 0).UTC(), nil
}
