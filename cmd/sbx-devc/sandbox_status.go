package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/image"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/settings"
)

// sandboxState is what 'sandbox status' tells.
type sandboxState struct {
	SchemaVersion int    `json:"schemaVersion"`
	Inside        bool   `json:"inside"`  // this program runs in a sandbox of ours
	Sandbox       string `json:"sandbox"` // settings.SandboxModes
	Origin        string `json:"origin"`  // who said none; "" = nobody
	Program       string `json:"program"`
	Claude        string `json:"claude"`
	Engine        string `json:"engine"` // "" = none answers
	Image         string `json:"image"`  // of a run here
	ImageID       string `json:"imageId"`
	Running       int    `json:"running"` // runs that go on, of all projects
}

// sandboxCommand has 'build' from the commands about images.
func (a *app) sandboxCommand(c *cli.App) *cobra.Command {
	cmd := image.SandboxCommand(c)
	cmd.AddCommand(a.sandboxStatusCommand())
	return cmd
}

func (a *app) sandboxStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say whether runs here have a sandbox, with which engine, image and versions",
		Long: `Say whether a run of the project around the current folder has a sandbox, which engine,
image and Claude Code it would take, and whether this is the inside of a sandbox. Nothing
is built, downloaded or changed. 'sbx-devc doctor' says more about this machine,
'sbx-devc status' about one run.

Exit code 0: there is an engine, or this is inside; 69: no container engine.`,
		Example: `  sbx-devc sandbox status
  sbx-devc sandbox status --json | jq -r .image`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.sandboxStatus(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// engineTimeout bounds the wait for the engine's answers.
const engineTimeout = 10 * time.Second

func (a *app) sandboxStatus(ctx context.Context, asJSON bool) error {
	choice, err := a.sandboxChoice(&runOptions{sandbox: sandboxFlags{mode: a.getenv(variableOf(modeFlag))}}, "")
	if err != nil {
		return err
	}
	s := sandboxState{SchemaVersion: 1, Inside: insideSandbox(), Sandbox: settings.SandboxDevcontainer, Origin: choice.Origin,
		Program: programVersion(), Claude: "unknown"}
	if choice.None {
		s.Sandbox = settings.SandboxNone
	}
	if pinned, err := npm.Pinned(runtime.GOARCH, npm.Glibc); err == nil {
		s.Claude = pinned.Version
	}
	for _, r := range a.runs().List("") {
		if r.Result == runs.Running {
			s.Running++
		}
	}
	if s.Image, err = a.imageHere(); err != nil {
		return err
	}
	engineErr := s.askEngine(ctx)
	if asJSON {
		err = printJSON(a.stdout, s)
	} else {
		err = a.showSandbox(s)
	}
	if err == nil && engineErr != nil && !s.Inside {
		return runError(diag.OrHint(engineErr, "'sbx-devc doctor' says what is missing"))
	}
	return err
}

// insideSandbox reports whether the firewall's records are here, which its containers and
// dev containers have.
func insideSandbox() bool {
	info, err := os.Stat("/run/sbx")
	return err == nil && info.IsDir()
}

// imageHere is the image that a run of the project around the current folder takes.
func (a *app) imageHere() (string, error) {
	dir, _ := a.runDir("")
	values, err := a.settingsOf(settingsFlags{}, "", dir, nil)
	for _, v := range values {
		if v.Key == "image" {
			return v.Text, err
		}
	}
	return "", err
}

// askEngine fills in what the engine knows.
func (s *sandboxState) askEngine(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	e, err := engine.Connect(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	d, err := e.Describe(ctx)
	if err != nil {
		return err
	}
	s.Engine = fmt.Sprintf("%s %s at %s", d.Name, d.Version, e.Host())
	found, err := e.ImageInspect(ctx, s.Image)
	if err == nil {
		s.ImageID = found.ID
	} else if errors.Is(err, engine.ErrNotFound) {
		err = nil
	}
	return err
}

func (a *app) showSandbox(s sandboxState) error {
	sandbox, of, where := "on", s.Image, "no; 'sbx-init status' tells more inside of one"
	if s.Sandbox == settings.SandboxNone {
		sandbox = "OFF (" + s.Origin + "): a run warns and asks, and then works on this machine as it is"
	}
	switch {
	case s.ImageID != "":
		of += ", " + s.ImageID
	case s.Engine != "":
		of += ", not here yet: the next run brings it, or 'sbx-devc sandbox build'"
	}
	if s.Inside {
		where = "yes: 'sbx-init status' tells of its firewall"
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	for _, row := range [][2]string{
		{"sandbox", sandbox}, {"inside one", where}, {"engine", s.Engine}, {"image", of},
		{"Claude Code", s.Claude + ", unless the image brings its own"}, {"sbx-devc", s.Program}, {"running", fmt.Sprint(s.Running)},
	} {
		if row[1] == "" {
			row[1] = "none answers"
		}
		fmt.Fprintf(w, "%s\t%s\n", row[0], visible.Line(row[1]))
	}
	return w.Flush()
}
