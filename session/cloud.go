package session

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"github.com/org/claude-sandbox/credproxy"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// cloudAPI reads from the variables of Claude Code that a cloud serves the model; ok is false
// when none says so. The token of ANTHROPIC_AUTH_TOKEN goes to an address that is named alone.
func cloudAPI(getenv func(string) string) (upstream *url.URL, credential credproxy.Credential, ok bool, err error) {
	var base, secret, hint string
	read := credproxy.BedrockKey
	region := cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))
	switch {
	case isOn(getenv("CLAUDE_CODE_USE_BEDROCK")) && isOn(getenv("CLAUDE_CODE_USE_VERTEX")):
		err := errors.New("CLAUDE_CODE_USE_BEDROCK and CLAUDE_CODE_USE_VERTEX are both set")
		return nil, credential, true, exitcode.With(exitcode.NoSecret, diag.WithHint(err, "unset the one that is not meant"))
	case isOn(getenv("CLAUDE_CODE_USE_BEDROCK")):
		base, secret = getenv("ANTHROPIC_BEDROCK_BASE_URL"), getenv("AWS_BEARER_TOKEN_BEDROCK")
		if base != "" {
			secret = cmp.Or(secret, getenv("ANTHROPIC_AUTH_TOKEN"))
		} else if region != "" {
			base = "https://bedrock-runtime." + region + ".amazonaws.com"
		}
		hint = "for Bedrock set AWS_REGION, or ANTHROPIC_BEDROCK_BASE_URL of a gateway, and AWS_BEARER_TOKEN_BEDROCK, an API key of Bedrock: " +
			"requests are not signed"
	case isOn(getenv("CLAUDE_CODE_USE_VERTEX")):
		region, read = getenv("CLOUD_ML_REGION"), credproxy.VertexToken
		base, secret = getenv("ANTHROPIC_VERTEX_BASE_URL"), getenv("ANTHROPIC_AUTH_TOKEN")
		if project := getenv("ANTHROPIC_VERTEX_PROJECT_ID"); base != "" && region != "" && project != "" {
			base += "/projects/" + url.PathEscape(project) + "/locations/" + region
		} else {
			base = ""
		}
		hint = "for Vertex AI set ANTHROPIC_VERTEX_BASE_URL, such as https://REGION-aiplatform.googleapis.com/v1, CLOUD_ML_REGION, " +
			"ANTHROPIC_VERTEX_PROJECT_ID, and ANTHROPIC_AUTH_TOKEN, as from 'gcloud auth print-access-token', which lasts an hour"
	default:
		return nil, credential, false, nil
	}
	fail := func(err error) (*url.URL, credproxy.Credential, bool, error) {
		return nil, credproxy.Credential{}, true, exitcode.With(exitcode.NoSecret, diag.WithHint(err, "%s", hint))
	}
	if region != "" && !regionName.MatchString(region) { // it is a part of an address
		return fail(fmt.Errorf("%q is no region", region))
	}
	if base == "" || secret == "" {
		return fail(errors.New("there is no key for the model API"))
	}
	if upstream, err = url.Parse(base); err != nil || upstream.Host == "" {
		return fail(errors.New("the address of the cloud's API is no URL"))
	}
	if err := credproxy.CheckUpstream(upstream); err != nil {
		return fail(err)
	}
	if credential, err = read(secret, cmp.Or(region, "us-east-1")); err != nil {
		return fail(fmt.Errorf("the key of the cloud's API: %w", err))
	}
	return upstream, credential, true, nil
}

var regionName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// AsksCloud reports whether the variables of Claude Code say that a cloud serves the model.
func AsksCloud(getenv func(string) string) bool {
	return isOn(getenv("CLAUDE_CODE_USE_BEDROCK")) || isOn(getenv("CLAUDE_CODE_USE_VERTEX"))
}

// isOn is how Claude Code reads such a variable.
func isOn(value string) bool { return value != "" && value != "0" && value != "false" }
