package contract

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// exposure is where the agent can write to the project.
type exposure struct {
	*rule.View
	volume *rights.Right // the Compose service's volume with the workspace; nil without Compose
	custom bool          // the mount says what of the project is there, and maybe nothing of what lies above
}

// exposed returns it; not ok where no sandbox is, and where nothing writable of
// the project is mounted.
func exposed(v *rule.View) (e exposure, ok bool) {
	if !v.Sandboxed() {
		return e, false
	}
	e.View = v
	if !single(v) {
		if v.Composed.Dev() == nil {
			return e, false
		}
		e.custom, e.volume = true, workspaceVolume(v)
		return e, e.volume != nil
	}
	var workspace string
	workspace, e.custom = v.EngineOnly("workspaceMount").Str()
	return e, !e.custom || hostWritable(rights.ParseMount(workspace))
}

// finding is one about something that the agent can change and the host obeys.
// lines are those that correct it in mounts, where a machine may add them; inside
// is what a volume of a Compose service has to cover: PATH, or PATH:ro.
func (e exposure) finding(message, hint string, lines, inside []string) rule.Finding {
	if e.volume != nil {
		return rule.AtRight(*e.volume, message, volumeHint(e.View, e.volume, inside))
	}
	f := e.AtMissing(e.Root.Member("mounts"), message, hint)
	if len(lines) > 0 && mountable(e.View) {
		f.Edits = e.Listing("mounts", lines...)
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
func configPath(v *rule.View) string {
	if !v.InFolder() && v.Tree != nil {
		return "/.devcontainer.json"
	}
	return "/.devcontainer"
}

func (e exposure) openConfig() string {
	if config := configPath(e.View); !covered(e.View, config, true) {
		return config
	}
	return ""
}

// configWritable reports a configuration that can be changed from inside.
func configWritable(v *rule.View) (out []rule.Finding) {
	if v.Sandboxed() {
		out = mountedAgain(v, ".devcontainer")
	}
	e, ok := exposed(v)
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
	if v.InFolder() && !covered(v, "/"+config, false) { // a file is replaced when it is saved, and the mount stays on the old one
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
		others := "/"+p == configPath(e.View) || top == ".git" // rules of their own
		if !others && e.Tree.Kind(path.Join(e.Home, p)) != devcontainer.Nothing && !covered(e.View, "/"+p, true) {
			open = append(open, p)
		}
	}
	return open
}

// hostFilesWritable reports those: each, or as one finding about a volume.
func hostFilesWritable(v *rule.View) (out []rule.Finding) {
	e, ok := exposed(v)
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
func volumeHint(c *rule.View, workspace *rights.Right, inside []string) string {
	const why = `; from "mounts" the reference CLI drops readonly here`
	from, to, ok := workspaceIn(c, workspace)
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
func mountable(c *rule.View) bool {
	text, custom := c.EngineOnly("workspaceMount").Str()
	folder, _ := c.Root.Member("workspaceFolder").Str()
	return c.Tree != nil && (!custom || rights.ParseMount(text).Source == "${localWorkspaceFolder}" &&
		rights.ParseMount(text).Target == folder)
}

// gitMounts are the lines that keep a repository's hooks and configuration; none
// where something else is mounted, or where this clone lacks what every other
// one would need for its container to start.
func gitMounts(c *rule.View) []string {
	var lines []string
	if !covered(c, "/.git", false) {
		lines = append(lines, overItself(".git"))
	}
	for _, p := range []string{".git/hooks", ".git/config"} {
		switch {
		case covered(c, "/"+p, true):
		case covered(c, "/"+p, false) || !c.GitHere() || c.Tree.Kind(path.Join(c.Home, p)) == devcontainer.Nothing:
			return nil
		default:
			lines = append(lines, overItself(p)+",readonly")
		}
	}
	return lines
}

// mountedAgain reports writable mounts that show what is protected at another
// place, where nothing covers it: .devcontainer, or else git's hooks.
func mountedAgain(v *rule.View, protected string) (out []rule.Finding) {
	for _, r := range v.Mounts() {
		m, from := r.Mount, rights.Origin(r.Mount.Source)
		if from.Base != "workspace" || !hostWritable(m) || r.Key == "workspaceMount" || isWorkspace(v, m.Target) {
			continue
		}
		target := strings.TrimRight(m.Target, "/")
		if from.Path != "." && from.Path != "" && strings.HasSuffix(target, "/"+from.Path) {
			continue // in its own place, as far as can be seen
		}
		for _, p := range []string{".devcontainer", ".git/hooks"} {
			if from.Path == "." || from.Path == "" || (rights.HostPath{Path: p}).Is(from.Path) || from.Is(p) {
				if p == protected {
					out = append(out, rule.AtRight(r, fmt.Sprintf("%s is writable from inside by way of %s", p, target),
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
func isWorkspace(c *rule.View, target string) bool {
	folder, _ := c.Root.Member("workspaceFolder").Str()
	places := []string{"${containerWorkspaceFolder}", "/workspaces/${localWorkspaceFolderBasename}", strings.TrimRight(folder, "/")}
	return slices.Contains(places, strings.TrimRight(target, "/"))
}

// gitIsFile reports whether .git is a file that names the repository.
func gitIsFile(v *rule.View) bool {
	return v.Tree != nil && v.Tree.Kind(path.Join(v.Home, ".git")) == devcontainer.File
}

// openGitFile returns the .git file when no mount covers it.
func (e exposure) openGitFile() []string {
	if !gitIsFile(e.View) || covered(e.View, "/.git", true) {
		return nil
	}
	return []string{".git:ro"}
}

// gitFileWritable reports a .git file that can be changed.
func gitFileWritable(v *rule.View) []rule.Finding {
	e, ok := exposed(v)
	if !ok || e.openGitFile() == nil {
		return nil
	}
	return []rule.Finding{e.finding("the .git file is writable from inside, and it says which repository git on the host obeys",
		"mount it over itself, readonly", nil, e.openGitFile())}
}

// openGit returns what of the repository's folder no mount covers: the folder
// itself, which then can be renamed, its hooks and its configuration.
func (e exposure) openGit() (open []string) {
	if covered(e.View, "/.git", true) || gitIsFile(e.View) || !e.GitHere() && (!e.GitAbove() || e.custom) {
		return nil
	}
	if !covered(e.View, "/.git", false) {
		open = append(open, ".git")
	}
	for _, p := range []string{".git/hooks", ".git/config"} {
		if !covered(e.View, "/"+p, true) {
			open = append(open, p+":ro")
		}
	}
	return open
}

// gitWritable reports a repository whose hooks or configuration can be changed.
func gitWritable(v *rule.View) (out []rule.Finding) {
	if v.Sandboxed() {
		out = mountedAgain(v, ".git/hooks")
	}
	e, ok := exposed(v)
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
			gitMounts(e.View), inside))
	case len(inside) > 0:
		out = append(out, e.finding(".git is no mount point, so the agent can rename it with the read-only mounts inside and put another in "+
			"its place",
			"mount .git over itself, writable; sbx-devc init writes the lines", gitMounts(e.View), inside))
	}
	return out
}

func hostWritable(m rights.Mount) bool { return m.Type == "bind" && !m.ReadOnly }

// covered reports whether the path, relative to the workspace with a leading
// slash, is a mount point; with readonly, one that cannot be written to.
func covered(c *rule.View, p string, readonly bool) bool {
	var all []rights.Mount
	for _, r := range c.Mounts() {
		m := r.Mount
		// The reference CLI writes mounts as SOURCE:TARGET into a Compose file of
		// its own, which wins over the service's volume on the same target.
		m.ReadOnly = m.ReadOnly && (c.Composed.Dev() == nil || m.Type != "bind")
		all = append(all, m)
	}
	set := len(all)
	for _, r := range c.Of(rights.Mounted) {
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
		return ok && (m.ReadOnly || !readonly) && belowWorkspace(c, at)
	})
}

// belowWorkspace reports whether folder can be a project that workspaceMount
// shows. Without one, and behind other variables, nothing is known.
func belowWorkspace(c *rule.View, folder string) bool {
	text, ok := c.EngineOnly("workspaceMount").Str()
	top := strings.TrimRight(rights.ParseMount(text).Target, "/")
	if !ok || top == "" || isWorkspace(c, folder) && strings.HasPrefix(folder, "$") {
		return true
	}
	return folder == top || strings.HasPrefix(folder, top+"/") ||
		strings.Contains(strings.ReplaceAll(folder, "${localWorkspaceFolderBasename}", ""), "${")
}

// credentialFolder is where an agent or a tool keeps its login.
var credentialFolder = regexp.MustCompile(`/(\.claude|\.codex|\.gemini|\.config/(gh|gcloud)|\.aws|\.azure|\.kube|\.ssh)/?$`)

// sharedCredentials reports volumes with logins that every project gets.
func sharedCredentials(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Mounts() {
		if m := r.Mount; m.Type == "volume" && m.Source != "" && credentialFolder.MatchString(m.Target) && !strings.Contains(m.Source, "${") {
			out = append(out, rule.AtRight(r, fmt.Sprintf("every project mounts the volume %s", m.Source), "put ${devcontainerId} into its name"))
		}
	}
	return out
}

var unasked = regexp.MustCompile(`--dangerously-skip-permissions|\bbypassPermissions\b|allow-dangerously-skip-permissions`)

// uncontained reports an agent without prompts and without a sandbox.
func uncontained(v *rule.View) (out []rule.Finding) {
	if v.Sandboxed() {
		return
	}
	const message, hint = "the agent never asks, and no firewall contains it", "let sbx-devc init write the sandbox, or leave the prompts on"
	found := false
	v.Root.Walk(func(n *jsonc.Node) {
		if !found && n.Kind == jsonc.String && unasked.MatchString(n.Text) {
			found = true
			out = append(out, v.AtValue(n, message, hint))
		}
	})
	for _, i := range v.Build.History() {
		if at := unasked.FindString(i.Source()); at != "" && !found {
			found = true
			start, end := i.Find(at)
			out = append(out, v.AtDockerfile(start, end, message, hint))
		}
	}
	for _, s := range v.ComposeServices() {
		for _, n := range append(s.Get("command").Scalars(), s.Get("entrypoint").Scalars()...) {
			if !found && unasked.MatchString(n.Text) {
				found = true
				out = append(out, rule.AtCompose(n, message, hint))
			}
		}
	}
	return out
}

// firewallScripts looks into the scripts of the project that set a packet
// filter: those that the Dockerfile copies, and those that hooks name.
func firewallScripts(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil || !raisesItself(v) {
		return nil
	}
	for _, name := range scripts(v) {
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
		doc := jsonc.Text(v.Quoted(rel), src)
		v.Also(doc)
		out = append(out, leaks(doc, commands)...)
	}
	return out
}

var scriptName = regexp.MustCompile(`[\w./-]+\.(sh|bash)\b`)

// scripts names the shell scripts in the tree that the project uses.
func scripts(c *rule.View) []string {
	var out []string
	add := func(name string) {
		if !devcontainer.LeavesTree(name) && c.Tree.Kind(name) == devcontainer.File && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	context := c.Context()
	for _, i := range c.Build.History() {
		if copied, ok := i.Command.(*instructions.CopyCommand); ok && copied.From == "" {
			for _, source := range copied.SourcePaths {
				if scriptName.MatchString(source) {
					add(path.Join(context, i.Expand(source)))
				}
			}
		}
	}
	for _, hook := range rights.Hooks {
		c.Root.Member(hook).Walk(func(n *jsonc.Node) {
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
func leaks(doc *jsonc.Document, commands []*shell.Command) (out []rule.Finding) {
	said := map[string]bool{}
	say := func(cmd *shell.Command, message, hint string) {
		if !said[message] {
			said[message] = true
			word := cmd.Words[0]
			out = append(out, rule.Finding{Place: rights.Place{Doc: doc, Start: word.Start, End: word.End}, Message: message, Hint: hint})
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
