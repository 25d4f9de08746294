package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// addedFolder is a folder or file of the host's that is mounted in addition to the
// project, as it was when that was decided.
type addedFolder struct {
	source, target string
	info           fs.FileInfo
}

// keyFolders of a user's home are never mounted: what is in them opens other machines.
var keyFolders = []string{".ssh", ".gnupg", ".claude", ".claude.json"}

// loginFiles of a user's home hold logins as well. A mount of one is the user's word,
// and is said.
var loginFiles = []string{".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".password-store", ".netrc",
	".git-credentials", ".pypirc", ".npmrc", ".local/share/keyrings", "Library/Keychains"}

// AddFolder shows a folder or file of the host's at target in addition to the project:
// "~/" in its name is the user's home, and a relative one is relative to the project's
// .devcontainer. The notes say what the agent gets by it.
//
// ErrRefused refuses it for every caller: a folder that holds an engine's socket, a
// socket or device, the whole machine, the home or one above, keys, the folders in own,
// which are this program's, writable folders of the machine's system, and one by which the
// agent could write to what is protected in the project, or to a project that it can
// only read. One that does not exist wraps ErrInput: nothing is made.
func (m *Mounts) AddFolder(w *Workspace, name, target string, readOnly bool, own []string) (notes []string, err error) {
	source := addedSource(w.Dir, w.Home, name)
	if why, hint := m.refuseAdded(w, source, readOnly, own); why != "" {
		return nil, diag.WithHint(fmt.Errorf("%w: the mount of %s %s", ErrRefused, name, why), "%s", hint)
	}
	info, err := os.Lstat(source)
	if err != nil {
		return nil, diag.WithHint(fmt.Errorf("%w: the mount of %s: %w", ErrInput, name, err), "name a folder or file that is there; none is made")
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, diag.WithHint(fmt.Errorf("%w: the mount of %s is no folder and no plain file: a program of this machine may listen there",
			ErrRefused, name), "mount a folder or a file")
	}
	for _, rel := range loginFiles {
		if w.Home != "" && overlap(source, filepath.Join(w.Home, rel)) {
			notes = append(notes, fmt.Sprintf("the mount of %s shows the agent ~/%s, and its logins work at every host that "+
				"the policy allows", name, rel))
		}
	}
	if repository := RepositoryOf(source); !readOnly && repository != "" && !Below(w.Dir, source) {
		notes = append(notes, fmt.Sprintf("the agent can write to %s, and programs on this machine obey files there, such as %s: nothing "+
			"protects them, and a run does not say what changed; ':ro' mounts it read-only", name, filepath.Join(repository, ".git", "hooks")))
	}
	if socket := firstSocket(source); socket != "" {
		notes = append(notes, fmt.Sprintf("the mount of %s holds sockets, such as %s: the agent can talk to the programs of this machine that "+
			"listen there, also where the mount is read-only", name, socket))
	}
	m.folders = append(m.folders, addedFolder{source, target, info})
	m.List = append(m.List, Mount{Source: source, Target: target, ReadOnly: readOnly})
	return notes, nil
}

// addedSource is the real path of what AddFolder shows by a name, in the project dir.
func addedSource(dir, home, name string) string {
	source := filepath.FromSlash(name)
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		source = filepath.Join(home, filepath.FromSlash(rest))
	} else if !filepath.IsAbs(source) {
		source = filepath.Join(dir, ".devcontainer", source)
	}
	source = filepath.Clean(source)
	if real, err := filepath.EvalSymlinks(source); err == nil { // as the engine will
		source = real
	}
	return source
}

// refuseAdded says why a folder, without symbolic links, is not mounted; "" = it may be.
func (m *Mounts) refuseAdded(w *Workspace, source string, readOnly bool, own []string) (why, hint string) {
	const narrower = "mount the folder that the agent needs"
	switch {
	case source == filepath.VolumeName(source)+string(filepath.Separator):
		return "would show the agent the whole machine", narrower
	case w.Home != "" && Below(source, w.Home):
		return "would show the agent your home folder with its keys", narrower
	case slices.ContainsFunc(engineSockets(w.Home), func(socket string) bool { return Below(source, filepath.FromSlash(socket)) }),
		strings.HasSuffix(source, ".sock"):
		return "would give the agent the container engine, and with it this machine",
			"mount the folder that the agent needs, not one that holds a socket"
	case overlap(source, "/run") && !Below("/run/media", source):
		return "would let the agent talk to this machine's services, whose sockets are there", narrower
	case slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, func(dir string) bool { return overlap(source, dir) }):
		return "would show the agent this machine's kernel", narrower
	case !readOnly && refuseFolder(source, "") != nil:
		return "would let the agent change this machine's system", "':ro' mounts it read-only"
	}
	for _, rel := range keyFolders {
		if w.Home != "" && overlap(source, filepath.Join(w.Home, rel)) {
			hint := narrower + "; keys stay on this machine"
			if strings.HasPrefix(rel, ".claude") {
				hint = "--user-instructions gives Claude your texts"
			}
			return "would show the agent ~/" + rel, hint
		}
	}
	for _, dir := range own {
		if overlap(source, dir) {
			return "would show the agent " + dir + ", where sbx-devc keeps what decides about runs", narrower
		}
	}
	if readOnly {
		return "", ""
	}
	if m.mode != Bind && m.mode != None && overlap(source, w.Dir) {
		return "would let the agent change the project itself, which this run does not", "':ro' mounts it read-only"
	}
	protected := append(slices.Clone(w.Protect), w.Git.Paths()...)
	if m.mode == None { // it was not looked at
		protected = append(obeyed.ProjectPaths(), ".git")
	}
	for _, p := range protected {
		if overlap(source, filepath.Join(w.Dir, filepath.FromSlash(p))) {
			return "would show " + p + " of the project to the agent once more, where it could be written to",
				"mount it read-only, or a folder next to the project"
		}
	}
	return "", ""
}

// maxLookedAt bounds how many files of a mount are looked at for sockets.
const maxLookedAt = 10_000

// firstSocket is a socket in a folder; "" = none was found.
func firstSocket(dir string) (socket string) {
	left := maxLookedAt
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		if err == nil && d.Type()&fs.ModeSocket != 0 {
			socket = name
			return fs.SkipAll
		}
		return nil // what cannot be read is not the agent's to read
	})
	return socket
}

// overlap reports whether one of two folders is in the other, or the same.
func overlap(a, b string) bool { return Below(a, b) || Below(b, a) }

// check refuses a folder in whose place, or on the way to which, something else has come.
func (f addedFolder) check() error {
	real, err := filepath.EvalSymlinks(f.source)
	if err == nil && real != f.source {
		err = fmt.Errorf("it leads to %s now", real)
	}
	if err == nil {
		var now fs.FileInfo
		if now, err = os.Lstat(f.source); err == nil && !os.SameFile(now, f.info) {
			err = fmt.Errorf("it is another one now")
		}
	}
	if err == nil {
		return nil
	}
	return diag.WithHint(fmt.Errorf("%w: the mount of %s changed while the run started: %w", ErrRefused, f.source, err),
		"stop what else works in this folder, look at it, and try again")
}

// isAdded reports whether a mount is one of AddFolder's.
func (m *Mounts) isAdded(mount Mount) bool {
	return slices.ContainsFunc(m.folders, func(f addedFolder) bool { return f.source == mount.Source && f.target == mount.Target })
}

// Outermost returns the mounts of this machine that are not below the project's own: the
// project, and what was added.
func (m *Mounts) Outermost() (list []Mount) {
	for _, mount := range m.List {
		if mount.Source != "" && (mount.Source == m.Dir && mount.Target == m.Target || m.isAdded(mount)) {
			list = append(list, mount)
		}
	}
	return list
}
