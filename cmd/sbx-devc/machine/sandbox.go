package machine

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
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/cmd/sbx-devc/run"
	"github.com/org/claude-sandbox/cmd/sbx-devc/user"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/settings"
)

// sandboxState is what 'sandbox status' tells.
type sandboxState struct {
	SchemaVersion int    `json:"schemaVersion"`
	Inside        bool   `json:"inside"`  // this program runs in a sandbox of ours
	Sandbox       string `json:"sandbox"` // settings.SandboxModes
	Origin        string `json:"origin"`  // the file or flag that said none; "" = neither did
	Program       string `json:"program"`
	Claude        string `json:"claude"`
	Engine        string `json:"engine"` // "" = none answers
	Image         string `json:"image"`  // of a run here
	ImageID       string `json:"imageId"`
	Running       int    `json:"running"` // runs that go on, of all projects
}

// SandboxCommand has 'build' from the commands about images.
func SandboxCommand(a *cli.App) *cobra.Command {
	cmd := image.SandboxCommand(a)
	cmd.AddCommand(sandboxStatusCommand(a))
	return cmd
}

func sandboxStatusCommand(a *cli.App) *cobra.Command {
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
		RunE: func(cmd *cobra.Command, _ []string) error { return sandboxStatus(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// engineTimeout bounds the wait for the engine's answers.
const engineTimeout = 10 * time.Second

func sandboxStatus(ctx context.Context, a *cli.App, asJSON bool) error {
	choice, err := run.SandboxChoice(a, &run.Options{Sandbox: run.SandboxFlags{Mode: a.Getenv(run.VariableOf(run.ModeFlag))}}, "")
	if err != nil {
		return err
	}
	s := sandboxState{SchemaVersion: 1, Inside: insideSandbox(), Sandbox: settings.SandboxDevcontainer, Origin: choice.Origin,
		Program: ProgramVersion(), Claude: "unknown"}
	if choice.None {
		s.Sandbox = settings.SandboxNone
	}
	if pinned, err := npm.Pinned(runtime.GOARCH, npm.Glibc); err == nil {
		s.Claude = pinned.Version
	}
	for _, r := range projects.Runs(a).List("") {
		if r.GoesOn() {
			s.Running++
		}
	}
	if s.Image, err = imageHere(a); err != nil {
		return err
	}
	engineErr := s.askEngine(ctx)
	if asJSON {
		err = cli.PrintJSON(a.Stdout, s)
	} else {
		err = showSandbox(a, s)
	}
	if err == nil && engineErr != nil && !s.Inside {
		return run.WithCode(diag.OrHint(engineErr, "'sbx-devc doctor' says what is missing"))
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
func imageHere(a *cli.App) (string, error) {
	dir, _ := projects.RunDir(a, "")
	values, err := user.SettingsOf(a, run.SettingsFlags{}, "", dir, nil)
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

func showSandbox(a *cli.App, s sandboxState) error {
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
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
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
