package runplan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/workspace"
)

// ErrElsewhere reports an engine that has not this machine's files.
var ErrElsewhere = errors.New("the engine is on another machine, or does not see the files of this one") // exit 69

// Elsewhere is ErrElsewhere with what shows it, and what to do.
func Elsewhere(why string) error {
	return diag.WithHint(fmt.Errorf("%w: %s", ErrElsewhere, why),
		"--workspace clone works there on the last commit and --workspace copy on the folder as it is; or run sbx-devc on the engine's "+
			"machine and outside of containers, where folders have the paths that the engine knows")
}

// FitEngine adapts the plan to what an engine can do, and says why it cannot do the run,
// before anything is brought to it or started there. To an engine that has not this
// machine's files, or has them for another user, a copy of the project is carried, and
// nothing of this machine's files is mounted.
func (p *Plan) FitEngine(ctx context.Context, e *engine.Engine) error {
	d, err := e.Describe(ctx)
	if err == nil {
		err = p.checkRuntime(d)
	}
	if err == nil {
		err = p.checkNetwork(ctx, e)
	}
	if err != nil {
		return err
	}
	elsewhere := d.Remote || namesAnotherMachine(d, runtime.GOOS) || inContainerOf(ctx, e) ||
		p.Place.Mode.IsCopy() && lacks(ctx, e, filepath.Dir(p.Asked.Tree))
	if p.Place.Mode.IsCopy() && (elsewhere || ownsAsRoot(d)) {
		p.carry()
	}
	if err := cmp.Or(p.checkOwners(d), p.fitLimits(d), p.fitLabels(d)); err != nil {
		return err
	}
	at := slices.IndexFunc(p.Project.List, func(m workspace.Mount) bool { return m.Source != "" })
	if at >= 0 && d.Remote {
		what := append(p.Project.Outermost(), p.Project.List[at])[0].Source
		return diag.WithHint(fmt.Errorf("%w: %s cannot be mounted by the engine at %s", ErrElsewhere, what, e.Host()),
			"--workspace clone works there on the last commit, --workspace copy on the folder as it is and ro reads that, all without --mount; "+
				"or use an engine of this machine (unset DOCKER_HOST, 'docker context use default')")
	}
	for _, m := range p.Project.Outermost() {
		if lacks(ctx, e, m.Source) {
			return Elsewhere(fmt.Sprintf("the engine at %s has no %s", e.Host(), m.Source))
		}
	}
	if at < 0 && elsewhere {
		p.KeepAccounts() // their sources are in the run's folder
	}
	return nil
}

// lacks reports whether the engine does not have a path of this machine, which may not be
// there yet. Elsewhere than on Linux its virtual machine has other paths for this machine's
// folders.
func lacks(ctx context.Context, e *engine.Engine, path string) bool {
	_, err := os.Stat(path)
	return err == nil && runtime.GOOS == "linux" && e.Lacks(ctx, path)
}

// namesAnotherMachine reports an engine that is on a machine of another name, although its
// address does not say so: behind a forwarded socket, or because this program is in a
// container. Elsewhere than on Linux that is the engine's virtual machine, which has this
// machine's folders.
func namesAnotherMachine(d engine.Description, system string) bool {
	own, err := os.Hostname()
	return err == nil && system == "linux" && d.Machine != "" && d.Machine != own
}

// inContainerOf reports whether this program is itself in a container of the engine, which
// has other files than the engine then. A container with its machine's network has its
// machine's name, too.
func inContainerOf(ctx context.Context, e *engine.Engine) bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil { // not on Linux
		return false
	}
	id := mountinfo.Container(string(mounts))
	if id == "" {
		return false
	}
	_, err = e.NetworkOwner(ctx, id) // which errs for a container that the engine does not have
	return err == nil
}

// ErrOwners reports an engine in whose containers this machine's files have other owners.
var ErrOwners = errors.New("the agent could not write to your files on this engine") // exit 69

// rootlessUsers is how many user ids the containers of a Docker without root have at least:
// its set-up wants as many.
const rootlessUsers = 1 << 16

// ownsAsRoot reports a Docker without root: its own user, who has this machine's files, is
// root in all its containers, which the agent is not.
func ownsAsRoot(d engine.Description) bool { return d.Name == "Docker" && d.Rootless }

// checkOwners refuses such an engine for a run that shows what the agent should write.
func (p *Plan) checkOwners(d engine.Description) error {
	if !ownsAsRoot(d) {
		return nil
	}
	if uid := p.Place.Owner.UID; uid >= rootlessUsers {
		return diag.WithHint(fmt.Errorf("%w: in containers of this Docker, which does not run as root, there is no user %d", ErrOwners, uid),
			"use your own Podman (systemctl --user start podman.socket, and --runtime podman) or the Docker of root")
	}
	for _, m := range p.Project.List {
		if m.Source != "" && !m.ReadOnly {
			return diag.WithHint(fmt.Errorf("%w: this Docker does not run as root, and in its containers %s belongs to root, which the agent is not",
				ErrOwners, m.Source), "--workspace clone (of the last commit), copy, ro and none work on this one; the folder itself needs "+
				"your own Podman (systemctl --user start podman.socket, and --runtime podman) or the Docker of root")
		}
	}
	return nil
}

// checkNetwork refuses a network that the engine does not have.
func (p *Plan) checkNetwork(ctx context.Context, e *engine.Engine) error {
	name := p.Asked.EngineNetwork
	if name == "" {
		return nil
	}
	err := e.CheckNetwork(ctx, name)
	if !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	hint := "'docker network ls' shows those that it has"
	if p.Asked.InputsNotFlags {
		hint = "for the job's services give services_network: ${{ job.services.NAME.network }}"
	}
	return diag.WithHint(fmt.Errorf("%w: the engine has no network %q", ErrConfig, name), "%s", hint)
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
