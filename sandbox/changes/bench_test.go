package changes_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/changes"
)

// BenchmarkLook looks at a project of 20,000 files of some 2 KB before a run and
// after it. A stale index is that of a fresh copy of the project: git's own times
// match no file.
func BenchmarkLook(b *testing.B) {
	for _, c := range []struct {
		name       string
		repository bool
		stale      bool
	}{{"no repository", false, false}, {"clean index", true, false}, {"stale index", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			dir := largeProject(b, c.repository, c.stale)
			for _, phase := range []string{"before", "after"} {
				b.Run(phase, func(b *testing.B) {
					before, err := changes.Take(b.Context(), dir, changes.Options{Keep: b.TempDir()})
					if err != nil {
						b.Fatal(err)
					}
					defer before.Close()
					for b.Loop() {
						if phase == "after" {
							if set := before.Compare(b.Context()); len(set.Changes)+len(set.Unseen) > 0 {
								b.Fatal(set.Changes, set.Unseen)
							}
							continue
						}
						again, err := changes.Take(b.Context(), dir, changes.Options{Keep: b.TempDir()})
						if err != nil {
							b.Fatal(err)
						}
						again.Close()
					}
				})
			}
		})
	}
}

func largeProject(b *testing.B, repository, stale bool) string {
	dir, err := os.MkdirTemp("/var/tmp", "sbx-changes-") // /tmp may be in memory
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	for i := range 20_000 {
		name := filepath.Join(dir, fmt.Sprintf("folder%d", i/100), fmt.Sprintf("file%d.txt", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "%02000d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if !repository {
		return dir
	}
	now := time.Now()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a"}} {
		// So many objects would be packed by a git of the background, while they are looked at.
		cmd := exec.Command(testenv.Program(b, "git"), append([]string{"-c", "maintenance.auto=false", "-c", "gc.auto=0"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatal(err, string(out))
		}
	}
	if stale {
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
	return dir
}
