package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// HelpCommand is cobra's, but knows no help for what is no command.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if c.IsAvailableCommand() {
						out = append(out, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("unknown command %q for %q", rest[0], about.CommandPath())
			}
			if err != nil {
				word := args[len(args)-max(1, len(rest))]
				return exitcode.With(exitcode.Usage, diag.WithHint(err,
					"%ssee '%s --help'", Suggestion(word, "", commandNames(about)), about.CommandPath()))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
