package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/doctor"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session"
	"github.com/org/claude-sandbox/session/images"
	"github.com/org/claude-sandbox/session/storedkey"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine lacks for a run, and the command that brings it",
		Long: `Look at what a run needs on this machine: the engine and what it can do, the firewall in
a container, the model's key (which is not shown), git, folders, disk and certificates.
Nothing is changed, and nothing is built or downloaded.

Exit codes: 0 runs work, 1 something is missing, 2 usage.`,
		Example: `  sbx-devc doctor
  sbx-devc doctor --json | jq '.checks[] | select(.status == "missing")'`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{annotationChecker: ""},
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), asJSON) },
	}
	addRuntimeFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) doctor(ctx context.Context, asJSON bool) error {
	findings := doctor.Judge(doctor.Look(ctx, a.placesOfDoctor()))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ready := doctor.Ready(findings)
	if asJSON {
		if err := printJSON(a.stdout, struct {
			SchemaVersion int              `json:"schemaVersion"`
			Ready         bool             `json:"ready"`
			Checks        []doctor.Finding `json:"checks"`
		}{1, ready, findings}); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			fmt.Fprintf(a.stdout, "%-8s %-13s %s\n", f.Status, f.Check, visible.Line(strings.ReplaceAll(f.Found, "\n", "; ")))
			if f.Hint != "" {
				fmt.Fprintf(a.stdout, "%-22s → %s\n", "", visible.Line(f.Hint))
			}
		}
	}
	if !ready {
		return exitWith(exitFindings, nil)
	}
	return nil
}

func (a *app) placesOfDoctor() doctor.Places {
	places := doctor.Places{
		Getenv: a.getenv, Connect: engine.Connect, Key: a.keySource,
		Folders: []doctor.Folder{{Holds: "runs", Path: a.runs().Dir()}},
	}
	if own, err := userdir.Find(a.getenv); err == nil {
		places.Folders = append(places.Folders, doctor.Folder{Holds: "your settings", Path: string(own), Err: own.Check("")})
	}
	cache, err := images.CacheDir()
	places.Folders = append(places.Folders, doctor.Folder{Holds: "images", Path: cache, Err: err})
	places.TryFirewall = func(ctx context.Context, e *engine.Engine) (bool, error) {
		return images.Images{Engine: e, Getenv: a.getenv, Cache: cache}.TryFirewall(ctx)
	}
	return places
}

// keySource is the place of the model's key that a run would use.
func (a *app) keySource() (string, error) {
	getenv, err := a.keyOf(&secretFlags{}, "")
	if err != nil {
		return "", err
	}
	if _, _, err := session.ModelAPI(getenv); err != nil {
		return "", err
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"} {
		if a.getenv(name) != "" {
			return name, nil
		}
	}
	own, err := a.ownFolder()
	return storedkey.File(own), err
}
