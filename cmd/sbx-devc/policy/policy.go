package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/explain"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/scaffold"
)

func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Ask which hosts the firewall allows",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(checkCommand(a), explainCommand(a), presetsCommand(a), compileCommand(a),
		learnCommand(a))
	return cmd
}

// file is the flag that names them, shared by the sub-commands.
func file(cmd *cobra.Command) *string {
	return cmd.Flags().String("file", projects.DefaultSettings, "settings to read")
}

// loadPolicy reads the policy, with the places of its entries, of a file of settings, or of the firewall Feature
// in the project's devcontainer.json when there is no such file.
func loadPolicy(file string) (explain.Explainer, error) {
	none := explain.Explainer{}
	s, err := settings.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && projects.IsDefaultSettings(file) {
		// A dev container with the Feature keeps its policy in the Feature's options.
		policy, bad := adopt.Policy(scaffold.Folder(filepath.Dir(filepath.Dir(file))))
		switch {
		case bad != nil:
			return none, diag.WithHint(fmt.Errorf("the firewall Feature's options in %s: %w", scaffold.ConfigPath, bad),
				"'sbx-devc validate' shows everything that is wrong")
		case policy == nil:
			if _, gone := filepath.Abs(file); gone != nil {
				return none, gone // the current folder was removed
			}
			err = &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist} // and not that of a folder above it
			return none, diag.WithHint(err, "name the settings with --file; 'sbx-devc init' writes a project's")
		}
		return explain.Explainer{
			Policy: policy,
			List:   func(list string) string { return fmt.Sprintf("the Feature's option %q", list) },
			Place:  func(string, string) string { return "" },
		}, nil
	}
	if err != nil {
		return none, err
	}
	if s.Settings == nil {
		return none, diag.WithHint(s.Err(), "sbx-devc validate %s shows everything that is wrong", file)
	}
	return explain.Explainer{
		Policy: s.Settings.Policy(),
		List:   func(list string) string { return "network." + list },
		Place:  s.Settings.Place,
	}, nil
}

// withKeys adds the keys of the project's file and of the user's own settings, as a run
// has them.
func withKeys(a *cli.App, policy explain.Explainer, file string) explain.Explainer {
	var all []settings.Secret
	if s, err := settings.ReadFile(file); err == nil && s.Settings != nil {
		all = s.Settings.Secrets
	}
	own, err := ownSettings(a, file)
	switch {
	case err != nil:
		a.SayLine("note: which of your own keys would go with it is not known: %v", err)
	case own != nil:
		all = settings.MergeSecrets(all, own.Settings.Secrets)
	}
	for _, s := range all {
		if s.For != "" {
			policy.Keys = append(policy.Keys, credential.Binding{Name: s.Name, For: s.For, As: s.As})
		}
	}
	return policy
}

// ownSettings reads the user's own settings for the project of a file; nil when there are
// none.
func ownSettings(a *cli.App, file string) (*settings.File, error) {
	folder, err := userdir.Find(a.Getenv)
	if err != nil {
		return nil, nil // a machine without homes has no such file
	}
	project, err := projects.Of(file)
	if err != nil {
		return nil, err
	}
	return session.OwnSettings(folder, project)
}

func checkCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check HOST[:PORT] | URL --method METHOD | ENTRY",
		Short: "Say whether a host may be reached or an operation done, and by which entry",
		Long: `Say whether the policy lets the sandbox reach HOST, and why. It asks the same
matcher that enforces the policy; nothing is resolved or connected to. Without
PORT it is 443. URL with --method is about one request, without a body. ENTRY is about
the operations of an entry of the allowlist, such as git:github.com/acme/app push
refs/heads/main.

Exit code 0: allowed; 1: denied; 2: wrong usage; 3: the settings could not be read.`,
		Example: `  sbx-devc policy check api.anthropic.com
  sbx-devc policy check git.example.net:22 --file sandbox.jsonc
  sbx-devc policy check https://api.example.com/v1/models --method GET
  sbx-devc policy check git:github.com/acme/app push refs/heads/main`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
	}
	file := file(cmd)
	method := methodFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		file := projects.SettingsFile(a, *file)
		if q, policy, ok, err := operationAsked(file, args, *method); ok {
			return checkOperation(a, q, policy, err)
		}
		return check(a, file, args[0])
	}
	return cmd
}

func methodFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("method", "", "ask about a request with this method; HOST is then an https URL")
}

// operationAsked reads a question about an operation, and the policy that decides; ok
// is false when it is about a host.
func operationAsked(file string, args []string, method string) (q explain.Question, policy explain.Explainer, ok bool, err error) {
	if q, ok, err = explain.ParseQuestion(args, method); !ok || err != nil {
		return q, policy, ok, exitcode.With(exitcode.CheckUsage, err)
	}
	if policy, err = loadPolicy(file); err != nil {
		err = exitcode.With(exitcode.NoCheck, err)
	}
	return q, policy, true, err
}

func checkOperation(a *cli.App, q explain.Question, policy explain.Explainer, err error) error {
	if err != nil {
		return err
	}
	d := policy.Decide(q)
	fmt.Fprintf(a.Stdout, "%s %s: %s\n", d.Verdict, visible.Line(q.String()), visible.Line(d.Reason))
	if hint := policy.Hint(d); hint != "" {
		fmt.Fprintf(a.Stderr, "sbx-devc: hint: %s\n", hint)
	}
	if d.Allowed() {
		return nil
	}
	return exitcode.With(exitcode.Findings, nil)
}

func check(a *cli.App, file, target string) error {
	t, policy, err := explainer(file, target)
	if err != nil {
		return err
	}
	if t.Port == 0 {
		t.Port = 443
	}
	d := t.Decide(policy.Policy)
	fmt.Fprintf(a.Stdout, "%s %s: %s\n", d.Verdict, target, d.Reason)
	switch hint, why := policy.Fix(t, d.Verdict); {
	case hint != "":
		fmt.Fprintf(a.Stderr, "sbx-devc: hint: %s\n", hint)
	case why != "" && why != d.Reason:
		fmt.Fprintf(a.Stderr, "sbx-devc: no entry is offered: %s\n", why)
	}
	if hint := policy.PrivateFix(t); hint != "" {
		fmt.Fprintf(a.Stderr, "sbx-devc: hint: %s\n", hint)
	}
	if d.Allowed() {
		return nil
	}
	return exitcode.With(exitcode.Findings, nil)
}

// explainer reads a host and the policy that decides about it.
func explainer(file, target string) (t firewall.Target, policy explain.Explainer, err error) {
	if t, err = firewall.ParseTarget(target); err != nil {
		err = fmt.Errorf("%q is not a host: %w", target, err)
		return t, policy, exitcode.With(exitcode.CheckUsage, diag.OrHint(err, "write HOST, HOST:PORT, HOST:PORT/udp, ADDRESS or [IPV6]:PORT"))
	}
	if policy, err = loadPolicy(file); err != nil {
		err = exitcode.With(exitcode.NoCheck, err)
	}
	return t, policy, err
}

func compileCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compile",
		Short: "Print the firewall rules that the policy becomes",
		Long: `Print the input for iptables-restore, ip6tables-restore and ipset that the policy
becomes. Nothing is touched. Facts that sbx-init learns of the machine when it starts
(kernel modules, upstream resolvers, networks) are assumed here, and the output
says so. 'sbx-init plan' asks the machine.`,
		Example: `  sbx-devc policy compile --file sandbox.jsonc`,
		Args:    cobra.NoArgs,
	}
	file := file(cmd)
	cmd.RunE = func(*cobra.Command, []string) error { return compile(a, projects.SettingsFile(a, *file)) }
	return cmd
}

func compile(a *cli.App, file string) error {
	policy, err := loadPolicy(file)
	if errors.Is(err, fs.ErrNotExist) {
		return exitcode.With(exitcode.NoInput, err)
	}
	if err != nil {
		return exitcode.With(exitcode.Config, err)
	}
	plan, err := firewall.Compile(policy.Policy, firewall.AssumedFacts())
	if err != nil {
		return exitcode.With(exitcode.Config, err)
	}
	opened := ""
	if policy.Resolves() {
		for _, h := range policy.Operations().Hosts() {
			opened += fmt.Sprintf("# TLS is opened, and each request judged: %s\n", h)
		}
	}
	_, err = fmt.Fprintf(a.Stdout, "# The machine is assumed: all kernel modules, resolver 192.0.2.53, networks 192.0.2.0/24 and "+
		"2001:db8::/64.\n"+
		"# 'sbx-init plan' in the sandbox prints the rules of a real one.\n%s%s", opened, plan)
	return err
}
