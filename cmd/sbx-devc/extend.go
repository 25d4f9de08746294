package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/ask"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
)

// configPath is where init writes the configuration, and looks for one.
const configPath = ".devcontainer/devcontainer.json"

// extend puts the firewall Feature into the dev container that is there; to is
// whom to ask about hosts, nil = nobody.
func (a *app) extend(ctx context.Context, to *ask.Terminal, o initOptions, dir string, report detect.Report, c choice) error {
	config, err := configToExtend(dir)
	if err != nil {
		return err
	}
	if lacks := templates.FirewallLacks(config, o.presets, o.allow); len(lacks) > 0 {
		err := fmt.Errorf("%s has the firewall already, without %s", filepath.Join(dir, configPath), strings.Join(lacks, ", "))
		return exitWith(exitRefused, diag.WithHint(err, "its options are yours: add them to its presets or allow by hand"))
	}
	base, err := templates.Load("claude")
	if err != nil {
		return exitWith(exitInternal, err)
	}
	c.presets = union([]string{base.Value("claudePreset", nil), base.Value("gitPreset", nil), "vscode"}, c.presets)
	if report, err = newHosts(report, c); err != nil {
		return exitWith(exitInternal, err)
	}
	a.showReport(report, c)
	x, err := a.extension(dir, config, c.presets, c.allow)
	if err != nil {
		return err
	}
	if len(x.refused) == 0 && !templates.Extended(config) && to != nil {
		if c, err = askHosts(ctx, to, report, c); err != nil {
			return err
		}
		if x, err = a.extension(dir, config, c.presets, c.allow); err != nil {
			return err
		}
	}
	if o.dryRun {
		if err := a.showFiles(dir, x.files, "changed"); err != nil {
			return err
		}
	}
	switch err := a.refuseExtension(dir, x); {
	case err != nil:
		return exitWith(exitRefused, err)
	case o.dryRun:
		a.notes(x.notes())
		return nil
	case len(x.changed) == 0:
		fmt.Fprintf(a.stderr, "sbx-devc: %s has the firewall already\n", filepath.Join(dir, configPath))
		return nil
	}
	if err := writeWithFolders(dir, &x.seen, x.changed, true); err != nil {
		return err
	}
	a.wroteExtension(dir, x)
	fmt.Fprint(a.stderr, `sbx-devc: next:
  sbx-devc validate                     what else opens it
  devcontainer up --remove-existing-container, or "Rebuild Container" in the editor
  claude --dangerously-skip-permissions in its terminal
`)
	return nil
}

// newHosts leaves of the proposed hosts those that the presets do not open
// anyway.
func newHosts(report detect.Report, c choice) (detect.Report, error) {
	policy, bad := firewall.NewPolicy(firewall.Network{Presets: c.presets, Allow: c.allow})
	if len(bad) > 0 {
		return report, bad[0] // choose has checked them
	}
	report.Hosts = slices.DeleteFunc(slices.Clone(report.Hosts), func(p detect.Proposal) bool {
		t, err := firewall.ParseTarget(p.Value)
		if t.Port == 0 {
			t.Port = 443
		}
		return err == nil && t.Decide(policy).Allowed()
	})
	return report, nil
}

// configToExtend returns the configuration of a dev container that can get the
// Feature.
func configToExtend(dir string) ([]byte, error) {
	config := readBelow(dir)(configPath)
	if config == nil {
		err := fmt.Errorf("%s: there is no %s to extend", dir, configPath)
		if readBelow(dir)(".devcontainer.json") != nil {
			return nil, exitWith(exitRefused, diag.WithHint(err, "move .devcontainer.json to %s first: only a folder can be made read-only", configPath))
		}
		if named, _ := filepath.Glob(filepath.Join(dir, ".devcontainer", "*", "devcontainer.json")); len(named) > 0 {
			return nil, exitWith(exitRefused, diag.WithHint(err, "move %s to %s first, with the files that it names", named[0], configPath))
		}
		return nil, exitWith(exitNoInput, diag.WithHint(err, "'sbx-devc init' writes one"))
	}
	if readBelow(dir)(lock.Path) != nil {
		err := fmt.Errorf("%s: 'sbx-devc init' wrote this dev container, and its image raises the firewall itself", dir)
		return nil, exitWith(exitRefused, diag.WithHint(err, "hosts go into %s; 'sbx-devc update' brings the rest up to date", ".devcontainer/"+devcontainer.SettingsName))
	}
	return config, nil
}

// extension is what a dev container would become with the Feature, and how
// validate judges that.
type extension struct {
	config    []byte           // the configuration now
	startUser string           // of the first process now; "" when only the image says it
	files     []templates.File // all that belong to it
	changed   []templates.File // those that have to be written
	seen      templates.Observation
	changes   []string // sentences about lines of the user's that are not kept
	foreign   devcontainer.Foreign
	other     []string       // services beside the dev container's
	refused   []diag.Finding // why it is not to be written
}

// extension plans what a dev container gets; config is its configuration now.
func (a *app) extension(dir string, config []byte, presets, allow []string) (*extension, error) {
	x := &extension{config: config}
	var err error
	if x.seen, err = templates.Observe(dir); err != nil {
		return nil, exitWith(exitRefused, err)
	}
	if templates.Composed(config) {
		x.seen = withoutMounts(x.seen)
	}
	var before devcontainer.Foreign
	file := filepath.Join(dir, filepath.FromSlash(configPath))
	if err := devcontainer.Open(file, func(p *devcontainer.Project) error { before = devcontainer.Inspect(p); return nil }); err != nil {
		return nil, exitWith(exitRefused, err)
	}
	x.startUser = before.StartUser
	text, changes, err := templates.Extend(config, templates.Extension{Facts: x.seen.Facts, Presets: presets, Allow: allow, StartUser: before.StartUser})
	if err != nil {
		return nil, exitWith(exitRefused, err)
	}
	x.changes = changes
	x.files = []templates.File{{Path: configPath, Content: text}}
	if templates.ExtendedLocally(text) {
		feature, err := localFeature(dir)
		if err != nil {
			return nil, err
		}
		x.files = append(x.files, feature...)
	}
	x.changed = slices.DeleteFunc(slices.Clone(x.files), func(f templates.File) bool { return unchanged(dir, f) })
	err = openWith(dir, x.files, func(p *devcontainer.Project) {
		x.foreign, x.other = devcontainer.Inspect(p), p.Services()
		x.refused = append(x.foreign.Breaks, errorsOf(p)...)
	})
	if err != nil {
		return nil, exitWith(exitRefused, err)
	}
	diag.Sort(x.refused)
	x.refused = slices.CompactFunc(x.refused, func(a, b diag.Finding) bool { return a.Rule == b.Rule && a.File == b.File && a.Line == b.Line })
	return x, nil
}

// withoutMounts is for Compose, where nothing is mounted from devcontainer.json:
// then nothing needs a place, and nothing is covered either.
func withoutMounts(seen templates.Observation) templates.Observation {
	missing := strings.Join(seen.Facts.Covered, ", ")
	seen = templates.Observation{Facts: seen.Facts}
	if missing != "" {
		seen.Notes = append(seen.Notes, fmt.Sprintf("with Compose only the service's own lines protect files: what is missing or empty here (%s) the agent can make, where no line of the service's \"tmpfs\" covers it", missing))
	}
	return seen
}

// refuseExtension shows why the files must not be written, if anything speaks
// against them: each finding, and with Compose the lines that its service needs.
func (a *app) refuseExtension(dir string, x *extension) error {
	if len(x.refused) == 0 {
		return nil
	}
	var rules []string
	for _, f := range x.refused {
		a.printError(diag.WithHint(fmt.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule), "%s", f.Hint))
		rules = append(rules, f.Rule)
	}
	if s := x.foreign.Compose; s != nil {
		fmt.Fprintf(shown(a.stderr), "sbx-devc: add to the service %q in %s:\n%s", s.Service, s.File, s)
		if s.User != "" && !templates.NamesAgent(x.config) {
			fmt.Fprintf(shown(a.stderr), "sbx-devc: and to %s, so that the agent stays who it is:\n    \"remoteUser\": %q,\n", configPath, x.startUser)
		}
	}
	err := fmt.Errorf("%s: the files would not be valid: %s", dir, strings.Join(rules, ", "))
	return diag.WithHint(err, "nothing was written; correct these first, then run init --extend again")
}

// wroteExtension says what was written and what is still missing.
func (a *app) wroteExtension(dir string, x *extension) {
	size := 0
	for _, f := range x.changed {
		if strings.HasPrefix(f.Path, templates.LocalFeatureFolder+"/") {
			size += len(f.Content)
			continue
		}
		fmt.Fprintf(a.stderr, "sbx-devc: wrote %s\n", filepath.Join(dir, filepath.FromSlash(f.Path)))
	}
	if size > 0 {
		fmt.Fprintf(a.stderr, "sbx-devc: wrote %s, the Feature with sbx-init (%d MB); commit it, so that the container can be built from every clone\n",
			filepath.Join(dir, filepath.FromSlash(templates.LocalFeatureFolder)), (size+500_000)/1_000_000)
	}
	a.notes(x.notes())
}

// notes are sentences about the result.
func (x *extension) notes() []string {
	out := slices.Concat(x.changes, x.seen.Notes)
	if !x.foreign.Claude {
		out = append(out, `nothing here installs Claude Code: add "ghcr.io/anthropics/devcontainer-features/claude-code:1": {} to "features", or RUN npm install -g @anthropic-ai/claude-code to the Dockerfile`)
	}
	if !x.foreign.Login {
		out = append(out, `Claude Code's login is lost at every rebuild: add "type=volume,source=claude-${devcontainerId},target=/home/USER/.claude" to "mounts", and make that folder USER's in the Dockerfile`)
	}
	for _, s := range x.other {
		out = append(out, fmt.Sprintf(`the service %s is another container: "%s:PORT" in the Feature's "allow" and "%s" in its "private" open it`, s, s, s))
	}
	return out
}

func union(a, b []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range slices.Concat(a, b) {
		if !seen[s] {
			out, seen[s] = append(out, s), true
		}
	}
	return out
}

// noWorse refuses files that would bring errors into the dev container that it
// does not have now. It shows each of them: who corrects one after the other
// comes back as often.
func (a *app) noWorse(dir string, files []templates.File) error {
	before, after := errorsWith(dir, nil), errorsWith(dir, files)
	if len(after) <= len(before) {
		return nil
	}
	var rules []string
	for _, f := range after {
		a.printError(diag.WithHint(fmt.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule), "%s", f.Hint))
		rules = append(rules, f.Rule)
	}
	err := fmt.Errorf("%s: the files would not be valid: %s", dir, strings.Join(rules, ", "))
	return diag.WithHint(err, "nothing was written; --dry-run shows the files, 'sbx-devc validate' what is wrong now")
}

// errorsWith returns the errors of the dev container as it would be with these
// files; none where there is no configuration.
func errorsWith(dir string, files []templates.File) (errs []diag.Finding) {
	_ = openWith(dir, files, func(p *devcontainer.Project) { errs = errorsOf(p) })
	return errs
}

// openWith opens the dev container as it would be with these files.
func openWith(dir string, files []templates.File, use func(*devcontainer.Project)) error {
	more := map[string][]byte{}
	for _, f := range files {
		more[f.Path] = f.Content
	}
	return devcontainer.OpenWith(filepath.Join(dir, filepath.FromSlash(configPath)), more, func(p *devcontainer.Project) error { use(p); return nil })
}

// errorsOf are the errors that validate has.
func errorsOf(p *devcontainer.Project) []diag.Finding {
	return slices.DeleteFunc(devcontainer.Check(p), func(f diag.Finding) bool { return f.Severity != diag.SeverityError })
}
