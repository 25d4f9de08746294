package session

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// Variables of the Action alone, for a gateway.
const (
	GatewayURL   = "INPUT_ANTHROPIC_BASE_URL"
	GatewayToken = "INPUT_ANTHROPIC_AUTH_TOKEN"
)

// The same for Claude Code. Its token goes to that address alone.
const (
	claudesURL   = "ANTHROPIC_BASE_URL"
	claudesToken = "ANTHROPIC_AUTH_TOKEN"
)

// Address is the API's base URL as the environment has it, and the variable or input that
// names it; "" = none does, and it is Anthropic's own.
func Address(getenv func(string) string) (from, base string) {
	for _, name := range []string{GatewayURL, "SBX_DEVC_UPSTREAM", claudesURL} {
		if base := getenv(name); base != "" {
			if name == GatewayURL {
				name = "input anthropic_base_url"
			}
			return name, base
		}
	}
	return "", credproxy.DefaultUpstream
}

// Upstream reads the API's base URL from the environment. It errs for one to which no key may
// go, and says which variable or input it is from.
func Upstream(getenv func(string) string) (*url.URL, error) {
	from, base := Address(getenv)
	upstream, err := url.Parse(base)
	if err != nil || upstream.Host == "" {
		return nil, exitcode.With(exitcode.Config, diag.WithHint(fmt.Errorf("%s is no URL", from),
			"give the API's base URL, such as %s", credproxy.DefaultUpstream))
	}
	if err := credproxy.CheckUpstream(upstream); err != nil {
		return nil, exitcode.With(exitcode.Config, fmt.Errorf("%s: %w", from, err))
	}
	return upstream, nil
}

// OfGateway reports whether the environment has a token for the gateway that it names, as
// Claude Code takes both.
func OfGateway(getenv func(string) string) bool {
	from, _ := Address(getenv)
	return from == claudesURL && getenv(claudesToken) != "" && !AsksCloud(getenv)
}

// ModelAPI reads the API's base URL and the key from the environment. An empty variable is
// not set. Without a key of the API's own, the variables by which Claude Code asks Bedrock or
// Vertex AI count.
func ModelAPI(getenv func(string) string) (*url.URL, credproxy.Credential, error) {
	var none credproxy.Credential
	upstream, err := Upstream(getenv)
	if err != nil {
		return nil, none, err
	}
	type source struct {
		name string
		read func(string) (credproxy.Credential, error)
	}
	sources := []source{
		{"ANTHROPIC_API_KEY", credproxy.ParseCredential}, {"CLAUDE_CODE_OAUTH_TOKEN", credproxy.OAuthToken},
		{GatewayToken, credproxy.BearerToken},
	}
	if OfGateway(getenv) {
		sources = slices.Insert(sources, 0, source{claudesToken, credproxy.BearerToken})
	}
	for _, source := range sources {
		if secret := getenv(source.name); secret != "" {
			credential, err := source.read(secret)
			if err != nil {
				return nil, none, exitcode.With(exitcode.NoSecret, diag.WithHint(fmt.Errorf("%s: %w", source.name, err),
					"set it to the key alone, without quotes"))
			}
			return upstream, credential, nil
		}
	}
	if upstream, credential, ok, err := cloudAPI(getenv); ok {
		return upstream, credential, err
	}
	if getenv(claudesToken) != "" {
		return nil, none, exitcode.With(exitcode.NoSecret, diag.WithHint(errors.New("there is no key for the model API"),
			"%s goes to a gateway alone: set %s to its address", claudesToken, claudesURL))
	}
	return nil, none, exitcode.With(exitcode.NoSecret, diag.WithHint(errors.New("there is no key for the model API"),
		"set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN from 'claude setup-token', or keep one with "+
			"'sbx-devc login'; it stays on this machine and never enters the sandbox"))
}
