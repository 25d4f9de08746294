package main

import (
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/changes"
	"github.com/org/claude-sandbox/cmd/sbx-devc/checks"
	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/devfiles"
	"github.com/org/claude-sandbox/cmd/sbx-devc/history"
	"github.com/org/claude-sandbox/cmd/sbx-devc/image"
	"github.com/org/claude-sandbox/cmd/sbx-devc/machine"
	"github.com/org/claude-sandbox/cmd/sbx-devc/policy"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/proxy"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/cmd/sbx-devc/user"
)

// root makes the commands, in the order of the help text.
func root(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:           "sbx-devc",
		Version:       machine.ProgramVersion(),
		Short:         "Let Claude Code work freely in a sandbox that it cannot undo",
		Example:       "  sbx-devc run\n  sbx-devc run \"fix the failing test\"",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(a.Args) > 0 {
				return cli.Uncommanded(cmd, a.Args)
			}
			return cmd.Help()
		},
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	for _, group := range commandGroups(a) {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(manCommand())
	connect.ChooseRuntime(root)
	projects.ExcludePrograms(root)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(cli.HelpCommand())
	completeValues(a, root)
	root.SetHelpCommandGroupID(aboutGroup)
	root.SetCompletionCommandGroupID(aboutGroup)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cli.ShapeHelp(root, a.Columns())
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
func commandGroups(a *cli.App) []commandGroup {
	return []commandGroup{
		{"The first hour", []*cobra.Command{
			run.Command(a), devfiles.InitCommand(a), machine.DoctorCommand(a), user.LoginCommand(a),
			user.LogoutCommand(a), user.MigrateCommand(a), demoCommand(a),
		}},
		{"Every day", []*cobra.Command{
			history.LsCommand(a), history.StatusCommand(a), run.AttachCommand(a), run.ShellCommand(a),
			run.ExecCommand(a), history.StopCommand(a), history.LogsCommand(a),
			changes.ReviewCommand(a), changes.DiffCommand(a), changes.ApplyCommand(a), changes.DiscardCommand(a),
			history.UsageCommand(a), proxy.Command(a), history.CleanCommand(a),
		}},
		{"Hosts", []*cobra.Command{
			policy.AllowCommand(a), policy.DenyCommand(a), policy.PresetCommand(a), policy.ReportCommand(a), policy.Command(a),
		}},
		{"Settings", []*cobra.Command{user.SettingsCommand(a), user.ProfileCommand(a), user.TrustCommand(a)}},
		{"Dev container files", []*cobra.Command{
			checks.ValidateCommand(a), checks.FixCommand(a), checks.ExplainCommand(a), checks.RulesCommand(a), checks.EffectiveCommand(a),
			checks.LSPCommand(a),
			devfiles.UpdateCommand(a), devfiles.DriftCommand(a), devfiles.LockCommand(a), devfiles.TemplatesCommand(a),
		}},
		{"Images", []*cobra.Command{machine.SandboxCommand(a), image.Command(a)}},
		{aboutGroup, []*cobra.Command{machine.VersionCommand(a), actionCommand(a)}},
	}
}
