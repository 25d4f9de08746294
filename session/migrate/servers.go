package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/settings"
)

// servers takes the servers that the sandbox can start and whose arguments are harmless.
// Values of their variables that are not become references: of secrets there are names.
func (p *Plan) servers(file string, all map[string]json.RawMessage, hasSecret func(string) bool) {
	for _, name := range bounded(slices.Sorted(maps.Keys(all))) {
		what := named("MCP server", name)
		var s settings.MCPServer
		if err := json.Unmarshal(all[name], &s); err != nil {
			p.leave(file, what, errNoJSON.Error())
			continue
		}
		taken, why, note := take(name, s, hasSecret)
		if why != "" {
			p.leave(file, what, why)
			continue
		}
		p.Take.MCP.Servers = append(p.Take.MCP.Servers, taken)
		p.take(file, what, note)
	}
}

// take is the server for the sandbox, or why it is left. The reason shows no value.
func take(name string, s settings.MCPServer, hasSecret func(string) bool) (taken settings.MCPServer, why, note string) {
	references, harmless := harmlessArgs(s.Command, s.Args)
	switch {
	case !serverForm.MatchString(name) || !plain(name):
		return taken, "its name cannot be one: words of letters and digits with _ and -, at most 64", ""
	case s.URL != "" || s.Type != "" && s.Type != "stdio":
		return taken, "it is reached by HTTP: put it into a file for --mcp-config, open its host with --allow, " +
			"and give its key with --secret", ""
	case !plain(s.Command):
		return taken, "it is a program of this machine, which the sandbox does not have: put it into the image, " +
			"and name it without a folder", ""
	case slices.Contains([]string{"docker", "podman"}, s.Command):
		return taken, "there is no engine in the sandbox", ""
	case !harmless:
		return taken, "its arguments may hold a secret: put the server into a file for --mcp-config or into your settings yourself, " +
			"with ${NAME} for a secret", ""
	}
	taken = settings.MCPServer{Name: name, Command: s.Command, Args: s.Args}
	for _, variable := range slices.Sorted(maps.Keys(s.Env)) {
		value := s.Env[variable]
		if !variableForm.MatchString(variable) || !plain(variable) {
			return taken, "the name of one of its variables cannot be taken: words of capital letters and _", ""
		}
		if taken.Env == nil {
			taken.Env = map[string]string{}
		}
		if harmlessVariable(variable, value) {
			taken.Env[variable] = value
			continue
		}
		reference := variable // all else is taken for a secret
		if of, ok := referenceOf(value); ok {
			reference = of
		}
		taken.Env[variable] = "${" + reference + "}"
		references = append(references, reference)
	}
	var missing []string
	for _, reference := range references {
		if !hasSecret(reference) {
			missing = append(missing, fmt.Sprintf(`{"name": "%s", "from": "op://VAULT/ITEM/FIELD"}`, reference))
		}
	}
	if len(missing) > 0 {
		return taken, "its variables may hold secrets, whose values stay where they are: put " + strings.Join(missing, ", ") +
			` with the real source into "secrets" of your settings, and migrate again`, ""
	}
	if preset := presetOf[s.Command]; preset != "" {
		note = "it fetches packages: --preset " + preset + ", unless the image has them"
	}
	return taken, "", note
}

// referenceOf is the name in "${NAME}" or "${NAME:-default}"; the default is dropped.
func referenceOf(value string) (name string, ok bool) {
	inner, ok := strings.CutPrefix(value, "${")
	if !ok || !strings.HasSuffix(inner, "}") {
		return "", false
	}
	name, _, _ = strings.Cut(strings.TrimSuffix(inner, "}"), ":-")
	return name, variableForm.MatchString(name) && plain(name)
}
