package redact

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandLineShowsNoSecret(t *testing.T) {
	r := New(Options{Secrets: []string{"hunter2hunter2"}, Patterns: true})
	for line, want := range map[string]string{
		"curl -sS https://example.org/x?a=1&b=2":                                    "curl -sS https://example.org/x?a=1&b=2",
		"git fetch --all --prune origin":                                            "git fetch --all --prune origin",
		"echo hunter2hunter2":                                                       "echo [redacted]",
		"mysql --password S3CRET -h db":                                             "mysql --password [redacted] -h db",
		"mysql --password=S3CRET -h db":                                             "mysql --password=[redacted] -h db",
		"tool --api-key S3CRET --client-secret S3CRET x":                            "tool --api-key [redacted] --client-secret [redacted] x",
		"env API_TOKEN=S3CRET make":                                                 "env API_TOKEN=[redacted] make",
		"curl -u me:S3CRET https://example.org":                                     "curl -u [redacted] https://example.org",
		"curl https://me:S3CRET@example.org/":                                       "curl https://[redacted]@example.org/",
		"curl -H Authorization:|Bearer|S3CRET https://example.org":                  "curl -H Authorization: [redacted] https://example.org",
		"curl -H Cookie:|sid=S3CRET x":                                              "curl -H Cookie: [redacted] x",
		"curl https://example.org/?access_token=S3CRET&x=1":                         "curl https://example.org/?access_token=[redacted]&x=1",
		"curl -d {\"password\":\"S3CRET\"} x":                                       "curl -d {\"password\":\"[redacted]\"} x",
		"sh -c export|GITHUB_TOKEN=ghp_" + strings.Repeat("a", 36) + "|&&|git|push": "sh -c export GITHUB_TOKEN=[redacted] && git push",
		"git clone https://x-access-token:S3CRET@github.com/a/b":                    "git clone https://[redacted]@github.com/a/b",
		"gpg --passphrase S3CRET -c f":                                              "gpg --passphrase [redacted] -c f",
		"npm publish --//example.org/:_authToken=S3CRET":                            "npm publish --//example.org/:_authToken=[redacted]",
	} {
		args := strings.Fields(line)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "|", " ")
		}
		if got := r.CommandLine(args, 300); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, want)
		}
	}
}

// A secret that the limit would cut in two is redacted before it is cut, and a
// command line of any length costs little.
func TestCommandLineIsCutBehindRedaction(t *testing.T) {
	r := New(Options{Secrets: []string{"hunter2hunter2"}})
	got := r.CommandLine([]string{"echo", strings.Repeat("x", 80), "hunter2hunter2"}, 90)
	if strings.Contains(got, "hunt") || len(got) > 90 || !strings.HasSuffix(got, "...") {
		t.Errorf("%q", got)
	}
	if got := r.CommandLine(strings.Fields(strings.Repeat("word ", 100_000)), 100); len(got) > 100 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestSecretsOf(t *testing.T) {
	got := SecretsOf([]string{"PATH=/bin", "NPM_TOKEN=a", "DB_PASSWORD=b", "OPENAI_API_KEY=c", "SSH_KEY=d", "KEYBOARD=us", "HOME=/", "EMPTY_TOKEN="})
	if !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("%q", got)
	}
}
