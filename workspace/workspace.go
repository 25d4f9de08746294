package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/workspace/gitdir"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// maxSockets is how many sockets and pipes are covered. A project with more of
// them gets no run: one that is not covered may lead to a program of the host.
const maxSockets = 64

// Kind is what a path on the host is.
type Kind string

// The kinds. Symlink wins over what it points to.
const (
	Missing Kind = "missing"
	Folder  Kind = "folder"
	File    Kind = "file"
	Symlink Kind = "symlink"
	Special Kind = "special" // socket, device, pipe
)

// Workspace is what the host obeys in a project's folder, and who owns it. It is
// read from the disk by Inspect; nothing follows a symbolic link below Dir.
type Workspace struct {
	Dir       string          // absolute, without symbolic links
	Home      string          // the user's home, alike; "" when unknown
	UID, GID  int             // owner of Dir; -1 where files have no owner (Windows)
	Writable  bool            // the agent's user may write Dir by owner or by mode
	ReadOnly  bool            // the file system of Dir is read-only, so it is not Writable
	Closed    []string        // entries of Dir that the agent's user may not write, by name
	FoldsCase bool            // names below Dir lead to the same file in upper and lower case
	Paths     map[string]Kind // every protected path and each of its parents, relative to Dir, slash-separated
	Protect   []string        // what is protected whatever the settings say, alike
	Notes     []string        // sentences for the user about what cannot be protected
	Unread    []string        // the project's instructions for Claude, which a run does not read, alike
	Sockets   []string        // sockets and pipes, which may lead to a program outside, alike
	Husky     Husky

	Git   gitdir.Facts // the repositories that the agent gets its own of
	Owner gitdir.Owner // how the agent signs
	// Filters are those that .gitattributes names, which the agent's git lacks.
	Filters []string
	Above   string // the repository that Dir is a part of; "" when Dir is one, or in none
	// Spellings are other names that may lead to a .git of Git, by its path.
	Spellings map[string][]string

	before repositories // what git finds
}

// The kinds of failure, which a caller may tell apart.
var (
	ErrInput   = errors.New("input is missing")
	ErrRefused = errors.New("refused")
)

// Inspect looks at a project's folder: who owns it and what is at the paths
// that a run protects (the built-in ones, what git obeys in it, and more). A folder that is not there
// wraps ErrInput.
func Inspect(dir string, more []string) (*Workspace, error) {
	dir, info, err := projectFolder(dir)
	if err != nil {
		return nil, err
	}
	w := &Workspace{Dir: dir, Paths: map[string]Kind{}}
	w.Home = homeFolder()
	if up := filepath.Dir(dir); up != dir {
		w.Above = RepositoryOf(up)
	}
	w.UID, w.GID = Owner(info)
	w.ReadOnly = onReadOnly(dir)
	w.Writable = !w.ReadOnly && mayWrite(info, w.UID)
	w.Closed = closedEntries(dir, w.UID)
	w.FoldsCase = foldsCase(dir)
	w.before = findRepositories(context.Background(), dir)
	owner := w.lookAtGit()
	found, notes := gitProtection(dir, w.before, w.hasRepository())
	known, left := protectable(dir)
	w.Unread = unreadInstructions(dir)
	w.Protect, w.Notes = union(union(obeyed.ProjectPaths(), known), union(w.Protect, found)), append(append(w.Notes, notes...), left...)
	opening, commands := openingFiles(dir)
	w.Protect, w.Notes = union(w.Protect, opening), append(w.Notes, commands...)
	if err := w.coverSockets(); err != nil {
		return nil, err
	}
	targets, loose := linkTargets(dir, union(union(w.Protect, more), w.gitObeyed()))
	w.Protect, w.Notes = union(w.Protect, targets), append(w.Notes, loose...)
	w.Protect = slices.DeleteFunc(w.Protect, w.Git.Covers) // hidden behind the agent's own
	for _, p := range leftTokens(dir, w.Protect) {
		w.Notes = append(w.Notes, p+" holds a password or a token, which the agent can read and use at every host that the policy allows: "+
			"keep it in a credential helper, outside of the project")
	}
	w.Spellings = map[string][]string{}
	if w.FoldsCase {
		for _, rel := range w.Git.Paths() {
			w.Spellings[rel] = otherNames(dir, rel)
		}
	}
	for _, p := range slices.Concat(w.Protect, more, w.Git.Paths(), []string{huskyOwn, huskyIgnore}) {
		for _, step := range Steps(p) {
			kind, err := KindOf(filepath.Join(dir, filepath.FromSlash(step)))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrInput, err)
			}
			w.Paths[step] = kind
			if kind != Folder {
				break // nothing below it, or nothing that we would follow
			}
		}
	}
	w.lookAtHusky()
	w.Owner = <-owner
	return w, nil
}

// isEmpty reports whether a folder has no entry, or cannot be read.
func isEmpty(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return true
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) == 0
}

// Unseen is a project's folder of which an agent is shown nothing: only the folder itself
// is looked at. A folder that is not there wraps ErrInput.
func Unseen(dir string) (*Workspace, error) {
	dir, info, err := projectFolder(dir)
	if err != nil {
		return nil, err
	}
	w := &Workspace{Dir: dir, Home: homeFolder(), Writable: true, Paths: map[string]Kind{}}
	w.UID, w.GID = Owner(info)
	return w, nil
}

// projectFolder resolves the name of a project's folder.
func projectFolder(named string) (dir string, info fs.FileInfo, err error) {
	if dir, err = filepath.Abs(named); err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, diag.WithHint(fmt.Errorf("%w: the folder %s does not exist", ErrInput, named),
			"name the project's folder; a prompt of one word comes after --: sbx-devc run -- PROMPT")
	}
	if err == nil {
		info, err = os.Stat(dir)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if !info.IsDir() {
		return "", nil, diag.WithHint(fmt.Errorf("%w: %s is no folder", ErrInput, dir), "name the project's folder: sbx-devc run DIR 'PROMPT'")
	}
	return dir, info, nil
}

// coverSockets chooses the sockets and pipes that the agent must not see: whoever
// listens at a socket on this machine would do as it says, past every firewall.
// Elsewhere the engine is in a virtual machine, where they lead nowhere.
func (w *Workspace) coverSockets() error {
	sockets := w.before.sockets
	if runtime.GOOS != "linux" || len(sockets) == 0 {
		return nil
	}
	if len(sockets) > maxSockets {
		err := fmt.Errorf("%w: %s holds %d sockets and pipes (%s, …), and at most %d can be hidden from the agent",
			ErrRefused, w.Dir, len(sockets), strings.Join(sockets[:3], ", "), maxSockets)
		return diag.WithHint(err, "remove those that no program uses: find . -type s -o -type p")
	}
	w.Sockets = sockets
	w.Notes = append(w.Notes, fmt.Sprintf("%s: sockets or pipes, which the agent does not see; it can talk to a program of this "+
		"machine at one that is made here while it works", strings.Join(w.Sockets, ", ")))
	return nil
}

// Steps lists a relative path's prefixes: "a/b/c" gives a, a/b, a/b/c.
func Steps(p string) []string {
	p = path.Clean(p)
	var out []string
	for i, c := range p {
		if c == '/' {
			out = append(out, p[:i])
		}
	}
	return append(out, p)
}

// KindOf is what a path is; it follows no link.
func KindOf(file string) (Kind, error) {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing, nil
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		return Symlink, nil
	case info.IsDir():
		return Folder, nil
	case info.Mode().IsRegular():
		return File, nil
	}
	return Special, nil
}

// Below reports whether child is parent or in it.
func Below(parent, child string) bool {
	rel, err := filepath.Rel(parent, child)
	return err == nil && filepath.IsLocal(rel)
}

var (
	// systemFolders hold what this machine itself obeys, at any depth.
	systemFolders = []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/usr/sbin",
		"/Library", "/System", "/private/etc", // macOS
	}
	// systemParents hold such folders, but projects may lie in them.
	systemParents = []string{"/home", "/opt", "/run", "/srv", "/tmp", "/usr", "/usr/local", "/var", "/var/lib"}
)

// engineSockets are where container engines listen, also those of a user whose home is
// home, "" = unknown. A program that reaches one is root on the host, or that user.
func engineSockets(home string) []string {
	sockets := []string{"/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"}
	for _, rel := range []string{".docker/run/docker.sock", ".docker/desktop/docker.sock", ".colima/default/docker.sock",
		".orbstack/run/docker.sock", ".rd/docker.sock"} {
		if home != "" {
			sockets = append(sockets, filepath.Join(home, filepath.FromSlash(rel)))
		}
	}
	if name, found := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); found {
		sockets = append(sockets, name)
	}
	return sockets
}

func union(a, b []string) []string {
	var out []string
	for _, e := range slices.Concat(a, b) {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// homeFolder is the user's home without symbolic links; "" when unknown.
func homeFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		return real
	}
	return home
}

// CheckFolder refuses a folder that is more than a project: the whole machine, a
// folder of its system, the user's home or one above; and a bare repository, which has no
// files to work on. The error wraps ErrRefused. A folder that is not there is none of these.
func CheckFolder(dir string) error {
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	}
	return refuseFolder(full, homeFolder())
}

// Refuse refuses the folders that are more than a project, as CheckFolder does.
func (w *Workspace) Refuse() error { return refuseFolder(w.Dir, w.Home) }

// isBare reports whether git takes a folder for a bare repository.
func isBare(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && !head.IsDir() && bareKind(dir) == obeyed.BareFolder
}

func refuseFolder(dir, home string) error {
	var why string
	switch {
	case dir == filepath.VolumeName(dir)+string(filepath.Separator):
		why = "it is the whole machine"
	case home != "" && Below(dir, home):
		why = "it holds your home folder with its keys"
	case slices.ContainsFunc(engineSockets(home), func(socket string) bool { return Below(dir, filepath.FromSlash(socket)) }):
		why = "it holds the container engine's socket"
	case slices.ContainsFunc(systemFolders, func(folder string) bool { return Below(filepath.FromSlash(folder), dir) }),
		slices.Contains(systemParents, filepath.ToSlash(dir)):
		why = "it is part of this machine's system"
	case isBare(dir):
		return diag.WithHint(fmt.Errorf("%w: %s is a bare repository, which has no files to work on", ErrRefused, dir),
			"work in a clone or a worktree of it: git worktree add ../work")
	default:
		return nil
	}
	return diag.WithHint(fmt.Errorf("%w: the agent may not work in %s: %s", ErrRefused, dir, why), "name the project's own folder")
}
