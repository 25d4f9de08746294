package lint

import (
	"path"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// buildSource is a file or folder that a build reads on the host, or writes.
type buildSource struct {
	what string // "the build's context"
	name string
	from string // the folder in the tree that relative names start in
	at   rights.Place
}

// notFolder matches sources of builds that are none of the host's files.
var notFolder = lazyregexp.New(`^(?:docker-image|oci-layout|service|target):|://|^git@|^github\.com/|^-$`)

// buildSources returns what the builds of a configuration are given of the host by name.
func buildSources(v *rule.View) (out []buildSource) {
	add := func(what, name, from string, at rights.Place) {
		if name != "" && !notFolder.MatchString(name) {
			out = append(out, buildSource{what, name, from, at})
		}
	}
	home := path.Join(".", v.Home)
	property := func(n *jsonc.Node) rights.Place { return v.AtValue(n, "", "").Place }
	if v.ByCompose() {
		for _, s := range v.ComposeServices() {
			serviceSources(v, s, add)
		}
		return out
	}
	if file, _ := devcontainer.BuildOf(v.Root); file != nil {
		for _, n := range []*jsonc.Node{v.Root.Member("context"), v.Root.Member("build").Member("context")} {
			if name, ok := n.Str(); ok {
				add("the build's context", name, path.Join(".", v.Dir), property(n))
			}
		}
	}
	for _, n := range rights.Texts(v.Root.Member("build").Member("cacheFrom")) {
		add("a cache of the build", field(n.Text, "src"), home, property(n))
	}
	for _, a := range v.BuildArgs {
		what := "--" + a.Flag
		if _, source, ok := strings.Cut(a.Value, "="); a.Flag == "build-context" && ok {
			add(what, source, home, property(a.Node))
		}
		for _, name := range optionFiles(a.Flag, a.Value) {
			add(what, name, home, property(a.Node))
		}
	}
	return out
}

// optionFiles returns the files that an option of docker buildx build reads or writes, but for its context and Dockerfile.
func optionFiles(flag, value string) []string {
	switch flag {
	case "iidfile", "metadata-file":
		return []string{value}
	case "ssh":
		_, names, _ := strings.Cut(value, "=")
		return strings.Split(names, ",")
	case "secret", "cache-from", "cache-to", "output":
		if flag == "output" && !strings.Contains(value, "=") {
			return []string{value}
		}
		return []string{field(value, "src"), field(value, "source"), field(value, "dest")}
	}
	return nil
}

// serviceSources adds what the build of a service is given.
func serviceSources(v *rule.View, s *compose.Service, add func(what, name, from string, at rights.Place)) {
	from, b := composeFolder(v), s.Get("build")
	place := func(n *compose.Node) rights.Place { return rule.ComposePlace(n) }
	if context, _, _, builds := s.Build(); builds {
		at := b
		if n := b.Get("context"); n != nil {
			at = n
		}
		add("the context of "+s.Name, context, from, place(at))
	}
	for _, c := range b.Get("additional_contexts").Variables() {
		add("a context of "+s.Name, c.Value, from, place(c.Node))
	}
	for _, key := range []string{"cache_from", "cache_to"} {
		for _, n := range b.Get(key).Scalars() {
			add("a cache of "+s.Name, field(n.Text, "src"), from, place(n))
			add("a cache of "+s.Name, field(n.Text, "dest"), from, place(n))
		}
	}
	for _, key := range b.Get("ssh").Variables() {
		add("a key for the build of "+s.Name, key.Value, from, place(key.Node))
	}
	secrets := b.Get("secrets")
	if secrets == nil {
		return
	}
	for _, item := range secrets.Items {
		name := item.String()
		if item.Kind == compose.Map {
			name = item.Get("source").String()
		}
		add("a secret for the build of "+s.Name, v.Composed.Project.Root.Get("secrets").Get(name).Get("file").String(), from, place(item))
	}
}
