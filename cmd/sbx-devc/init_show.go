package main

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/org/claude-sandbox/session/accept"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/scaffold"
)

// showReport says what the project speaks for and what became of it.
func (a *app) showReport(r detect.Report, c lock.Input) {
	say := func(what string, p detect.Proposal, tail string) {
		line := fmt.Sprintf("%s: %s", what, p.Reason)
		if where := p.Where(); where != "" {
			line += " (" + where + ")"
		}
		fmt.Fprintf(a.stderr, "sbx-devc: %s%s\n", line, tail)
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
		case l.Template != c.Template && len(l.Tools) > 0 && scaffold.HasTool(c.Tools, l.Tools[0]):
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
	for _, p := range r.Notes {
		where := ""
		if p.File != "" {
			where = p.Where() + ": "
		}
		fmt.Fprintf(a.stderr, "sbx-devc: note: %s%s\n", where, p.Value)
	}
}

// showTools says which languages of the project the image has no tools for.
func (a *app) showTools(r detect.Report, c lock.Input) {
	if c.Options["extraPackages"] != "" {
		return // whoever names packages knows what is missing
	}
	for _, l := range r.Languages {
		if l.Template == c.Template || len(l.Tools) > 0 && scaffold.HasTool(c.Tools, l.Tools[0]) {
			continue
		}
		how := "add them in .devcontainer/Dockerfile"
		switch {
		case l.Template != "":
			how = "--template " + l.Template + " has them"
		case l.Packages != "":
			how = "--option extraPackages=" + l.Packages + " adds Debian's"
		}
		fmt.Fprintf(a.stderr, "sbx-devc: note: no tools for %s (%s): %s\n", l.Name, detect.Proposal{File: l.File}.Where(), how)
	}
}

// showOpenings says in words what the sandbox will reach and get.
func (a *app) showOpenings(files []templates.File) {
	for _, f := range files {
		if f.Path != filepath.ToSlash(defaultSettings) {
			continue
		}
		accepted, _ := settings.Parse(f.Path, f.Content, settings.NoFiles)
		if accepted == nil {
			return // New has said why
		}
		fmt.Fprintln(a.stderr, "sbx-devc: the sandbox will have this, and nothing else of the network:")
		accept.WriteOpenings(a.stderr, accepted.Openings())
	}
}

// showFiles prints the tree of what would be written and then each change, in
// the form that patch and git apply read. changed is said of a file that is
// there and would get another content.
func (a *app) showFiles(dir scaffold.Folder, files []templates.File, changed string) error {
	var out bytes.Buffer
	folder := ""
	for _, f := range files {
		if path.Dir(f.Path) != folder {
			folder = path.Dir(f.Path)
			fmt.Fprintf(&out, "%s/\n", folder)
		}
		state := "new"
		switch {
		case dir.Holds(f):
			state = "unchanged"
		case dir.Read(f.Path) != nil:
			state = changed
		}
		fmt.Fprintf(&out, "  %s (%s)\n", path.Base(f.Path), state)
	}
	for _, f := range files {
		old, from := dir.Read(f.Path), "a/"+f.Path
		if old == nil {
			from = "/dev/null"
		}
		if adopt.OwnFeature(f) {
			continue // this program's own, with its binaries
		}
		out.Write(diff.Diff(from, old, "b/"+f.Path, f.Content))
	}
	_, err := shown(a.stdout).Write(out.Bytes())
	fmt.Fprintln(a.stderr, "sbx-devc: dry run, nothing was written")
	return err
}
