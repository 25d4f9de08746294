package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/doctor"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/release"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/storedkey"
	"github.com/org/claude-sandbox/workspace"
)

func DoctorCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	var policy string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine lacks for a run, and the command that brings it",
		Long: `Look at what a run needs on this machine: the engine and what it can do, the firewall in
a container, the model's key (which is not shown), git, folders, disk, certificates, and
your settings, your profiles and those of the project around the current folder. With
--policy it also reads your organisation's policy, as 'validate' does. Nothing is changed,
and nothing is built or downloaded.

Exit codes: 0 runs work, 1 something is missing, 2 usage.`,
		Example: `  sbx-devc doctor
  sbx-devc doctor --json | jq '.checks[] | select(.status == "missing")'`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE:        func(cmd *cobra.Command, _ []string) error { return examine(cmd.Context(), a, policy, asJSON) },
	}
	connect.AddRuntimeFlag(cmd.Flags())
	cmd.Flags().StringVar(&policy, "policy", "", "also check an organisation's policy `FILE`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func examine(ctx context.Context, a *cli.App, policy string, asJSON bool) error {
	for project := range projects.Runs(a).Projects() { // it may stand elsewhere, and PATH lead there
		workspace.ExcludePrograms(project)
	}
	places := placesOfDoctor(ctx, a)
	places.Settings = sourcesOfSettings(a, policy)
	answered := a.AwaitEngine()
	findings := doctor.Judge(doctor.Look(ctx, places))
	answered()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ready := doctor.Ready(findings)
	if asJSON {
		if err := cli.PrintJSON(a.Stdout, struct {
			SchemaVersion int              `json:"schemaVersion"`
			Ready         bool             `json:"ready"`
			Checks        []doctor.Finding `json:"checks"`
		}{1, ready, findings}); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			fmt.Fprintf(a.Stdout, "%-8s %-13s %s\n", f.Status, f.Check, visible.Line(strings.ReplaceAll(f.Found, "\n", "; ")))
			if f.Hint != "" {
				fmt.Fprintf(a.Stdout, "%-22s → %s\n", "", visible.Line(f.Hint))
			}
		}
	}
	if !ready {
		return exitcode.With(exitcode.Findings, nil)
	}
	return nil
}

func placesOfDoctor(ctx context.Context, a *cli.App) doctor.Places {
	places := doctor.Places{
		Getenv: a.Getenv, Connect: engine.Connect, Key: func() (string, error) { return keySource(ctx, a) },
		Folders: []doctor.Folder{{Holds: "runs", Path: projects.Runs(a).Dir()}},
	}
	if own, err := userdir.Find(a.Getenv); err == nil {
		places.Folders = append(places.Folders, doctor.Folder{Holds: "your settings", Path: string(own), Err: own.Check("")})
	}
	cache, err := images.CacheDir()
	places.Folders = append(places.Folders, doctor.Folder{Holds: "images", Path: cache, Err: err})
	places.TryFirewall = func(ctx context.Context, e *engine.Engine) (bool, error) {
		return images.Images{Engine: e, Getenv: a.Getenv, Cache: cache, Published: release.FirewallImage()}.TryFirewall(ctx)
	}
	return places
}

// keySource is the place of the model's key that a run would use.
func keySource(ctx context.Context, a *cli.App) (string, error) {
	getenv, err := run.KeyOf(ctx, a, &run.SecretFlags{}, "")
	if err != nil {
		return "", err
	}
	if _, _, err := session.ModelAPI(getenv); err != nil {
		return "", err
	}
	if session.OfGateway(a.Getenv) {
		return "ANTHROPIC_AUTH_TOKEN", nil
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"} {
		if a.Getenv(name) != "" {
			return name, nil
		}
	}
	own, err := projects.OwnFolder(a)
	if err != nil {
		return "", err
	}
	return storedkey.Place(own, "")
}
