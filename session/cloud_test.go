package session

import (
	"strings"
	"testing"
)

// The variables by which Claude Code asks a cloud count where there is no key of Anthropic's. A
// token whose address nobody named goes nowhere.
func TestCloudsByTheVariablesOfClaudeCode(t *testing.T) {
	const key = "cloud-key-canary"
	for _, c := range []struct {
		env  string
		want string // the upstream and a variable of the agent's, or what the error says
	}{
		{"CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-1 AWS_BEARER_TOKEN_BEDROCK=" + key,
			"https://bedrock-runtime.eu-west-1.amazonaws.com AWS_REGION=eu-west-1"},
		{"CLAUDE_CODE_USE_BEDROCK=1 ANTHROPIC_BEDROCK_BASE_URL=https://gw.example.com/bedrock ANTHROPIC_AUTH_TOKEN=" + key,
			"https://gw.example.com/bedrock AWS_REGION=us-east-1"},
		{
			"CLAUDE_CODE_USE_VERTEX=1 ANTHROPIC_VERTEX_BASE_URL=https://us-east5-aiplatform.googleapis.com/v1 CLOUD_ML_REGION=us-east5 " +
				"ANTHROPIC_VERTEX_PROJECT_ID=p ANTHROPIC_AUTH_TOKEN=" + key,
			"https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5 CLOUD_ML_REGION=us-east5"},
		{"CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-1 AWS_BEARER_TOKEN_BEDROCK=" + key + " ANTHROPIC_API_KEY=sk-ant-api03-0123456789",
			"https://api.anthropic.com "},
		{"CLAUDE_CODE_USE_BEDROCK=0 AWS_BEARER_TOKEN_BEDROCK=" + key, "there is no key for the model API"},
		{"CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-1 ANTHROPIC_AUTH_TOKEN=" + key, "there is no key for the model API"},
		{"CLAUDE_CODE_USE_BEDROCK=1 AWS_BEARER_TOKEN_BEDROCK=" + key, "there is no key for the model API"},
		{"CLAUDE_CODE_USE_BEDROCK=1 CLAUDE_CODE_USE_VERTEX=1 AWS_REGION=eu-west-1 AWS_BEARER_TOKEN_BEDROCK=" + key, "are both set"},
		{"CLAUDE_CODE_USE_BEDROCK=1 AWS_BEARER_TOKEN_BEDROCK=" + key + " ANTHROPIC_BEDROCK_BASE_URL=http://gw.example.com", "travel unencrypted"},
		{"CLAUDE_CODE_USE_BEDROCK=1 AWS_BEARER_TOKEN_BEDROCK=" + key + " AWS_REGION=evil.test/", "is no region"},
		{"CLAUDE_CODE_USE_VERTEX=1 ANTHROPIC_VERTEX_BASE_URL=https://x.test ANTHROPIC_AUTH_TOKEN=" + key, "there is no key for the model API"},
	} {
		upstream, credential, err := ModelAPI(func(name string) string {
			for _, v := range strings.Fields(c.env) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
		got := ""
		if err != nil {
			got = err.Error()
		} else if got = upstream.String() + " "; credential.OfCloud() {
			got += credential.Variables("http://127.0.0.1:8790")[1]
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) || strings.Contains(got, key) {
			t.Errorf("%s: %s, want %s", c.env, got, c.want)
		}
	}
}
