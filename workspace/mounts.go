package workspace

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// Mount shows a folder or file of the host, or a volume, in the agent's container.
type Mount struct {
	Source   string // on the host; "" for a volume, and for a file of ours before WriteFiles
	Target   string // in the container, absolute
	ReadOnly bool
	Volume   string // instead of Source: the place of a volume in the firewall's container
}

// Mounts are how the agent's container shows a project, so that the agent cannot
// write what the host obeys there. They are decided before a run, compared with the
// container's own when it runs, and looked at while the agent works.
type Mounts struct {
	Dir          string        `json:"-"` // of the project on the host, without symbolic links
	Target       string        `json:"-"` // of the project in the container
	FoldsCase    bool          `json:"-"` // as Workspace.FoldsCase
	List         []Mount       `json:"-"` // in the order of mounting: the project's by their targets, then others
	Placeholders []Placeholder `json:"placeholders,omitempty"`
	Git          gitdir.Layout `json:"git"`               // the agent's own git directories
	Scratch      []string      `json:"scratch,omitempty"` // folders in the container to cover by empty ones in memory
	Files        []gitdir.File `json:"files,omitempty"`   // files of the project that the agent has copies of, and may write
	Carried      []Carried     `json:"carried,omitempty"` // see Carry

	mode    Mode
	folders []addedFolder // of the host's, in addition to the project
}

// Mode says how the project gets into the sandbox.
type Mode string

// The modes.
const (
	Bind     Mode = "bind" // the folder itself; changes are seen at once
	ReadOnly Mode = "ro"   // the folder itself, which the agent can read and not change
	None     Mode = "none" // an empty folder, which ends with the run

	// In these the agent works in a folder of the run's, and what it left there is taken
	// into the project later.
	Copy  Mode = "copy"  // a copy of the folder as it is
	Clone Mode = "clone" // the files of the repository's last commit
)

// Mounts decides how the project is shown at target in a mode, with the protected paths
// and those in more read-only, and which placeholders that needs. All of them are
// relative to the project, slash-separated, and known to Inspect. In the mode ReadOnly
// nothing is made in the project, and in the mode None nothing of it is shown.
//
// A mount point cannot be renamed or removed from inside, but its parent could:
// after `mv .git old` a new .git/hooks would be writable. Every parent is
// therefore bound onto itself, which makes it a mount point too.
//
// Each .git is covered by the agent's own, see gitdir.
//
// Sockets and pipes are covered by a device that takes everything and says
// nothing.
//
// A symbolic link on the way is refused with ErrRefused: the engine would follow
// it on the host, and a project could have any folder of the host mounted that way.
func (w *Workspace) Mounts(target string, mode Mode, more []string) (*Mounts, error) {
	m := &Mounts{Dir: w.Dir, Target: target, FoldsCase: w.FoldsCase, mode: mode}
	if mode == None {
		return m, nil
	}
	m.Git = gitdir.NewLayout(w.Git, target)
	outside, covers := m.gitMounts(w.Spellings)
	b := mountBuilder{
		workspace: w, target: target, covers: covers,
		mounts:       map[string]Mount{".": {Source: w.Dir, Target: target, ReadOnly: mode == ReadOnly}},
		placeholders: map[string]Placeholder{},
	}
	protect := append(slices.DeleteFunc(union(w.Protect, more), w.Git.Covers), slices.Sorted(maps.Keys(covers))...)
	if mode == ReadOnly { // all is, and what is not there cannot come
		protect = slices.DeleteFunc(slices.Sorted(maps.Keys(covers)), func(p string) bool { return w.Paths[p] != Folder && w.Paths[p] != File })
	}
	for _, p := range protect {
		p = path.Clean(p)
		if !filepath.IsLocal(filepath.FromSlash(p)) || p == "." {
			return nil, fmt.Errorf("%w: %q is not a path below the workspace and cannot be protected", ErrRefused, p)
		}
		if err := b.protect(p); err != nil {
			return nil, err
		}
	}
	if mode == Bind && w.Husky.InUse {
		b.coverHusky(m)
	}
	for _, socket := range w.Sockets {
		// Not read-only: its program may end and take it away, and sbx-init in
		// the agent's container ends everything when a read-only mount goes.
		b.mounts[socket] = Mount{Source: os.DevNull, Target: path.Join(target, socket)}
	}
	m.List = slices.AppendSeq(outside, maps.Values(b.mounts))
	slices.SortFunc(m.List, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
	m.Placeholders = slices.SortedFunc(maps.Values(b.placeholders), func(a, b Placeholder) int { return strings.Compare(a.Path, b.Path) })
	return m, nil
}

// IsCopy reports whether the agent works in a folder of the run's.
func (m Mode) IsCopy() bool { return m == Copy || m == Clone }

// CopyMounts decides how tree, a folder for the run alone, is shown at target in the
// mode Copy, Clone or, where the agent cannot write it, ReadOnly, with git directories of the agent's own. Nothing in it is
// protected, because programs of the host obey nothing there; a person looks at what
// changed before it comes into the project. A clone needs a repository of the
// project's own: the error wraps ErrRefused.
func (w *Workspace) CopyMounts(target string, mode Mode, tree string) (*Mounts, error) {
	facts := w.Git
	if mode == Clone {
		at := slices.IndexFunc(facts.Repositories, func(r gitdir.Repository) bool { return r.Path == ".git" && len(r.Stores) > 0 })
		if at < 0 {
			return nil, w.noClone()
		}
		own := facts.Repositories[at]
		own.Stores = own.Stores[:1]
		facts = gitdir.Facts{Repositories: []gitdir.Repository{own}}
	}
	m := &Mounts{Dir: tree, Target: target, mode: mode, Git: gitdir.NewLayout(facts, target)}
	outside, covers := m.gitMounts(nil)
	m.List = slices.AppendSeq(append(outside, Mount{Source: tree, Target: target, ReadOnly: mode == ReadOnly}), maps.Values(covers))
	slices.SortFunc(m.List, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
	return m, nil
}

// noClone says why there is nothing to clone.
func (w *Workspace) noClone() error {
	err := fmt.Errorf("%w: %s has no git repository of its own to clone", ErrRefused, w.Dir)
	hint := "--workspace copy works on a copy of the folder"
	for _, r := range w.Git.Repositories {
		if r.Path == ".git" && r.Problem != "" {
			err, hint = fmt.Errorf("%w: %s", err, r.Problem), r.Hint+"; "+hint
		}
	}
	if w.Above != "" {
		hint = fmt.Sprintf("run it on %s, whose part it is; %s", w.Above, hint)
	}
	return diag.WithHint(err, "%s", hint)
}

// mountBuilder collects the mounts of protected paths, by the path in the project.
type mountBuilder struct {
	workspace    *Workspace
	target       string
	covers       map[string]Mount // over each .git
	mounts       map[string]Mount
	placeholders map[string]Placeholder
}

func (b *mountBuilder) bind(rel string, readOnly bool) {
	b.mounts[rel] = Mount{
		Source:   filepath.Join(b.workspace.Dir, filepath.FromSlash(rel)),
		Target:   path.Join(b.target, rel),
		ReadOnly: readOnly || b.mounts[rel].ReadOnly, // a path that is protected itself stays so
	}
}

func (b *mountBuilder) hold(rel string, kind Kind, text string, shared bool) {
	if _, held := b.placeholders[rel]; !held {
		at := filepath.Join(b.workspace.Dir, filepath.FromSlash(rel))
		b.placeholders[rel] = Placeholder{Path: at, Kind: kind, Text: text, Shared: shared}
	}
}

// protect mounts p and each folder on the way to it.
func (b *mountBuilder) protect(p string) error {
	way := Steps(p)
	for i, step := range way {
		last := i == len(way)-1
		kind := b.workspace.Paths[step]
		if kind == "" {
			kind = Missing // its parent is
		}
		cover, covered := b.covers[step]
		switch {
		case kind == Symlink || kind == Special:
			what := map[Kind]string{Symlink: "symbolic link", Special: "device, socket or pipe"}[kind]
			err := fmt.Errorf("%w: %s in the workspace is a %s", ErrRefused, step, what)
			return diag.WithHint(err, "it lies on the protected path %s, and the engine would follow it on this machine: replace it with a "+
				"plain file or folder", p)
		case last && covered:
			if kind == Missing {
				b.hold(step, Folder, "", false)
			}
			b.mounts[step] = cover
		case last && kind == Missing:
			kind, text := StandIn(p)
			b.hold(step, kind, text, false)
			b.bind(step, true)
		case last:
			b.bind(step, true)
		case kind == File:
			// A .git file, as in a worktree or submodule, says where the
			// repository is: it is what must not change.
			b.bind(step, true)
			return nil
		case kind == Missing:
			b.hold(step, Folder, "", true)
			b.bind(step, false)
		default:
			b.bind(step, false)
		}
	}
	return nil
}
