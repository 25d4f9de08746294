package devcontainer

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// exposure is where the agent can write to the project.
type exposure struct {
	*view
	volume *rights.Right // the Compose service's volume with the workspace; nil without Compose
	custom bool          // the mount says what of the project is there, and maybe nothing of what lies above
}

// exposed returns it; not ok where no sandbox is, and where nothing writable of
// the project is mounted.
func (v *view) exposed() (e exposure, ok bool) {
	if !v.sandboxed() {
		return e, false
	}
	e.view = v
	if !v.single() {
		if v.Composed.dev() == nil {
			return e, false
		}
		e.custom, e.volume = true, v.workspaceVolume()
		return e, e.volume != nil
	}
	var workspace string
	workspace, e.custom = v.engineOnly("workspaceMount").Str()
	return e, !e.custom || hostWritable(rights.ParseMount(workspace))
}

// finding is one about something that the agent can change and the host obeys.
// lines are those that correct it in mounts, where a machine may add them; inside
// is what a volume of a Compose service has to cover: PATH, or PATH:ro.
func (e exposure) finding(message, hint string, lines, inside []string) finding {
	if e.volume != nil {
		return atRight(*e.volume, message, e.volumeHint(e.volume, inside))
	}
	f := e.atMissing(e.root.Member("mounts"), message, hint)
	if len(lines) > 0 && e.mountable() {
		f.edits = e.listing("mounts", lines...)
	}
	return f
}

// toCover is what volumes of the Compose service have to cover, PATH or PATH:ro.
func (e exposure) toCover() []string {
	config := e.openConfig()
	if config != "" {
		config = config[1:] + ":ro"
	}
	all := append([]string{config}, e.openGit()...)
	all = append(all, e.openGitFile()...)
	for _, p := range e.openHostPaths() {
		all = append(all, p+":ro")
	}
	return slices.DeleteFunc(all, func(p string) bool { return p == "" })
}

// configPath is what the next rebuild obeys, from the workspace's root.
func (v *view) configPath() string {
	if !v.inFolder() && v.Tree != nil {
		return "/.devcontainer.json"
	}
	return "/.devcontainer"
}

func (e exposure) openConfig() string {
	if config := e.configPath(); !e.covered(config, true) {
		return config
	}
	return ""
}

// configWritable reports a configuration that can be changed from inside.
func configWritable(v *view) (out []finding) {
	if v.sandboxed() {
		out = v.mountedAgain(".devcontainer")
	}
	e, ok := v.exposed()
	if !ok {
		return out
	}
	config := e.openConfig()
	if config == "" {
		return out
	}
	config = config[1:]
	line := overItself(config) + ",readonly"
	var lines []string
	if v.inFolder() && !v.covered("/"+config, false) { // a file is replaced when it is saved, and the mount stays on the old one
		lines = append(lines, line)
	}
	return append(out, e.finding(config+" is writable from inside, and the next rebuild runs what it says on the host",
		`add to "mounts": "`+line+`"`, lines, []string{config + ":ro"}))
}

// openHostPaths returns the files of the project that programs on the host obey
// and that no mount covers, without what other rules are about.
func (e exposure) openHostPaths() (open []string) {
	if e.Tree == nil {
		return nil
	}
	for _, p := range obeyed.HostPaths() {
		top, _, _ := strings.Cut(p, "/")
		if "/"+p != e.configPath() && top != ".git" && e.Tree.Kind(path.Join(e.Home, p)) != Nothing && !e.covered("/"+p, true) {
			open = append(open, p)
		}
	}
	return open
}

// hostFilesWritable reports those: each, or as one finding about a volume.
func hostFilesWritable(v *view) (out []finding) {
	e, ok := v.exposed()
	if !ok {
		return nil
	}
	open := e.openHostPaths()
	var inside []string
	for _, p := range open {
		inside = append(inside, p+":ro")
	}
	if e.volume != nil && len(open) > 0 {
		open = []string{strings.Join(open, ", ")}
	}
	for _, p := range open {
		are := "is"
		if len(inside) > 1 && e.volume != nil {
			are = "are"
		}
		out = append(out, e.finding(p+" "+are+" writable from inside, and programs on the host obey it",
			"mount it over itself, readonly; sbx-devc init writes the lines", nil, inside))
	}
	return out
}

// volumeHint names the volumes of a Compose service that lay paths of the
// workspace over themselves.
func (c *view) volumeHint(workspace *rights.Right, inside []string) string {
	const why = `; from "mounts" the reference CLI drops readonly here`
	from, to, ok := c.workspaceIn(workspace)
	if !ok {
		return `mount it over itself among the service's volumes, ending in ":ro" but for .git itself` + why
	}
	var volumes []string
	for _, line := range volumesOver(from, to, inside) {
		volumes = append(volumes, jsonc.Quote(line))
	}
	return "add to the service's volumes: " + strings.Join(volumes, ", ") + why
}

// overItself is a mount that shows a path of the workspace where it is anyway.
func overItself(p string) string {
	return "type=bind,source=${localWorkspaceFolder}/" + p + ",target=${containerWorkspaceFolder}/" + p
}

// mountable reports whether a line in mounts surely lands in the workspace.
func (c *view) mountable() bool {
	text, custom := c.engineOnly("workspaceMount").Str()
	folder, _ := c.root.Member("workspaceFolder").Str()
	return c.Tree != nil && (!custom || rights.ParseMount(text).Source == "${localWorkspaceFolder}" &&
		rights.ParseMount(text).Target == folder)
}

// gitMounts are the lines that keep a repository's hooks and configuration; none
// where something else is mounted, or where this clone lacks what every other
// one would need for its container to start.
func (c *view) gitMounts() []string {
	var lines []string
	if !c.covered("/.git", false) {
		lines = append(lines, overItself(".git"))
	}
	for _, p := range []string{".git/hooks", ".git/config"} {
		switch {
		case c.covered("/"+p, true):
		case c.covered("/"+p, false) || !c.gitHere() || c.Tree.Kind(path.Join(c.Home, p)) == Nothing:
			return nil
		default:
			lines = append(lines, overItself(p)+",readonly")
		}
	}
	return lines
}

// mountedAgain reports writable mounts that show what is protected at another
// place, where nothing covers it: .devcontainer, or else git's hooks.
func (v *view) mountedAgain(protected string) (out []finding) {
	for _, r := range v.mounts() {
		m, from := r.Mount, rights.Origin(r.Mount.Source)
		if from.Base != "workspace" || !hostWritable(m) || r.Key == "workspaceMount" || v.isWorkspace(m.Target) {
			continue
		}
		target := strings.TrimRight(m.Target, "/")
		if from.Path != "." && from.Path != "" && strings.HasSuffix(target, "/"+from.Path) {
			continue // in its own place, as far as can be seen
		}
		for _, p := range []string{".devcontainer", ".git/hooks"} {
			if from.Path == "." || from.Path == "" || (rights.HostPath{Path: p}).Is(from.Path) || from.Is(p) {
				if p == protected {
					out = append(out, atRight(r, fmt.Sprintf("%s is writable from inside by way of %s", p, target),
						"mount it readonly, or only the folder that is needed"))
				}
				break // one mount, one finding
			}
		}
	}
	return out
}

// isWorkspace reports whether target is where the workspace lies, however it is
// written.
func (c *view) isWorkspace(target string) bool {
	folder, _ := c.root.Member("workspaceFolder").Str()
	places := []string{"${containerWorkspaceFolder}", "/workspaces/${localWorkspaceFolderBasename}", strings.TrimRight(folder, "/")}
	return slices.Contains(places, strings.TrimRight(target, "/"))
}

// gitIsFile reports whether .git is a file that names the repository.
func (v *view) gitIsFile() bool {
	return v.Tree != nil && v.Tree.Kind(path.Join(v.Home, ".git")) == File
}

// openGitFile returns the .git file when no mount covers it.
func (e exposure) openGitFile() []string {
	if !e.gitIsFile() || e.covered("/.git", true) {
		return nil
	}
	return []string{".git:ro"}
}

// gitFileWritable reports a .git file that can be changed.
func gitFileWritable(v *view) []finding {
	e, ok := v.exposed()
	if !ok || e.openGitFile() == nil {
		return nil
	}
	return []finding{e.finding("the .git file is writable from inside, and it says which repository git on the host obeys",
		"mount it over itself, readonly", nil, e.openGitFile())}
}

// openGit returns what of the repository's folder no mount covers: the folder
// itself, which then can be renamed, its hooks and its configuration.
func (e exposure) openGit() (open []string) {
	if e.covered("/.git", true) || e.gitIsFile() || !e.gitHere() && (!e.gitAbove() || e.custom) {
		return nil
	}
	if !e.covered("/.git", false) {
		open = append(open, ".git")
	}
	for _, p := range []string{".git/hooks", ".git/config"} {
		if !e.covered("/"+p, true) {
			open = append(open, p+":ro")
		}
	}
	return open
}

// gitWritable reports a repository whose hooks or configuration can be changed.
func gitWritable(v *view) (out []finding) {
	if v.sandboxed() {
		out = v.mountedAgain(".git/hooks")
	}
	e, ok := v.exposed()
	if !ok {
		return out
	}
	inside := e.openGit()
	var open []string
	for _, p := range inside {
		if name, ok := strings.CutSuffix(p, ":ro"); ok {
			open = append(open, name)
		}
	}
	are := "is"
	if len(open) > 1 {
		are = "are"
	}
	switch {
	case len(open) > 0:
		out = append(out, e.finding(strings.Join(open, " and ")+" "+are+" writable from inside, and git on the host runs what it says there",
			"mount each over itself, readonly, and .git over itself, writable, so that nobody renames it; sbx-devc init writes the lines",
			e.gitMounts(), inside))
	case len(inside) > 0:
		out = append(out, e.finding(".git is no mount point, so the agent can rename it with the read-only mounts inside and put another in its place",
			"mount .git over itself, writable; sbx-devc init writes the lines", e.gitMounts(), inside))
	}
	return out
}

func hostWritable(m rights.Mount) bool { return m.Type == "bind" && !m.ReadOnly }

// covered reports whether the path, relative to the workspace with a leading
// slash, is a mount point; with readonly, one that cannot be written to.
func (c *view) covered(p string, readonly bool) bool {
	var all []rights.Mount
	for _, r := range c.mounts() {
		m := r.Mount
		// The reference CLI writes mounts as SOURCE:TARGET into a Compose file of
		// its own, which wins over the service's volume on the same target.
		m.ReadOnly = m.ReadOnly && (c.Composed.dev() == nil || m.Type != "bind")
		all = append(all, m)
	}
	set := len(all)
	for _, r := range c.of(rights.Mounted) {
		m := r.Mount
		switch {
		case r.Notation != rights.Compose || r.Next:
		case r.Key == "tmpfs":
			m.ReadOnly = true // nothing of the host's is behind it
			all = append(all, m)
		case !slices.ContainsFunc(all[:set], func(have rights.Mount) bool { return path.Clean(have.Target) == path.Clean(m.Target) }):
			all = append(all, m)
		}
	}
	return slices.ContainsFunc(all, func(m rights.Mount) bool {
		at, ok := strings.CutSuffix(strings.TrimRight(m.Target, "/"), p)
		return ok && (m.ReadOnly || !readonly) && c.belowWorkspace(at)
	})
}

// belowWorkspace reports whether folder can be a project that workspaceMount
// shows. Without one, and behind other variables, nothing is known.
func (c *view) belowWorkspace(folder string) bool {
	text, ok := c.engineOnly("workspaceMount").Str()
	top := strings.TrimRight(rights.ParseMount(text).Target, "/")
	if !ok || top == "" || c.isWorkspace(folder) && strings.HasPrefix(folder, "$") {
		return true
	}
	return folder == top || strings.HasPrefix(folder, top+"/") ||
		strings.Contains(strings.ReplaceAll(folder, "${localWorkspaceFolderBasename}", ""), "${")
}

// credentialFolder is where an agent or a tool keeps its login.
var credentialFolder = regexp.MustCompile(`/(\.claude|\.codex|\.gemini|\.config/(gh|gcloud)|\.aws|\.azure|\.kube|\.ssh)/?$`)

// sharedCredentials reports volumes with logins that every project gets.
func sharedCredentials(v *view) (out []finding) {
	for _, r := range v.mounts() {
		if m := r.Mount; m.Type == "volume" && m.Source != "" && credentialFolder.MatchString(m.Target) && !strings.Contains(m.Source, "${") {
			out = append(out, atRight(r, fmt.Sprintf("every project mounts the volume %s", m.Source), "put ${devcontainerId} into its name"))
		}
	}
	return out
}

var unasked = regexp.MustCompile(`--dangerously-skip-permissions|\bbypassPermissions\b|allow-dangerously-skip-permissions`)

// uncontained reports an agent without prompts and without a sandbox.
func uncontained(v *view) (out []finding) {
	if v.sandboxed() {
		return
	}
	const message, hint = "the agent never asks, and no firewall contains it", "let sbx-devc init write the sandbox, or leave the prompts on"
	found := false
	v.root.Walk(func(n *jsonc.Node) {
		if !found && n.Kind == jsonc.String && unasked.MatchString(n.Text) {
			found = true
			out = append(out, v.atValue(n, message, hint))
		}
	})
	for _, i := range v.Build.history() {
		if at := unasked.FindString(i.Source()); at != "" && !found {
			found = true
			start, end := i.Find(at)
			out = append(out, v.atDockerfile(start, end, message, hint))
		}
	}
	for _, s := range v.services() {
		for _, n := range append(s.Get("command").Scalars(), s.Get("entrypoint").Scalars()...) {
			if !found && unasked.MatchString(n.Text) {
				found = true
				out = append(out, atCompose(n, message, hint))
			}
		}
	}
	return out
}

func (c *view) services() []*compose.Service {
	if c.Composed == nil {
		return nil
	}
	return c.Composed.project.Services()
}

// firewallScripts looks into the scripts of the project that set a packet
// filter: those that the Dockerfile copies, and those that hooks name.
func firewallScripts(v *view) (out []finding) {
	if v.Tree == nil || !v.raisesItself() {
		return nil
	}
	for _, name := range v.scripts() {
		src, err := v.Tree.Read(name)
		if err != nil || len(src) > jsonc.MaxSize {
			continue
		}
		commands, err := shell.Parse(string(src), nil)
		if err != nil || !slices.ContainsFunc(commands, func(x *shell.Command) bool { return x.Is("iptables") }) {
			continue
		}
		rel := strings.TrimPrefix(name, v.Dir+"/")
		if rel == name && v.Dir != "." {
			rel = strings.Repeat("../", strings.Count(v.Dir, "/")+1) + name
		}
		doc := jsonc.Text(v.quoted(rel), src)
		v.also(doc)
		out = append(out, leaks(doc, commands)...)
	}
	return out
}

var scriptName = regexp.MustCompile(`[\w./-]+\.(sh|bash)\b`)

// scripts names the shell scripts in the tree that the project uses.
func (c *view) scripts() []string {
	var out []string
	add := func(name string) {
		if !leavesTree(name) && c.Tree.Kind(name) == File && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	context := c.context()
	for _, i := range c.Build.history() {
		if copied, ok := i.Command.(*instructions.CopyCommand); ok && copied.From == "" {
			for _, source := range copied.SourcePaths {
				if scriptName.MatchString(source) {
					add(path.Join(context, i.Expand(source)))
				}
			}
		}
	}
	for _, hook := range hooks {
		c.root.Member(hook).Walk(func(n *jsonc.Node) {
			if n.Kind == jsonc.String {
				for _, name := range scriptName.FindAllString(n.Text, -1) {
					add(path.Join(c.Home, name))
					add(path.Join(c.Dir, path.Base(name)))
				}
			}
		})
	}
	return out
}

// leaks reports the known holes of a firewall's script, each once.
func leaks(doc *jsonc.Document, commands []*shell.Command) (out []finding) {
	said := map[string]bool{}
	say := func(cmd *shell.Command, message, hint string) {
		if !said[message] {
			said[message] = true
			word := cmd.Words[0]
			out = append(out, finding{Place: rights.Place{Doc: doc, Start: word.Start, End: word.End}, message: message, hint: hint})
		}
	}
	var first, fetched *shell.Command
	six := false
	for _, cmd := range commands {
		switch {
		case cmd.Is("ip6tables", "ip6tables-restore", "nft"), cmd.Is("sysctl") && strings.Contains(joinWords(cmd), "disable_ipv6"):
			six = true
		case cmd.Is("curl", "wget", "dig", "host", "nslookup", "getent") && fetched == nil:
			fetched = cmd
		case cmd.Is("iptables"):
			if first == nil {
				first = cmd
			}
			leak(cmd, fetched, say)
		}
	}
	if !six && first != nil {
		say(first, "IPv6 is not filtered: iptables knows IPv4 only", "write the same rules with ip6tables, or use sbx-init")
	}
	return out
}

func joinWords(cmd *shell.Command) string {
	var words []string
	for _, w := range cmd.Words {
		words = append(words, w.Text)
	}
	return strings.Join(words, " ")
}

func leak(cmd, fetched *shell.Command, say func(*shell.Command, string, string)) {
	line := joinWords(cmd) + " "
	chain, _ := cmd.Value("-A", "-I", "--append", "--insert")
	policy, _ := cmd.Value("-P", "--policy")
	target, _ := cmd.Value("-j", "--jump")
	to, limited := cmd.Value("-d", "--destination", "-o", "--out-interface")
	port, _ := cmd.Value("--dport", "--destination-port")
	switch {
	case policy.Text == "OUTPUT" && strings.HasSuffix(strings.TrimSpace(line), "DROP") && fetched != nil && fetched.Start < cmd.Start:
		say(cmd, "the default becomes DROP only after names were looked up and files fetched",
			"close first, on both address families, then open what is allowed")
	case chain.Text != "OUTPUT" || target.Text != "ACCEPT" || strings.Contains(line, "ESTABLISHED"):
	case port.Text == "53" && !limited:
		say(cmd, "DNS to any server is allowed, and DNS carries data to anybody",
			"allow the one resolver that is used, and let it answer for allowed names only")
	case port.Text == "22" && !limited:
		say(cmd, "SSH to any server is allowed", "allow it to the addresses that need it")
	case limited && regexp.MustCompile(`(?i)host_?(network|net|ip)|/(8|12|16|24)$`).MatchString(to.Text):
		say(cmd, "the host's network is allowed as a whole", "allow the one service that is needed, with its port")
	}
}
