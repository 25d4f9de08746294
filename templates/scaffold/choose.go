package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
)

// strictTemplate is the one whose firewall has a container of its own.
const strictTemplate = "claude-strict"

// minimalTemplate is the one that has nothing that was not asked for.
const minimalTemplate = "claude-minimal"

// Request is what somebody asks for. The zero value of a field leaves it to what
// the project speaks for.
type Request struct {
	Template string
	Topology string   // "single" or "sidecar"
	Options  []string // of the template, KEY=VALUE
	Tools    []string // of further languages, as templates.AddTools takes them
	Presets  []string
	Allow    []string
	Workflow bool
}

// Choose joins a request with what the project speaks for, and decides what to
// write. The request wins; of the project only the template, the images of languages
// and well-known presets count, never a host. Errors carry exitcode.Usage. It is pure.
func Choose(r Request, report detect.Report) (lock.Input, error) {
	c := lock.Input{Template: r.Template, Options: map[string]string{}, Tools: slices.Clone(r.Tools), Presets: slices.Clone(r.Presets),
		Allow: slices.Clone(r.Allow), Private: report.PrivateNames(r.Allow), Workflow: r.Workflow}
	c.Network = report.NetworkOf(c.Private)
	err := r.topology(&c)
	if err == nil {
		err = SetOptions(c.Options, r.Options)
	}
	if err == nil {
		err = r.entries()
	}
	if err != nil {
		return c, err
	}
	c.Template = cmp.Or(c.Template, report.Template.Value, "claude")
	for _, p := range report.Presets {
		if !slices.Contains(c.Presets, p.Value) {
			c.Presets = append(c.Presets, p.Value)
		}
	}
	for _, l := range report.Languages {
		useLanguage(&c, l)
	}
	return c, nil
}

// useLanguage takes the image of a language of the project, when the user did not choose
// another one: as the template's own, or to copy tools from.
func useLanguage(c *lock.Input, l detect.Language) {
	if l.Template == c.Template {
		if key, value, ok := strings.Cut(l.Option, "="); ok && c.Options[key] == "" {
			c.Options[key] = value
		}
		return
	}
	for _, tool := range l.Tools {
		if c.Template != minimalTemplate && !HasTool(c.Tools, tool) {
			c.Tools = append(c.Tools, tool)
		}
	}
}

// HasTool reports whether tools has one of that name, from whatever image.
func HasTool(tools []string, tool string) bool {
	name, _, _ := strings.Cut(tool, "=")
	return slices.ContainsFunc(tools, func(t string) bool { other, _, _ := strings.Cut(t, "="); return other == name })
}

// topology settles which template the topology asks for.
func (r Request) topology(c *lock.Input) error {
	switch settings.Topology(r.Topology) {
	case "":
	case settings.TopologySingle:
		if r.Template == strictTemplate {
			return exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--topology single: the template "+strictTemplate+" has two containers"),
				"choose another --template"))
		}
	case settings.TopologySidecar:
		if r.Template != "" && r.Template != strictTemplate {
			return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--topology sidecar: the template %s has one container", r.Template),
				"only %s has two", strictTemplate))
		}
		c.Template = strictTemplate
	default:
		return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("unknown --topology %q", r.Topology), "accepted: single, sidecar"))
	}
	return nil
}

// entries judges what the request adds to the allowlist.
func (r Request) entries() error {
	for _, entry := range slices.Concat(r.Presets, r.Allow) {
		if strings.HasPrefix(entry, "@") {
			return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("%q: init takes entries, not list files", entry),
				"write it into sandbox.jsonc afterwards"))
		}
	}
	if bad := firewall.Validate(firewall.Network{Presets: r.Presets, Allow: r.Allow}); len(bad) > 0 {
		flag := map[string]string{"presets": "--preset", "allow": "--allow"}[bad[0].List]
		return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("%s: %s", flag, bad[0].Message), "%s", bad[0].Hint))
	}
	return nil
}

// SetOptions sets the options of a template that pairs KEY=VALUE name. The error
// carries exitcode.Usage.
func SetOptions(to map[string]string, pairs []string) error {
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf("--option %s has no value", pair), "write --option KEY=VALUE"))
		}
		to[key] = value
	}
	return nil
}
