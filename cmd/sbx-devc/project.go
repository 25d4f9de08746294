package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/templates/scaffold"
	"github.com/org/claude-sandbox/workspace"
)

// projectDir is the folder that a command is about: the one that is named, or the
// project around the current folder. Which one that is, is said when it is
// another.
func (a *app) projectDir(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	dir, _ := a.projectAround(holdsProject)
	return dir
}

// runDir is projectDir for a run, which needs no dev container: where there is none,
// the repository around the current folder is the project. folder is where the user
// stands in it, slash-separated; "" = at its root.
func (a *app) runDir(named string) (dir, folder string) {
	if named != "" {
		return named, ""
	}
	return a.projectAround(func(dir string) bool {
		return holdsProject(dir) || workspace.RepositoryOf(dir) == dir && workspace.CheckFolder(dir) == nil
	})
}

// projectAround looks for a project from the current folder upwards, see
// workspace.ProjectAround. folder is the way down again.
func (a *app) projectAround(is func(dir string) bool) (dir, folder string) {
	here, err := filepath.EvalSymlinks(".")
	if err == nil {
		here, err = filepath.Abs(here)
	}
	if err != nil {
		return ".", ""
	}
	here = real(here)
	found := workspace.ProjectAround(here, real(a.getenv("HOME")), is)
	up, err := filepath.Rel(here, found)
	down, downErr := filepath.Rel(found, here)
	if err != nil || downErr != nil || up == "." {
		return ".", ""
	}
	fmt.Fprintf(a.stderr, "sbx-devc: note: the project is %s\n", visible.Line(found))
	return up, filepath.ToSlash(down)
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

// projectAsked is the project whose newest run is meant where no run is named:
// the one around the current folder, which has a dev container or a run, or ""
// for --all.
func (a *app) projectAsked(all bool, args []string) (string, error) {
	switch {
	case all && len(args) > 0:
		return "", exitWith(exitUsage, diag.WithHint(errors.New("--all and a named log exclude each other"),
			"--all is for the newest run of any project; leave one of both out"))
	case all:
		return "", nil
	}
	here, err := projectWith(defaultSettings)
	if err != nil {
		return "", exitWith(exitInternal, err)
	}
	hasRun := a.runs().Projects()
	project := workspace.ProjectAround(here, real(a.getenv("HOME")), func(dir string) bool { return hasRun[dir] || holdsProject(dir) })
	if project != here {
		fmt.Fprintf(a.stderr, "sbx-devc: note: the project is %s\n", project)
	}
	return project, nil
}

// runs are those that this user's runs left here.
func (a *app) runs() runs.Home {
	return runs.HomeOf(a.getenv, func(line string) { fmt.Fprintf(a.stderr, "sbx-devc: %s\n", line) })
}
