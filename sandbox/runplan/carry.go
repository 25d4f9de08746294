package runplan

import "slices"

// CarriedFolder holds the volumes of the firewall's container with what a run carries to an
// engine that does not share this machine's files, see workspace.Mounts.Carry.
const CarriedFolder = "/.sbx-carried"

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
	p.Notes = append(p.Notes, "the engine does not share this machine's files: the agent's copy goes there and comes back when the agent "+
		"has ended")
}
