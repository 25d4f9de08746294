package devcontainer

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// secretRules judge how keys reach the container.
var secretRules = []Rule{
	{ID: "SBX501", Name: "literal-secret", Severity: diag.SeverityError, Title: "secret written into the file",
		Reason: "The file is shared with everybody who sees the repository, and its history never forgets.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"remoteEnv\": {\"NPM_TOKEN\": \"a1b2c3d4e5f6a7b8c9d0e1f2\"}\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"secrets\": {\"NPM_TOKEN\": {\"description\": \"to install private packages\"}}\n}",
		check:  (*pass).secrets},
	{ID: "SBX502", Name: "inspectable-secret", Severity: diag.SeverityWarning, Title: "secret in the container's environment",
		Reason: "containerEnv becomes part of the container: everybody who may inspect it reads the value, every process in it inherits it, and it stays until the container is removed.",
		Bad:    "{\n  \"image\": \"debian:13\",\n  \"containerEnv\": {\"NPM_TOKEN\": \"${localEnv:NPM_TOKEN}\"}\n}",
		Good:   "{\n  \"image\": \"debian:13\",\n  \"secrets\": {\"NPM_TOKEN\": {\"description\": \"to install private packages\"}}\n}"},
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

// secrets reports keys in the file, and keys that everyone who may inspect the
// container can read.
func (c *pass) secrets() {
	for _, place := range []*jsonc.Node{c.root.Member("containerEnv"), c.root.Member("remoteEnv"), c.root.Member("build").Member("args")} {
		if place == nil {
			continue
		}
		for _, m := range place.Members {
			if value, ok := m.Value.Str(); ok {
				c.secret(m.Value, m.Name, value, place == c.root.Member("containerEnv"))
			}
		}
	}
	for _, a := range c.args {
		if a.flag == "env" {
			name, value, _ := strings.Cut(a.value, "=")
			c.secret(a.node, name, value, true)
		}
	}
}

var fromHost = regexp.MustCompile(`\$\{(?:localEnv|env):([^:}]+)`)

func (c *pass) secret(n *jsonc.Node, name, value string, inspectable bool) {
	if isSecret(name, value) {
		c.at(n, "SBX501", fmt.Sprintf("%s holds what looks like a key", name), "revoke it, and name the secret in sandbox.jsonc or in \"secrets\"")
		return
	}
	if !inspectable {
		return
	}
	if m := fromHost.FindStringSubmatch(value); m != nil && (secretName.MatchString(m[1]) || secretName.MatchString(name)) {
		c.at(n, "SBX502", fmt.Sprintf("%s of the host becomes part of the container, where inspect shows it", m[1]), "keep the key outside; if it must go in, remoteEnv at least is not stored")
	}
}
