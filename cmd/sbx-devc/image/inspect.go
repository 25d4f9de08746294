package image

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/progress"
)

func inspectCommand(a *cli.App) *cobra.Command {
	var l connect.Login
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect REF",
		Short: "Show a published image: platforms, layers, labels, attachments",
		Long: `Show the image at REF in its registry, without downloading its layers.

Exit code 0: shown; 66: there is no such image; 78: the registry does not accept
the credentials; 1: it could not be read.`,
		Example: `  sbx-devc image inspect ghcr.io/me/sandbox:v1.2.3 --json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			options, err := connect.RegistryOptions(a, l)
			if err != nil {
				return connect.Error(err)
			}
			repo, version := base.SplitRef(operands[0])
			if err := registry.CheckName(repo, version); err != nil {
				return connect.Error(err)
			}
			c, err := registry.Dial(cmd.Context(), repo, false, nil, options)
			if err != nil {
				return connect.Error(err)
			}
			i, err := imagebuild.Inspect(cmd.Context(), c, version)
			if err != nil {
				return connect.Error(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, i)
			}
			printInspection(a.Stdout, i)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it in JSON")
	l.Flags(cmd.Flags())
	return cmd
}

func printInspection(to io.Writer, i *imagebuild.Inspection) {
	fmt.Fprintf(to, "%s@%s\n", i.Repository, i.Digest)
	for _, p := range i.Platforms {
		fmt.Fprintf(to, "\n%s  %s  %s in %d layers\n", p.Platform, p.Digest, progress.Size(p.Size), len(p.Layers))
		for _, l := range p.Layers {
			fmt.Fprintf(to, "  %s %10s  %s\n", l.Digest, progress.Size(l.Size), l.CreatedBy)
		}
		for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
			fmt.Fprintf(to, "  %s: %s\n", key, p.Labels[key])
		}
	}
	if len(i.Referrers) > 0 {
		fmt.Fprintln(to, "\nattached:")
	}
	for _, r := range i.Referrers {
		fmt.Fprintf(to, "  %s  %s\n", r.Digest, r.Kind)
	}
}
