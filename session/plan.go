package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// Project is a folder that a run is about, with its own settings as they were read
// once: nothing that decides about them reads the file again.
type Project struct {
	Dir      string
	Settings *settings.File // nil = it has none
}

// ReadProject reads the project in the folder dir. Errors carry an exit code;
// *SettingsError is one of them.
func ReadProject(dir string) (*Project, error) {
	file, err := projectSettings(dir)
	return &Project{dir, file}, err
}

// Plan plans a run on the folder dir; see ReadProject and Project.Plan.
func Plan(dir string, o sandbox.Options) (*sandbox.Plan, error) {
	p, err := ReadProject(dir)
	if err != nil {
		return nil, err
	}
	return p.Plan(o)
}

// Plan plans a run with the default image, by o and by the project's own settings,
// which may narrow it and protect more. Errors carry an exit code; sandbox.ErrWidens
// is one that o.TrustProject avoids.
func (p *Project) Plan(o sandbox.Options) (*sandbox.Plan, error) {
	o = p.complete(o)
	protect := slices.Concat(o.User.Workspace.Protect, o.Own.Workspace.Protect)
	if o.Project != nil {
		protect = append(protect, o.Project.Workspace.Protect...)
	}
	folder, err := workspace.Inspect(p.Dir, protect)
	if err != nil {
		return nil, planError(err)
	}
	addrs, err := sandbox.HostAddresses()
	if err != nil {
		return nil, planError(err)
	}
	plan, err := sandbox.NewPlan(o, sandbox.Facts{Workspace: folder, HostAddresses: addrs})
	return plan, planError(err)
}

// Widens is the error of Plan that says that the project's settings ask for more than
// the user allowed, or nil.
func (p *Project) Widens(o sandbox.Options) error { return planError(p.complete(o).Widens()) }

// Effective returns the settings that Plan would take.
func (p *Project) Effective(o sandbox.Options) (settings.Settings, error) {
	s, err := p.complete(o).Effective()
	return s, planError(err)
}

func (p *Project) complete(o sandbox.Options) sandbox.Options {
	o.Image, o.FirewallImage = release.Image(), cmp.Or(o.FirewallImage, images.FirewallName())
	if p.Settings != nil {
		o.Project = &p.Settings.Settings.Settings
	}
	return o
}

func planError(err error) error {
	if err == nil {
		return nil
	}
	return exitcode.With(sandbox.ExitCode(err), err)
}

// SettingsError says that the project's settings are wrong, with everything that is.
type SettingsError struct {
	File     string
	Findings []diag.Finding
}

func (e *SettingsError) Error() string { return e.File + " cannot be used" }

// projectSettings reads the project's own file; nil when there is none.
func projectSettings(dir string) (*settings.File, error) {
	file, err := settings.ReadFile(filepath.Join(dir, ".devcontainer", devcontainer.SettingsName))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // Inspect says what dir is
		return nil, nil
	case errors.Is(err, settings.ErrLink):
		return nil, exitcode.With(exitcode.Refused, err)
	case err != nil:
		return nil, exitcode.With(exitcode.NoInput, fmt.Errorf("reading the project's settings: %w", err))
	case file.Settings == nil:
		return nil, exitcode.With(exitcode.Config, diag.WithHint(&SettingsError{file.Path, file.Findings},
			"correct it; 'sbx-devc validate' checks it"))
	}
	return file, nil
}
