//go:build unix

package devcontainer_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// The attack: a part of a repository has something in the place of its configuration that nobody
// reads, or a Feature beside it, and what tools open there is checked by nobody.
func TestAttackADevContainerThatIsNotLookedAt(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "devcontainer.json")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, `{}`)
	const own = ".devcontainer/devcontainer.json"
	for _, c := range []struct {
		what  string
		make  func(dir string) error // after all folders are there
		files []string               // that are found, besides the root's
		want  string                 // of the error; "" = none
	}{
		{"a pipe below", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "b", own), 0o644) }, nil,
			"b/" + own + ": it is no regular file"},
		{"a pipe beside", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, ".devcontainer.json"), 0o644) }, nil,
			"/.devcontainer.json: it is no regular file"},
		{"a named one", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "b/.devcontainer/x"), 0o755),
				syscall.Mkfifo(filepath.Join(dir, "b/.devcontainer/x/devcontainer.json"), 0o644))
		}, nil, "b/.devcontainer/x/devcontainer.json: it is no regular file"},
		{"a socket", func(dir string) error {
			t.Chdir(dir) // its name may not be long
			l, err := net.Listen("unix", "b/"+own)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		}, nil, "it is no regular file"},
		{"a device", func(dir string) error { return os.Symlink("/dev/zero", filepath.Join(dir, "b", own)) }, nil, "it is no regular file"},
		{"a link out", func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "b", own)) }, nil,
			"a link leads out of the project"},
		{"a folder behind a link out", func(dir string) error {
			link := filepath.Join(dir, "b/.devcontainer")
			return errors.Join(os.Remove(link), os.Symlink(filepath.Dir(outside), link))
		}, nil, "a link leads out of the project"},
		{"a link within", func(dir string) error {
			link := filepath.Join(dir, "b/.devcontainer")
			return errors.Join(os.Remove(link), os.Symlink("../.devcontainer", link))
		}, []string{"b/" + own}, ""},
		{"a link beside", func(dir string) error {
			write(filepath.Join(dir, "b", own), `{}`)
			return os.Symlink(own, filepath.Join(dir, ".devcontainer.json"))
		}, []string{".devcontainer.json", "b/" + own}, ""},
		{"a link that leads nowhere", func(dir string) error { return os.Symlink("nowhere", filepath.Join(dir, "b", own)) }, nil, ""},
		{"a folder", func(dir string) error { return os.Mkdir(filepath.Join(dir, "b", own), 0o755) }, nil, ""},
		{"a Feature", func(dir string) error {
			write(filepath.Join(dir, "devcontainer-feature.json"), `{}`)
			write(filepath.Join(dir, "b/devcontainer-feature.json"), `{}`)
			write(filepath.Join(dir, "b", own), `{}`)
			return nil
		}, []string{"b/" + own, "devcontainer-feature.json"}, ""},
		{"a Template", func(dir string) error {
			write(filepath.Join(dir, "b/devcontainer-template.json"), `{}`)
			write(filepath.Join(dir, "b", own), `{}`)
			return nil
		}, []string{"b/devcontainer-template.json"}, ""},
		{"a link in the place of a Template", func(dir string) error {
			write(filepath.Join(dir, "b", own), `{}`)
			return os.Symlink("nowhere", filepath.Join(dir, "b/devcontainer-template.json"))
		}, []string{"b/" + own}, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			write(filepath.Join(dir, own), `{}`)
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "b/.devcontainer"), 0o755), c.make(dir)); err != nil {
				t.Fatal(err)
			}
			found, left, err := devcontainer.DiscoverAll(dir)
			for i, file := range found {
				found[i], _ = filepath.Rel(dir, file)
			}
			want := append(c.files, own)
			slices.Sort(want)
			slices.Sort(found)
			if !slices.Equal(found, want) || len(left) > 0 {
				t.Errorf("found %v, not looked at: %v; want %v", found, left, want)
			}
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error: %v, want %q", err, c.want)
			}
		})
	}
}

// What the root has in the place of its configuration does not keep those below from being found.
func TestWhatIsBelowIsFoundBesideAPipe(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "b", ".devcontainer.json")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".devcontainer"), 0o755), os.Mkdir(filepath.Join(dir, "b"), 0o755),
		os.WriteFile(below, []byte(`{}`), 0o644), syscall.Mkfifo(filepath.Join(dir, ".devcontainer", "devcontainer.json"), 0o644)); err != nil {
		t.Fatal(err)
	}
	found, _, err := devcontainer.DiscoverAll(dir)
	if err == nil || !strings.Contains(err.Error(), "no regular file") || !slices.Equal(found, []string{below}) {
		t.Errorf("found %v, %v", found, err)
	}
}
