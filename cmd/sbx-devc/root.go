package main

import (
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/checks"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/devfiles"
	"github.com/org/claude-sandbox/cmd/sbx-devc/image"
	"github.com/org/claude-sandbox/cmd/sbx-devc/policy"
)

// root makes the commands, in the order of the help text.
func root(c *cli.App) *cobra.Command {
	a := &app{stdin: c.Stdin, stdout: c.Stdout, stderr: c.Stderr, getenv: c.Getenv, self: c.Self, args: c.Args, hand: c.Hand}
	root := &cobra.Command{
		Use:           "sbx-devc",
		Version:       programVersion(),
		Short:         "Let Claude Code work freely in a sandbox that it cannot undo",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		devfiles.InitCommand(c),
		devfiles.UpdateCommand(c),
		a.cleanCommand(),
		a.profileCommand(),
		a.loginCommand(),
		a.logoutCommand(),
		devfiles.DriftCommand(c),
		devfiles.LockCommand(c),
		devfiles.TemplatesCommand(c),
		checks.ValidateCommand(c),
		checks.FixCommand(c),
		checks.RulesCommand(c),
		checks.ExplainCommand(c),
		checks.EffectiveCommand(c),
		policy.Command(c),
		policy.AllowCommand(c),
		policy.DenyCommand(c),
		policy.PresetCommand(c),
		a.versionCommand(),
		image.Command(c),
		image.SandboxCommand(c),
		a.runCommand(),
		a.trustCommand(),
		a.settingsCommand(),
		a.diffCommand(),
		a.reviewCommand(),
		a.applyCommand(),
		a.discardCommand(),
		policy.ReportCommand(c),
		a.logsCommand(),
		a.lsCommand(),
		a.statusCommand(),
		a.attachCommand(),
		a.execCommand(),
		a.shellCommand(),
		a.stopCommand(),
		a.usageCommand(),
		a.doctorCommand(),
		a.demoCommand(),
		a.actionCommand(),
	)
	chooseRuntime(root)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(cli.HelpCommand())
	completeValues(root)
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil { // a shell that it does not know is an error, not a page of help
		c.Args, c.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	cli.TypeArguments(root)
	return root
}
