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
	for _, group := range a.commandGroups(c) {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(a.manCommand())
	chooseRuntime(root)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(cli.HelpCommand())
	a.completeValues(root)
	root.SetHelpCommandGroupID(aboutGroup)
	root.SetCompletionCommandGroupID(aboutGroup)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cli.ShapeHelp(root, c.Columns())
	if c, _, err := root.Find([]string{"completion"}); err == nil { // a shell that it does not know is an error, not a page of help
		c.Args, c.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	cli.TypeArguments(root)
	return root
}

// aboutGroup is the group of the commands about this program.
const aboutGroup = "This program"

// commandGroup is a group of commands in the help.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// commandGroups are all commands, by the moments at which people need them.
func (a *app) commandGroups(c *cli.App) []commandGroup {
	return []commandGroup{
		{"The first hour", []*cobra.Command{
			a.runCommand(), devfiles.InitCommand(c), a.doctorCommand(), a.loginCommand(), a.logoutCommand(), a.migrateCommand(), a.demoCommand(),
		}},
		{"Every day", []*cobra.Command{
			a.lsCommand(), a.statusCommand(), a.attachCommand(), a.shellCommand(), a.execCommand(), a.stopCommand(), a.logsCommand(),
			a.reviewCommand(), a.diffCommand(), a.applyCommand(), a.discardCommand(), a.usageCommand(), a.cleanCommand(),
		}},
		{"Hosts", []*cobra.Command{
			policy.AllowCommand(c), policy.DenyCommand(c), policy.PresetCommand(c), policy.ReportCommand(c), policy.Command(c),
		}},
		{"Settings", []*cobra.Command{a.settingsCommand(), a.profileCommand(), a.trustCommand()}},
		{"Dev container files", []*cobra.Command{
			checks.ValidateCommand(c), checks.FixCommand(c), checks.ExplainCommand(c), checks.RulesCommand(c), checks.EffectiveCommand(c),
			devfiles.UpdateCommand(c), devfiles.DriftCommand(c), devfiles.LockCommand(c), devfiles.TemplatesCommand(c),
		}},
		{"Images", []*cobra.Command{a.sandboxCommand(c), image.Command(c)}},
		{aboutGroup, []*cobra.Command{a.versionCommand(), a.actionCommand()}},
	}
}
