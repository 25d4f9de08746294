package action

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/session"
)

func (p *inputParser) credential(in Inputs) {
	const hint = "pass it from a secret: anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}; secrets are empty in workflows that a fork's " +
		"pull request starts"
	var given []string
	for _, name := range []string{"anthropic_api_key", "claude_code_oauth_token", "anthropic_auth_token", "anthropic_federation_rule_id"} {
		if p.get(name) != "" {
			given = append(given, name)
		}
	}
	switch {
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
	"CLAUDE_CODE_USE_BEDROCK":      gatewayHint,
	"CLAUDE_CODE_USE_VERTEX":       gatewayHint,
	"CLAUDE_CODE_USE_FOUNDRY":      gatewayHint,
	"ANTHROPIC_FEDERATION_RULE_ID": "give it as the input anthropic_federation_rule_id",
	"ANTHROPIC_BASE_URL":           "give it as the input anthropic_base_url",
	"ANTHROPIC_AUTH_TOKEN":         "give it as the input anthropic_auth_token, with the gateway's anthropic_base_url",
	"ANTHROPIC_CUSTOM_HEADERS":     "give them as the input anthropic_custom_headers, with the gateway's anthropic_base_url",
}

const gatewayHint = "no request is signed for a cloud here: name a gateway that speaks the Messages API and has the cloud's credentials " +
	"as anthropic_base_url, with anthropic_auth_token"

// checkProvider refuses what a workflow sets for Claude Code and the Action does not obey.
func checkProvider(getenv func(string) string) (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(otherProviders)) {
		if value := getenv(name); value != "" && value != "0" && value != "false" {
			err := fmt.Errorf("the step has the variable %s, which the Action does not obey", name)
			errs = append(errs, diag.WithHint(err, "%s", otherProviders[name]))
		}
	}
	return errs
}
