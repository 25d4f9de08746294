package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// A workspace may be open elsewhere with the agent's rights: in a dev container
// or in another run. A program there can put a symbolic link in the place of a
// folder that is about to be mounted, and the engine, which resolves the
// sources when the container starts, would mount whatever folder of the host
// the link names. So the sources are looked at right before the start, and what
// was mounted is compared before the agent gets its prompt.

// CheckSources refuses mounts of the project whose way leads over anything but
// plain folders and files. The error wraps ErrRefused.
func (m *Mounts) CheckSources() error {
	for _, mount := range m.List {
		rel, ok := m.place(mount)
		if !ok {
			continue
		}
		for _, step := range Steps(rel) {
			kind, err := KindOf(filepath.Join(m.Dir, filepath.FromSlash(step)))
			if err == nil && kind != Folder && kind != File {
				err = fmt.Errorf("it is %s now", kind)
			}
			if err != nil {
				return swapped(step, err)
			}
		}
	}
	for _, f := range m.folders {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

func swapped(what string, why error) error {
	err := fmt.Errorf("%w: %s in the workspace changed while the run started: %w", ErrRefused, what, why)
	return diag.WithHint(err, "stop what else works in this folder, such as a dev container or another run, look at %s, and try again", what)
}

// Remember looks at the places of what is mounted read-only in the project, and of
// each .git, right before the container starts. A missing one is refused with
// ErrRefused.
func (m *Mounts) Remember() (Places, error) {
	var rels []string
	for _, mount := range m.List {
		rel, ok := m.place(mount)
		if ok && (mount.ReadOnly || mount.Volume != "") && strings.HasPrefix(mount.Target, m.Target+"/") {
			rels = append(rels, rel)
		}
	}
	places, err := remember(m.Dir, rels)
	if missing := (*fs.PathError)(nil); errors.As(err, &missing) {
		rel, _ := filepath.Rel(m.Dir, missing.Path)
		return nil, swapped(filepath.ToSlash(rel), err)
	}
	return places, err
}

// shown is what a mount shows: a path of a file system.
type shown struct{ device, path string }

// Compare compares the mounts of the project and of its git directories with those
// of the agent's container, the text of its mountinfo: each must show the same path
// of the same file system below what is mounted as the project itself, and a .git
// what this run put there. Anything else is refused with ErrRefused.
func (m *Mounts) Compare(text string) error {
	mounted := map[string]shown{}
	place := func(target string) string {
		if m.FoldsCase { // the kernel may name a place by another spelling
			return strings.ToLower(target)
		}
		return target
	}
	for at := range mountinfo.Parse(text) { // of several at one place the last one counts
		mounted[place(at.Point)] = shown{at.Device, at.Root}
	}
	top := mounted[m.Target]
	for _, mount := range m.List {
		got, isMounted := mounted[place(mount.Target)]
		var want shown
		switch rel, err := filepath.Rel(m.Dir, mount.Source); {
		case mount.Volume != "":
			want = mounted[mount.Volume] // all of the firewall's volumes are mounted, read-only
		case mount.Source == "": // its source is in the run's folder
			name := copyName
			if m.isGitFile(mount) {
				name = gitFileName
			}
			if strings.HasPrefix(path.Base(got.path), name) {
				want = got
			}
		case err == nil && filepath.IsLocal(rel):
			want = shown{top.device, path.Join(top.path, filepath.ToSlash(rel))}
		case m.isOfGit(mount), m.isAdded(mount):
			if err := m.compareOutside(mount, got, top); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		if !isMounted || !m.same(got, want) {
			rel := strings.TrimPrefix(mount.Target, m.Target+"/")
			return swapped(rel, fmt.Errorf("%s shows %q of device %s, not %q of %s", mount.Target, got.path, got.device, want.path, want.device))
		}
	}
	return nil
}

// same reports whether two mounts show the same path. Where the file system does not
// tell upper from lower case, the kernel names a folder by the spelling that was
// looked up last, whoever did that.
func (m *Mounts) same(a, b shown) bool {
	return a == b || m.FoldsCase && a.device == b.device && strings.EqualFold(a.path, b.path)
}

// isOfGit reports whether a mount shows a folder of a host's repository.
func (m *Mounts) isOfGit(mount Mount) bool {
	return slices.Contains(m.Git.Mounts, gitdir.Mount{Source: mount.Source, Target: mount.Target})
}

// compareOutside compares the mount of a folder outside of the workspace. Where
// the engine shares this machine's kernel, that is told by our own mountinfo;
// elsewhere the folder's own names must be the last ones of the path.
func (m *Mounts) compareOutside(mount Mount, got, top shown) error {
	own, _ := os.ReadFile("/proc/self/mountinfo")
	if m.same(got, placeOf(string(own), mount.Source)) {
		return nil
	}
	sharesKernel := m.mode != None && m.same(placeOf(string(own), m.Dir), top)
	names := strings.Split(strings.Trim(filepath.ToSlash(mount.Source), "/"), "/")
	if !sharesKernel && strings.HasSuffix(got.path, "/"+strings.Join(names[max(0, len(names)-sameNames):], "/")) {
		return nil
	}
	return swapped(mount.Source, fmt.Errorf("%s shows %q of device %s", mount.Target, got.path, got.device))
}

// sameNames is how many of a path's last names must be the same in the engine's
// virtual machine: some repository's own, .git and objects.
const sameNames = 3

// placeOf is what file, a path without symbolic links, is for the kernel,
// according to a mountinfo.
func placeOf(text, file string) (at shown) {
	best := -1
	for m := range mountinfo.Parse(text) {
		if rel, err := filepath.Rel(m.Point, file); err == nil && filepath.IsLocal(rel) && len(m.Point) >= best {
			best, at = len(m.Point), shown{m.Device, path.Join(m.Root, filepath.ToSlash(rel))}
		}
	}
	return at
}
