package effective

import (
	"encoding/json"
	"path"
	"strconv"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// serviceView is the service as a value; origins gets the place of each part.
func (r *resolver) serviceView(origins map[string][]Origin) Object {
	var out Object
	for _, m := range r.service.Members {
		switch m.Name {
		case "extends", "env_file", "environment":
		default:
			out = append(out, Member{m.Name, viewOf(m.Value, jsonc.Child("", m.Name), origins)})
		}
	}
	if env := r.environment(origins); len(env) > 0 {
		out = append(out, Member{"environment", env})
	}
	return out
}

// place says where a value of a Compose file stands.
func place(n *compose.Node) Origin {
	line, column := n.Doc.Position(n.Start)
	return Origin{Source: "Compose", File: n.Doc.File, Line: line, Column: column}
}

func viewOf(n *compose.Node, at string, origins map[string][]Origin) any {
	switch n.Kind {
	case compose.Map:
		out := builder{made: Object{}}
		for _, m := range n.Members {
			out.set(m.Name, viewOf(m.Value, jsonc.Child(at, m.Name), origins))
		}
		return out.made
	case compose.List:
		out := []any{}
		for i, item := range n.Items {
			origins[jsonc.Child(at, strconv.Itoa(i))] = []Origin{place(item)}
			out = append(out, viewOf(item, "", map[string][]Origin{}))
		}
		return out
	}
	if at != "" {
		origins[at] = []Origin{place(n)}
	}
	return scalarOf(n)
}

func scalarOf(n *compose.Node) any {
	switch n.Type() {
	case "null":
		return nil
	case "bool":
		return n.True()
	case "int", "float":
		if json.Valid([]byte(n.Text)) {
			return json.Number(n.Text)
		}
	}
	return n.Text
}

// environment is what the service's container gets.
func (r *resolver) environment(origins map[string][]Origin) Object {
	env := builder{made: Object{}}
	for _, v := range r.files.Environment(r.service, r.envFile) {
		env.set(v.Name, v.Value)
		origins[jsonc.Child("/environment", v.Name)] = []Origin{place(v.Node)}
	}
	return env.made
}

// envFile reads one; nil when that cannot be.
func (r *resolver) envFile(file compose.EnvFileName) *jsonc.Document {
	if !path.IsAbs(file.Name) {
		doc, err := r.project.Document(path.Join(r.composeDir(), file.Name))
		if err == nil || !file.Required {
			return doc
		}
	}
	r.unknown("the variables of env_file %s: it cannot be read", file.Name)
	return nil
}

// composeDir is the folder in the tree where the first Compose file lies.
func (r *resolver) composeDir() string {
	for _, n := range list(valueOf(r.project.Config.Root.Member("dockerComposeFile"))) {
		if name, ok := r.project.Path(text(n)); ok {
			return path.Dir(name)
		}
	}
	return r.project.Dir
}
