package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/scaffold"
)

func (a *app) policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Ask which hosts the firewall allows",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.policyCheckCommand(), a.policyExplainCommand(), a.policyPresetsCommand(), a.policyCompileCommand(),
		a.policyLearnCommand())
	return cmd
}

// defaultSettings is where a project keeps its settings.
var defaultSettings = filepath.Join(".devcontainer", devcontainer.SettingsName)

// policyFile is the flag that names them, shared by the sub-commands.
func policyFile(cmd *cobra.Command) *string {
	return cmd.Flags().String("file", defaultSettings, "settings to read")
}

// isDefaultSettings reports whether file is where a project keeps its settings.
func isDefaultSettings(file string) bool {
	return filepath.Base(file) == devcontainer.SettingsName && filepath.Base(filepath.Dir(file)) == ".devcontainer"
}

// projectPolicy is a policy and the place that it was read from.
type projectPolicy struct {
	*firewall.Policy
	entries []settings.Entry // where they stand; nil for a Feature's options
	feature bool             // the firewall Feature's options hold it
}

// list names a list of entries where the user keeps it.
func (p projectPolicy) list(name string) string {
	if p.feature {
		return fmt.Sprintf("the Feature's option %q", name)
	}
	return "network." + name
}

// fix says which entry opens a target, in mode allowlist if verdict says that it
// is open now; why says why none does.
func (p projectPolicy) fix(t firewall.Target, verdict firewall.Verdict) (hint, why string) {
	entry, why := audit.Fix(p.Policy, t)
	if entry == "" {
		return "", why
	}
	to := "to open it"
	if verdict == firewall.Allow {
		to = `to open it in mode "allowlist" too`
	}
	return fmt.Sprintf("%s, add to %s: %q", to, p.list("allow"), entry), ""
}

// privateFix says which entry lets a name of a local network lead to a private
// address, as it most likely does; "" = none is needed.
func (p projectPolicy) privateFix(t firewall.Target) string {
	if !firewall.IsLocalName(t.Name) || !p.Resolves() || p.MayBePrivate(t.Name) != "" || firewall.IsMetadataName(t.Name) {
		return ""
	}
	return fmt.Sprintf("%s most likely leads to a private address: add %q to %s too", t.Name, t.Name, p.list("private"))
}

// loadPolicy reads the policy of a file of settings, or of the firewall Feature
// in the project's devcontainer.json when there is no such file.
func loadPolicy(file string) (projectPolicy, error) {
	s, err := settings.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && isDefaultSettings(file) {
		// A dev container with the Feature keeps its policy in the Feature's options.
		policy, bad := adopt.Policy(scaffold.Folder(filepath.Dir(filepath.Dir(file))))
		switch {
		case bad != nil:
			return projectPolicy{}, diag.WithHint(fmt.Errorf("the firewall Feature's options in %s: %w", scaffold.ConfigPath, bad),
				"'sbx-devc validate' shows everything that is wrong")
		case policy == nil:
			err = &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist} // and not that of a folder above it
			return projectPolicy{}, diag.WithHint(err, "name the settings with --file; 'sbx-devc init' writes a project's")
		}
		return projectPolicy{Policy: policy, feature: true}, nil
	}
	if err != nil {
		return projectPolicy{}, err
	}
	if s.Settings == nil {
		return projectPolicy{}, diag.WithHint(s.Err(), "sbx-devc validate %s shows everything that is wrong", file)
	}
	return projectPolicy{Policy: s.Settings.Policy(), entries: s.Settings.Entries()}, nil
}

func (a *app) policyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check HOST[:PORT]",
		Short: "Say whether a host may be reached, and by which entry",
		Long: `Say whether the policy lets the sandbox reach HOST, and why. It asks the same
matcher that enforces the policy; nothing is resolved or connected to. Without
PORT it is 443.

Exit code 0: allowed; 1: denied; 2: wrong usage; 3: the settings could not be read.`,
		Example: `  sbx-devc policy check api.anthropic.com
  sbx-devc policy check git.example.net:22 --file sandbox.jsonc`,
		Args:        cobra.ExactArgs(1),
		Annotations: map[string]string{annotationChecker: ""},
	}
	file := policyFile(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.policyCheck(a.projectFile(*file), args[0]) }
	return cmd
}

func (a *app) policyCheck(file, target string) error {
	t, err := parseTarget(target)
	if err != nil {
		return err
	}
	policy, err := loadPolicy(file)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	if t.Port == 0 {
		t.Port = 443
	}
	d := t.Decide(policy.Policy)
	fmt.Fprintf(a.stdout, "%s %s: %s\n", d.Verdict, target, d.Reason)
	switch hint, why := policy.fix(t, d.Verdict); {
	case hint != "":
		fmt.Fprintf(a.stderr, "sbx-devc: hint: %s\n", hint)
	case why != "" && why != d.Reason:
		fmt.Fprintf(a.stderr, "sbx-devc: no entry is offered: %s\n", why)
	}
	if hint := policy.privateFix(t); hint != "" {
		fmt.Fprintf(a.stderr, "sbx-devc: hint: %s\n", hint)
	}
	if d.Allowed() {
		return nil
	}
	return exitWith(exitFindings, nil)
}

func parseTarget(target string) (firewall.Target, error) {
	t, err := firewall.ParseTarget(target)
	if err != nil {
		err = fmt.Errorf("%q is not a host: %w", target, err)
		return t, exitWith(exitCheckUsage, diag.OrHint(err, "write HOST, HOST:PORT, HOST:PORT/udp, ADDRESS or [IPV6]:PORT"))
	}
	return t, nil
}

func (a *app) policyCompileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compile",
		Short: "Print the firewall rules that the policy becomes",
		Long: `Print the input for iptables-restore, ip6tables-restore and ipset that the policy
becomes. Nothing is touched. What sbx-init learns of the machine when it starts
(kernel modules, upstream resolvers, networks) is assumed here, and the output
says so. 'sbx-init plan' asks the machine.`,
		Example: `  sbx-devc policy compile --file sandbox.jsonc`,
		Args:    cobra.NoArgs,
	}
	file := policyFile(cmd)
	cmd.RunE = func(*cobra.Command, []string) error { return a.policyCompile(a.projectFile(*file)) }
	return cmd
}

func (a *app) policyCompile(file string) error {
	policy, err := loadPolicy(file)
	if errors.Is(err, fs.ErrNotExist) {
		return exitWith(exitNoInput, err)
	}
	if err != nil {
		return exitWith(exitConfig, err)
	}
	plan, err := firewall.Compile(policy.Policy, firewall.AssumedFacts())
	if err != nil {
		return exitWith(exitConfig, err)
	}
	_, err = fmt.Fprintf(a.stdout, "# The machine is assumed: all kernel modules, resolver 192.0.2.53, networks 192.0.2.0/24 and "+
		"2001:db8::/64.\n"+
		"# 'sbx-init plan' in the sandbox prints the rules of a real one.\n%s", plan)
	return err
}
