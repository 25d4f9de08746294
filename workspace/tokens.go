package workspace

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// maxConfig is how much of a git configuration is searched, in bytes.
const maxConfig = 1 << 20

// LeftTokens lists the git configurations of the repositories in dir, nested ones
// and submodules among them, that hold a credential. The agent reads them like
// every other file.
func LeftTokens(dir string) []string {
	paths := gitFiles(dir, ".git")
	found := findRepositories(context.Background(), dir).found
	for _, rel := range slices.Sorted(maps.Keys(found)) {
		if kind := found[rel]; rel != ".git" && (kind == obeyed.GitFolder || kind == obeyed.BareFolder) {
			paths = append(paths, gitFiles(dir, rel)...)
		}
	}
	return leftTokens(dir, paths)
}

// gitFiles lists the files with names of git's in a repository's own folder, at any
// depth: its submodules and worktrees have theirs there.
func gitFiles(dir, repository string) (rels []string) {
	left := scanLimit
	_ = filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(repository)), func(file string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		if err == nil && obeyed.IsGitFile(d.Name()) {
			rel, _ := filepath.Rel(dir, file) // it is below dir
			rels = append(rels, filepath.ToSlash(rel))
		}
		return nil
	})
	return rels
}

// leftTokens lists those of the paths below dir that are a git configuration
// with a credential.
func leftTokens(dir string, paths []string) (holding []string) {
	for _, p := range paths {
		if !obeyed.IsGitFile(p) {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(p))
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if text, err := filekind.Read(file, maxConfig); err == nil && HoldsToken(string(text)) {
			holding = append(holding, p)
		}
	}
	return holding
}

// minToken is the length from which a user's name in a URL is taken for a token.
const minToken = 20

// HoldsToken looks for the places in a git configuration where tokens are left: a
// header for every request, and a web address with a password, wherever it
// stands. A user's name alone is none, as hosts put it into the addresses that
// they show, unless it is as long as a token.
func HoldsToken(config string) bool {
	for line := range strings.SplitSeq(strings.ToLower(config), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		key, _, isSet := strings.Cut(line, "=")
		if isSet && strings.HasSuffix(strings.TrimSpace(key), "extraheader") {
			return true
		}
		for rest := line; ; {
			before, after, found := strings.Cut(rest, "://")
			if !found {
				break
			}
			rest = after
			if !strings.HasSuffix(before, "http") && !strings.HasSuffix(before, "https") {
				continue
			}
			authority := after
			if end := strings.IndexAny(after, "/\"' \t?#"); end >= 0 {
				authority = after[:end]
			}
			user, _, found := strings.Cut(authority, "@")
			_, password, _ := strings.Cut(user, ":")
			if found && (password != "" || len(user) >= minToken) {
				return true
			}
		}
	}
	return false
}
