package runplan

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
)

// Where the kernel enforces SELinux, a container may use only files with a label for
// containers. The engine gives it to what a run mounts, as ":z" of docker run does, and it
// stays: all containers may use these files then. Labels of a home or of the system's
// folders are not changed, because programs of the machine would lose them.

// fitLabels decides whether mounts get labels, and refuses those that must not.
func (p *Plan) fitLabels(d engine.Description) error {
	if !slices.Contains(d.Security, "selinux") || p.selinux {
		return nil
	}
	home, _ := os.UserHomeDir() // a machine without homes has none to protect
	for _, m := range p.Agent.Mounts {
		if m.Source == "" {
			continue
		}
		if err := refuseLabel(m.Source, home); err != nil {
			return err
		}
	}
	p.selinux = true
	if len(p.Project.Outermost()) > 0 {
		p.Notes = append(p.Notes, "SELinux: the mounted files get the label with which all containers may use them, and keep it; "+
			"restorecon -R takes it away")
	}
	return nil
}

// Relabel says of the outermost mounts of this machine's files that they get labels. The
// rest of them lies in these.
func (p *Plan) Relabel(mounts []engine.Mount) {
	if !p.selinux {
		return
	}
	for i, m := range mounts {
		inner := slices.ContainsFunc(mounts, func(other engine.Mount) bool {
			return other.Source != "" && other.Source != m.Source && within(m.Source, other.Source)
		})
		mounts[i].Relabel = m.Source != "" && !inner
	}
}

// systemPlaces are folders of a machine whose files have labels of their own, and
// peoplesPlaces are folders in them whose files are people's.
func systemPlaces() []string {
	return []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var"}
}

func peoplesPlaces() []string { return []string{"/root", "/run/media", "/var/home", "/var/tmp"} }

// refuseLabel refuses a source, a clean path, whose label must stay.
func refuseLabel(source, home string) error {
	source = filepath.ToSlash(source)
	above := func(dir string) bool { return dir != "" && within(dir, source) }
	under := func(places []string) bool {
		return slices.ContainsFunc(places, func(place string) bool { return source != place && within(source, place) })
	}
	var why string
	switch {
	case strings.Contains(source, ":"):
		why = "an engine cannot tell its path from the options behind a colon"
	case above(home), source == "/home", filepath.Dir(source) == "/home", filepath.Dir(source) == "/var/home":
		why = "it is a home, or holds one"
	case source == "/", slices.Contains(systemPlaces(), source), slices.Contains(peoplesPlaces(), source),
		under(systemPlaces()) && !under(peoplesPlaces()):
		why = "it is part of this machine's system"
	default:
		return nil
	}
	err := fmt.Errorf("%w: SELinux lets containers use only files with their label, and %s must not get it: %s", ErrConfig, source, why)
	return diag.WithHint(err, "mount a copy of it, in a folder of yours")
}
