package obeyed

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// HostPaths are the paths below a workspace, slash-separated, that act on the
// host later: a program there runs them or obeys them. A dev container shows
// them to the agent read-only, and covers the missing ones with something empty.
//
// BareStop stands for the workspace itself. If the agent breaks .git, git
// on the host takes the folder around it for a bare repository, as soon as it
// holds HEAD, objects and refs, and obeys the config next to them. An empty
// folder named commondir makes git give up instead (measured with 2.39), while
// an empty one named HEAD would make "git diff HEAD" ambiguous.
//
// A run has no use for those of git: its agent has a git directory of its own.
func HostPaths() []string { return slices.Concat(ProjectPaths(), []string{BareStop}, GitPaths(".git")) }

// BareStop keeps git from taking the workspace itself for a bare repository.
const BareStop = "commondir"

// ProjectPaths are those of HostPaths that are the project's own, and not git's.
func ProjectPaths() []string {
	return []string{".devcontainer", ".devcontainer.json", ".vscode", ".idea", ".claude", ".husky", ".githooks"}
}

// GitPaths are the paths that git runs or obeys in a repository's own folder,
// such as .git, .git/modules/NAME or a bare repository.
//
// commondir and config.worktree are no files that people know: a commondir that
// names another folder makes git read that folder's config, and core.fsmonitor
// in there is a command.
func GitPaths(folder string) []string {
	var out []string
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir"} {
		out = append(out, path.Join(folder, name))
	}
	return out
}

// StandIn says what stands in for a missing protected path. Inside a
// repository's own folder it must be what git expects: files that say nothing
// new, and a commondir of "." means the folder itself. Elsewhere it is an empty
// folder whatever the name promises, because git does not see one, so that it
// never becomes part of a commit.
func StandIn(p string) (text string, isFile bool) {
	folder, name := path.Split(p)
	if !slices.Contains(strings.Split(folder, "/"), ".git") {
		return "", false
	}
	switch name {
	case "commondir":
		return ".\n", true
	case "config", "config.worktree", "gitdir":
		return "", true
	}
	return "", false
}

// GitNames are the names that lead to .git where a file system does not tell
// upper from lower case: its spellings, .git first, and those of GIT~1, the short
// name that NTFS may give it.
func GitNames() (names []string) {
	for _, base := range []string{".git", "git~1"} {
		spellings := []string{""}
		for _, c := range base {
			var longer []string
			for _, s := range spellings {
				longer = append(longer, s+string(c))
				if upper := unicode.ToUpper(c); upper != c {
					longer = append(longer, s+string(upper))
				}
			}
			spellings = longer
		}
		names = append(names, spellings...)
	}
	return names
}

// IsGitName reports whether a name is one of GitNames.
func IsGitName(name string) bool {
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// IsGitFile reports whether a path's last element is the name of a file that git
// obeys. Git itself never writes to such a file: it renames a new one to its
// place, so a change of its content is somebody else's.
func IsGitFile(p string) bool {
	return slices.Contains([]string{"config", "config.worktree", "commondir", "gitdir", ".git"}, path.Base(p))
}

// SwapCase turns upper into lower case and the other way round: a name that leads
// to the same file where case is folded.
func SwapCase(name string) string {
	return strings.Map(func(c rune) rune {
		if lower := unicode.ToLower(c); lower != c {
			return lower
		}
		return unicode.ToUpper(c)
	}, name)
}
