package pathwalk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestWalk(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(rel string) string { return filepath.Join(top, filepath.FromSlash(rel)) }
	if err := errors.Join(
		os.MkdirAll(at("a/b"), 0o755), os.WriteFile(at("a/b/file"), nil, 0o644),
		os.Symlink("b/../b", at("a/here")), os.Symlink(at("a"), at("whole")), os.Symlink("gone", at("broken")),
		os.Symlink("two", at("one")), os.Symlink("one", at("two")),
	); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, end string
		visited   string // separated by spaces
		want      error
	}{
		{"a/b/file", "a/b/file", "a a/b a/b/file", nil},
		{"a//b/./../b", "a/b", "a a/b a/b", nil},
		{"a/here/file", "a/b/file", "a a/here a/b a/b a/b/file", nil},
		{at("whole/here"), "a/b", "whole a a/here a/b a/b", nil},
		{"broken", "gone", "broken", fs.ErrNotExist},
		{"a/b/file/x", "a/b/file/x", "a a/b a/b/file", syscall.ENOTDIR},
		{"one", "one", "", syscall.ELOOP},
	} {
		var visited []string
		end, err := Walk(top, c.name, func(entry string, info fs.FileInfo) error {
			rel, inside := strings.CutPrefix(entry, top+string(filepath.Separator))
			if inside && !errors.Is(c.want, syscall.ELOOP) {
				visited = append(visited, filepath.ToSlash(rel))
			}
			return nil
		})
		if end != at(c.end) || strings.Join(visited, " ") != c.visited || !errors.Is(err, c.want) {
			t.Errorf("%s leads to %s over %q: %v", c.name, end, visited, err)
		}
		if real, realErr := filepath.EvalSymlinks(filepath.Join(top, strings.TrimPrefix(c.name, top))); realErr == nil && real != end {
			t.Errorf("%s leads to %s, not to %s", c.name, real, end)
		}
	}
	stop := errors.New("stop")
	var seen []string
	_, err = Walk(top, "a/b/file", func(entry string, _ fs.FileInfo) error {
		seen = append(seen, filepath.Base(entry))
		if len(seen) == 2 {
			return stop
		}
		return nil
	})
	if err != stop || !slices.Equal(seen, []string{"a", "b"}) {
		t.Errorf("after %q: %v", seen, err)
	}
}
