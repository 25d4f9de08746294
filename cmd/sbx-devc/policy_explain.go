package main

import "github.com/spf13/cobra"

func (a *app) policyExplainCommand() *cobra.Command {
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
		Annotations: map[string]string{annotationChecker: ""},
	}
	file := policyFile(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.policyExplain(a.projectFile(*file), args[0]) }
	return cmd
}

func (a *app) policyExplain(file, target string) error {
	t, err := parseTarget(target)
	if err != nil {
		return err
	}
	policy, err := loadPolicy(file)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	return policy.Write(a.stdout, t)
}
