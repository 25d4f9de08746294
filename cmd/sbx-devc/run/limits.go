package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

// limitFlags bound what a run takes of the machine and of the model.
type limitFlags struct {
	memory  string
	cpus    float64
	pids    int64
	disk    string
	timeout time.Duration
	budgets []string
	models  []string
}

func (o *limitFlags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.memory, "memory", "", "limit of memory, such as 8g (default 4g, at most half of the engine's)")
	f.Float64Var(&o.cpus, "cpus", 0, "limit of processors, such as 1.5 (default 2, at most the engine's)")
	f.Float64Var(&o.cpus, "cpu", 0, "the same as --cpus")
	f.Int64Var(&o.pids, "pids", 0, "limit of processes and threads (default 1024)")
	f.StringVar(&o.disk, "disk", "", "end when the agent has put more than this on the disk, such as 10g; its work is kept")
	f.DurationVar(&o.timeout, "timeout", 0, "end after this time, such as 30m; the work is kept")
	f.StringArrayVar(&o.budgets, "budget", nil, `end when this much of the model is used, such as "20 usd/day", `+
		`"500 requests", "2M tokens/project-day"; all of them hold`)
	f.StringSliceVar(&o.models, "models", nil, "the only models that may be asked, such as claude-sonnet-*,claude-haiku-*")
}

func (o *limitFlags) check(f *pflag.FlagSet) error {
	return limitsLimit(f, "cpus", "cpu", "pids", "timeout")
}

// give adds the flags to what the user gives.
func (o *limitFlags) give(given *settings.Given) {
	given.Limits.PIDs, given.Limits.Timeout = o.pids, o.timeout
	given.Memory("--memory", o.memory)
	given.CPUs("--cpus", o.cpus)
	given.Disk("--disk", o.disk)
	given.Budgets("--budget", o.budgets)
	given.Models("--models", o.models)
}

// limitsNothing reports whether the number or time that a flag prints is no limit.
func limitsNothing(value string) bool {
	return slices.Contains([]string{"0", "0s", "NaN", "+Inf"}, value) || strings.HasPrefix(value, "-")
}

// limitsLimit refuses flags of these names that are zero, negative or no number: a user
// who gives one would have a run without that limit, and not know it.
func limitsLimit(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		f := flags.Lookup(name)
		if f.Changed && limitsNothing(f.Value.String()) {
			return diag.WithHint(fmt.Errorf("--%s %s is no limit", name, f.Value), "give more than 0, or leave it out")
		}
	}
	return nil
}
