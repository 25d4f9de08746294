package checks

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/lsp"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

func LSPCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Serve editors: findings while somebody types",
		Long: `Speak the Language Server Protocol on standard input and output: findings of
validate while somebody types, explanations, corrections of fix, and names and
values to choose from. Editors start it; editors/vscode has the extension for
Visual Studio Code, docs/editors.md the settings for others.

The nearest sbx-devc.jsonc chooses the rules, as for validate; an organisation's policy
counts when it is a file, because opening a folder asks no registry.

It reads the files of the repository around an open file, and writes none.`,
		Example:     "  sbx-devc lsp",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cli.IsTerminal(a.Stdin) {
				return exitcode.With(exitcode.CheckUsage, diag.WithHint(errTerminal, "an editor starts this command: docs/editors.md"))
			}
			rules := func(config string) (lint.Files, error) { return chosenRules(cmd.Context(), a, config) }
			if err := lsp.Serve(cmd.Context(), a.Stdin, a.Stdout, rules); err != nil {
				return exitcode.With(exitcode.NoCheck, err)
			}
			return nil
		},
	}
}

// chosenRules reads which rules count for a configuration. Where that cannot be read, all of them do.
func chosenRules(ctx context.Context, a *cli.App, config string) (lint.Files, error) {
	all, err := newChoices(ctx, choiceFlags{}, func(ctx context.Context, name string) (*org.Policy, error) {
		if strings.Contains(name, "@sha256:") {
			return nil, nil // a folder's file must not make an editor ask the network
		}
		return readPolicy(ctx, a, name)
	})
	if err != nil {
		return lint.Files{}, err
	}
	c, err := all.Of(ctx, config)
	if err != nil {
		return lint.Files{}, err
	}
	return c.Files(), nil
}
