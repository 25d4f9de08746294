package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// An engine mounts folders of its own machine. If that is another one, or sees other
// files under the same paths, an agent would work in a folder that the user did not name. An
// address that leads to another machine is refused before anything starts. Others do not
// say where they lead: a socket may be forwarded, and this program may itself be in a
// container. So the agent's container tells its kernel and the numbers of what is mounted,
// before the agent begins.

// surroundings are what a container's first process tells of where it is.
type surroundings struct {
	Mounts string            `json:"mounts"` // the text of its mountinfo
	Boot   string            `json:"boot"`   // the kernel's id of its start; "" = not known
	Files  map[string]fileID `json:"files"`  // what is at each mount point
}

// fileID names a file of a kernel.
type fileID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// checkKernel refuses a container on another kernel than the firewall's. Such a runtime
// (Kata Containers, gVisor) takes the packets of the network interface past the packet
// filter of the namespace that both containers share.
func (at surroundings) checkKernel(firewall string) error {
	if firewall != "" && at.Boot == firewall {
		return nil
	}
	return diag.WithHint(fmt.Errorf("%w: the agent's container has a kernel of its own, which the firewall's rules do not bind", ErrNoStart),
		"leave --oci-runtime out, or name one that shares its machine's kernel, such as runc or crun; the engine's default counts, too")
}

// checkShared refuses a container that shows other files than those of this machine. On
// another kernel, as in the machine of Docker Desktop, numbers say nothing; there a file
// of the run's own folder, whose name no other machine has, must have been mounted.
func checkShared(p *runplan.Plan, told surroundings, folder string) error {
	boot := mountinfo.BootID()
	if boot == "" {
		return nil
	}
	sources := p.Project.Outermost()
	if len(sources) == 0 {
		return nil
	}
	if told.Boot != boot {
		own := slices.ContainsFunc(p.Agent.Mounts, func(m engine.Mount) bool {
			return slices.Contains(runplan.AccountFiles(), m.Target) || strings.HasPrefix(m.Source, folder+string(filepath.Separator))
		})
		if own {
			return nil
		}
		return runplan.Elsewhere("nothing shows that its kernel, which is another one, sees them")
	}
	for _, m := range sources {
		want, err := fileIDOf(m.Source)
		if got, ok := told.Files[m.Target]; err != nil || !ok || got != want {
			return runplan.Elsewhere(fmt.Sprintf("%s is not what the container has at %s", m.Source, m.Target))
		}
	}
	return nil
}
