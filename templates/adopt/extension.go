package adopt

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/contract"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/features"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// Config returns the configuration of a dev container that can get the Feature.
// The error carries exitcode.NoInput or exitcode.Refused.
func Config(dir scaffold.Folder) ([]byte, error) {
	config := dir.Read(scaffold.ConfigPath)
	if config == nil {
		err := fmt.Errorf("%s: there is no %s to extend", dir, scaffold.ConfigPath)
		if dir.Read(".devcontainer.json") != nil {
			return nil, refused(diag.WithHint(err, "move .devcontainer.json to %s first: only a folder can be made read-only", scaffold.ConfigPath))
		}
		if named, _ := filepath.Glob(filepath.Join(string(dir), ".devcontainer", "*", "devcontainer.json")); len(named) > 0 {
			return nil, refused(diag.WithHint(err, "move %s to %s first, with the files that it names", named[0], scaffold.ConfigPath))
		}
		return nil, exitcode.With(exitcode.NoInput, diag.WithHint(err, "'sbx-devc init' writes one"))
	}
	if dir.Read(lock.Path) != nil {
		err := fmt.Errorf("%s: 'sbx-devc init' wrote this dev container, and its image raises the firewall itself", dir)
		return nil, refused(diag.WithHint(err,
			"hosts go into %s; 'sbx-devc update' brings the rest up to date", ".devcontainer/"+devcontainer.SettingsName))
	}
	return config, nil
}

func refused(err error) error { return exitcode.With(exitcode.Refused, err) }

// Presets returns those that an extended dev container gets: what Claude Code, git
// and editors need, and more.
func Presets(more []string) ([]string, error) {
	base, err := templates.Load("claude")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, preset := range append([]string{base.Value("claudePreset", nil), base.Value("gitPreset", nil), "vscode"}, more...) {
		if !slices.Contains(out, preset) {
			out = append(out, preset)
		}
	}
	return out, nil
}

// NewHosts returns of the proposed hosts those that presets and allow do not open
// anyway. It errs when these are no policy.
func NewHosts(hosts []detect.Proposal, presets, allow []string) ([]detect.Proposal, error) {
	policy, bad := firewall.Closed().With(firewall.Network{Presets: presets, Allow: allow})
	if len(bad) > 0 {
		return nil, bad[0]
	}
	return slices.DeleteFunc(slices.Clone(hosts), func(p detect.Proposal) bool {
		t, err := firewall.ParseTarget(p.Value)
		if t.Port == 0 {
			t.Port = 443
		}
		return err == nil && t.Decide(policy).Allowed()
	}), nil
}

// Extension is what a dev container would become with the Feature, and how
// validate judges that.
type Extension struct {
	Dir     scaffold.Folder
	Files   []templates.File // all that belong to it
	Changed []templates.File // those that have to be written
	Seen    templates.Observation
	Refused []diag.Finding // why it is not to be written, sorted
	Notes   []string       // sentences about the result, among them about lines of the user's that are not kept
	// Service is what a Compose file lacks; nil without Compose, and when nothing is
	// missing. Agent is then the user to name in the configuration, so that the agent
	// stays who it is; "" = it is named.
	Service *contract.ServiceLines
	Agent   string
	// Joins says that the container is put into the network of services, which must be there
	// when it starts.
	Joins bool
}

// Services are the services of other containers that a dev container of Compose can reach, as
// proposals for an allowlist; nil without Compose. They are in its own network.
func Services(dir scaffold.Folder) (list []detect.Proposal) {
	_ = devcontainer.Open(dir.Path(scaffold.ConfigPath), func(p *devcontainer.Project) error { // Plan says what is wrong
		if p.Composed == nil {
			return nil
		}
		for _, name := range p.Services() {
			s := p.Composed.Project.Service(name)
			line, _ := s.Doc.Position(s.Start)
			for _, entry := range detect.ServiceEntries(s) {
				list = append(list, detect.Proposal{Value: entry, Reason: "a service of the dev container", File: s.Doc.File, Line: line})
			}
		}
		return nil
	})
	return list
}

// Plan plans what a dev container gets; config is its configuration now, and
// want has the options of a Feature that it does not have yet. The
// error carries exitcode.Refused, unless this program is the reason.
func Plan(dir scaffold.Folder, config []byte, want lock.Input) (*Extension, error) {
	x := &Extension{Dir: dir}
	var err error
	if x.Seen, err = templates.Observe(string(dir)); err != nil {
		return nil, refused(err)
	}
	observed := x.Seen
	if templates.Composed(config) {
		x.Seen = withoutMounts(x.Seen)
	}
	var before contract.Foreign
	if err := devcontainer.Open(dir.Path(scaffold.ConfigPath),
		func(p *devcontainer.Project) error { before = contract.Inspect(p); return nil }); err != nil {
		return nil, refused(err)
	}
	text, changes, err := templates.Extend(config, templates.Extension{Facts: x.Seen.Facts, Presets: want.Presets, Allow: want.Allow,
		Private: want.Private, Network: want.Network, StartUser: before.StartUser, Claude: !before.Claude && !templates.Extended(config)})
	if err != nil {
		return nil, refused(err)
	}
	x.Files = []templates.File{{Path: scaffold.ConfigPath, Content: text}}
	x.Joins = templates.Joins(text, want.Network)
	if templates.ExtendedLocally(text) {
		feature, err := localFeature(dir, templates.LocalFeatureFolder, features.IsFirewall, features.Firewall)
		if err != nil {
			return nil, err
		}
		x.Files = append(x.Files, feature...)
	}
	if templates.HasLocalClaude(text) {
		feature, err := localFeature(dir, templates.LocalClaudeFolder, features.IsClaude, features.Claude)
		if err != nil {
			return nil, err
		}
		x.Files = append(x.Files, feature...)
	}
	if err := x.judge(changes, text); err != nil {
		return nil, err
	}
	if x.Service != nil && x.Service.User != "" && !templates.NamesAgent(config) {
		x.Agent = before.StartUser
	}
	if x.Service != nil {
		if err := x.layOver(changes, text, observed); err != nil {
			return nil, err
		}
	}
	x.Changed = dir.Changed(x.Files)
	diag.Sort(x.Refused)
	x.Refused = slices.CompactFunc(x.Refused, func(a, b diag.Finding) bool { return a.Rule == b.Rule && a.File == b.File && a.Line == b.Line })
	return x, nil
}

// endingService is the rule about databases in services of their own. The firewall stands in the dev container alone, and
// they end with it as they did without it.
const endingService = "SBX331"

// judge says what validate has to say about the files, of which text is the configuration.
// changes are notes about it.
func (x *Extension) judge(changes []string, text []byte) error {
	err := x.Dir.OpenWith(x.Files, func(p *devcontainer.Project) {
		after := contract.Inspect(p)
		// A right that gives the agent the host cannot go together with a firewall, whatever a comment excuses.
		x.Refused = lint.Find(p, "SBX401", "SBX402", "SBX412")
		var beside []string
		for _, f := range scaffold.Errors(p) {
			if f.Rule == endingService {
				beside = append(beside, fmt.Sprintf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule))
			} else {
				x.Refused = append(x.Refused, f)
			}
		}
		x.Service = after.Compose
		x.Notes = slices.Concat(changes, x.Seen.Notes, lacks(after), closed(p, text), beside)
	})
	if err != nil {
		return refused(err)
	}
	return nil
}

// overlayPath is where a Compose file lies that has the lines which a service lacks.
const overlayPath = ".devcontainer/sandbox.compose.yaml"

// layOver adds such a file, so that the user's own Compose files stay as they are. Where that
// does not help, or the user has another file there, everything stays.
func (x *Extension) layOver(changes []string, text []byte, observed templates.Observation) error {
	with, lines := *x, *x.Service
	if lines.Workspace != "" {
		with.Seen, lines.Covered = observed, observed.Facts.Covered
		lines.Volumes = slices.DeleteFunc(slices.Clone(lines.Volumes), func(v string) bool { // such as a folder that is empty
			return slices.ContainsFunc(lines.Covered, func(p string) bool { return strings.HasSuffix(v, ":"+path.Join(lines.Workspace, p)+":ro") })
		})
	}
	file := templates.File{Path: overlayPath, Content: lines.Overlay()}
	if _, err := os.Lstat(x.Dir.Path(overlayPath)); err == nil && !x.Dir.Holds(file) {
		return nil
	}
	workspace := ""
	if lines.Alone {
		workspace = lines.Workspace
	}
	text, err := templates.LayOver(text, path.Base(overlayPath), x.Agent, workspace)
	if err != nil {
		return refused(err)
	}
	with.Files = slices.Concat([]templates.File{{Path: scaffold.ConfigPath, Content: text}}, x.Files[1:], []templates.File{file})
	if err := with.judge(changes, text); err != nil || with.Service != nil {
		return err
	}
	note := fmt.Sprintf("%s gives the service %s of %s the project with read-only parts, and nothing around it", overlayPath,
		lines.Service, lines.File)
	if lines.Folder != "" {
		note += fmt.Sprintf("; that holds in a folder of the name %s alone", lines.Folder)
	}
	with.Notes, with.Agent = append([]string{note}, with.Notes...), ""
	*x = with
	return nil
}

// withoutMounts is for Compose, where nothing is mounted from devcontainer.json:
// then nothing needs a place, and nothing is covered either.
func withoutMounts(seen templates.Observation) templates.Observation {
	missing := strings.Join(seen.Facts.Covered, ", ")
	seen = templates.Observation{Facts: seen.Facts}
	if missing != "" {
		seen.Notes = append(seen.Notes, fmt.Sprintf("with Compose only the service's own lines protect files: "+
			"the agent can make the missing or empty ones here (%s), where no line of the service's \"tmpfs\" covers it", missing))
	}
	return seen
}

// closed says how to open the services of other containers that the firewall Feature in config
// does not.
func closed(p *devcontainer.Project, config []byte) (out []string) {
	open := func(name string) bool {
		return slices.ContainsFunc(templates.FirewallOptions(config), func(o templates.FirewallOption) bool {
			return o.Name == "private" && slices.Contains(o.Entries, name)
		})
	}
	for _, name := range p.Services() {
		entries := detect.ServiceEntries(p.Composed.Project.Service(name))
		switch {
		case open(name):
		case len(entries) > 0:
			out = append(out, fmt.Sprintf("the service %s is another container: 'sbx-devc allow --private %s' opens it", name,
				strings.Join(entries, " ")))
		default:
			out = append(out, fmt.Sprintf(
				`the service %s is another container: "%[1]s:PORT" in the Feature's "allow" and "%[1]s" in its "private" open it`, name))
		}
	}
	return out
}

// lacks says what a person has to add by hand.
func lacks(after contract.Foreign) (out []string) {
	if !after.Claude {
		out = append(out, `nothing here installs Claude Code: add "`+templates.LocalClaude+`": {} to "features" and run 'sbx-devc update'`)
	}
	if !after.Login {
		out = append(out, `Claude Code's login is lost at every rebuild: `+
			`add "type=volume,source=claude-${devcontainerId},target=/home/USER/.claude" to "mounts", and make that folder USER's in the Dockerfile`)
	}
	return out
}

// Write writes what has changed, all of it or nothing. notes has Notes, and what
// was made in addition. The caller looks at Refused first.
func (x *Extension) Write() (notes []string, err error) {
	made, err := x.Dir.Write(x.Seen, x.Changed, true)
	return slices.Concat(x.Notes, made), err
}
