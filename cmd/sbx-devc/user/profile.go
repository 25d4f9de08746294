package user

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/progress"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/session"
)

func ProfileCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "List, show and check profiles: named settings of runs, and the files that runs keep",
		Long: `A profile is a name for settings of runs and for the files that they keep: 'run --profile NAME'.

Its settings are profiles/NAME.jsonc next to your settings.jsonc, and have the same
form; they stand above that file and below a project's. A profile needs no file.

A run under a profile finds the conversations, the history of prompts, Claude's notes
and plans, and the folders of --persist that earlier runs of the same project left
under it. Projects share only how Claude looks, such as its theme. Anything that acts, such as
hooks, servers, helpers and permissions, is never kept: name it in a settings file.
'sbx-devc clean --profile NAME' removes what is kept.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(profileListCommand(a), profileShowCommand(a), profileValidateCommand(a))
	return cmd
}

func profileListCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the profiles that have settings or keep something",
		Example: "  sbx-devc profile list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rows, err := projects.Profiles(a)
			if err != nil {
				return exitcode.With(exitcode.Internal, err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, struct {
					SchemaVersion int               `json:"schemaVersion"`
					Profiles      []session.Profile `json:"profiles"`
				}{1, rows})
			}
			if len(rows) == 0 {
				a.SayLine("%s", noProfiles)
				return nil
			}
			table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			for _, r := range rows {
				fmt.Fprintf(table, "%s\t%s\n", r.Name, profileInWords(r))
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with what each keeps of which project")
	return cmd
}

func profileInWords(r session.Profile) string {
	words := []string{"no settings of its own"}
	if r.Settings != "" {
		words[0] = "settings in " + visible.Line(r.Settings)
	}
	for _, k := range r.Kept {
		line := fmt.Sprintf("keeps %s of %s, used %s", progress.Size(k.Bytes), visible.Line(cmp.Or(k.Project, "a project")),
			k.Used.Local().Format(time.DateTime))
		if k.InUse != "" {
			line += ", in use by the run " + visible.Line(k.InUse)
		}
		words = append(words, line)
	}
	return strings.Join(words, "; ")
}

func profileShowCommand(a *cli.App) *cobra.Command {
	cmd := showCommand(a, func(args []string) (string, []string, error) {
		rows, err := projects.Profiles(a)
		if err != nil {
			return "", nil, exitcode.With(exitcode.Internal, err)
		}
		if len(args) == 0 {
			return "", nil, exitcode.With(exitcode.Usage, diag.WithHint(errors.New("profile show needs the name of a profile"), "%s", namesOf(rows)))
		}
		if err := kept.CheckName(args[0]); err != nil {
			return "", nil, exitcode.With(exitcode.Usage, err)
		}
		if !slices.ContainsFunc(rows, func(r session.Profile) bool { return r.Name == args[0] }) {
			a.SayLine("note: there is no profile %s yet, and 'sbx-devc run --profile %s' makes it with these settings; %s",
				args[0], args[0], namesOf(rows))
		}
		return args[0], args[1:], nil
	})
	cmd.Use, cmd.Short, cmd.Args = "show NAME [DIR] [flags of run]", "Show the settings of a run under a profile, and where each comes from",
		cobra.MaximumNArgs(2)
	cmd.Long = `Show the settings that 'run --profile NAME' has on the project in DIR (default: the
project around the current folder), as 'settings show --profile NAME' does. Of a name that
no profile has it shows the settings that its first run would have, and says so.`
	cmd.Example = `  sbx-devc profile show work --origin`
	return cmd
}

// namesOf tells the names of profiles.
func namesOf(rows []session.Profile) string {
	if len(rows) == 0 {
		return noProfiles
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return "there are: " + strings.Join(names, ", ")
}

const noProfiles = "there are no profiles yet: 'sbx-devc run --profile NAME' makes one"

func profileValidateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate NAME…",
		Short: "Check the settings of profiles",
		Long: `Check the settings of profiles as 'validate' checks a project's. Exit code 0: nothing is
wrong; 1: findings; 3: a file is missing or could not be read.`,
		Example:     "  sbx-devc profile validate work",
		Args:        cobra.MinimumNArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(_ *cobra.Command, names []string) error {
			folder, err := userdir.Find(a.Getenv)
			if err != nil {
				return exitcode.With(exitcode.NoCheck, err)
			}
			worst := 0
			for _, name := range names {
				file, err := session.ProfileSettings(folder, name, "")
				if file == nil && err == nil {
					err := fmt.Errorf("the profile %s has no settings", name)
					return exitcode.With(exitcode.NoCheck, diag.WithHint(err, "they would be in %s", folder.File(session.ProfileFile(name))))
				}
				findings, err := showFindings(a, file, err)
				if err != nil {
					return err
				}
				worst += diag.Worst(findings, diag.SeverityWarning)
				if len(findings) == 0 {
					a.SayLine("%s is valid", folder.File(session.ProfileFile(name)))
				}
			}
			if worst > 0 {
				return exitcode.With(exitcode.Findings, nil)
			}
			return nil
		},
	}
}
