package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/org/claude-sandbox/cmd/sbx-devc/machine"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/shellword"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages into a folder",
		Long:    `Write a manual page for every command into DIR, as sbx-devc.1, sbx-devc-run.1 and so on.`,
		Example: "  sbx-devc man ~/.local/share/man/man1    # then: man sbx-devc-run",
		Hidden:  true, // packagers call it
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !filekind.IsFolder(args[0]) {
				err := fmt.Errorf("there is no folder %s", args[0])
				return exitcode.With(exitcode.NoInput, diag.WithHint(err, "mkdir -p %s", shellword.Quote(args[0])))
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // a page has no date: the same program writes the same pages
			header := &doc.GenManHeader{Source: "sbx-devc " + machine.ProgramVersion(), Manual: "sbx-devc"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return exitcode.With(exitcode.CantWrite, errors.Join(errors.New("writing the manual pages"), err))
			}
			return nil
		},
	}
}
