package policy

import (
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
)

func explainCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain HOST[:PORT]",
		Short: "Show the decision for each port of a host, the line that decides, and the line that would open it",
		Long: `Show the firewall's decision for HOST on each relevant port: the ports that the
policy mentions for it, those of the web and of SSH, and PORT. Each line names
the entry that decides and its place; for a refusal it names the line to add.
It asks the same matcher that enforces the policy; nothing is resolved or
connected to.

Exit code 0: explained, whatever the answer; 2: wrong usage; 3: the settings
could not be read.`,
		Example: `  sbx-devc policy explain docs.example.com
  sbx-devc policy explain gist.github.com:443 --file sandbox.jsonc`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
	}
	file := file(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return explainHost(a, projects.SettingsFile(a, *file), args[0])
	}
	return cmd
}

func explainHost(a *cli.App, file, target string) error {
	t, policy, err := explainer(file, target)
	if err != nil {
		return err
	}
	return policy.Write(a.Stdout, t)
}
