package agent

import (
	"cmp"
	"strconv"
)

// BaseURL is where the agent finds the model API: the tunnel's port in the
// network namespace that it shares with the firewall.
const BaseURL = "http://127.0.0.1:8790"

// EnvOptions chooses what Env sets.
type EnvOptions struct {
	BaseURL      string // "" = BaseURL
	SessionToken string // of credproxy; never the real credential
	Memory       bool   // Headless.MemoryOf names folders
	MaxRetries   int    // of failed API requests; 0 = claude's default (10, about three minutes)
}

// Env returns claude's environment as NAME=VALUE entries, sorted as given
// here. It holds no secret but the session token, which is worthless outside
// the run.
func Env(o EnvOptions) []string {
	base := cmp.Or(o.BaseURL, BaseURL)
	env := []string{
		"ANTHROPIC_BASE_URL=" + base,
		// A bearer token and not ANTHROPIC_API_KEY: claude does not ask the user
		// to approve it.
		"ANTHROPIC_AUTH_TOKEN=" + o.SessionToken,
		// No telemetry, update check or start-up lookup. The base URL does
		// not move those: without this claude calls the vendor's host with
		// the credential, and waits for it when it is unreachable.
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1",
		"DISABLE_AUTOUPDATER=1",
		// A project's settings must not replace the base URL (they otherwise
		// win over the environment), nor children inherit the token.
		"CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST=1",
		// A start-up failure then has a result event too.
		"CLAUDE_CODE_STARTUP_FAILURE_RESULTS=1",
		// claude sends even loopback requests to HTTP_PROXY.
		"NO_PROXY=127.0.0.1,localhost,::1",
		"no_proxy=127.0.0.1,localhost,::1",
	}
	if o.Memory {
		env = append(env, "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1")
	}
	if o.MaxRetries > 0 {
		env = append(env, "CLAUDE_CODE_MAX_RETRIES="+strconv.Itoa(o.MaxRetries))
	}
	return env
}

// NetworkNotice is a text for the system prompt. It tells the agent how the
// firewall's refusals look, so that it neither retries nor takes them for an
// outage.
const NetworkNotice = `Network: you run in a sandbox whose firewall only lets allowlisted destinations through. ` +
	`A refusal is final, comes at once and looks like this: ` +
	`a name that is not allowed does not resolve ("could not resolve host", DNS status REFUSED); ` +
	`a connection that is not allowed fails ("connection refused", "connection reset", "no route to host", ` +
	`"network is unreachable", "operation not permitted"); ` +
	`a site that is not allowed, on an address that others use too, gets the TLS alert "access denied", ` +
	`or in plain HTTP a response 403 with the field X-Sandbox-Refused, ` +
	`whose body names the reason and the allowlist line that would open it. ` +
	`Web search and web fetch at the model's provider (the WebSearch tool) are refused too, unless the user allowed them. ` +
	`Do not retry a refused destination, look for mirrors or tunnels, or try to change the firewall. ` +
	`Go on without it where you can, and say in your final answer which host names and ports were refused and what they were needed for. ` +
	`Where they exist, /run/sbx/audit.jsonl lists every refusal with its reason, and "sbx-init check HOST:PORT" explains one.`
