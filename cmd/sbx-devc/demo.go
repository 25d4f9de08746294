package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/demo"
)

func demoCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "demo",
		Short:   "Show the main job: a repository, its dev container, and Claude Code behind the firewall",
		Example: "  sbx-devc demo",
		Long: `Make a small git repository in a temporary folder, write and validate its dev
container, build the image, and run the real Claude Code in the sandbox: it
reaches one host that is allowed and tries one that is not, by name, and an
address.

With ANTHROPIC_API_KEY set the model is real. Without it a scripted stand-in for
the Messages API drives the same Claude Code through the same three commands.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &demo.Demo{Out: a.Stdout, Getenv: a.Getenv, Self: a.Self,
				Run: func(ctx context.Context, c demo.Call) int { return callSelf(ctx, a, c) }}
			return d.Show(cmd.Context())
		},
	}
}

// callSelf carries out one of our own commands.
func callSelf(ctx context.Context, a *cli.App, c demo.Call) int {
	child := *a
	if c.Stdin != nil {
		child.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		child.Stdout = c.Stdout
	}
	if c.Getenv != nil {
		child.Getenv = c.Getenv
	}
	return cli.Main(ctx, &child, root, c.Args)
}
