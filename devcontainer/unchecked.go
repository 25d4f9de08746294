package devcontainer

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

const (
	hintUnchecked = "make it a file that can be read here, or leave it out; nothing is known about what it says"
	hintTooMuch   = "shorten it; nothing is known about the rest"
)

// unchecked reports what was not looked at.
func unchecked(v *view) (out []finding) {
	for _, g := range v.gaps {
		f := v.atMissing(g.node, g.message, hintUnchecked)
		f.severity = g.severity
		out = append(out, f)
	}
	for _, u := range v.unreadFiles() {
		if !u.missing {
			out = append(out, u.finding)
		}
	}
	tooMany := ""
	if v.TooMuchBrought() {
		tooMany = fmt.Sprintf("volumes_from and dependsOn bring more than %d mounts and Features", MaxBrought)
	}
	switch {
	case v.Composed != nil:
		if why := cmp.Or(v.Composed.project.Incomplete(), tooMany); why != "" && len(v.Compose) > 0 {
			out = append(out, finding{Place: rights.Place{Doc: v.Compose[0]}, message: why + ": a part of it is not checked", hint: hintTooMuch})
		}
	case tooMany != "":
		out = append(out, v.atMissing(v.root.Member("features"), tooMany+": a part of them is not checked", hintTooMuch))
	}
	if v.Build != nil {
		if why := v.Build.file.Incomplete(); why != "" {
			out = append(out, v.atDockerfile(0, 0, why+": a part of it is not checked", hintTooMuch))
		}
	}
	for _, f := range v.localFeatures() {
		if f.known && v.localFeature(f.Name) == nil {
			out = append(out, v.atName(f.Member, fmt.Sprintf("the Feature %s is not checked: its devcontainer-feature.json cannot be read, "+
				"is larger than %d bytes or not well formed", f.Name, jsonc.MaxSize),
				"sbx-devc validate "+f.Name+" says where; nothing is known about the rights that it brings"))
		}
	}
	for _, hook := range lifecycle {
		v.eachCommand(v.root.Member(hook), func(*jsonc.Node, *shell.Command) {})
		v.root.Member(hook).Walk(func(n *jsonc.Node) {
			if v.commands[n].cut {
				out = append(out, v.atValue(n, "these commands are too many or too deeply nested to be checked", "put them into a script"))
			}
		})
	}
	return out
}

// unreadFile is a file that a Compose file names and that is not there or cannot
// be read.
type unreadFile struct {
	finding
	missing bool // Compose refuses to start without it
}

func (v *view) unreadFiles() (out []unreadFile) {
	if v.Composed == nil {
		return nil
	}
	add := func(n *compose.Node, message string, missing bool) {
		f := atCompose(n, message+"; it is not checked", hintUnchecked)
		if missing {
			f = atCompose(n, message, "Compose refuses to start without it; it is looked for relative to its Compose file")
		}
		out = append(out, unreadFile{f, missing})
	}
	for _, u := range v.Composed.project.Unread {
		if u.Remote { // SBX612 asks for a pin; like an image, it is not looked into
			f := finding{Place: rights.Place{Doc: u.Doc, Start: u.Start, End: u.End}, message: u.Message + "; it is not checked",
				severity: diag.SeverityNote}
			out = append(out, unreadFile{f, false})
			continue
		}
		add(&compose.Node{Doc: u.Doc, Start: u.Start, End: u.End}, u.Message, u.Missing)
	}
	seen := map[string]bool{}
	for _, s := range v.services() {
		for _, f := range s.EnvFiles() {
			full := path.Join(v.Dir, path.Dir(v.Composed.first), f.Name)
			// One below the home folder or behind a variable is the host's.
			if v.Tree == nil || seen[f.Name] || strings.ContainsAny(f.Name, "$~") || path.IsAbs(f.Name) || leavesTree(full) {
				continue
			}
			seen[f.Name] = true
			src, err := v.Tree.Read(full)
			switch why := v.unreadable(full, src, err); {
			case why != "":
				add(f.Node, f.Name+" cannot be read: "+why, false)
			case err != nil && f.Required:
				add(f.Node, "there is no file "+f.Name, true)
			}
		}
	}
	return out
}
