package checkout

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

	"golang.org/x/mod/semver"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/hostprogram"
)

// Checkout is a folder that an image is made from, and the variables around it.
type Checkout struct {
	Dir    string // "" = the current folder
	Getenv func(string) string
}

// Ref returns the git ref that is checked out, a release's tag before a branch; "" when
// nothing says so.
func (c Checkout) Ref(ctx context.Context) string {
	if ref := c.Getenv("GITHUB_REF"); ref != "" {
		return ref
	}
	if tag := c.git(ctx, "describe", "--exact-match", "--tags", "--match", "v*", "HEAD"); tag != "" {
		return "refs/tags/" + tag
	}
	return c.git(ctx, "symbolic-ref", "-q", "HEAD")
}

// Commit returns the commit that is checked out; "" when nothing says so.
func (c Checkout) Commit(ctx context.Context) string {
	return cmp.Or(c.Getenv("GITHUB_SHA"), c.git(ctx, "rev-parse", "HEAD"))
}

// Date is the time of an image's content: SOURCE_DATE_EPOCH, the commit's, or now. It
// errs for a SOURCE_DATE_EPOCH that is none.
func (c Checkout) Date(ctx context.Context) (time.Time, error) {
	text := cmp.Or(c.Getenv("SOURCE_DATE_EPOCH"), c.git(ctx, "show", "-s", "--format=%ct", "HEAD"))
	if text == "" {
		return time.Now().UTC().Truncate(time.Second), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, exitcode.With(exitcode.Usage, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", text))
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// Describe fills in the labels that were not given. They are part of the digest, so none
// comes from the name or the tags of the image: one input has one digest, whatever it is
// called.
func (c Checkout) Describe(ctx context.Context, o *imagebuild.About) {
	o.Title = cmp.Or(o.Title, "claude-sandbox")
	o.Revision = cmp.Or(o.Revision, c.Commit(ctx))
	if o.Version == "" {
		tag := strings.TrimPrefix(c.Ref(ctx), "refs/tags/")
		if tag != "" && semver.Canonical(tag) == tag { // v1.2.3; not v1
			o.Version = strings.TrimPrefix(tag, "v")
		}
	}
	if repo := c.Getenv("GITHUB_REPOSITORY"); repo != "" {
		o.Source = cmp.Or(o.Source, cmp.Or(c.Getenv("GITHUB_SERVER_URL"), "https://github.com")+"/"+repo)
	}
}

// Run says who builds, as GitHub Actions tells it; zero = a person's machine.
func (c Checkout) Run() imagebuild.Run {
	server, workflow, id := c.Getenv("GITHUB_SERVER_URL"), c.Getenv("GITHUB_WORKFLOW_REF"), c.Getenv("GITHUB_RUN_ID")
	if server == "" || workflow == "" {
		return imagebuild.Run{}
	}
	return imagebuild.Run{
		Builder:    server + "/" + workflow,
		Invocation: server + "/" + c.Getenv("GITHUB_REPOSITORY") + "/actions/runs/" + id + "/attempts/" + c.Getenv("GITHUB_RUN_ATTEMPT"),
	}
}

// git asks git about the folder; "" when there is no answer.
func (c Checkout) git(ctx context.Context, args ...string) string {
	// No program that the repository names is started for a look at its head.
	program, err := hostprogram.Find("git")
	if err != nil {
		return ""
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-C", cmp.Or(c.Dir, "."),
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if cmd.Run() != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}
