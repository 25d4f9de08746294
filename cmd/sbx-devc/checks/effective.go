package checks

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/connect"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/workspace"
)

type effectiveOptions struct {
	format  string
	offline bool
	online  bool
}

func EffectiveCommand(a *cli.App) *cobra.Command {
	var o effectiveOptions
	cmd := &cobra.Command{
		Use:   "effective [PATH]",
		Short: "Show the merged configuration, and where each value comes from",
		Long: `Show the merged configuration of a dev container: the file, its Features and the
label of its image, merged as the reference dev container CLI does it, with the
place of each value and the resulting command line of the engine. With Docker
Compose it also shows the service and the override file of the reference CLI.

PATH is a project folder or a devcontainer.json; without it the current folder.
Images are looked up in the container engine, when one answers, and Features
below the project. --online asks registries for the rest, unless the image's name
has a variable of this host; --offline asks neither. The output lists everything
that could not be found out.`,
		Example: `  sbx-devc effective
  sbx-devc effective --online --format json .devcontainer/devcontainer.json`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{cli.AnnotationChecker: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), a, o, projects.Paths(a, args)[0])
		},
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "text or json")
	cmd.Flags().BoolVar(&o.offline, "offline", false, "ask neither the container engine nor a registry")
	cmd.Flags().BoolVar(&o.online, "online", false, "ask registries for images and Features that are not on this machine")
	cli.Exclusive(cmd, "offline", "online")
	return cmd
}

func show(ctx context.Context, a *cli.App, o effectiveOptions, path string) error {
	if !slices.Contains([]string{"text", "json"}, o.format) {
		return exitcode.With(exitcode.CheckUsage, cli.UnknownValue("format", o.format, "text", "json"))
	}
	found, err := devcontainer.Discover(path)
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	found = slices.DeleteFunc(found, func(f string) bool { return filepath.Base(f) == devcontainer.SettingsName })
	if len(found) == 0 { // settings alone
		return exitcode.With(exitcode.NoCheck, diag.WithHint(fmt.Errorf("there is no devcontainer.json in %s", path),
			"'sbx-devc init' writes one; 'sbx-devc policy explain HOST' shows what the settings mean"))
	}
	if len(found) != 1 {
		return exitcode.With(exitcode.CheckUsage, diag.WithHint(fmt.Errorf("%s holds %s", path, visible.Count(len(found), "configuration")),
			"name one file: %s", strings.Join(found, ", ")))
	}
	host, err := hostOf(found[0])
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	options := effective.Options{Host: host}
	registries, err := connect.RegistryOptions(a, connect.Login{})
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	if !o.offline {
		images := imagebuild.Lookup{Registries: registries, Online: o.online}
		defer images.Close()
		options.Image = func(ref string, private bool) (effective.Image, error) {
			c, err := images.Config(ctx, ref, private)
			return effective.Image{Labels: c.Labels, Entrypoint: c.Entrypoint, Cmd: c.Cmd}, err
		}
	}
	if o.online {
		options.Feature = func(id string) ([]byte, error) { return imagebuild.FeatureMetadata(ctx, registries, id) }
	}
	var result *effective.Result
	err = devcontainer.Open(found[0], func(p *devcontainer.Project) (err error) {
		result, err = effective.Compute(p, options)
		return err
	})
	if err != nil {
		return exitcode.With(exitcode.NoCheck, err)
	}
	if o.format == "json" {
		return cli.PrintJSON(a.Stdout, result.Form())
	}
	return result.WriteText(cli.Shown(a.Stdout))
}

// hostOf says what variables of the host stand for when config is opened.
func hostOf(config string) (effective.Host, error) {
	full, err := filepath.Abs(config)
	if err != nil {
		return effective.Host{}, err
	}
	host := effective.Host{Config: full, Workspace: filepath.Dir(full), Windows: runtime.GOOS == "windows", Env: map[string]string{}}
	for _, up := range []string{host.Workspace, filepath.Dir(host.Workspace)} {
		if filepath.Base(up) == ".devcontainer" {
			host.Workspace = filepath.Dir(up)
		}
	}
	host.GitRoot = workspace.RepositoryOf(host.Workspace)
	for _, e := range hostprogram.Environ() {
		name, value, _ := strings.Cut(e, "=")
		host.Env[name] = value
	}
	return host, nil
}
