package run

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/workspace"
)

// place is where a run works.
type place struct {
	dir    string // of the project, whose settings and dev container the run has
	shown  string // the folder that the agent gets: dir, or one around it
	folder string // where in shown the user stands, slash-separated; "" = at its root
}

// decided is a run before it happens.
type decided struct {
	plan   *runplan.Plan
	choice images.Choice
	home   []sandbox.HomeFile // that Claude's own folder begins with
	// in plans the same run with the project in another way; nil = the user or a settings file
	// says how the agent has it.
	in func(workspace.Mode) (*runplan.Plan, error)
}

// decide plans the run that the flags ask for in a place.
func decide(ctx context.Context, a *cli.App, at place, o *Options) (d decided, err error) {
	options, err := runOptions(a, at, o)
	if err != nil {
		return d, err
	}
	if !o.dryRun {
		projects.Runs(a).Reap(ctx, "")
	}
	earlier, err := earlierConversation(a, at.shown, o.prompt)
	if err != nil {
		return d, err
	}
	options.Headless.Resume = earlier.ID
	project, err := session.ReadProject(at.dir)
	if err != nil {
		return d, PlanError(a, err)
	}
	project.Shown = at.shown
	if options.Variables, err = variables(a, &o.settings.Secrets, at.shown); err != nil {
		return d, err
	}
	effective, err := acceptProject(ctx, a, project, &options, !o.dryRun)
	if err != nil {
		return d, PlanError(a, err)
	}
	texts, err := instructionFiles(a, project, o.instructions, effective.Instructions, &options)
	if err != nil {
		return d, err
	}
	if d.plan, err = project.Plan(options, effective); err != nil {
		return d, PlanError(a, err)
	}
	if effective.Workspace.Mode == "" {
		d.in = func(mode workspace.Mode) (*runplan.Plan, error) {
			effective.Workspace.Mode = string(mode)
			return project.Plan(options, effective)
		}
		d.copyOfRoots()
	}
	d.choice, d.home = project.Choice, append(texts, earlier.Files(d.plan.Agent.WorkingDir)...)
	return d, nil
}

// copyOfRoots plans the run on a copy where the project is root's, as on a server: the agent
// never is root, and could not change it. A run that works on no copy, such as with a mount of
// a part of the project, stays refused.
func (d *decided) copyOfRoots() {
	if !errors.Is(d.plan.Closed(), runplan.ErrOfRoot) {
		return
	}
	if plan, err := d.in(workspace.Copy); err == nil {
		d.plan = plan
		d.plan.Notes = append(d.plan.Notes, "the project belongs to root, and the agent does not work as root: it gets a copy "+
			"(--workspace copy), and 'sbx-devc apply' takes its work")
	}
}

// runOptions are what the flags and the user's own files ask for. It reads nothing of the
// project but lists that flags name.
func runOptions(a *cli.App, at place, o *Options) (options runplan.Options, err error) {
	o.settings.persist = &o.profile.persist
	user, err := o.settings.Read(at.shown)
	if err == nil {
		err = o.profile.readPersist()
	}
	if err == nil {
		err = foldersOutside(a, at.shown)
	}
	if err != nil {
		return options, err
	}
	own, layers, err := UserLayers(a, at.shown, o.profile.name)
	if err != nil {
		return options, PlanError(a, err)
	}
	for _, l := range layers { // the user's own file alone has one
		o.agent.model = cmp.Or(o.agent.model, l.File.Own.Model)
	}
	id := runs.NewID()
	options = runplan.Options{
		ID:     id,
		Layers: runplan.Layers{User: user, Own: own},
		Folders: runplan.Folders{
			Folder: at.folder, OwnFolders: ownFolders(a), Remote: engine.Elsewhere(os.Getenv),
			Tree: filepath.Join(projects.Runs(a).Dir(), id, sandbox.TreeFolder),
		},
		Environment: runplan.Environment{Environ: os.Environ()},
	}
	for _, l := range layers {
		options.Providers = append(options.Providers, l.File.Own.Providers...)
	}
	for _, group := range o.groups() {
		group.plan(&options)
	}
	options.Hold = o.held != nil
	return options, nil
}

// foldersOutside refuses folders of runs and of images in the project, whose agent could
// write there: the first is believed about what a run left, the second about which image
// is the firewall's.
func foldersOutside(a *cli.App, project string) error {
	if workspace.CheckFolder(project) != nil {
		return nil // which Plan refuses
	}
	cache, err := images.CacheDir()
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	err = cmp.Or(
		userdir.Outside("runs", projects.Runs(a).Dir(), project, "XDG_STATE_HOME"),
		userdir.Outside("images", cache, project, "XDG_CACHE_HOME"))
	if err != nil {
		return exitcode.With(exitcode.Config, err)
	}
	return nil
}
