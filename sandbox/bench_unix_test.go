//go:build unix

package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// BenchmarkLargeProject is a whole run in a repository of 20,000 files and 2,000
// commits, with an agent that does nothing or makes a commit. The times in a stale
// index match no file, as in a copy of a project.
func BenchmarkLargeProject(b *testing.B) {
	e := connect(b)
	tag := testImage(b, e)
	credential, err := credproxy.APIKey(canary)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		stale  bool
		script string
	}{
		{"clean index", false, "true"},
		{"stale index", true, "true"},
		{"a commit", false, "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m new"},
	} {
		b.Run(c.name, func(b *testing.B) {
			dir := largeRepository(b, c.stale)
			var startup, total time.Duration
			for n := 0; b.Loop(); n++ {
				w, err := workspace.Inspect(dir, nil)
				if err != nil {
					b.Fatal(err)
				}
				o := shell(c.script)
				o.ID, o.Image, o.FirewallImage = fmt.Sprintf("bench-%d-%d", os.Getpid(), n), tag, tag
				p, err := newPlan(o, runplan.Facts{Workspace: w})
				if err != nil {
					b.Fatal(err)
				}
				result, err := Run(b.Context(), e, p, Host{
					Prompt: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Say: func(string) {},
					Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:9"}, Credential: credential, StateDir: b.TempDir(),
				})
				if err != nil || len(result.Changes.Changes) > 0 || len(result.Changes.Unseen) > 0 {
					b.Fatal(err, result.Changes)
				}
				startup, total = startup+result.Timings.Startup, total+result.Timings.Total
			}
			b.ReportMetric(float64(startup.Milliseconds())/float64(b.N), "startup-ms/op")
			b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "total-ms/op")
		})
	}
}

// largeRepository makes the project, as user 1000's where root runs the test.
func largeRepository(b *testing.B, stale bool) string {
	dir, err := os.MkdirTemp("/var/tmp", "sbx-large-") // /tmp may be in memory
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	command := func(in io.Reader, name string, args ...string) {
		cmd := exec.Command(testenv.Program(b, name), args...)
		cmd.Dir, cmd.Stdin = dir, in
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
	}
	var stream bytes.Buffer
	for commit := range 2_000 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata 1\nx\n", 1_700_000_000+commit)
		for file := range 10 {
			text := fmt.Sprintf("%02000d\n", commit*10+file)
			fmt.Fprintf(&stream, "M 644 inline folder%d/file%d.txt\ndata %d\n%s\n", commit/10, commit*10+file, len(text), text)
		}
	}
	command(nil, "git", "init", "-q", "-b", "main")
	command(&stream, "git", "fast-import", "--quiet")
	command(nil, "git", "reset", "-q", "--hard")
	if stale {
		now := time.Now()
		err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			return os.Chtimes(name, now, now)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if os.Geteuid() == 0 { // the agent never is root
		command(nil, "chown", "-R", "1000:1000", ".")
		if !stale {
			command(nil, "git", "-c", "safe.directory=*", "update-index", "--refresh", "-q")
			command(nil, "chown", "-R", "1000:1000", ".git")
		}
	}
	return dir
}
