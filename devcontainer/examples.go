package devcontainer

import (
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// exampleFile is the file that an example is when it names none.
const exampleFile = ".devcontainer/devcontainer.json"

// examplePolicy is the file of an example that is an organisation's policy.
const examplePolicy = "policy.jsonc"

// ExampleFiles takes a rule's example apart: the files that it consists of.
func ExampleFiles(text string) Memory {
	if !strings.HasPrefix(text, "-- ") {
		return Memory{exampleFile: text}
	}
	files := Memory{}
	name := ""
	for _, line := range strings.SplitAfter(text, "\n") {
		if header, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- "); ok && strings.HasSuffix(header, " --") {
			name = strings.TrimSuffix(header, " --")
			files[name] = ""
			continue
		}
		files[name] += line
	}
	return files
}

// CheckExample judges the first of an example's files that is something to
// judge: a configuration, a Feature or a Template.
func CheckExample(files Memory) ([]diag.Finding, error) {
	names := sortedKeys(files)
	i := slices.IndexFunc(names, func(name string) bool {
		return slices.Contains([]string{"devcontainer.json", ".devcontainer.json"}, path.Base(name)) && !slices.ContainsFunc(names, func(n string) bool { return path.Base(n) == TemplateName })
	})
	if i < 0 {
		i = max(0, slices.IndexFunc(names, func(n string) bool { return path.Base(n) == TemplateName }))
	}
	p, err := Load(files, names[i], names[i])
	if err != nil {
		return nil, err
	}
	if text, ok := files[examplePolicy]; ok {
		org, findings := ParseOrg(examplePolicy, []byte(text))
		if org == nil {
			return findings, nil
		}
		p.Org = org
	}
	return Check(p), nil
}

// The examples of the rules' table are made of these.

// withImage is a devcontainer.json that is sound but for the given lines.
func withImage(lines ...string) string {
	return "{\n  \"image\": \"debian:13\"" + joined(lines) + "\n}\n"
}

// withFiles adds files to a devcontainer.json: pairs of name and content.
func withFiles(config string, files ...string) string {
	out := "-- .devcontainer/devcontainer.json --\n" + config
	for i := 0; i+1 < len(files); i += 2 {
		out += "-- " + files[i] + " --\n" + strings.TrimSuffix(files[i+1], "\n") + "\n"
	}
	return out
}

// withBuild is a devcontainer.json that builds a Dockerfile.
func withBuild(lines ...string) string {
	return "{\n  \"build\": {\"dockerfile\": \"Dockerfile\"}" + joined(lines) + "\n}\n"
}

// withCompose is a devcontainer.json for a sound Compose file.
func withCompose(lines ...string) string {
	return withFiles("{\n  \"dockerComposeFile\": \"compose.yaml\""+joined(lines)+"\n}\n", ".devcontainer/compose.yaml", soundCompose)
}

// withBuildOptions is a devcontainer.json that builds with options.
func withBuildOptions(options string) string {
	return "{\n  \"build\": {\"dockerfile\": \"Dockerfile\", \"options\": [" + options + "]}\n}\n"
}

func joined(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(",\n  " + l)
	}
	return b.String()
}

// withSettings is a sandbox that holds, with these settings.
func withSettings(settings string) string {
	return "-- .devcontainer/sandbox.jsonc --\n" + settings + "\n-- .devcontainer/devcontainer.json --\n" + soundSandbox
}

// sandboxWith is a sandbox with one thing changed.
func sandboxWith(old, replacement string) string {
	return strings.Replace(withSettings("{}"), old, replacement, 1)
}

// soundSandbox is a configuration that keeps the sandbox's contract.
const soundSandbox = `{
  "image": "ghcr.io/org/claude-sandbox:1.0.0",
  "overrideCommand": false,
  "remoteUser": "agent",
  "capAdd": ["NET_ADMIN"],
  "securityOpt": ["no-new-privileges"],
  "remoteEnv": ` + closedSockets + `,
  "mounts": [
    "type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly"
  ]
}
`

// soundDockerfile is a Dockerfile without a finding.
const soundDockerfile = `FROM debian:13
RUN useradd --create-home dev
USER dev
`

// soundCompose is a Compose file without a finding.
const soundCompose = `services:
  app:
    image: debian:13
    command: sleep infinity
`

// withTemplate is a Template with one more line of metadata, whose
// configuration has the given image.
func withTemplate(line, image string) string {
	return "-- src/app/devcontainer-template.json --\n{\n  \"id\": \"app\",\n  \"version\": \"1.0.0\",\n  \"name\": \"App\",\n  " + line +
		"\n}\n-- src/app/.devcontainer/devcontainer.json --\n{\n  \"image\": " + image + "\n}\n"
}

// withPolicy adds an organisation's policy to a devcontainer.json.
func withPolicy(policy, config string) string {
	return withFiles(config, examplePolicy, policy)
}
