package devcontainer

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Unset is the project as tools take it on a host that sets none of the variables that its texts name, but for HOME: each is its default,
// or empty, wherever in a word it stands, and values have the places of what is written. The folders that tools know go in where they are
// known here. Nil when no text has a variable, when the project is one already, and when Compose's part of it is too much to be worked out.
func (p *Project) Unset() *Project {
	if p.unset != nil || p.Bare || p.Object() == nil || !p.mayVary() {
		return nil
	}
	if p.Composed != nil && p.Composed.Project.Incomplete() != "" {
		return nil
	}
	var next *Project
	u := &unset{base: p.HomeName}
	if p.Home != "." && p.Home != "" {
		u.base = path.Base(p.Home)
	}
	if folder, ok := p.Object().Member("workspaceFolder").Str(); ok {
		u.folder = u.text(folder)
	}
	if p.Tree == nil {
		next = &Project{Location: p.Location, unset: u}
		next.config(p.Config.File, p.Config.Src)
		next.understand()
	} else {
		var err error
		if next, err = load(p.Tree, path.Join(p.Dir, p.name), p.Config.File, u); err != nil {
			return nil
		}
		next.Folder, next.HomeName = p.Folder, p.HomeName
	}
	if next.Org = p.Org; !u.found && next.Composed == nil {
		return nil
	}
	return next
}

// mayVary reports whether a text may have a variable, by itself or by an escape. It never misses one.
func (p *Project) mayVary() bool {
	docs := append([]*jsonc.Document{p.Config}, p.Compose...)
	for _, doc := range append(docs, p.more...) {
		if bytes.ContainsAny(doc.Src, `$\`) {
			return true
		}
	}
	for _, doc := range p.metadata {
		if doc != nil && bytes.ContainsAny(doc.Src, `$\`) {
			return true
		}
	}
	return slices.ContainsFunc(p.Rights, func(r rights.Right) bool { return r.Notation == rights.Label })
}

// unset fills in variables as they are where nothing sets them.
type unset struct {
	base   string // name of the folder that is opened; "" when it is not known
	folder string // where it is in the container; "" when that is not said
	found  bool   // a variable
}

// text is a text with the variables filled in, as the reference CLI 0.89 does it.
func (u *unset) text(s string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	u.found = true
	return rights.Variable.ReplaceAllStringFunc(s, func(whole string) string {
		parts := strings.Split(whole[2:len(whole)-1], ":")
		switch name := parts[0]; {
		case (name == "env" || name == "localEnv") && len(parts) > 1:
			if parts[1] == "HOME" {
				return "${localEnv:HOME}"
			}
			return strings.Join(parts[2:min(3, len(parts))], "")
		case name == "localWorkspaceFolderBasename" && u.base != "":
			return u.base
		case name == "containerWorkspaceFolder" && u.folder != "":
			return u.folder
		case name == "containerWorkspaceFolderBasename" && u.folder != "":
			return path.Base(u.folder)
		case name == "containerWorkspaceFolderBasename" && u.base != "":
			return u.base
		}
		return whole
	})
}

// fill does it for every text of the properties of an object, or of the objects of a list, but for commands: rules look for the places of
// words in them. Names of members stay. Nothing is filled in for nil.
func (u *unset) fill(root *jsonc.Node) {
	if u == nil || root == nil {
		return
	}
	for _, n := range append([]*jsonc.Node{root}, root.Elements...) {
		for _, m := range n.Members {
			if strings.HasSuffix(m.Name, "Command") {
				continue
			}
			m.Value.Walk(func(n *jsonc.Node) {
				if n.Kind == jsonc.String {
					n.Text = u.text(n.Text)
				}
			})
		}
	}
}

// alwaysSet are variables that every host sets, and the one that Compose does.
var alwaysSet = []string{"HOME", "PWD", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "COMPOSE_PROJECT_NAME"}

// env are the variables that Compose gets: those that every host sets stay as they are written. Nil without u: nothing is known of the
// host.
func (u *unset) env() map[string]string {
	if u == nil {
		return nil
	}
	out := map[string]string{}
	for _, name := range alwaysSet {
		out[name] = "${" + name + "}"
	}
	return out
}
