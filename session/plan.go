package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/recipe"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
	"github.com/org/claude-sandbox/workspace"
)

// Project is a folder that a run is about, with its own settings and its dev container
// as they were read once: nothing that decides about them reads the files again.
type Project struct {
	Dir      string
	Shown    string         // the folder that the agent gets: Dir, or one around it; ReadProject says Dir
	Settings *settings.File // nil = it has none
	Recipe   *recipe.Recipe // of its dev container's image; nil = it has none
	Choice   images.Choice  // of the image, after Plan

	imageAccepted bool // see AcceptImage
}

// ReadProject reads the project in the folder dir, whose programs are not started from now
// on, see workspace.ExcludePrograms. Errors carry an exit code;
// *SettingsError is one of them.
func ReadProject(dir string) (*Project, error) {
	workspace.ExcludePrograms(dir)
	file, err := projectSettings(dir)
	return &Project{Dir: dir, Shown: dir, Settings: file, Recipe: recipe.Read(dir)}, err
}

// Content is what a user accepts of the project: its settings, and the image of its
// dev container where a run can take that.
func (p *Project) Content() trust.Content {
	return recipe.Accepted(p.Settings, p.Recipe, nil)
}

// Effective returns the settings of a run by o and by the project's own settings, which may
// narrow it and protect more; the image is "" where no layer names one. Errors carry an exit
// code; runplan.ErrWidens is one that o.TrustProject avoids.
func (p *Project) Effective(o runplan.Options) (settings.Accepted, error) {
	s, err := p.complete(o).Effective()
	return s, planError(err)
}

// UnheldNote says which of the user's values do not hold in the settings that Effective
// returned for o, because the project's say otherwise; "" = all hold.
func (p *Project) UnheldNote(o runplan.Options, s settings.Accepted) string {
	return p.complete(o).UnheldNote(s)
}

// Plan plans a run by o with the settings that Effective returned for it, and with the
// image that ChooseImage finds where they name none. Errors carry an exit code.
func (p *Project) Plan(o runplan.Options, s settings.Accepted) (*runplan.Plan, error) {
	o = p.complete(o)
	protect := slices.Concat(o.User.Workspace.Protect, o.Own.Workspace.Protect)
	if o.Project != nil {
		protect = append(protect, o.Project.Workspace.Protect...)
	}
	folder, err := p.inspect(s.Settings, protect)
	if err != nil {
		return nil, planError(err)
	}
	addrs, err := sandbox.HostAddresses()
	if err != nil {
		return nil, planError(err)
	}
	if err := p.ChooseImage(o); err != nil {
		return nil, err
	}
	s.Image = cmp.Or(s.Image, p.Choice.Name)
	plan, err := o.Plan(s, runplan.Facts{Workspace: folder, HostAddresses: addrs})
	return plan, planError(err)
}

// inspect looks at the project's folder as far as the run shows it.
func (p *Project) inspect(s settings.Settings, protect []string) (*workspace.Workspace, error) {
	workspace.ExcludePrograms(p.Shown)
	runplan.ExcludePrograms(p.Shown, s.Mounts)
	if workspace.Mode(s.Workspace.Mode) == workspace.None {
		return workspace.Unseen(p.Shown)
	}
	return workspace.Inspect(p.Shown, protect)
}

// ChooseImage sets Choice for a run whose user named no image. Errors carry an exit code.
func (p *Project) ChooseImage(o runplan.Options) error {
	if o.User.Image != "" {
		return nil
	}
	dir, err := realPath(p.Dir)
	if err != nil {
		return exitcode.With(exitcode.NoInput, err)
	}
	if p.Choice, err = images.Choose(dir, p.Recipe, p.notAccepted(o)); err != nil {
		return planError(err)
	}
	return nil
}

// AcceptImage has a run take the image of the project's dev container by its user's word, and
// nothing else of the project's settings. It is an error where a run cannot take it.
func (p *Project) AcceptImage() error {
	if p.Recipe == nil {
		err := errors.New("the project has no dev container (.devcontainer/devcontainer.json)")
		return exitcode.With(exitcode.NoInput, diag.WithHint(err, "name an image, or none: then the project's files decide"))
	}
	if p.Recipe.Unusable != "" {
		err := fmt.Errorf("a run cannot take the image of the dev container, %s, because %s", p.Recipe.File, p.Recipe.Unusable)
		return exitcode.With(exitcode.Config, diag.WithHint(err, "build it with the dev container CLI, and name the image"))
	}
	p.imageAccepted = true
	return nil
}

// notAccepted says why the project's dev container is not taken, "" if it is.
func (p *Project) notAccepted(o runplan.Options) string {
	switch {
	case o.TrustProject || p.imageAccepted:
		return ""
	case o.InputsNotFlags:
		return "it belongs to the code that the agent works on: the input image says 'devcontainer' to use it"
	}
	return "you have not accepted it: " + cmp.Or(o.AcceptCommand, "sbx-devc trust") + " shows it and asks"
}

// OffersImage reports whether a run by o takes the image of the project's dev container
// once the user accepts that.
func (p *Project) OffersImage(o runplan.Options) bool {
	return p.Recipe != nil && p.Recipe.Unusable == "" && cmp.Or(o.User.Image, o.Own.Image) == ""
}

func (p *Project) complete(o runplan.Options) runplan.Options {
	o.Image, o.FirewallImage = release.Image(), cmp.Or(o.FirewallImage, images.FirewallName())
	if p.Settings != nil {
		o.Project = &p.Settings.Settings.Settings
	}
	if options := p.Recipe.Options(); options != nil && o.TrustProject {
		o.Project = withOptions(o.Project, options.Network)
	}
	if p.Shown != p.Dir {
		p.completePart(&o)
	}
	return o
}

// withOptions adds the options of a firewall Feature to a project's settings; nil = it has
// none.
func withOptions(project *settings.Settings, options firewall.Network) *settings.Settings {
	if project == nil {
		return &settings.Settings{Network: options}
	}
	s := *project
	s.Network.Presets = slices.Concat(s.Network.Presets, options.Presets)
	s.Network.Allow = slices.Concat(s.Network.Allow, options.Allow)
	s.Network.Deny = slices.Concat(s.Network.Deny, options.Deny)
	s.Network.Private = slices.Concat(s.Network.Private, options.Private)
	return &s
}

// completePart completes the options of a run on a project that is a part of what the
// agent gets: its own paths are protected there as if it were all, and nothing between it
// and that becomes a repository.
func (p *Project) completePart(o *runplan.Options) {
	dir, dirErr := realPath(p.Dir)
	shown, shownErr := realPath(p.Shown)
	part, err := filepath.Rel(shown, dir)
	part = filepath.ToSlash(part)
	if err = cmp.Or(dirErr, shownErr, err); err != nil {
		return // Inspect fails too
	}
	o.ProjectDir = dir
	in := func(paths []string) (protect []string) {
		for _, name := range paths {
			protect = append(protect, path.Join(part, name))
		}
		return protect
	}
	o.User.Workspace.Protect = slices.Concat(o.User.Workspace.Protect, workspace.PartPaths(shown, part, cmp.Or(o.Folder, part)))
	if o.Project != nil {
		project := *o.Project
		project.Workspace.Protect = in(project.Workspace.Protect)
		o.Project = &project
	}
}

// realPath is an absolute path without symbolic links.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
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
