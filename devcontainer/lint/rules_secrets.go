package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// secretRules judge how keys reach the container.
var secretRules = []rule.Rule{
	{ID: "SBX501", Name: "literal-secret", Severity: diag.SeverityError, Title: "secret written into the file",
		Reason: "The file is shared with everybody who sees the repository, and its history never forgets.",
		Check:  literalSecrets},
	{ID: "SBX502", Name: "inspectable-secret", Severity: diag.SeverityWarning, Title: "secret in the container's environment",
		Reason: "containerEnv becomes part of the container: everybody who may inspect it reads the value, every process inside inherits it, and it stays until the container is removed.",
		Check:  inspectableSecrets},
	{ID: "SBX503", Name: "session-secret", Severity: diag.SeverityNote, Title: "secret in every session's environment",
		Reason: "remoteEnv is not stored in the container, but every process of a session inherits it, an agent's commands among them. A proxy on the host keeps the key outside.",
		Check:  sessionSecrets},
	{ID: "SBX504", Name: "build-secret", Severity: diag.SeverityWarning, Title: "secret as a build argument",
		Reason: "Build arguments are kept in the image's history, where everybody who has the image reads them.",
		Check:  buildSecrets},
	{ID: "SBX505", Name: "env-file-inside", Severity: diag.SeverityWarning, Title: "file of variables inside the workspace",
		Reason: "A file of variables mostly holds keys. In the workspace the container reads it, an agent changes it, and the next commit may carry it away.",
		Check:  envFilesInside},
	{ID: "SBX506", Name: "editor-sockets", Severity: diag.SeverityNote, Title: "the editor's way to the host is left open",
		Reason: "Editors pass sockets of the host into a session: the SSH agent signs with the user's keys, and the editor's own sockets open files and start programs outside. A sandbox that leaves them in place has a back door.",
		Fix:    "remoteEnv sets them to null",
		Check:  editorSockets},
	{ID: "SBX507", Name: "secret-for-agent", Severity: diag.SeverityWarning, Title: "the agent's container gets a secret of the host",
		Reason: "Secrets and configs of Compose are files in the container. Where an agent works it reads them like any other file, and may send them to any host that it can reach.",
		Check:  secretsForAgent},
}

// editorSocketNames are the variables that name those sockets. What VS Code's
// GIT_ASKPASS starts asks nobody without them.
var editorSocketNames = slices.DeleteFunc(obeyed.EditorVariables(), func(name string) bool { return strings.HasPrefix(name, "VSCODE_GIT_ASKPASS_") })

// editorSockets reports those that a sandbox leaves in place.
func editorSockets(v *rule.View) []rule.Finding {
	if !v.Sandboxed() {
		return nil
	}
	env := v.Root.Member("remoteEnv")
	var open, lines []string
	for _, name := range editorSocketNames {
		if n := env.Member(name); n == nil {
			open, lines = append(open, name), append(lines, jsonc.Quote(name)+": null")
		}
	}
	if len(open) == 0 {
		return nil
	}
	f := v.AtMissing(env, "sessions get the editor's "+strings.Join(open, ", "), "set them to null in remoteEnv")
	switch {
	case env == nil:
		f.Edits = v.Config.AddMember(v.Root, "remoteEnv", "{\n  "+strings.Join(lines, ",\n  ")+"\n}")
	case env.Kind == jsonc.Object && len(env.Members) == 0:
		f.Edits = jsonc.Replace(env, "{"+strings.Join(lines, ", ")+"}")
	case env.Kind == jsonc.Object:
		f.Edits = v.Config.AddMember(env, open[0], "null"+strings.TrimPrefix(strings.Join(lines, ",\n"), lines[0]))
	}
	return []rule.Finding{f}
}

var (
	secretName = regexp.MustCompile(`(?i)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)(_|$)`)
	// keyForm are forms that issuers document: Anthropic, OpenAI, GitHub,
	// GitLab, AWS, Google, Slack, npm, PEM.
	keyForm = regexp.MustCompile(`^(sk-ant-|sk-proj-|gh[pousr]_[A-Za-z0-9]{20}|github_pat_|glpat-|A[KS]IA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30}|xox[abprs]-|npm_[A-Za-z0-9]{30}|-----BEGIN [A-Z ]*PRIVATE KEY)`)
	random  = regexp.MustCompile(`^[A-Za-z0-9+/=_.-]{20,}$`)
	digit   = regexp.MustCompile(`[0-9]`)
	letter  = regexp.MustCompile(`[A-Za-z]`)
)

// isSecret reports whether a literal value is most likely a key. An example
// password such as "postgres" is not worth a finding.
func isSecret(name, value string) bool {
	if strings.Contains(value, "${") {
		return false
	}
	return keyForm.MatchString(value) || secretName.MatchString(name) && random.MatchString(value) && digit.MatchString(value) && letter.MatchString(value)
}
