package run

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// workspaceFlags say which folders of this machine the agent gets, and how. They are a
// part of settingsFlags.
type workspaceFlags struct {
	mode   string
	none   bool
	mounts []string
}

func (o *workspaceFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.mode, "workspace", "",
		"how the agent gets the project: bind (the folder itself), ro (read-only), copy (at most 8 GiB), "+
			"clone (of the last commit) or none (an empty folder)")
	f.BoolVar(&o.none, "no-mount", false, "the same as --workspace none")
	f.StringArrayVar(&o.mounts, "mount", nil,
		"a folder or file in addition: `HOST:CONTAINER[:ro]`, or type=bind,source=HOST,target=CONTAINER[,readonly]")
}

// give adds what the flags say to settings.
func (o *workspaceFlags) give(given *settings.Given) error {
	mode := o.mode
	if o.none {
		if mode != "" && mode != string(workspace.None) {
			return exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--no-mount and --workspace "+mode+" exclude each other"),
				"leave one out"))
		}
		mode = string(workspace.None)
	}
	here, err := os.Getwd()
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	given.WorkspaceMode("--workspace", mode)
	given.Mounts("--mount", o.mounts, here)
	return nil
}

// ownFolders are where this program keeps the user's settings, runs and images.
func ownFolders(a *cli.App) (dirs []string) {
	if own, err := userdir.Find(a.Getenv); err == nil {
		dirs = append(dirs, projects.Real(string(own)))
	}
	if cache, err := images.CacheDir(); err == nil {
		dirs = append(dirs, projects.Real(cache))
	}
	return append(dirs, projects.Real(filepath.Dir(projects.Runs(a).Dir())))
}
