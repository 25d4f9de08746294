package runplan

import (
	"slices"

	"github.com/org/claude-sandbox/workspace"
)

// CarriedFolder holds the volumes of the firewall's container with what a run carries to an
// engine that does not share this machine's files, see workspace.Mounts.Carry.
const CarriedFolder = "/.sbx-carried"

// carries reports whether a run has to bring its project to an engine of another machine.
func carries(o Options, mode workspace.Mode) bool {
	return o.Remote && (mode.IsCopy() || mode == workspace.ReadOnly)
}

// Carried reports whether the copy of the project lies in a volume of the engine.
func (p *Plan) Carried() bool { return len(p.Project.Carried) > 0 }

func (p *Plan) carriedVolumes() (places []string) {
	for _, c := range p.Project.Carried {
		places = append(places, c.Volume)
	}
	return places
}

// carry has the copy of the project, and the repository behind it, go into volumes of the
// engine.
func (p *Plan) carry() {
	if p.Carried() {
		return
	}
	before := len(p.Project.List)
	p.Project.Carry(CarriedFolder)
	p.Agent.Mounts = slices.Concat(EngineMounts(p.Project.List), p.Agent.Mounts[before:])
	p.Sidecar.Volumes = append(slices.Clone(p.Sidecar.Volumes), p.carriedVolumes()...)
	comes := "the agent's copy goes there and comes back when the agent has ended"
	if p.Place.Mode == workspace.ReadOnly {
		comes = "the agent reads a copy of the project there"
	}
	p.Notes = append(p.Notes, "the engine does not share this machine's files: "+comes)
}
