package gitdir

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Bounds of Disarm. An agent decides how much there is to look at, so everything beyond
// them counts as dangerous.
const (
	maxConfigs = 256  // git directories that are looked at
	maxHooks   = 1000 // names in hooks
	maxActs    = 8    // reasons that are named of one
	maxAct     = 200  // bytes of a reason
)

// plain are settings that a fresh clone or 'git init' leaves in a configuration, or that
// people and tools set there, in addition to kept. None names a program, a file or a
// server's address that runs one.
var plain = []string{
	"core.bare", "core.sharedrepository", "remote.tagopt", "remote.pushdefault", "remote.gh-resolved", "submodule.recurse",
	"fetch.prune", "push.default", "push.autosetupremote", "gc.auto", "lfs.repositoryformatversion",
}

// switches are settings that name a program or turn one on, unless they are false.
var switches = []string{"core.fsmonitor", "commit.gpgsign", "tag.gpgsign"}

// Disarmed is a git directory that an agent made and that has more than a fresh clone has.
type Disarmed struct {
	Path string   // below the project, slash-separated
	Acts []string // what git would obey there; may hold the agent's words
	Head string   // where its HEAD is now, alike, so that git takes the folder for none
	Err  error    // why HEAD could not be moved; nil = it was
}

// Disarm looks at git directories that are new in the project dir, slash-separated. Where
// git would run or obey more than in a fresh clone, it renames HEAD, to a name that an
// agent cannot know in advance: git then takes the folder for no repository, and nothing
// is lost. A part that cannot be read, or comes after the bounds or ctx's end, counts as
// more.
//
// It goes through one open folder, so that a link which comes meanwhile leads nowhere else.
func Disarm(ctx context.Context, dir string, gitDirs []string) (found []Disarmed, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for i, at := range gitDirs {
		acts := []string{"there is too much to look at"}
		if i < maxConfigs && ctx.Err() == nil {
			acts = actsOf(root, dir, at)
		}
		head := path.Join(at, "HEAD")
		if _, err := root.Lstat(filepath.FromSlash(head)); errors.Is(err, fs.ErrNotExist) || len(acts) == 0 {
			continue
		}
		one := Disarmed{Path: at, Acts: acts[:min(len(acts), maxActs)], Head: head + ".disarmed-" + strings.ToLower(rand.Text()[:8])}
		one.Err = move(root, head, one.Head)
		found = append(found, one)
	}
	return found, nil
}

// actsOf says what git obeys in a git directory and not in a fresh clone.
func actsOf(root *os.Root, dir, at string) (acts []string) {
	for _, name := range []string{"config", "config.worktree"} {
		text, err := textOf(root, path.Join(at, name), maxSmall)
		var values []Value
		if err == nil {
			values, err = parseConfig(name, text)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			acts = append(acts, name+", which cannot be read")
		}
		for _, v := range values {
			if !isPlain(dir, at, v) {
				act := v.Section + "." + v.Name + " = " + v.Value
				acts = append(acts, act[:min(len(act), maxAct)])
			}
		}
	}
	hooks, err := root.OpenFile(filepath.FromSlash(path.Join(at, "hooks")), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		var names []string
		names, err = hooks.Readdirnames(maxHooks + 1)
		hooks.Close()
		for i, name := range names {
			if i == maxHooks || !strings.HasSuffix(name, ".sample") {
				acts = append(acts, "hooks/"+name)
			}
		}
	}
	if err != nil && err != io.EOF && !errors.Is(err, fs.ErrNotExist) {
		acts = append(acts, "hooks, which cannot be read")
	}
	common, err := textOf(root, path.Join(at, "commondir"), maxSmall)
	linked := path.Base(path.Dir(at)) == "worktrees" && strings.TrimSpace(common) == "../.."
	if !errors.Is(err, fs.ErrNotExist) && (err != nil || !linked) {
		acts = append(acts, "commondir")
	}
	return acts
}

// isPlain reports whether a setting is one of a fresh clone.
func isPlain(dir, at string, v Value) bool {
	key := v.Section + "." + v.Name
	switch {
	case slices.Contains(switches, key):
		return slices.Contains([]string{"false", "no", "off", "0", ""}, strings.ToLower(v.Value))
	case key == "extensions.partialclone", v.Section == "remote" && v.Name == "promisor":
		return false // git status asks the server, with the user's SSH keys, for what is missing
	case key == "core.worktree": // of a submodule: its files must be in the project
		to := filepath.FromSlash(path.Join(at, v.Value))
		real, err := filepath.EvalSymlinks(filepath.Join(dir, to))
		return err == nil && !filepath.IsAbs(v.Value) && filepath.IsLocal(to) && to != "." && real == filepath.Join(dir, to)
	}
	return slices.Contains(kept, key) || slices.Contains(plain, key)
}

// move renames a file, also in a folder that its agent closed.
func move(root *os.Root, from, to string) error {
	at := filepath.FromSlash(path.Dir(from))
	err := root.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
	if errors.Is(err, fs.ErrPermission) && root.Chmod(at, 0o700) == nil {
		err = root.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
	}
	return err
}
