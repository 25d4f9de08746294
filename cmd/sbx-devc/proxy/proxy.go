package proxy

import (
	"context"
	"fmt"
	"net/http"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/credproxy/endpoint"
	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/settings"
)

// options are the flags.
type options struct {
	listen  string
	budgets []string
	models  []string

	// For the forward proxy, which there is with allow.
	forward string
	allow   []string
	private []string
	keys    []string
}

// Command is proxy.
func Command(a *cli.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "proxy",
		Short: "Serve the model API to a sandbox of your own, without the key in it",
		Long: `Serve the model API on this machine to a container or virtual machine of your own, as
'sbx-devc run' does for its sandbox: the key stays in this process, and requests that are
not for a message of the model, or would have its provider fetch pages, are refused.
Standard output says what to set there. The token is worth nothing elsewhere, and ends with
this program: Ctrl-C.

Providers of your own settings.jsonc, with OpenAI's routes, are served as well: the first at
OPENAI_BASE_URL, others at /providers/NAME, with the token of OPENAI_API_KEY.

With --allow a forward proxy is served, too: HTTPS_PROXY leads curl, git and others to the
hosts of these entries, which are about operations alone. It judges each request as the
firewall of 'sbx-devc run' does, inside TLS, by certificates of the authority in SBX_CA_FILE,
which programs must trust. --key and the keys of your own settings go with the requests of
their entries. The sandbox's own network must lead nowhere else.

Budgets and models of your own settings hold too. The usage counts for the folder in
which you start the proxy, together with your runs: 'sbx-devc usage'.`,
		Example: `  sbx-devc proxy --budget "5 usd/day" --models 'claude-sonnet-*'
  sbx-devc proxy --allow 'git:github.com/acme/app' --key 'app=gh:github.com for git:github.com/acme/app'
  sbx-devc proxy --listen 172.17.0.1:8790 >model.env    # then: docker run --env-file model.env …`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			limits, err := o.limits()
			if err != nil {
				return exitcode.With(exitcode.Usage, err)
			}
			return o.serve(cmd.Context(), a, limits)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", endpoint.Default, "IP:PORT to serve at: loopback, or the address of an engine's bridge")
	cmd.Flags().StringArrayVar(&o.budgets, "budget", nil, `answer no more when this much is used, such as "20 usd/day"; repeatable`)
	cmd.Flags().StringVar(&o.forward, "forward", endpoint.Default, "IP:PORT to serve the forward proxy at, with --allow")
	cmd.Flags().StringArrayVar(&o.allow, "allow", nil, `serve these operations, such as "git:github.com/acme/app"; repeatable`)
	cmd.Flags().StringArrayVar(&o.private, "private", nil, "a host of --allow that may lead to private addresses; repeatable")
	cmd.Flags().StringArrayVar(&o.keys, "key", nil, `a key for the requests of an entry, "NAME=SOURCE for ENTRY"; repeatable`)
	cmd.Flags().StringSliceVar(&o.models, "models", nil, "the only models that may be asked, such as claude-sonnet-*,claude-haiku-*")
	return cmd
}

// limits are those of the flags.
func (o *options) limits() (limits credproxy.Limits, err error) {
	for _, text := range o.budgets {
		b, err := spending.Parse(text)
		if err != nil {
			return limits, fmt.Errorf("--budget: %w", err)
		}
		limits.Budgets = append(limits.Budgets, b)
	}
	for _, pattern := range o.models {
		if !spending.IsModelPattern(pattern) {
			return limits, diag.WithHint(fmt.Errorf("--models: %q is no model", pattern), "such as claude-sonnet-*")
		}
	}
	if len(o.models) > 0 {
		limits.Models = [][]string{o.models}
	}
	return limits, nil
}

// serve answers requests until a signal comes.
func (o *options) serve(ctx context.Context, a *cli.App, limits credproxy.Limits) error {
	dir, _ := projects.RunDir(a, "")
	own, layers, err := run.UserLayers(a, dir, "")
	if err != nil {
		return run.PlanError(a, err)
	}
	var asked []settings.Provider
	for _, l := range layers {
		asked = append(asked, l.File.Own.Providers...)
	}
	providers, err := run.Providers(ctx, asked, projects.Real(dir))
	if err != nil {
		return err
	}
	limits.Budgets, limits.Models = slices.Concat(own.Budgets, limits.Budgets), slices.Concat(own.Models, limits.Models)
	operations, err := o.newOperations(ctx, a, own.Secrets, projects.Real(dir))
	if err != nil {
		return err
	}
	defer operations.close()
	getenv, err := run.KeyOf(ctx, a, &run.SecretFlags{}, projects.Real(dir))
	if err != nil {
		return err
	}
	upstream, credential, err := session.ModelAPI(getenv)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, cli.EndSignals()...)
	defer stop()
	token, providersToken := credproxy.NewSessionToken(), credproxy.NewSessionToken()
	proxy, err := credproxy.New(credproxy.Options{
		Upstream: upstream, Credential: credential, SessionToken: token, Limits: limits, Proxy: http.ProxyFromEnvironment,
		Providers: providers, ProvidersToken: providersToken,
		Ledger: projects.Runs(a).Ledger(runs.NewID(), projects.Real(dir)),
		Warn:   func(line string) { a.SayLine("warning: %s", visible.Line(line)) },
		Log: func(e credproxy.Entry) {
			if e.Refused != "" {
				a.SayLine("%s %s: %d: %s", e.Method, e.Path, e.Status, visible.Line(e.Refused))
			}
		},
	})
	if err != nil {
		return exitcode.With(exitcode.Config, err)
	}
	defer proxy.Close()
	listener, err := endpoint.Listen(o.listen)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	base := "http://" + listener.Addr().String()
	set := []string{"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_AUTH_TOKEN=" + token}
	set = append(set, credential.Variables(base)...)
	if len(providers) > 0 {
		set = append(set, "OPENAI_BASE_URL="+base+credproxy.ProviderPath(providers[0].Name), "OPENAI_API_KEY="+providersToken)
	}
	if operations != nil {
		set = append(set, operations.set...)
		go func() { _ = endpoint.Serve(ctx, operations.listener, operations.server) }()
	}
	if _, err := fmt.Fprintln(a.Stdout, strings.Join(set, "\n")); err != nil {
		_ = listener.Close()
		return exitcode.With(exitcode.OfLost(err), err)
	}
	a.SayLine("serving the model API until Ctrl-C; the lines above are for the environment of the sandbox")
	err = endpoint.Serve(ctx, listener, proxy)
	used := proxy.Usage()
	a.SayLine("%s of the model, %d tokens, $%.4f at list price", visible.Count(int(proxy.Answered()), "answer"),
		used.Input+used.Output+used.CacheRead+used.CacheWrite, proxy.CostUSD())
	return err
}
