package policy

import (
	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
)

func explainCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain HOST[:PORT] | URL --method METHOD | ENTRY",
		Short: "Show the decision for each port of a host, the line that decides, and the line that would open it",
		Long: `Show the firewall's decision for HOST on each relevant port: the ports that the
policy mentions for it, those of the web and of SSH, and PORT. Each line names
the entry that decides and its place; for a refusal it names the line to add.
URL with --method is about one request, without a body. ENTRY is about the operations
of an entry of the allowlist, such as git:github.com/acme/app push refs/heads/main; the
answer names the one of your keys (secrets with "for") that would go with it.
It asks the same matcher that enforces the policy; nothing is resolved or
connected to.

Exit code 0: explained, whatever the answer; 2: wrong usage; 3: the settings
could not be read.`,
		Example: `  sbx-devc policy explain docs.example.com
  sbx-devc policy explain gist.github.com:443 --file sandbox.jsonc
  sbx-devc policy explain https://api.example.com/v1/models --method POST
  sbx-devc policy explain git:github.com/acme/app push refs/heads/main`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
	}
	file := file(cmd)
	method := methodFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		file := projects.SettingsFile(a, *file)
		q, policy, ok, err := operationAsked(file, args, *method)
		switch {
		case !ok:
			return explainHost(a, file, args[0])
		case err != nil:
			return err
		}
		return withKeys(a, policy, file).WriteOperation(a.Stdout, q)
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
