package image

import (
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/release"
)

func SandboxCommand(a *cli.App) *cobra.Command {
	sandbox := &cobra.Command{
		Use:   "sandbox",
		Short: "Build the image that run takes by default, and say what a run here would use",
		Long: `Build the image that run takes by default, and say what a run here would use. Claude Code
in a sandbox is 'sbx-devc run'.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	sandbox.AddCommand(sandboxBuildCommand(a))
	return sandbox
}

// sandboxBuildCommand is 'image build --load' under the default image's name.
func sandboxBuildCommand(a *cli.App) *cobra.Command {
	o := buildOptions{load: true}
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build the default image and load it into the engine",
		Long: `Build the image that DIR's lock describes, or else DIR's Dockerfile, or else the one
that 'sbx-devc run' takes by default. Put it into the container engine under the name
` + release.Image() + `,
which 'sbx-devc run' takes when no other image is named. The same as
'sbx-devc image build --load --tag ` + release.Image() + `'; see its help.
The image's id is printed.

Exit code 0: built; 1: a step failed; 64: wrong usage; 65: the lock does not fit;
66: a file is missing; 69: no container engine.`,
		Example: `  sbx-devc sandbox build && sbx-devc run "fix the failing test"
  sbx-devc sandbox build --tag my-sandbox`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, operands []string) error {
			o.dir = append(operands, ".")[0]
			return build(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Tag, "tag", release.Image(), "name of the image in the engine, as NAME:TAG")
	f.StringArrayVar(&o.args, "build-arg", nil, "NAME=VALUE for the Dockerfile; stays in the image's history, so never a secret")
	o.recipe.flags(f)
	o.login.Flags(f)
	return cmd
}
