package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
)

// profileFlags say what of earlier runs the agent finds, and what of this one stays.
type profileFlags struct {
	name    string
	persist []string
	fresh   bool

	paths []string // persist, checked
}

func (o *profileFlags) Title() string { return "What stays between runs" }

func (o *profileFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.name, "profile", "",
		"with the settings of this profile, and with the conversations and notes that earlier runs of the project left under it")
	f.StringArrayVar(&o.persist, "persist", nil,
		"keep this folder of the agent's home, a `PATH`, for later runs of the project, such as .local/share/tool")
	f.BoolVar(&o.fresh, "fresh", false, "with nothing that earlier runs left, and leave that as it is: conversations, kept folders, caches")
}

func (o *profileFlags) check(f *pflag.FlagSet) error {
	if o.name != "" {
		if err := kept.CheckName(o.name); err != nil {
			return err
		}
	}
	if o.fresh && (f.Lookup("continue").Changed || f.Lookup("resume").Changed) {
		return errors.New("--fresh excludes --continue and --resume")
	}
	return nil
}

// readPersist checks the paths to keep, when files of them have been read.
func (o *profileFlags) readPersist() (err error) {
	var paths []string
	home, _ := os.UserHomeDir()
	for _, path := range o.persist { // shells put your home in the place of "~/"; the agent's is meant
		if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && home != "" {
			path = filepath.ToSlash(rest)
		}
		paths = append(paths, path)
	}
	if o.paths, err = runplan.HomePaths(paths); err != nil {
		return exitcode.With(exitcode.Usage, fmt.Errorf("--persist: %w", err))
	}
	return nil
}

func (o *profileFlags) plan(p *runplan.Options) {
	p.Persist, p.KeepClaude = o.paths, o.name != "" && !o.fresh
}

// open opens what earlier runs of the project left and this one keeps; nil for nothing.
func (o *profileFlags) open(a *cli.App, plan *runplan.Plan) (*kept.Store, error) {
	if o.fresh || o.name == "" && len(o.paths) == 0 {
		return nil, nil
	}
	store := projects.Runs(a).Kept()
	if own, err := userdir.Find(a.Getenv); o.name != "" && !store.HasProfile(o.name) &&
		(err != nil || !filekind.IsRegular(own.File(session.ProfileFile(o.name)))) {
		a.SayLine("note: the profile %s is new ('sbx-devc profile list' shows the others)", o.name)
	}
	return store.Open(o.name, plan.Folder(), plan.ID)
}

// UserLayers reads the user's own settings for a run on dir, and above them those of a
// profile, "" = of none.
func UserLayers(a *cli.App, dir, profile string) (all settings.Settings, layers []settings.Layer, err error) {
	all, file, err := ownSettings(a, dir)
	if err != nil {
		return all, nil, err
	}
	if file != nil {
		layers = append(layers, settings.Layer{Settings: all, File: file, Origin: func(string) string { return "user" }})
	}
	if profile == "" {
		return all, layers, nil
	}
	folder, err := userdir.Find(a.Getenv)
	if err != nil {
		return all, layers, nil // a machine without homes has no such file
	}
	if file, err = session.ProfileSettings(folder, profile, dir); file == nil || err != nil {
		return all, layers, err
	}
	above := settings.Layer{Settings: file.Settings.Settings, File: file, Origin: func(string) string { return "profile " + profile }}
	return runplan.Overlay(all, file.Settings.Settings), append([]settings.Layer{above}, layers...), nil
}

// ownSettings reads the user's own file for a run on dir; none is no settings.
func ownSettings(a *cli.App, dir string) (settings.Settings, *settings.File, error) {
	folder, err := userdir.Find(a.Getenv)
	if err != nil {
		return settings.Settings{}, nil, nil // a machine without homes has no such file
	}
	file, err := session.OwnSettings(folder, dir)
	if file == nil || err != nil {
		return settings.Settings{}, nil, err
	}
	return file.Settings.Settings, file, nil
}
