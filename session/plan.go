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

// Plan plans a run on the folder dir with the default image, by o and by the
// project's own settings, which may narrow it and protect more. Errors carry an
// exit code; *SettingsError is one of them.
func Plan(dir string, o sandbox.Options) (*sandbox.Plan, error) {
	project, err := projectSettings(dir)
	if err != nil {
		return nil, err
	}
	protect := slices.Clone(o.User.Workspace.Protect)
	if project != nil {
		protect = append(protect, project.Workspace.Protect...)
	}
	folder, err := workspace.Inspect(dir, protect)
	if err != nil {
		return nil, planError(err)
	}
	addrs, err := sandbox.HostAddresses()
	if err != nil {
		return nil, planError(err)
	}
	o.Project, o.Image, o.FirewallImage = project, release.Image(), cmp.Or(o.FirewallImage, images.FirewallName())
	plan, err := sandbox.NewPlan(o, sandbox.Facts{Workspace: folder, HostAddresses: addrs})
	return plan, planError(err)
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
func projectSettings(dir string) (*settings.Settings, error) {
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
	return &file.Settings.Settings, nil
}
