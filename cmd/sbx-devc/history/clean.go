package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/progress"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/volumes"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// cleanOptions are the flags of clean.
type cleanOptions struct {
	dryRun      bool
	allProjects bool
	images      bool
	profile     string // of which to remove what is kept, and nothing else
}

func CleanCommand(a *cli.App) *cobra.Command {
	var o cleanOptions
	cmd := &cobra.Command{
		Use:   "clean [DIR]",
		Short: "Remove a project's caches, old programs, and the empty folders in it",
		Long: `Remove what runs keep for DIR, by default the project around the current folder:

- the caches of its package managers, a volume of the engine; the next run begins
  with an empty one
- volumes with versions of Claude Code that this sbx-devc does not use
- the empty folders that init or a run made because programs on this machine would
  obey files of an agent there: .vscode, .idea, commondir and the like. Folders with
  content stay. They are mount points while a container uses the project; the next
  start of a dev container makes them again.

--images removes images as well that runs built here: that of DIR's dev container,
those of projects whose folders are gone, and the default image and the firewall's of
other versions. With --all-projects it removes those of every project and template. The
next run builds what it needs.

--profile NAME removes what the profile keeps of all projects, and nothing else: its
settings stay. --all-projects removes the caches of every project, also of those that are gone.
Nothing is removed while a container uses the project.

Where the container engine does not answer, only the empty folders are removed.

Exit code 0: they are gone; 66: DIR or the profile is missing; 73: something could not be
removed; 75: a container uses it.`,
		Example: `  sbx-devc clean --dry-run
  sbx-devc clean`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.profile != "" {
				return cleanProfile(a, o)
			}
			return clean(cmd.Context(), a, projects.Dir(a, args), o)
		},
	}
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "list what would be removed, with sizes, and remove nothing")
	cmd.Flags().BoolVar(&o.allProjects, "all-projects", false, "remove the caches of all of your projects")
	cmd.Flags().BoolVar(&o.images, "images", false, "remove images that runs built as well: the project's, and old ones")
	cmd.Flags().StringVar(&o.profile, "profile", "", "remove what this profile keeps")
	return cmd
}

// cleanProfile removes what a profile keeps, or lists it.
func cleanProfile(a *cli.App, o cleanOptions) error {
	if err := kept.CheckName(o.profile); err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	root := projects.Runs(a).Kept()
	list, err := root.List(o.profile)
	verb := "would remove"
	if !o.dryRun {
		list, err = root.Remove(o.profile)
		verb = "removed"
	}
	if err != nil {
		return err
	}
	for _, k := range list {
		a.SayLine("%s %s of %s, kept under the profile %s", verb, progress.Size(k.Bytes), visible.Line(k.Project), o.profile)
	}
	if len(list) > 0 {
		return nil
	}
	known, err := projects.Profiles(a)
	if err != nil {
		return exitcode.With(exitcode.Internal, err)
	}
	var names []string
	for _, p := range known {
		names = append(names, p.Name)
	}
	if !slices.Contains(names, o.profile) {
		hint := "'sbx-devc profile list' lists the profiles"
		if best := diag.Suggest(o.profile, names); best != "" {
			hint = "did you mean " + best + "? " + hint
		}
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("there is no profile %s", o.profile), "%s", hint))
	}
	a.SayLine("the profile %s keeps nothing", o.profile)
	return nil
}

func clean(ctx context.Context, a *cli.App, dir string, o cleanOptions) error {
	if !filekind.IsFolder(dir) {
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s is no folder", dir), "name the project's folder"))
	}
	removed, answered := 0, a.AwaitEngine()
	err := connect.Engine(ctx, func(e *engine.Engine) (err error) {
		if !o.dryRun {
			if err := sandbox.Unused(ctx, e, projects.Real(dir)); err != nil {
				return err
			}
		}
		removed, err = cleanEngine(ctx, a, e, projects.Real(dir), o)
		return err
	})
	answered()
	switch code, why := exitcode.Of(err, exitcode.Internal); {
	case err != nil && code != exitcode.Unavailable:
		return err
	case err != nil: // no container of it runs either
		fmt.Fprintf(a.Stderr, "sbx-devc: note: caches, old programs and images stay: %s\n", visible.Line(why.Error()))
	}
	folders, verb := scaffold.Folder(dir).EmptyFolders(), "would remove"
	if !o.dryRun {
		verb = "removed"
		if folders, err = scaffold.Folder(dir).RemoveFolders(); err != nil {
			return exitcode.With(exitcode.CantWrite, err)
		}
	}
	if len(folders) > 0 {
		fmt.Fprintf(a.Stderr, "sbx-devc: %s empty folders: %s\n", verb, strings.Join(folders, ", "))
	} else if removed == 0 {
		fmt.Fprintln(a.Stderr, "sbx-devc: nothing to remove")
	}
	return nil
}

// cleanEngine removes what runs left on the engine, or lists it, and returns how much it is.
func cleanEngine(ctx context.Context, a *cli.App, e *engine.Engine, dir string, o cleanOptions) (int, error) {
	cache, err := images.CacheDir()
	if err != nil {
		return 0, exitcode.With(exitcode.Internal, err)
	}
	wanted := images.Wanted{Dir: dir, AllProjects: o.allProjects, Images: o.images}
	if o.images {
		if wanted.Known, err = knownProjects(a); err != nil {
			return 0, err
		}
	}
	all, err := images.LeftOf(ctx, volumes.Store{Engine: e, Dir: cache}, wanted)
	if err != nil {
		return 0, err
	}
	for _, left := range all {
		verb := "would remove"
		if !o.dryRun {
			verb = "removed"
			switch err := left.Remove(ctx); {
			case err != nil && left.Spare:
				fmt.Fprintf(a.Stderr, "sbx-devc: note: %s stays: %v\n", left.What, err)
				continue
			case err != nil:
				return 0, err
			}
		}
		fmt.Fprintf(a.Stderr, "sbx-devc: %s %s\n", verb, left.What)
	}
	return len(all), nil
}

// knownProjects are those that have runs, or that the user has accepted.
func knownProjects(a *cli.App) (known []string, err error) {
	own, err := projects.OwnFolder(a)
	if err != nil {
		return nil, err
	}
	accepted, err := accept.List(own)
	for _, p := range accepted {
		known = append(known, p.Project)
	}
	return slices.AppendSeq(known, maps.Keys(projects.Runs(a).Projects())), err
}
