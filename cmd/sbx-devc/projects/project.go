package projects

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/templates/scaffold"
	"github.com/org/claude-sandbox/workspace"
)

// Dir is the folder that a command is about: the one that is named, or the
// project around the current folder. Which one that is, is said when it is
// another.
func Dir(a *cli.App, args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	dir, _ := around(a, holdsProject)
	return dir
}

// RunDir is Dir for a run, which needs no dev container: where there is none,
// the repository around the current folder is the project. folder is where the user
// stands in it, slash-separated; "" = at its root.
func RunDir(a *cli.App, named string) (dir, folder string) {
	if named != "" {
		return named, ""
	}
	return around(a, func(dir string) bool {
		return holdsProject(dir) || workspace.RepositoryOf(dir) == dir && workspace.CheckFolder(dir) == nil
	})
}

// Shown is the folder that a run in the project dir shows to its agent: the repository
// around a project that is a part of one, as editors do with dev containers, so that git
// works; else dir. folder is where in the project the user stands, and inShown where that
// is in what is shown. A repository that no run may have, as one in the home folder
// itself, stays outside.
func Shown(a *cli.App, dir, folder string) (shown, inShown string) {
	project, err := filepath.Abs(dir)
	if err != nil {
		return dir, folder
	}
	project = Real(project)
	shown = workspace.ProjectAround(project, Real(a.Getenv("HOME")), func(dir string) bool {
		return workspace.RepositoryOf(dir) == dir && workspace.CheckFolder(dir) == nil
	})
	rel, err := filepath.Rel(shown, project)
	if err != nil || rel == "." {
		return dir, folder
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: note: %s is a part of the repository %s, which the agent gets\n",
		visible.Line(project), visible.Line(shown))
	return shown, path.Join(filepath.ToSlash(rel), folder)
}

// around looks for a project from the current folder upwards, see
// workspace.ProjectAround. folder is the way down again.
func around(a *cli.App, is func(dir string) bool) (dir, folder string) {
	here, err := filepath.EvalSymlinks(".")
	if err == nil {
		here, err = filepath.Abs(here)
	}
	if err != nil {
		return ".", ""
	}
	here = Real(here)
	found := workspace.ProjectAround(here, Real(a.Getenv("HOME")), is)
	up, err := filepath.Rel(here, found)
	down, downErr := filepath.Rel(found, here)
	if err != nil || downErr != nil || up == "." {
		return ".", ""
	}
	fmt.Fprintf(a.Stderr, "sbx-devc: note: the project is %s\n", visible.Line(found))
	return up, filepath.ToSlash(down)
}

// Paths is Dir for commands that take several paths.
func Paths(a *cli.App, args []string) []string {
	if len(args) > 0 {
		return args
	}
	if _, err := devcontainer.Discover("."); err == nil {
		return []string{"."}
	}
	return []string{Dir(a, nil)}
}

// SettingsFile is the place of the project's settings, where a flag still names
// its default.
func SettingsFile(a *cli.App, file string) string {
	if file != DefaultSettings {
		return file
	}
	return filepath.Join(Dir(a, nil), file)
}

// holdsProject reports whether a dev container's files, or its settings alone,
// are in dir.
func holdsProject(dir string) bool {
	for _, name := range []string{scaffold.ConfigPath, ".devcontainer.json", filepath.ToSlash(DefaultSettings)} {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	named, _ := filepath.Glob(filepath.Join(dir, ".devcontainer", "*", "devcontainer.json"))
	return len(named) > 0
}

// OfRuns is the project whose newest run is meant where no run is named:
// the one around the current folder, which has a dev container or a run, or ""
// for --all.
func OfRuns(a *cli.App, all bool, args []string) (string, error) {
	switch {
	case all && len(args) > 0:
		return "", exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--all and a named log exclude each other"),
			"--all is for the newest run of any project; leave one of both out"))
	case all:
		return "", nil
	}
	here, err := Of(DefaultSettings)
	if err != nil {
		return "", exitcode.With(exitcode.Internal, err)
	}
	hasRun := Runs(a).Projects()
	home := Real(a.Getenv("HOME"))
	project := workspace.ProjectAround(here, home, func(dir string) bool { return hasRun[dir] }) // a part of it may be a project of its own
	if !hasRun[project] {
		project = workspace.ProjectAround(here, home, holdsProject)
	}
	if project != here {
		fmt.Fprintf(a.Stderr, "sbx-devc: note: the project is %s\n", project)
	}
	return project, nil
}

// Runs are those that this user's runs left here.
func Runs(a *cli.App) runs.Home {
	home := runs.HomeOf(a.Getenv, func(line string) { fmt.Fprintf(a.Stderr, "sbx-devc: %s\n", line) })
	home.Accepted = func(dir string) map[string][]byte {
		own, err := OwnFolder(a)
		if err != nil {
			return nil
		}
		return accept.OwnFiles(own, dir)
	}
	return home
}

// Profiles lists all profiles by their names.
func Profiles(a *cli.App) ([]session.Profile, error) {
	own, _ := OwnFolder(a) // without one no profile has settings
	return session.Profiles(own, Runs(a).Kept())
}
