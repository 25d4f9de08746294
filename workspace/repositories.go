package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Git on the host obeys every repository that it meets, also one inside
// another. These bounds keep a huge or a hostile tree from holding up a run;
// both say so when they are reached.
const (
	scanLimit      = 300_000 // entries of the tree that are looked at
	protectedRepos = 64      // nested repositories that are protected
)

// repositories are the places below a folder at which git finds a repository.
type repositories struct {
	found   map[string]obeyed.RepositoryKind // by slash-separated path
	blind   []string                         // what could not be read or came after scanLimit
	sockets []string                         // sockets and pipes, which may lead to a program
}

// findRepositories walks through dir without following symbolic links. It does
// not ask git, which would obey what it meets.
func findRepositories(ctx context.Context, dir string) repositories {
	r := repositories{found: map[string]obeyed.RepositoryKind{}}
	seen := 0
	_ = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		rel := func() string { // most entries need none
			rel, _ := filepath.Rel(dir, file) // it is below dir
			return filepath.ToSlash(rel)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			r.blind = append(r.blind, rel())
			return nil
		}
		if ctx.Err() != nil {
			r.blind = append(r.blind, fmt.Sprintf("everything after %s (%v)", rel(), context.Cause(ctx)))
			return fs.SkipAll
		}
		if seen++; seen > scanLimit {
			r.blind = append(r.blind, fmt.Sprintf("everything after %s (%d entries were looked at)", rel(), scanLimit))
			return fs.SkipAll
		}
		// Some file systems of hosts do not tell upper from lower case.
		switch {
		case d.Type()&(fs.ModeSocket|fs.ModeNamedPipe) != 0:
			r.sockets = append(r.sockets, rel())
		case strings.EqualFold(d.Name(), ".git") && file != dir:
			return r.gitEntry(file, rel(), d)
		case strings.EqualFold(d.Name(), "HEAD"):
			if kind := bareKind(filepath.Dir(file)); kind != "" {
				r.found[path.Dir(rel())] = kind
			}
		}
		return nil
	})
	return r
}

// bareKind is the kind of bare repository that git takes a folder for; "" = none.
func bareKind(folder string) obeyed.RepositoryKind {
	return obeyed.Bare(func(name string) bool {
		_, err := os.Lstat(filepath.Join(folder, name))
		return err == nil
	})
}

// gitEntry notes a .git. A folder without HEAD is none to git.
func (r *repositories) gitEntry(file, rel string, d fs.DirEntry) error {
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		r.found[rel] = obeyed.GitLink
	case d.IsDir():
		if _, err := os.Lstat(filepath.Join(file, "HEAD")); err == nil {
			r.found[rel] = obeyed.GitFolder
		}
		return fs.SkipDir
	default:
		r.found[rel] = obeyed.GitFile
	}
	return nil
}

// gitProtection lists what git on the host would obey in a workspace next to the
// git directories that the agent gets its own of: bare repositories, and where
// the configuration points to. whole says that git on the host finds a
// repository in the workspace's own .git. The notes say what is left out.
func gitProtection(dir string, r repositories, whole bool) (protect, notes []string) {
	for i, rel := range nested(r) {
		if i == protectedRepos {
			notes = append(notes, fmt.Sprintf("more than %d nested repositories: %s and all later ones are not protected from the agent, and "+
				"git on this machine obeys their configuration", protectedRepos, rel))
			break
		}
		if kind := r.found[rel]; kind == obeyed.BareFolder || kind == obeyed.BareLedAway {
			for _, p := range obeyed.GitPaths(rel) {
				if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(p))); err == nil || path.Base(p) == "hooks" {
					protect = append(protect, p)
				}
			}
		}
	}
	if r.found["."] == "" && !whole {
		protect = append(protect, bareStops(dir)...)
	}
	configured, more := configuredPaths(dir)
	return append(protect, configured...), append(notes, more...)
}

// bareStops lists what must not come into a workspace without a repository, so
// that git on the host never takes the folder itself for one. A commondir makes
// git give up, and is removed after the run; the layout of a bare repository must
// be incomplete then, too.
func bareStops(dir string) []string {
	for _, name := range []string{"refs", "objects"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return []string{obeyed.BareStop, name}
		}
	}
	return []string{obeyed.BareStop}
}

// configTime bounds reading git's configuration, which may include a pipe.
const configTime = 5 * time.Second

// configuredPaths lists what the repository's configuration makes git run or
// read within the workspace: core.hooksPath and included files. It asks git,
// which knows all the places of configuration and runs nothing for that;
// without git on this machine nothing here obeys a configuration.
func configuredPaths(dir string) (protect, notes []string) {
	fields, problem := gitConfig(dir)
	if problem != "" {
		return nil, []string{problem}
	}
	add := func(base, value string) {
		value = filepath.FromSlash(value)
		if !filepath.IsAbs(value) {
			value = filepath.Join(base, value)
		}
		rel, err := filepath.Rel(dir, value)
		switch {
		case err != nil || !filepath.IsLocal(rel):
		case rel == ".":
			notes = append(notes, "core.hooksPath is the workspace itself: a file that the agent writes there runs as a git hook on this machine")
		default:
			protect = append(protect, filepath.ToSlash(rel))
		}
	}
	for i := 0; i+1 < len(fields); i += 2 {
		origin, isFile := strings.CutPrefix(fields[i], "file:")
		key, value, _ := strings.Cut(fields[i+1], "\n")
		if isFile {
			add(dir, origin)
			if !filepath.IsAbs(origin) {
				origin = filepath.Join(dir, origin)
			}
		}
		switch {
		case strings.HasPrefix(value, "~"): // the user's home, never in a workspace that a run accepts
		case key == "core.hookspath":
			add(dir, value)
		case key == "include.path", strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path"):
			// Git refuses to work with a folder in its place, and a file would
			// look like one of the project's.
			if _, err := os.Stat(filepath.Join(filepath.Dir(origin), value)); err == nil || filepath.IsAbs(value) {
				add(filepath.Dir(origin), value)
			} else {
				notes = append(notes, fmt.Sprintf("git's configuration includes %s, which is missing: files that the agent writes there are obeyed on "+
					"this machine", value))
			}
		}
	}
	slices.Sort(protect)
	return slices.Compact(protect), notes
}

// gitConfig returns git's configuration for a folder: the origin of each setting, and behind it KEY, a line's end and
// the VALUE. problem is a sentence about a configuration that could not be read; without git or a repository there is none.
func gitConfig(dir string) (fields []string, problem string) {
	git, err := hostprogram.Find("git")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, ""
	}
	if err != nil {
		return nil, "git's configuration is not read: the project's files that it makes git run or read are not protected from the " +
			"agent: " + err.Error() + "; " + diag.HintOf(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), configTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "--no-pager", "-c", "safe.directory=*", "-C", dir, "config", "--list", "--show-origin", "-z")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, "git's configuration cannot be read to its end: the project's files that it makes git run or read are not " +
			"protected from the agent"
	}
	if err != nil {
		return nil, "" // no repository, or none that git would use
	}
	return strings.Split(string(out), "\x00"), ""
}
