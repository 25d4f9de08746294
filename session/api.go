package session

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// Variables of the Action alone, for a gateway: of others on a machine, such as
// ANTHROPIC_AUTH_TOKEN, nobody knows for which address it is.
const (
	GatewayURL   = "INPUT_ANTHROPIC_BASE_URL"
	GatewayToken = "INPUT_ANTHROPIC_AUTH_TOKEN"
)

// Upstream reads the API's base URL from the environment. It errs for one to which no key may
// go, and says which variable or input it is from.
func Upstream(getenv func(string) string) (*url.URL, error) {
	from, base := "SBX_DEVC_UPSTREAM", cmp.Or(getenv("SBX_DEVC_UPSTREAM"), credproxy.DefaultUpstream)
	if gateway := getenv(GatewayURL); gateway != "" {
		from, base = "input anthropic_base_url", gateway
	}
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

// ModelAPI reads the API's base URL and the key from the environment. An empty variable is
// not set. Without a key of the API's own, the variables by which Claude Code asks Bedrock or
// Vertex AI count.
func ModelAPI(getenv func(string) string) (*url.URL, credproxy.Credential, error) {
	var none credproxy.Credential
	upstream, err := Upstream(getenv)
	if err != nil {
		return nil, none, err
	}
	for _, source := range []struct {
		name string
		read func(string) (credproxy.Credential, error)
	}{
		{"ANTHROPIC_API_KEY", credproxy.ParseCredential}, {"CLAUDE_CODE_OAUTH_TOKEN", credproxy.OAuthToken},
		{GatewayToken, credproxy.BearerToken},
	} {
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
	return nil, none, exitcode.With(exitcode.NoSecret, diag.WithHint(errors.New("there is no key for the model API"),
		"set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN from 'claude setup-token', or keep one with "+
			"'sbx-devc login'; it stays on this machine and never enters the sandbox"))
}
