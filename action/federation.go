package action

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sethvargo/go-githubactions"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
)

// FederationInputs are those of the Inputs by which the identity of the workflow's job takes
// the place of a key: GitHub signs who the job is, and the model API gives a token for that,
// which lasts for minutes (platform.claude.com, workload identity federation).
type FederationInputs struct {
	Rule           string `input:"anthropic_federation_rule_id"` // fdrl_…; "" = there is a key
	Organization   string `input:"anthropic_organization_id"`
	ServiceAccount string `input:"anthropic_service_account_id"` // svac_…; "" = the rule has one
	Workspace      string `input:"anthropic_workspace_id"`       // wrkspc_…; "" = the rule has one
	Audience       string `input:"anthropic_oidc_audience"`      // for which GitHub signs; "" = the API
}

func (p *inputParser) federation() FederationInputs {
	in := FederationInputs{
		Rule: p.word("anthropic_federation_rule_id"), Organization: p.word("anthropic_organization_id"),
		ServiceAccount: p.word("anthropic_service_account_id"), Workspace: p.word("anthropic_workspace_id"),
		Audience: p.word("anthropic_oidc_audience"),
	}
	all := in.Rule != "" && in.Organization != ""
	if any := in != (FederationInputs{}); any && !all {
		p.fail("the rule's page in the Claude Console shows both", "inputs anthropic_federation_rule_id and anthropic_organization_id "+
			"are needed together")
	}
	return in
}

// federation exchanges a job's identity for tokens of the model API.
type federation struct {
	FederationInputs
	getenv func(string) string
	hide   func(secret string) // from the log, before anything can write it
	api    *url.URL
	client *http.Client
	pause  time.Duration // before the second try; each later one waits twice as long
}

// exchange is the request's body (RFC 7523).
type exchange struct {
	Grant          string `json:"grant_type"`
	Assertion      string `json:"assertion"`
	Rule           string `json:"federation_rule_id"`
	Organization   string `json:"organization_id"`
	ServiceAccount string `json:"service_account_id,omitempty"`
	Workspace      string `json:"workspace_id,omitempty"`
}

// Bounds of the exchange. An identity can be exchanged once.
const (
	exchangeTries = 3
	exchangeTime  = 10 * time.Second
	exchangePause = time.Second
	maxExchanged  = 64 << 10 // bytes of an answer
)

// federated is the credential of a job without a key.
func (s Sandboxed) federated(job Job, api *url.URL) credproxy.Credential {
	f := federation{
		FederationInputs: job.Inputs.FederationInputs, getenv: s.Getenv, hide: job.Hide, api: api, pause: exchangePause,
		client: &http.Client{
			Timeout: exchangeTime,
			// The identity is for the API alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	return credproxy.Minted(f.mint)
}

// errIdentity reports a job that may not have its identity, or one that the API gives no token.
var errIdentity = errors.New("the job's identity was not exchanged for a token of the model API")

// mint gets a token and how long it lasts. It tries again after a failure that may pass.
func (f federation) mint(ctx context.Context) (token string, lasts time.Duration, err error) {
	for try := range exchangeTries {
		var again bool
		if token, lasts, again, err = f.once(ctx); err == nil || !again {
			return token, lasts, err
		}
		select {
		case <-time.After(f.pause << try):
		case <-ctx.Done():
			return "", 0, ctx.Err()
		}
	}
	return "", 0, unansweredError{err}
}

// once tries it; again says that another try may help.
func (f federation) once(ctx context.Context) (token string, lasts time.Duration, again bool, err error) {
	signer := githubactions.New(githubactions.WithGetenv(f.getenv), githubactions.WithHTTPClient(f.client))
	identity, err := signer.GetIDToken(ctx, cmp.Or(f.Audience, credproxy.DefaultUpstream))
	if missing := (*githubactions.EnvMissingError)(nil); errors.As(err, &missing) {
		err = diag.WithHint(fmt.Errorf("%w: GitHub gives this job none", errIdentity), "the job needs permissions: id-token: write, which a "+
			"pull request of a fork never has")
		return "", 0, false, err
	}
	if err != nil {
		return "", 0, true, fmt.Errorf("%w: asking GitHub for it: %w", errIdentity, withoutBody(err))
	}
	f.hide(identity)
	asked, err := json.Marshal(exchange{
		Grant: "urn:ietf:params:oauth:grant-type:jwt-bearer", Assertion: identity,
		Rule: f.Rule, Organization: f.Organization, ServiceAccount: f.ServiceAccount, Workspace: f.Workspace,
	})
	if err != nil {
		return "", 0, false, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.api.JoinPath("v1/oauth/token").String(), bytes.NewReader(asked))
	if err != nil {
		return "", 0, false, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Anthropic-Beta", "oauth-2025-04-20,oidc-federation-2026-04-01")
	resp, err := f.client.Do(request)
	if err != nil {
		return "", 0, true, fmt.Errorf("%w: %w", errIdentity, err)
	}
	defer resp.Body.Close()
	return f.exchanged(resp)
}

// withoutBody is an error without what a server wrote, which could repeat a secret.
func withoutBody(err error) error {
	if failed := (*githubactions.RequestFailedError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("it answers %d", failed.StatusCode)
	}
	return err
}

// exchanged reads the API's answer (RFC 6749, 5.1 and 5.2).
func (f federation) exchanged(resp *http.Response) (token string, lasts time.Duration, again bool, err error) {
	var said struct {
		Token   string  `json:"access_token"`
		Type    string  `json:"token_type"`
		Expires float64 `json:"expires_in"` // seconds
	}
	if resp.StatusCode != http.StatusOK {
		again = resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
		err = fmt.Errorf("%w: %s answers %d (request %s)", errIdentity, f.api.Host, resp.StatusCode,
			cmp.Or(NeutralLine(resp.Header.Get("Request-Id"), 100), "without an id"))
		if !again {
			err = diag.WithHint(err, "the rule has to match the job's identity (repository, branch, event, audience), and one for several "+
				"workspaces needs anthropic_workspace_id; the Workload identity page of the Claude Console says why it did not")
		}
		return "", 0, again, err
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, maxExchanged)).Decode(&said)
	lasting := said.Expires > 0 && said.Expires <= maxTimeout.Seconds()
	if err != nil || said.Token == "" || said.Type != "" && !strings.EqualFold(said.Type, "bearer") || !lasting {
		return "", 0, false, fmt.Errorf("%w: %s answers with no token of the form that was asked for", errIdentity, f.api.Host)
	}
	f.hide(said.Token)
	return said.Token, time.Duration(said.Expires * float64(time.Second)), false, nil
}

// unansweredError is why no token came in all tries, each of which could have got one.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

// notExchanged is the report of a job that has no token.
func notExchanged(err error) (Report, error) {
	conclusion := agent.AuthError
	if errors.As(err, new(unansweredError)) {
		conclusion = agent.APIError
	}
	return Report{Outcome: agent.Outcome{Conclusion: conclusion, Message: err.Error()}}, err
}
