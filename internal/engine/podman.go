package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"

	"github.com/org/claude-sandbox/internal/diag"
)

// podmanFacts are what a Podman says about itself in its own API, which says more than
// its form of Docker's.
type podmanFacts struct {
	Host struct {
		Controllers []string `json:"cgroupControllers"` // what it can limit
		IDMappings  struct {
			UIDMap []struct {
				Inside  int `json:"container_id"`
				Outside int `json:"host_id"`
			} `json:"uidmap"`
		} `json:"idMappings"`
		Security struct {
			Rootless *bool `json:"rootless"`
		} `json:"security"`
	} `json:"host"`
}

// rootless reports whether it is one without root. A Podman that does not say is one.
func (f *podmanFacts) rootless() bool {
	return f != nil && (f.Host.Security.Rootless == nil || *f.Host.Security.Rootless)
}

// user is the user of the machine who runs a rootless one; -1 = it does not say.
func (f *podmanFacts) user() int {
	for _, m := range f.Host.IDMappings.UIDMap {
		if m.Inside == 0 {
			return m.Outside
		}
	}
	return -1
}

// lacks are the limits that it does not obey, although its form of Docker's API claims all:
// on control groups of version 1, and those that are not delegated to its user.
func (f *podmanFacts) lacks() (limits []string) {
	for _, limit := range []struct{ name, controller string }{{"memory", "memory"}, {"cpus", "cpu"}, {"pids", "pids"}} {
		if f.rootless() && !slices.Contains(f.Host.Controllers, limit.controller) {
			limits = append(limits, limit.name)
		}
	}
	return limits
}

// podman asks the engine about itself if it is Podman behind Docker's API; nil = it is not.
func (e *Engine) podman(ctx context.Context) (*podmanFacts, error) {
	v, err := e.server(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(v.Components, func(c system.ComponentVersion) bool { return c.Name == "Podman Engine" }) {
		return nil, nil
	}
	e.asking.Lock()
	defer e.asking.Unlock()
	if e.facts == nil {
		facts := &podmanFacts{}
		if _, err := e.plain(ctx, http.MethodGet, "/libpod/info", facts); err != nil {
			return nil, err
		}
		e.facts = facts
	}
	return e.facts, nil
}

// fitting is podman, which refuses a rootless one that is not the user's own, on his own
// machine: the agent has the number of its user, see userNamespace.
func (e *Engine) fitting(ctx context.Context) (*podmanFacts, error) {
	facts, err := e.podman(ctx)
	if err != nil || !facts.rootless() {
		return facts, err
	}
	return facts, fitsUser(facts.user(), os.Geteuid(), runtime.GOOS == "linux" && strings.HasPrefix(e.host, "unix://"))
}

// fitsUser refuses a rootless Podman of the user owner, for the user self. local says that
// its address is a socket of this machine.
func fitsUser(owner, self int, local bool) error {
	const hint = "run sbx-devc as the user of that Podman, on its machine, or use the Podman of root (sudo systemctl start podman.socket, " +
		"then as root with DOCKER_HOST=unix:///run/podman/podman.sock), or Docker"
	switch {
	case !local:
		return diag.WithHint(fmt.Errorf("%w is not on this machine: its containers would not have the number of your user", errRootless), hint)
	case owner != self:
		return diag.WithHint(fmt.Errorf("%w is of user %d, and sbx-devc runs as user %d: the agent could not write to the project",
			errRootless, owner, self), hint)
	}
	return nil
}

// errRootless begins what is said about a Podman without root that cannot be used.
var errRootless = errors.New("this Podman does not run as root and")

// userNamespace is where a rootless Podman puts a container that is connected so. Its
// user has his own number in the container (keep-id) and is not its root: the agent can
// write to his project, and is not root. A container that joins the network of another
// one joins its users as well, which the network belongs to.
func userNamespace(network string) container.UsernsMode {
	if strings.HasPrefix(network, "container:") {
		return container.UsernsMode(network)
	}
	return "keep-id"
}

// podmanTmpfs rewrites mount options for Podman: it knows no owner (as of 4.3,
// "unknown mount option"), so programs in the container may write there
// instead, as in /tmp; and it would copy in what the image has at that place.
func podmanTmpfs(mounts map[string]string) map[string]string {
	rewritten := make(map[string]string, len(mounts))
	for path, options := range mounts {
		kept := []string{"notmpcopyup"}
		owner := strings.Contains(options, "uid=")
		for o := range strings.SplitSeq(options, ",") {
			switch name, _, _ := strings.Cut(o, "="); {
			case name == "uid" || name == "gid":
			case name == "mode" && owner:
				kept = append(kept, "mode=1777")
			default:
				kept = append(kept, o)
			}
		}
		rewritten[path] = strings.Join(kept, ",")
	}
	return rewritten
}
