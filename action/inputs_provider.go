package action

import (
	"maps"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/session"
)

func (p *inputParser) credential(in Inputs, getenv func(string) string) {
	const hint = "pass it from a secret: anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}; secrets are empty in workflows that a fork's " +
		"pull request starts"
	var given []string
	for _, name := range []string{"anthropic_api_key", "claude_code_oauth_token", "anthropic_auth_token", "anthropic_federation_rule_id"} {
		if p.get(name) != "" {
			given = append(given, name)
		}
	}
	cloud := session.AsksCloud(getenv)
	switch {
	case cloud && len(given) > 0:
		p.fail("remove one of them", "the step has the variables of a cloud's API, and the input %s", given[0])
	case cloud:
		if _, _, err := session.ModelAPI(cloudsAlone(getenv)); err != nil {
			p.errs = append(p.errs, err)
		}
	case len(given) > 1:
		p.fail("remove one of them", "inputs %s are both set", strings.Join(given, " and "))
	case len(given) == 0 && in.FederationInputs == (FederationInputs{}): // of which one told
		p.fail(hint, "input anthropic_api_key is empty: there is no credential for the model API")
	}
	if in.GatewayURL == "" && (p.get("anthropic_auth_token") != "" || len(in.GatewayHeaders) > 0) {
		p.fail("name the gateway's address", "inputs anthropic_auth_token and anthropic_custom_headers are for a gateway, and "+
			"anthropic_base_url is empty")
	}
	if in.GatewayURL != "" {
		gateway := map[string]string{session.GatewayURL: in.GatewayURL}
		if _, err := session.Upstream(func(name string) string { return gateway[name] }); err != nil {
			p.errs = append(p.errs, err)
		}
	}
	if _, err := (credproxy.Credential{}).WithHeaders(in.GatewayHeaders); err != nil {
		p.fail("write Name: value, one a line, and a key or token into its own input", "input anthropic_custom_headers: %w", err)
	}
	p.variablesOfClaude(getenv, cloud)
}

// cloudKey are the variables with a key of a cloud's.
var cloudKey = []string{"AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_AUTH_TOKEN"}

// cloudSecrets are the keys of the cloud that the step names.
func cloudSecrets(getenv func(string) string) (secrets []string) {
	for _, name := range cloudKey {
		if value := getenv(name); value != "" && session.AsksCloud(getenv) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// cloudsAlone is the step's environment without keys of Anthropic's.
func cloudsAlone(getenv func(string) string) func(string) string {
	return func(name string) string {
		if name == "ANTHROPIC_API_KEY" || name == "CLAUDE_CODE_OAUTH_TOKEN" || strings.HasPrefix(name, "INPUT_") {
			return ""
		}
		return getenv(name)
	}
}

// headers are lines; a "#" may be a part of one.
func (p *inputParser) headers(name string) (lines []string) {
	for line := range strings.SplitSeq(p.get(name), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// otherProviders are variables by which Claude Code would ask the model elsewhere, and what
// to do in the Action.
var otherProviders = map[string]string{
	"CLAUDE_CODE_USE_FOUNDRY": "no request has Foundry's form here: name a gateway that speaks the Messages API and has the cloud's " +
		"credentials as anthropic_base_url, with anthropic_auth_token",
	"ANTHROPIC_FEDERATION_RULE_ID": "give it as the input anthropic_federation_rule_id",
	"ANTHROPIC_BASE_URL":           "give it as the input anthropic_base_url",
	"ANTHROPIC_AUTH_TOKEN":         "give it as the input anthropic_auth_token, with the gateway's anthropic_base_url",
	"ANTHROPIC_CUSTOM_HEADERS":     "give them as the input anthropic_custom_headers, with the gateway's anthropic_base_url",
}

// variablesOfClaude refuses what a workflow sets for Claude Code and the Action does not obey.
func (p *inputParser) variablesOfClaude(getenv func(string) string, cloud bool) {
	for _, name := range slices.Sorted(maps.Keys(otherProviders)) {
		if value := getenv(name); value != "" && value != "0" && value != "false" && !(cloud && slices.Contains(cloudKey, name)) {
			p.fail(otherProviders[name], "the step has the variable %s, which the Action does not obey", name)
		}
	}
}
