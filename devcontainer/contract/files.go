package contract

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
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
	mount, custom := workspaceMount(v)
	e.custom = custom
	return e, !custom || hostWritable(mount)
}

// workspaceMount returns the mount of the project that the configuration names; not ok without one.
func workspaceMount(v *rule.View) (m rights.Mount, ok bool) {
	mounts := v.Mounts()
	i := slices.IndexFunc(mounts, func(r rights.Right) bool { return r.Key == "workspaceMount" })
	if i < 0 {
		return m, false
	}
	return mounts[i].Mount, true
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
	mount, custom := workspaceMount(c)
	folder, _ := c.Root.Member("workspaceFolder").Str() // where an editor opens the project: no right
	return c.Tree != nil && (!custom || mount.Source == "${localWorkspaceFolder}" && mount.Target == folder)
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
	mount, ok := workspaceMount(c)
	top := strings.TrimRight(mount.Target, "/")
	if !ok || top == "" || isWorkspace(c, folder) && strings.HasPrefix(folder, "$") {
		return true
	}
	return folder == top || strings.HasPrefix(folder, top+"/") ||
		strings.Contains(strings.ReplaceAll(folder, "${localWorkspaceFolderBasename}", ""), "${")
}

// credentialFolder is where an agent or a tool keeps its login.
var credentialFolder = lazyregexp.New(`/(\.claude|\.codex|\.gemini|\.config/(gh|gcloud)|\.aws|\.azure|\.kube|\.ssh)/?$`)

// sharedCredentials reports volumes with logins that every project gets.
func sharedCredentials(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Mounts() {
		if m := r.Mount; m.Type == "volume" && m.Source != "" && credentialFolder.MatchString(m.Target) && !strings.Contains(m.Source, "${") {
			out = append(out, rule.AtRight(r, fmt.Sprintf("every project mounts the volume %s", m.Source), "put ${devcontainerId} into its name"))
		}
	}
	return out
}

var unasked = lazyregexp.New(`--dangerously-skip-permissions|\bbypassPermissions\b|allow-dangerously-skip-permissions`)

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
	for _, r := range v.Of(rights.Entrypoint, rights.Command) {
		if !found && unasked.MatchString(r.Value) {
			found = true
			out = append(out, v.PolicyFinding(r, message, hint))
		}
	}
	return out
}
