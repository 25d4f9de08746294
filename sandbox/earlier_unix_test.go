//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Attack: an earlier run's agent leaves a repository whose files never end when the
// next run reads them on the host: a pipe, or a terabyte that takes no place.
func TestAttackARepositoryOfAnEarlierRunHoldsUpTheNext(t *testing.T) {
	t.Parallel()
	e := connect(t)
	for _, c := range []struct {
		name string
		make func(gitDir string) error
	}{
		{"a pipe for refs", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "packed-refs"), 0o644) }},
		{"refs without end", func(dir string) error { return sparse(filepath.Join(dir, "packed-refs"), "") }},
		{"an index of a gigabyte", func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "index"), []byte("DIRC"), 0o644), os.Truncate(filepath.Join(dir, "index"), 1<<30))
		}},
		{"settings without end", func(dir string) error { return sparse(filepath.Join(dir, "config"), "[core]\n#") }},
		{"a pipe for settings", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "config"), 0o644) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t)
			for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": ""} {
				r.write("earlier/.git/"+name, text)
			}
			if err := c.make(filepath.Join(r.dir, "earlier", ".git")); err != nil {
				t.Fatal(err)
			}
			r.own(r.dir)
			tr := (&trial{dir: r.dir, options: shell(`cd /workspace; git commit -q --allow-empty -m two; echo finished`)}).run(t, e)
			if c.name == "an index of a gigabyte" && !strings.Contains(strings.Join(tr.said, "\n"), "index is too large") {
				t.Errorf("it is copied: said %q", tr.said)
			}
			if !strings.Contains(tr.stdout.String(), "finished") || len(tr.result.Commits) != 1 {
				t.Errorf("the agent says %q %q; commits %+v; said %q", tr.stdout.String(), tr.stderr.String(), tr.result.Commits, tr.said)
			}
		})
	}
}

// sparse makes a file that begins with text and goes on for a terabyte.
func sparse(file, text string) error {
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Truncate(file, 1<<40)
}
