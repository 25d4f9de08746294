package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/keys"
	"github.com/org/claude-sandbox/session/secrets"
	"github.com/org/claude-sandbox/settings"
)

// SecretFlags choose the variables and secrets that the agent gets.
type SecretFlags struct {
	secrets     []string
	keys        []string
	NoSecrets   []string
	noAPIKey    bool
	env         []string
	envFiles    []string
	envPrefixes []string
}

func (o *SecretFlags) Register(f *pflag.FlagSet) {
	f.StringArrayVar(&o.secrets, "secret", nil,
		"give the agent a secret, NAME or `NAME=SOURCE`: env:VARIABLE (default), op://…, keyring:SERVICE/ACCOUNT, pass:ENTRY, "+
			"file:PATH, cmd:COMMAND")
	f.StringArrayVar(&o.keys, "key", nil,
		"have a secret go with the requests of an entry, and stay outside: `'NAME[=SOURCE] for ENTRY'`, such as git:github.com/acme/app; "+
			"sources as of --secret, and gh:HOST, git:https://HOST/PATH")
	f.StringSliceVar(&o.NoSecrets, "no-secret", nil, "run without this secret of your settings or the project's")
	f.BoolVar(&o.noAPIKey, "no-api-key", false, "do not use ANTHROPIC_API_KEY, for an account whose token is CLAUDE_CODE_OAUTH_TOKEN")
	f.StringArrayVar(&o.env, "env", nil, "give the agent a variable, `NAME=VALUE`, or NAME for your own value")
	f.StringArrayVar(&o.envFiles, "env-file", nil, "give the agent the variables of a `FILE`, NAME=VALUE or NAME a line")
	f.StringSliceVar(&o.envPrefixes, "env-prefix", nil,
		"pass your variables with this prefix, but none of Claude's that choose where it connects and what it obeys (default CLAUDE_)")
}

// give adds the flags to what the user gives.
func (o *SecretFlags) give(given *settings.Given) {
	given.AddSecrets("--secret", o.secrets)
	given.AddKeys("--key", o.keys)
	given.EnvPrefixes("--env-prefix", o.envPrefixes)
	o.NoSecrets = given.Expand("--no-secret", o.NoSecrets)
}

// variables are those that --env and --env-file give to a run on a project. The last
// value of a name counts, and --env wins.
func variables(a *cli.App, o *SecretFlags, project string) ([]string, error) {
	var all, missing []string
	lookup := func(name string) (string, bool) {
		if value := a.Getenv(name); value != "" { // the model's key is no more in the environment; the plan refuses it
			return value, true
		}
		return os.LookupEnv(name)
	}
	files := o.envFiles
	for _, text := range o.env {
		if name, ok := strings.CutPrefix(text, "@"); ok {
			files = append(files, name)
		}
	}
	for _, name := range files {
		variables, lacking, err := readEnvFile(homePath(name), project, lookup)
		if err != nil {
			code, err := exitcode.Of(err, exitcode.NoInput)
			return nil, exitcode.With(code, fmt.Errorf("--env-file %s: %w", name, err))
		}
		all, missing = append(all, variables...), append(missing, lacking...)
	}
	for _, text := range o.env {
		if strings.HasPrefix(text, "@") {
			continue
		}
		variable, found, err := secrets.Variable(text, lookup)
		if err != nil {
			return nil, exitcode.With(exitcode.Usage, fmt.Errorf("--env: %w", err))
		}
		if !found {
			missing = append(missing, text)
			continue
		}
		all = append(all, variable)
	}
	if len(missing) > 0 {
		a.SayLine("note: the agent does not get %s: not set here", strings.Join(missing, ", "))
	}
	return all, nil
}

func readEnvFile(name, project string, lookup func(string) (string, bool)) (variables, missing []string, err error) {
	f, err := session.OpenFile(name, project)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, secrets.MaxEnv+1))
	if err != nil {
		return nil, nil, err
	}
	if variables, missing, err = secrets.ReadEnv(text, lookup); err != nil {
		return nil, nil, exitcode.With(exitcode.Config, err)
	}
	return variables, missing, nil
}

// modelKey is the environment as far as the model's key is looked for.
func modelKey(a *cli.App, o *SecretFlags) func(string) string {
	return func(name string) string {
		if name == "ANTHROPIC_API_KEY" && o.noAPIKey {
			return ""
		}
		return a.Getenv(name)
	}
}

// resolveSecrets finds the values of a plan's secrets. All are there, or the run does not
// start.
func resolveSecrets(ctx context.Context, plan *runplan.Plan) (map[string]string, error) {
	if len(plan.Secrets)+len(plan.Keys) == 0 {
		return nil, nil
	}
	keys.CloseMemory()
	var wanted []secrets.Wanted
	for _, s := range plan.Secrets {
		wanted = append(wanted, secrets.Wanted{Name: s.Name, From: s.From, File: s.File != ""})
	}
	for _, k := range plan.Keys {
		wanted = append(wanted, secrets.Wanted{Name: k.Name, From: k.From})
	}
	return sources(plan.Folder()).Resolve(ctx, wanted)
}

// sources are where the values of secrets come from, for a run on a folder.
func sources(folder string) secrets.Sources {
	return secrets.Sources{Getenv: os.Getenv, Open: func(name string) (io.ReadCloser, error) {
		f, err := session.OpenFile(homePath(name), folder)
		if err != nil {
			return nil, diag.OrHint(err, "name a file that you can read")
		}
		return f, nil
	}}
}
