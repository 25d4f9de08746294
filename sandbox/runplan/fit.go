package runplan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

// ErrElsewhere reports an engine that has not this machine's files.
var ErrElsewhere = errors.New("the engine is on another machine, or does not see the files of this one") // exit 69

// FitEngine adapts the plan to what an engine can do, and says why it cannot do the run,
// before anything is brought to it or started there. With another machine's engine a run
// shows nothing of this one's files.
func (p *Plan) FitEngine(ctx context.Context, e *engine.Engine) error {
	d, err := e.Describe(ctx)
	if err == nil {
		err = cmp.Or(p.checkRuntime(d), p.checkOwners(d), p.fitLimits(d), p.fitLabels(d))
	}
	if err != nil || !e.Remote() {
		return err
	}
	for _, m := range p.Project.List {
		if m.Source != "" {
			return diag.WithHint(fmt.Errorf("%w: %s cannot be mounted by the engine at %s", ErrElsewhere, m.Source, e.Host()),
				"use an engine of this machine (unset DOCKER_HOST, 'docker context use default'), or clone the project there and run sbx-devc "+
					"on that machine; --workspace none needs no files, and --workspace clone does not carry its copy to other machines yet")
		}
	}
	p.KeepAccounts() // their sources are in the run's folder
	return nil
}

// ErrOwners reports an engine in whose containers this machine's files have other owners.
var ErrOwners = errors.New("the agent could not write to your files on this engine") // exit 69

// rootlessUsers is how many user ids the containers of a Docker without root have at least:
// its set-up wants as many.
const rootlessUsers = 1 << 16

// checkOwners refuses a Docker without root for a run that shows what the agent should
// write. The engine's own user, who has the files, is root in all its containers, which
// the agent is not.
func (p *Plan) checkOwners(d engine.Description) error {
	if d.Name != "Docker" || !d.Rootless {
		return nil
	}
	if uid := p.Place.Owner.UID; uid >= rootlessUsers {
		return diag.WithHint(fmt.Errorf("%w: in containers of this Docker, which does not run as root, there is no user %d", ErrOwners, uid),
			"use your own Podman (systemctl --user start podman.socket, and --runtime podman) or the Docker of root")
	}
	for _, m := range p.Project.List {
		if m.Source != "" && !m.ReadOnly {
			return diag.WithHint(fmt.Errorf("%w: this Docker does not run as root, and in its containers %s belongs to root, which the agent is not",
				ErrOwners, m.Source), "use your own Podman (systemctl --user start podman.socket, and --runtime podman) or the Docker of root; "+
				"--workspace ro and none work on this one")
		}
	}
	return nil
}

// checkRuntime refuses an OCI runtime that the engine does not know. Podman lists those
// that are not there as well, and takes its default one whatever it is told (4.3).
func (p *Plan) checkRuntime(d engine.Description) error {
	name := p.Agent.Runtime
	switch {
	case name == "":
		return nil
	case d.Name == "Podman":
		return diag.WithHint(fmt.Errorf("%w: Podman does not let a run choose its OCI runtime (--oci-runtime %s)", ErrConfig, name),
			"set \"runtime\" in the containers.conf of Podman, and leave --oci-runtime out")
	case slices.Contains(d.Runtimes, name):
		return nil
	}
	return diag.WithHint(fmt.Errorf("%w: the engine knows no OCI runtime %q", ErrConfig, name), "it has %s", strings.Join(d.Runtimes, ", "))
}
