package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/templates/scaffold"
)

func (a *app) cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean [DIR]",
		Short: "Remove the empty folders that a dev container or a run left in a project",
		Long: `Remove the empty folders in DIR, by default the project around the current folder,
that init or a run made because programs on this machine would obey files of an
agent there: .vscode, .idea, commondir and the like. Folders with content stay.

They are mount points while a container uses the project, so nothing is removed
during that time. The next start of a dev container makes them again.

Exit code 0: they are gone; 66: DIR is missing; 69: the container engine does not
answer; 73: a folder could not be removed; 75: a container uses the project.`,
		Example: "  sbx-devc clean",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.clean(cmd.Context(), a.projectDir(args)) },
	}
}

func (a *app) clean(ctx context.Context, dir string) error {
	if !filekind.IsFolder(dir) {
		return exitWith(exitNoInput, diag.WithHint(fmt.Errorf("%s is no folder", dir), "name the project's folder"))
	}
	if err := withEngine(ctx, func(e *engine.Engine) error { return unused(ctx, e, real(dir)) }); err != nil {
		return err
	}
	removed, err := scaffold.Folder(dir).RemoveFolders()
	if err != nil {
		return exitWith(exitCantWrite, err)
	}
	if len(removed) > 0 {
		fmt.Fprintf(a.stderr, "sbx-devc: removed empty folders: %s\n", strings.Join(removed, ", "))
	} else {
		fmt.Fprintln(a.stderr, "sbx-devc: nothing to remove")
	}
	return nil
}

// unused refuses a project that a container has mounted: to remove a place of a
// mount takes the mount away, and the container ends by that.
func unused(ctx context.Context, e *engine.Engine, folder string) error {
	for label, what := range map[string]string{runs.LabelFolder: "dev container", sandbox.LabelWorkspace: "run"} {
		ids, err := e.List(ctx, label, folder)
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			err := fmt.Errorf("%s is used by a %s", folder, what)
			return exitWith(exitLocked, diag.WithHint(err, "remove its container first: docker rm -f %s", ids[0][:min(12, len(ids[0]))]))
		}
	}
	return nil
}
