package obeyed

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// MaxDevContainer is how much of a devcontainer.json is read, in bytes.
const MaxDevContainer = jsonc.MaxSize

// Opening returns what the devcontainer.json at rel, slash-separated and relative
// to the project's folder, makes the host obey when somebody opens the dev
// container: its files of Compose, and every word of initializeCommand that may
// be a file, alike relative to the project's folder. It is not known whether
// they exist. command says that there is an initializeCommand. It returns nothing
// for a text that is no JSON: an editor cannot read it either.
func Opening(rel string, text []byte) (paths []string, command bool) {
	doc, _ := jsonc.Parse(rel, text)
	if doc == nil {
		return nil, false
	}
	add := func(p string) {
		if p = path.Clean(p); filepath.IsLocal(filepath.FromSlash(p)) && p != "." {
			paths = append(paths, p)
		}
	}
	doc.Root.Member("dockerComposeFile").Walk(func(n *jsonc.Node) {
		if name, ok := n.Str(); ok {
			add(path.Join(path.Dir(rel), fromWorkspace(name)))
		}
	})
	initialize := doc.Root.Member("initializeCommand")
	initialize.Walk(func(n *jsonc.Node) {
		if n.Kind != jsonc.String {
			return
		}
		for _, word := range strings.FieldsFunc(n.Text, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`=", r) }) {
			add(fromWorkspace(word))
		}
	})
	return paths, initialize != nil && initialize.Kind != jsonc.Null
}

// fromWorkspace takes the variable of the project's folder from a path.
func fromWorkspace(name string) string {
	for _, v := range []string{"${localWorkspaceFolder}", "$PWD", "${PWD}"} {
		if rest, ok := strings.CutPrefix(name, v); ok {
			return strings.TrimLeft(rest, "/")
		}
	}
	return filepath.ToSlash(name)
}
