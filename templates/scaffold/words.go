package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
)

// Reasons are what the project speaks for and what became of it, in lines for people.
func Reasons(r detect.Report, c lock.Input) (lines []string) {
	say := func(what string, p detect.Proposal, tail string) {
		line := fmt.Sprintf("%s: %s", what, p.Reason)
		if where := p.Where(); where != "" {
			line += " (" + where + ")"
		}
		lines = append(lines, line+tail)
	}
	switch {
	case r.Template.Value == c.Template:
		say("template "+c.Template, r.Template, "")
	case r.Template.Value != "":
		say("template "+c.Template+", not "+r.Template.Value, r.Template, "")
	}
	for _, l := range r.Languages {
		_, image, _ := strings.Cut(l.Option, "=")
		switch {
		case l.Template == c.Template && l.Version.Value != "":
			say("image "+image, l.Version, "")
		case l.Template != c.Template && len(l.Tools) > 0 && HasTool(c.Tools, l.Tools[0]):
			say("tools of "+l.Name, detect.Proposal{Reason: "the project uses it, too", File: l.File}, "")
		}
	}
	for _, p := range r.Presets {
		say("preset "+p.Value, p, "")
	}
	for _, p := range r.Hosts {
		if !slices.Contains(c.Allow, p.Value) {
			say("not allowed: "+p.Value, p, "; --allow "+p.Value+" adds it")
		}
	}
	for _, p := range r.Services {
		if !slices.Contains(c.Allow, p.Value) {
			say("not allowed: "+p.Value, p, "; --allow "+p.Value+" adds it; 'sbx-devc allow --private "+p.Value+"' does, later")
		}
	}
	for _, p := range r.Notes {
		where := ""
		if p.File != "" {
			where = p.Where() + ": "
		}
		lines = append(lines, fmt.Sprintf("note: %s%s", where, p.Value))
	}
	return lines
}

// MissingTools says which languages of the project the image has no tools for.
func MissingTools(r detect.Report, c lock.Input) (lines []string) {
	if c.Options["extraPackages"] != "" {
		return nil // whoever names packages knows what is missing
	}
	for _, l := range r.Languages {
		if l.Template == c.Template || len(l.Tools) > 0 && HasTool(c.Tools, l.Tools[0]) {
			continue
		}
		how := "add them in .devcontainer/Dockerfile"
		switch {
		case l.Template != "":
			how = "--template " + l.Template + " has them"
		case l.Packages != "":
			how = "--option extraPackages=" + l.Packages + " adds Debian's"
		}
		lines = append(lines, fmt.Sprintf("note: no tools for %s (%s): %s", l.Name, detect.Proposal{File: l.File}.Where(), how))
	}
	return lines
}
