package image

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/engine"
)

func loadCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "load",
		Short: "Put the image that holds sbx-init into the engine",
		Long: `Put the binary-only image that generated Dockerfiles COPY sbx-init from into
the container engine. sbx-devc carries it. Its name is printed.

Exit code 0: loaded; 64: wrong usage; 69: no container engine.`,
		Example: "  sbx-devc image load && devcontainer up --workspace-folder .",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connect.Engine(cmd.Context(), func(e *engine.Engine) error {
				ref, err := imagebuild.LoadInit(cmd.Context(), e)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.Stdout, ref)
				return err
			})
		},
	}
}
