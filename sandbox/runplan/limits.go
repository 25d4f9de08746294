package runplan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/settings"
)

// defaultLimits hold unless the user chose others. The engine's machine must bear those of
// memory and processors, see fitLimits.
func defaultLimits() settings.Limits {
	return settings.Limits{Memory: 4 << 30, CPUs: 2, PIDs: 1024}
}

// DefaultRepeats is more than an agent asks the same while it waits for something; see
// Options.MaxRepeats.
const DefaultRepeats = 50

// openLimits are limits that the user did not choose: they are lowered to what the
// engine's machine bears.
type openLimits struct{ memory, cpus, pids bool }

// openLimits returns the limits that neither the user nor the project chose.
func (o Options) openLimits() openLimits {
	chosen := o.users().Limits
	if o.Project != nil {
		chosen = settings.Limits{Memory: max(chosen.Memory, o.Project.Limits.Memory), CPUs: max(chosen.CPUs, o.Project.Limits.CPUs),
			PIDs: max(chosen.PIDs, o.Project.Limits.PIDs)}
	}
	return openLimits{memory: chosen.Memory == 0, cpus: chosen.CPUs == 0, pids: chosen.PIDs == 0}
}

// fitLimits lowers limits to what the engine's machine has, and says so of those that
// somebody chose; the default memory is half of it at most. Engines refuse more
// processors, and take more memory without a word. A limit that the engine would not obey
// is left out, and said; if somebody chose it, that is an error.
func (p *Plan) fitLimits(d engine.Description) error {
	memory := d.Memory
	if p.open.memory {
		memory /= 2
	}
	if d.Memory > 0 && p.Agent.MemoryBytes > memory {
		p.Agent.MemoryBytes = memory
		p.warnLowered(p.open.memory, "memory", fmt.Sprintf("%d MiB", memory>>20))
	}
	if d.CPUs > 0 && p.Agent.CPUs > float64(d.CPUs) {
		p.Agent.CPUs = float64(d.CPUs)
		p.warnLowered(p.open.cpus, "cpus", strconv.Itoa(d.CPUs))
	}
	none := func(limits *engine.Limits, name string) bool {
		before := *limits
		switch name {
		case "memory":
			limits.MemoryBytes = 0
		case "cpus":
			limits.CPUs = 0
		case "pids":
			limits.Pids = 0
		}
		return *limits != before
	}
	open := map[string]bool{"memory": p.open.memory, "cpus": p.open.cpus, "pids": p.open.pids}
	var missing []string
	for _, name := range d.Lacks {
		if !open[name] {
			return diag.WithHint(fmt.Errorf("%w: the engine cannot limit %s, and %s asks for it", ErrConfig, name, p.limit(name)),
				"leave the limit out, or use an engine that obeys it%s", p.Asked.Words(": 'sbx-devc doctor' says why this one does not", ""))
		}
		none(&p.Sidecar.Limits, name)
		if none(&p.Agent.Limits, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the engine cannot limit %s: the agent may take all that its machine has",
			strings.Join(missing, ", ")))
	}
	return nil
}

// limit is how a user names one of the limits.
func (p *Plan) limit(name string) string {
	input := "limits." + name
	if name != "pids" { // which is no input
		input += " (the input " + name + ")"
	}
	return p.Asked.Words(fmt.Sprintf("limits.%s (--%[1]s)", name), input)
}

// warnLowered says of a limit that somebody chose that the run has a lower one.
func (p *Plan) warnLowered(open bool, name, has string) {
	if !open {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the engine's machine has %s, which is the run's limit: %s asks for more", has,
			p.limit(name)))
	}
}

// diskFlag is how the agent's first process is told of the limit of disk.
func (p *Plan) diskFlag() []string {
	if p.Disk == 0 {
		return nil
	}
	return []string{"--disk", strconv.FormatInt(p.Disk, 10)}
}
