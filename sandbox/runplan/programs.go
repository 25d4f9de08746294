package runplan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/internal/engine"
)

// InitPath is where sbx-init is in every container of ours that has a firewall.
const InitPath = "/usr/local/sbin/sbx-init"

// ClaudePath is where the agent's image has Claude Code, absolute, and whether
// somebody chose that.
func (p *Plan) ClaudePath() (path string, chosen bool) {
	return cmp.Or(p.Asked.ClaudePath, DefaultClaudePath), p.Asked.ClaudePath != ""
}

// ClaudeCommand is the command line of a further Claude Code in the agent's container.
func (p *Plan) ClaudeCommand(h agent.Headless) []string {
	program, _ := p.ClaudePath()
	if slices.ContainsFunc(p.Agent.Mounts, func(m engine.Mount) bool { return m.Target == claudeFolder }) {
		program = claudeFolder + "/" + ClaudeName
	}
	return append([]string{program}, h.Args()...)
}

// MountInit gives both containers sbx-init from a volume of the engine, which holds
// sandbox.InitFile. Without it sandbox.Run copies sbx-init into a volume of its own, which takes longer.
func (p *Plan) MountInit(volume string) {
	p.Sidecar.Volumes = slices.DeleteFunc(slices.Clone(p.Sidecar.Volumes), func(place string) bool { return place == InitFolder })
	p.Sidecar.Mounts = append(slices.Clone(p.Sidecar.Mounts), engine.Mount{Named: volume, Target: InitFolder, ReadOnly: true})
}

// ClaudeName is the name of Claude Code's program at the root of a volume that
// MountClaude takes.
const ClaudeName = "claude"

// claudeFolder is where such a volume is in the agent's container. It is the last
// folder of PATH.
const claudeFolder = "/.sbx-program"

// MountClaude gives the agent's container Claude Code from a volume of the engine,
// read-only, and not from its image. path is what the image has as PATH; "" = the
// engine's default.
func (p *Plan) MountClaude(volume, path string) {
	program := claudeFolder + "/" + ClaudeName
	if at := slices.Index(p.Agent.Entrypoint, DefaultClaudePath); at >= 0 {
		p.Agent.Entrypoint = slices.Clone(p.Agent.Entrypoint)
		p.Agent.Entrypoint[at] = program
	}
	p.Agent.Mounts = append(p.Agent.Mounts, engine.Mount{Named: volume, Target: claudeFolder, ReadOnly: true})
	const name = "PATH="
	at := slices.IndexFunc(p.Agent.Env, func(v string) bool { return strings.HasPrefix(v, name) })
	if at < 0 {
		at = len(p.Agent.Env)
		p.Agent.Env = append(p.Agent.Env, name+cmp.Or(path, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
	}
	p.Agent.Env[at] += ":" + claudeFolder
}
