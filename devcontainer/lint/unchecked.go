package lint

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

const (
	hintUnchecked = "make it a file that can be read here, or leave it out; nothing is known about what it says"
	hintTooMuch   = "shorten it; nothing is known about the rest"
)

// unchecked reports what was not looked at.
func unchecked(v *rule.View) (out []rule.Finding) {
	for _, g := range v.Gaps {
		f := v.AtMissing(g.Node, g.Message, hintUnchecked)
		f.Severity = g.Severity
		out = append(out, f)
	}
	for _, u := range unreadFiles(v) {
		if !u.missing {
			out = append(out, u.Finding)
		}
	}
	isConfig := v.Kind() == devcontainer.ConfigFile
	if n := v.Root.Member("dockerComposeFile"); isConfig && n != nil && n.Kind == jsonc.Array && len(n.Elements) == 0 {
		out = append(out, v.AtValue(n, "the list is empty: Compose looks for docker-compose.yml, its override and .env, and they are not checked",
			"name the files"))
	}
	tooMany := ""
	if v.TooMuchBrought() {
		tooMany = fmt.Sprintf("volumes_from and dependsOn bring more than %d mounts and Features", devcontainer.MaxBrought)
	}
	switch {
	case v.Composed != nil:
		if why := cmp.Or(v.Composed.Project.Incomplete(), tooMany); why != "" && len(v.Compose) > 0 {
			out = append(out, rule.Finding{Place: rights.Place{Doc: v.Compose[0]}, Message: why + ": a part of it is not checked",
				Hint: hintTooMuch})
		}
	case tooMany != "":
		out = append(out, v.AtMissing(v.Root.Member("features"), tooMany+": a part of them is not checked", hintTooMuch))
	}
	out = append(out, unseen(v)...)
	if v.Build != nil {
		if why := v.Build.File.Incomplete(); why != "" {
			out = append(out, v.AtDockerfile(0, 0, why+": a part of it is not checked", hintTooMuch))
		}
	}
	for _, f := range localFeatures(v) {
		if f.known && v.LocalFeature(f.Name) == nil {
			out = append(out, v.AtName(f.Member, fmt.Sprintf("the Feature %s is not checked: its devcontainer-feature.json cannot be read, "+
				"is larger than %d bytes or not well formed", f.Name, jsonc.MaxSize),
				"sbx-devc validate "+f.Name+" says where; nothing is known about the rights that it brings"))
		}
	}
	for _, r := range v.Of(rights.HostCommand, rights.Hook) {
		v.EachCommand(r.Node, func(*jsonc.Node, *shell.Command) {})
		r.Node.Walk(func(n *jsonc.Node) {
			if v.Commands[n].Cut {
				r.Place = r.At(n)
				out = append(out, v.PolicyFinding(r, "these commands are too many or too deeply nested to be checked", "put them into a script"))
			}
		})
	}
	return out
}

// unreadFile is a file that a Compose file names and that is not there or cannot
// be read. One that lies outside the project is a warning, as for devcontainer.json.
type unreadFile struct {
	rule.Finding
	missing bool // Compose refuses to start without it
}

func unreadFiles(v *rule.View) (out []unreadFile) {
	if v.Composed == nil {
		return nil
	}
	add := func(n *compose.Node, message string, missing bool) {
		f := rule.AtCompose(n, message+"; it is not checked", hintUnchecked)
		if missing {
			f = rule.AtCompose(n, message, "Compose refuses to start without it; it is looked for relative to its Compose file")
		}
		out = append(out, unreadFile{f, missing})
	}
	for _, u := range v.Composed.Project.Unread {
		add(&compose.Node{Doc: u.Doc, Start: u.Start, End: u.End}, u.Message, u.Cause == compose.Missing)
		switch f := &out[len(out)-1]; u.Cause {
		case compose.Remote: // SBX612 asks for a pin; like an image, it is not looked into
			if v.Org == nil || v.Org.Entries("registries", "allow") != nil {
				f.Severity, f.Hint = diag.SeverityNote, ""
			}
		case compose.Outside:
			if v.Org == nil {
				f.Severity = diag.SeverityWarning
			}
		}
	}
	seen := map[string]bool{}
	for _, s := range v.ComposeServices() {
		for _, f := range s.EnvFiles() {
			full := path.Join(v.Dir, path.Dir(v.Composed.First), f.Name)
			// One below the home folder or behind a variable is the host's.
			if v.Tree == nil || seen[f.Name] || strings.ContainsAny(f.Name, "$~") || path.IsAbs(f.Name) || devcontainer.LeavesTree(full) {
				continue
			}
			seen[f.Name] = true
			src, err := v.Tree.Read(full)
			switch why := v.Unreadable(full, src, err); {
			case why != "":
				add(f.Node, f.Name+" cannot be read: "+why, false)
			case err != nil && f.Required && !madeOnHost(v, f.Name):
				add(f.Node, "there is no file "+f.Name, true)
			}
		}
	}
	return out
}
