package amend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/firewall/control"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/excerpt"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// Bounds of what a firewall's container answers: its image may be anybody's.
const (
	maxAnswer   = 1 << 20 // bytes of each stream
	amendBudget = 45 * time.Second
)

// labelWorkingDir is where Compose says of each container from which folder it was
// made (Compose specification, reference implementation).
const labelWorkingDir = "com.docker.compose.project.working_dir"

// Firewall is a firewall that runs for a project.
type Firewall struct {
	Name string // for people: "the dev container NAME" or "the run ID"
	Run  bool
	id   string // of its container
	// paused is the name of its container when it is paused, and takes nothing.
	paused string
}

// Find returns the firewalls that run, or are paused, for the project in a folder, which is a real
// path. ours tells whether a run is this user's. notes are about containers that are
// left alone.
func Find(ctx context.Context, e *engine.Engine, project string, ours func(run string) bool) (all []Firewall, notes []string, err error) {
	containers, err := e.Containers(ctx, runplan.LabelFolder, project)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range containers {
		f := Firewall{Name: "the dev container " + c.Name, id: c.ID}
		if !mounts(c, project) {
			notes = append(notes, f.Name+" says that it is this project's, but does not mount its folder: it is left alone")
			continue
		}
		if c.Paused {
			f.paused = c.Name
			all = append(all, f)
			continue
		}
		if !c.Running {
			notes = append(notes, f.Name+" does not run: it gets the file when it is rebuilt")
			continue
		}
		owner, err := e.NetworkOwner(ctx, c.ID)
		if err != nil {
			return nil, nil, err
		}
		if owner != "" {
			labels, err := e.Labels(ctx, owner)
			if err != nil {
				return nil, nil, err
			}
			if dir := labels[labelWorkingDir]; dir == "" || !workspace.Below(project, dir) {
				notes = append(notes, f.Name+" is in the network of a container that is not this project's: it is left alone")
				continue
			}
			f.id = owner
		}
		if !slices.ContainsFunc(all, func(other Firewall) bool { return other.id == f.id }) {
			all = append(all, f)
		}
	}
	containers, err = e.Containers(ctx, runplan.LabelProject, project)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range containers {
		id := c.Labels[runplan.LabelRun]
		if !c.Running && !c.Paused || c.Name != runplan.FirewallContainer(id) || !ours(id) {
			continue
		}
		f := Firewall{Name: "the run " + id, Run: true, id: c.ID}
		if c.Paused {
			f.paused = c.Name
		}
		all = append(all, f)
	}
	return all, notes, nil
}

// mounts reports whether a container mounts the project's folder, or the repository
// that it is in, as editors do.
func mounts(c engine.Container, project string) bool {
	return slices.ContainsFunc(c.Sources, func(source string) bool {
		source = strings.TrimPrefix(source, "/host_mnt") // Docker Desktop's name for the host's files
		return source == project || source == workspace.RepositoryOf(project)
	})
}

// Outcome is what became of a change in one firewall.
type Outcome struct {
	Answer control.Amended
	Notes  []string // about what this firewall does not take
}

// Amend changes the policy of a firewall and puts it in force.
func (f Firewall) Amend(ctx context.Context, e *engine.Engine, change settings.Change) (o Outcome, err error) {
	if f.paused != "" {
		return o, diag.WithHint(fmt.Errorf("%s is paused and keeps what it has", f.Name), "docker unpause %s, and then the same again", f.paused)
	}
	if f.Run {
		change, o.Notes = sandbox.RunChange(change)
	}
	input, err := json.Marshal(change)
	if err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(ctx, amendBudget)
	defer cancel()
	tooMuch := errors.New("the answer is too long")
	out, said := &excerpt.Head{Most: maxAnswer, TooMuch: tooMuch}, &excerpt.Head{Most: maxAnswer, TooMuch: tooMuch}
	spec := engine.ExecSpec{Command: []string{runplan.InitPath, "amend"}, User: "0:0", WorkingDir: "/"}
	code, err := e.Run(ctx, f.id, spec, input, out, said)
	if err == nil && code != 0 {
		err = refusal(code, said.String())
	}
	if err == nil {
		err = json.Unmarshal([]byte(out.String()), &o.Answer)
	}
	if err != nil {
		return o, fmt.Errorf("%s: %w", f.Name, err)
	}
	return o, nil
}

// refusal is the error that sbx-init wrote, or what its exit code means where it has
// none of ours.
func refusal(code int, said string) error {
	var why, hint string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "sbx-init: error: "); ok {
			why = text
		}
		if text, ok := strings.CutPrefix(line, "sbx-init: hint: "); ok {
			hint = text
		}
	}
	switch {
	case strings.Contains(why, "unknown command"):
		why, hint = "its sbx-init is too old to change its policy", "rebuild the container"
	case why == "":
		why, hint = fmt.Sprintf("it has no firewall that answers (exit code %d)", code), ""
	}
	return diag.OrHint(errors.New(why), "%s", cmp.Or(hint, "'docker logs' of the container says more"))
}

// LockFile is the place of the lock for changes of settings.
func LockFile(home runs.Home) string { return filepath.Join(filepath.Dir(home.Dir()), "settings.lock") }
