package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// projectDir is the folder that a command is about: the one that is named, or the
// project around the current folder. Which one that is, is said when it is
// another.
func (a *app) projectDir(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	here, err := filepath.EvalSymlinks(".")
	if err == nil {
		here, err = filepath.Abs(here)
	}
	if err != nil {
		return "."
	}
	found := projectAround(real(here), real(a.getenv("HOME")), holdsProject)
	rel, err := filepath.Rel(real(here), found)
	if err != nil || rel == "." {
		return "."
	}
	fmt.Fprintf(a.stderr, "sbx-devc: note: the project is %s\n", found)
	return rel
}

// projectPaths is projectDir for commands that take several paths.
func (a *app) projectPaths(args []string) []string {
	if len(args) > 0 {
		return args
	}
	if _, err := devcontainer.Discover("."); err == nil {
		return []string{"."}
	}
	return []string{a.projectDir(nil)}
}

// projectFile is the place of the project's settings, where a flag still names
// its default.
func (a *app) projectFile(file string) string {
	if file != defaultSettings {
		return file
	}
	return filepath.Join(a.projectDir(nil), file)
}

// projectAround returns the nearest folder from here upwards that is a project:
// up to the root of the repository or, where there is none, below the user's
// home. Elsewhere other users could have put a project above. It is here itself
// when there is none.
func projectAround(here, home string, is func(dir string) bool) string {
	root := gitRoot(here)
	inHome := home != "" && strings.HasPrefix(here, strings.TrimRight(home, string(filepath.Separator))+string(filepath.Separator))
	for dir := here; ; dir = filepath.Dir(dir) {
		switch {
		case is(dir):
			return dir
		case dir == root, root == "" && !inHome, dir == filepath.Dir(dir), filepath.Dir(dir) == home:
			return here
		}
	}
}

// holdsProject reports whether a dev container's files, or its settings alone,
// are in dir.
func holdsProject(dir string) bool {
	for _, name := range []string{scaffold.ConfigPath, ".devcontainer.json", filepath.ToSlash(defaultSettings)} {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	named, _ := filepath.Glob(filepath.Join(dir, ".devcontainer", "*", "devcontainer.json"))
	return len(named) > 0
}
