package runplan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/org/claude-sandbox/internal/delivery"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// agentName is the name of the agent's user in its container, whatever its uid.
const agentName = "agent"

// MountPlaces are places of the agent's container where a run mounts its own, and whether
// its image may have a folder there. It may have nothing else: the engine follows a link,
// also into the project, and the mount of the project then covers that of the run.
func MountPlaces() map[string]bool {
	return map[string]bool{
		InitFolder: false, claudeFolder: false, ClaudeHomes: false, KeptHomes: false, delivery.Folder: false, gitdir.Volumes: false,
		CarriedFolder: false, WorkspaceTarget: true,
	}
}

// AccountFiles are the files of the agent's container that a run mounts its own over.
// In its image they must be plain files or missing, and their folder no link: the
// engine follows a link, also into the project. See Plan.KeepAccounts.
func AccountFiles() []string { return []string{"/etc/passwd", "/etc/group"} }

// accountMounts are the mounts of those files, whose sources the run writes.
func accountMounts() (mounts []engine.Mount) {
	for _, file := range AccountFiles() {
		mounts = append(mounts, engine.Mount{Target: file, ReadOnly: true})
	}
	return mounts
}

// KeepAccounts leaves the account files of the agent's image in their places: its user
// has no name then.
func (p *Plan) KeepAccounts() {
	p.Agent.Mounts = slices.DeleteFunc(slices.Clone(p.Agent.Mounts), func(m engine.Mount) bool {
		return slices.Contains(AccountFiles(), m.Target)
	})
}

// AccountText returns the content of an account file for a user: ssh, node, whoami
// and others end without an entry for their uid. Nothing of the image's own file is
// in it. Its other users are names only: no process of the agent's container can
// become one.
func AccountText(file string, uid, gid int) string {
	if file == "/etc/group" {
		text := fmt.Sprintf("%s:x:%d:\n", agentName, gid)
		for _, g := range []struct {
			name string
			gid  int
		}{{"root", 0}, {"tty", 5}, {"nogroup", 65534}} {
			if g.gid != gid {
				text += fmt.Sprintf("%s:x:%d:\n", g.name, g.gid)
			}
		}
		return text
	}
	text := fmt.Sprintf("%s:x:%d:%d:Claude Code:%s:/bin/sh\nroot:x:0:0:root:/root:/bin/sh\n", agentName, uid, gid, AgentHome)
	if uid != 65534 {
		text += "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
	}
	return text
}

// closedProject returns warnings about what the agent's user cannot change in a
// project, and the error of a run in one that is closed as a whole, which its user
// has not accepted.
func closedProject(o Options, w *workspace.Workspace, uid, gid int) (warnings []string, refusal error) {
	chown := fmt.Sprintf("chown -R %d:%d %q", uid, gid, w.Dir)
	if len(w.Closed) > 0 {
		warnings = append(warnings, fmt.Sprintf("the agent, user %d, cannot change everything: %s belongs to another user; '%s' lets it",
			uid, w.Closed[0], chown))
	}
	if w.Writable {
		return warnings, nil
	}
	why, hint := errors.New("it does not let its owner write"), fmt.Sprintf("'chmod u+w %q' lets it", w.Dir)
	switch {
	case w.ReadOnly:
		why, hint = errors.New("its file system is read-only"), "run it on a copy"
	case w.UID == 0:
		why = fmt.Errorf("%w, and the agent is user %d", ErrOfRoot, uid)
		hint = fmt.Sprintf("'%s' lets it, and 'git config --global --add safe.directory %q' is for your own git then", chown, w.Dir)
		if o.InputsNotFlags {
			hint = fmt.Sprintf("set workspace_mode: copy, where its changes are in patch_file alone, or add a step before: '%s'", chown)
		}
	}
	text := fmt.Errorf("the agent can read %s and not change it: %w", w.Dir, why)
	if o.AcceptReadOnly {
		return append(warnings, text.Error()), nil
	}
	if !o.InputsNotFlags {
		hint += "; --accept-read-only is for a run that only reads"
	}
	refusal = diag.WithHint(fmt.Errorf("%w: %w", workspace.ErrRefused, text), "%s", hint)
	return append(warnings, text.Error()+": "+hint), refusal
}

// ErrOfRoot reports a project that the agent can only read because it is root's. A copy of it
// is the agent's own.
var ErrOfRoot = errors.New("it belongs to root")

// Closed is the error of a run whose agent could not change the project, nil where it
// can or the user has accepted that. Ask before anything is brought or started.
func (p *Plan) Closed() error { return p.Place.closed }
