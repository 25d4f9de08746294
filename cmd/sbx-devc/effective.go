package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/workspace"
)

type effectiveOptions struct {
	format  string
	offline bool
	online  bool
}

func (a *app) effectiveCommand() *cobra.Command {
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
		Annotations: map[string]string{annotationChecker: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.effective(cmd.Context(), o, a.projectPaths(args)[0])
		},
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "text or json")
	cmd.Flags().BoolVar(&o.offline, "offline", false, "ask neither the container engine nor a registry")
	cmd.Flags().BoolVar(&o.online, "online", false, "ask registries for images and Features that are not on this machine")
	exclusive(cmd, "offline", "online")
	return cmd
}

func (a *app) effective(ctx context.Context, o effectiveOptions, path string) error {
	write := map[string]func(io.Writer, *effective.Result) error{"text": writeEffective, "json": writeEffectiveJSON}[o.format]
	if write == nil {
		return exitWith(exitCheckUsage, unknownValue("format", o.format, "text", "json"))
	}
	found, err := devcontainer.Discover(path)
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	found = slices.DeleteFunc(found, func(f string) bool { return filepath.Base(f) == devcontainer.SettingsName })
	if len(found) == 0 { // settings alone
		return exitWith(exitNoCheck, diag.WithHint(fmt.Errorf("there is no devcontainer.json in %s", path),
			"'sbx-devc init' writes one; 'sbx-devc policy explain HOST' shows what the settings mean"))
	}
	if len(found) != 1 {
		return exitWith(exitCheckUsage, diag.WithHint(fmt.Errorf("%s holds %s", path, count(len(found), "configuration")),
			"name one file: %s", strings.Join(found, ", ")))
	}
	host, err := hostOf(found[0])
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	options := effective.Options{Host: host}
	registries, err := a.registryOptions(login{})
	if err != nil {
		return exitWith(exitNoCheck, err)
	}
	if !o.offline {
		images := imagebuild.Lookup{Registries: registries, Online: o.online}
		defer images.Close()
		options.Image = func(ref string, private bool) (effective.Image, error) {
			c, err := images.Config(ctx, ref, private)
			return effective.Image{Labels: c.Labels, User: c.User, Entrypoint: c.Entrypoint, Cmd: c.Cmd}, err
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
		return exitWith(exitNoCheck, err)
	}
	return write(shown(a.stdout), result)
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
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		host.Env[name] = value
	}
	return host, nil
}

// writeEffectiveJSON prints the versioned JSON form.
func writeEffectiveJSON(w io.Writer, r *effective.Result) error {
	type workspace struct {
		Folder string `json:"folder"`
		Mount  string `json:"mount"`
	}
	type composed struct {
		Project    string                        `json:"project"`
		Service    effective.Object              `json:"service"`
		Provenance map[string][]effective.Origin `json:"provenance"`
		Override   string                        `json:"override"`
		Up         []string                      `json:"up"`
	}
	var compose *composed
	if c := r.Compose; c != nil {
		compose = &composed{c.Project, c.Service, c.Origins, c.Override, c.Up}
	}
	return printJSON(w, struct {
		SchemaVersion int                           `json:"schemaVersion"`
		Configuration effective.Object              `json:"configuration"`
		Provenance    map[string][]effective.Origin `json:"provenance"`
		Workspace     workspace                     `json:"workspace"`
		Run           []string                      `json:"run"`
		Compose       *composed                     `json:"compose"`
		Unknown       []string                      `json:"unknown"`
	}{1, r.Configuration, r.Origins, workspace{r.Folder, r.Mount}, append([]string{}, r.Run...), compose, append([]string{}, r.Unknown...)})
}

// writeEffective prints a line per value: its name, what it is and where it
// comes from.
func writeEffective(w io.Writer, r *effective.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if err := originRows(table, "", r.Origins, r.At); err != nil {
		return err
	}
	fmt.Fprintf(table, "workspace folder\t%s\n", r.Folder)
	if c := r.Compose; c != nil {
		fmt.Fprintf(table, "\nCompose service of %s\n", c.Project)
		if err := originRows(table, "  ", c.Origins, func(pointer string) any { return effective.At(c.Service, pointer) }); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.Run) > 0 {
		fmt.Fprintf(w, "\n%s\n", commandLine(r.Run))
	}
	if c := r.Compose; c != nil {
		fmt.Fprintf(w, "\n%s\n\n%s:\n%s", commandLine(c.Up), effective.OverrideName, indent(c.Override))
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintf(w, "\nnot known:\n  %s\n", strings.Join(r.Unknown, "\n  "))
	}
	return nil
}

// originRows prints what stands at each pointer, and where that comes from.
func originRows(w io.Writer, before string, origins map[string][]effective.Origin, at func(pointer string) any) error {
	for _, pointer := range slices.SortedFunc(maps.Keys(origins), naturally) {
		var from []string
		for _, o := range origins[pointer] {
			from = append(from, o.String())
		}
		value, err := json.Marshal(at(pointer))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\n", before, strings.ReplaceAll(pointer[1:], "/", "."), clip(string(value)), strings.Join(from, ", "))
	}
	return nil
}

// naturally orders pointers by their parts, numbers by value.
func naturally(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	return slices.CompareFunc(x, y, func(a, b string) int {
		m, errA := strconv.Atoi(a)
		n, errB := strconv.Atoi(b)
		if errA == nil && errB == nil {
			return m - n
		}
		return strings.Compare(a, b)
	})
}

func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return s
}

// commandLine writes a command for a POSIX shell, an option per line.
func commandLine(words []string) string {
	var b strings.Builder
	for i, word := range words {
		switch {
		case i == 0:
		case strings.HasPrefix(word, "-") && word != "-" && i > 1:
			b.WriteString(" \\\n  ")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(shellQuote(word))
	}
	return b.String()
}

func shellQuote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
