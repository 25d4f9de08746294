package runplan

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// workspaceMode is how the run shows the project. A folder that is more than a project is
// refused, unless nothing of it is shown.
func workspaceMode(o Options, s settings.Settings, w *workspace.Workspace) (workspace.Mode, error) {
	mode := cmp.Or(workspace.Mode(s.Workspace.Mode), workspace.Bind)
	if o.Remote {
		mode = cmp.Or(workspace.Mode(s.Workspace.Mode), workspace.Clone)
	}
	switch {
	case o.CommitLeft && (mode == workspace.ReadOnly || mode == workspace.None):
		return mode, fmt.Errorf("%w: --commit: the agent leaves nothing uncommitted in a project that it cannot write", ErrConfig)
	case o.CommitLeft && !w.Git.Usable():
		why := append(w.NoGit(), w.Dir+" has no git repository")[0]
		return mode, diag.WithHint(fmt.Errorf("%w: --commit: %s", ErrConfig, why), "leave --commit out; the agent's files stay as they are")
	case mode == workspace.None:
		return mode, nil
	}
	return mode, w.Refuse()
}

// projectMounts decides how the project is shown.
func projectMounts(o Options, w *workspace.Workspace, mode workspace.Mode, protect []string) (*workspace.Mounts, error) {
	if !mode.IsCopy() && !carries(o, mode) {
		return w.Mounts(WorkspaceTarget, mode, protect)
	}
	if o.Tree == "" {
		return nil, diag.WithHint(fmt.Errorf("%w: workspace mode %s is for 'sbx-devc run'", ErrConfig, mode), "use bind, ro or none here")
	}
	return w.CopyMounts(WorkspaceTarget, mode, o.Tree)
}

// addMounts adds the folders that the settings mount in addition to the project, and
// returns what must be said about them.
func addMounts(project *workspace.Mounts, w *workspace.Workspace, mounts []settings.Mount, o Options) (said []string, err error) {
	for i, m := range mounts {
		if err := checkTarget(m.Container, o.ClaudePath); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(mounts[:i], func(other settings.Mount) bool { return other.Container == m.Container }) {
			return nil, diag.WithHint(fmt.Errorf("%w: two mounts are at %s", ErrConfig, m.Container), "leave one out")
		}
		host, err := settings.HostPath(m.Host, machine())
		if err != nil {
			return nil, fmt.Errorf("%w: mounts: %w", ErrConfig, err)
		}
		notes, err := project.AddFolder(w, host, m.Container, m.ReadOnly, o.OwnFolders)
		if err != nil {
			return nil, err
		}
		said = append(said, notes...)
	}
	return said, nil
}

// Outside lists the folders and files of this machine that the agent may write in addition
// to the folder it works in.
func (p *Plan) Outside() (paths []string) {
	for _, m := range p.Project.List {
		if m.Source != "" && !m.ReadOnly && !within(m.Target, WorkspaceTarget) && !workspace.Below(p.Project.Dir, m.Source) {
			paths = append(paths, m.Source)
		}
	}
	return paths
}

// ExcludePrograms makes sure that this process starts no program from what the agent of the
// project dir may write by mounts, see package hostprogram.
func ExcludePrograms(dir string, mounts []settings.Mount) {
	for _, m := range mounts {
		if host, err := settings.HostPath(m.Host, machine()); err == nil && !m.ReadOnly {
			workspace.ExcludeAdded(dir, host)
		}
	}
}

// checkTarget refuses places in the agent's container where a mount would hide what the
// run puts there, or change Claude Code's own program.
func checkTarget(target, claudePath string) error {
	places := []string{"/proc", "/sys", "/dev", "/etc/sbx", "/etc/passwd", "/etc/group", "/usr/local/sbin", RecordsPath,
		AgentHome + "/.claude", path.Dir(cmp.Or(claudePath, DefaultClaudePath))}
	hint := "choose another place, such as /mnt/NAME or " + AgentHome + "/NAME"
	err := fmt.Errorf("%w: a mount cannot be at %s", ErrConfig, target)
	switch {
	case target == WorkspaceTarget || strings.HasPrefix(target, WorkspaceTarget+"/"):
		return diag.WithHint(fmt.Errorf("%w: that is the project, and the engine would make the place in it", err), "%s", hint)
	case target == AgentHome, strings.HasPrefix(target, "/.sbx"),
		slices.ContainsFunc(places, func(p string) bool { return within(p, target) || within(target, p) }):
		return diag.WithHint(fmt.Errorf("%w: the run has its own files there", err), "%s", hint)
	}
	return nil
}

// within reports whether a clean path is dir or in it.
func within(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// foldersToMounts lists the folders of the agent's home on the way to mounts in it. The
// engine would make them root's, and the agent could not write next to the mount.
func foldersToMounts(mounts []engine.Mount) (dirs []string) {
	for _, m := range mounts {
		for dir := path.Dir(m.Target); strings.HasPrefix(dir, AgentHome+"/"); dir = path.Dir(dir) {
			if taken := func(other engine.Mount) bool { return within(dir, other.Target) }; !slices.ContainsFunc(mounts, taken) {
				dirs = union(dirs, []string{dir})
			}
		}
	}
	return dirs
}

// machine is how this machine writes its paths.
func machine() settings.Machine {
	if runtime.GOOS == "windows" {
		return settings.Windows
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	if strings.Contains(strings.ToLower(string(release)), "microsoft") {
		return settings.WSL
	}
	return settings.Unix
}
