package devfiles

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/templates/scaffold"
)

func DriftCommand(a *cli.App) *cobra.Command {
	var edits bool
	cmd := &cobra.Command{
		Use:   "drift [DIR]",
		Short: "Say whether the dev container is behind its template or its lock",
		Long: `Compare the files of DIR/.devcontainer with the template of this sbx-devc and with
sandbox.lock. Nothing is fetched or written. Your own edits are listed and count as
drift only with --edits. A version or digest that you or a bot brought up to date
is no drift. A dev container of your own, which init extended, is compared with the
current result of 'init --extend'.

Exit code 0: none; 1: drift; 2: wrong usage; 3: there is no lock, it is of a later
template than this sbx-devc's, or a file cannot be read.`,
		Example: `  sbx-devc drift
  sbx-devc drift --edits projects/api`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(_ *cobra.Command, args []string) error {
			return drift(a, edits, scaffold.Folder(projects.Dir(a, args)))
		},
	}
	cmd.Flags().BoolVar(&edits, "edits", false, "count your own edits as drift too")
	return cmd
}

func drift(a *cli.App, edits bool, dir scaffold.Folder) error {
	d, err := scaffold.Open(dir)
	if errors.Is(err, scaffold.ErrExtended) {
		return driftExtended(a, dir)
	}
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	found, err := d.Drift()
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	noteMoved(a, found.Moved)
	for _, path := range found.Edited {
		if edits {
			found.Findings = append(found.Findings, path+": edited")
		} else {
			fmt.Fprintf(a.Stderr, "sbx-devc: note: %s is edited\n", path)
		}
	}
	for _, f := range found.Findings {
		fmt.Fprintln(cli.Shown(a.Stdout), f)
	}
	if len(found.Findings) > 0 {
		return exitcode.With(exitcode.Findings, nil)
	}
	fmt.Fprintln(a.Stderr, "sbx-devc: no drift: the dev container is what the lock says")
	return nil
}

// noteMoved says which versions and digests are others than the locked ones.
func noteMoved(a *cli.App, moved []string) {
	for _, s := range moved {
		fmt.Fprintf(cli.Shown(a.Stderr), "sbx-devc: note: %s; 'sbx-devc lock --update' records it\n", s)
	}
}
