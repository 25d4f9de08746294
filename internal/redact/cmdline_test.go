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
		args := arguments(line)
		if got := r.CommandLine(args, 300); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", line, got, want)
		}
	}
}

// arguments reads a command line of a table: words, in which | is a space.
func arguments(line string) []string {
	args := strings.Fields(line)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "|", " ")
	}
	return args
}

// Each line has S3CRET in a place where people and programs write secrets.
func TestAttackSecretOnACommandLine(t *testing.T) {
	r := New(Options{Patterns: true})
	for _, line := range []string{
		// A header's value is all of it, whatever scheme it begins with.
		"curl -H Authorization:|ApiKey|S3CRET https://example.org",
		"curl -H authorization:|Bot|S3CRET https://example.org",
		"curl -HAuthorization:|Bot|S3CRET https://example.org",
		"curl --header=Authorization:|Bearer|S3CRET https://example.org",
		"curl -H Authorization:|Digest|username=\"me\",|response=\"S3CRET\" x",
		"curl -H Cookie:|a=b;|sid=S3CRET x",
		"curl -H Ocp-Apim-Subscription-Key:|S3CRET x",
		"git -c http.extraheader=AUTHORIZATION:|basic|S3CRET fetch",
		"git -c http.https://example.org/.extraheader=AUTHORIZATION:|basic|S3CRET fetch",
		"curl|-H|Authorization:|Bot|S3CRET|https://example.org",
		// Flags.
		"curl -b a=b;|sid=S3CRET x", "curl -ume:S3CRET x", "curl --user=me:S3CRET x", "curl --pass S3CRET x",
		"sshpass -p S3CRET ssh x", "sshpass -pS3CRET ssh x", "mysql -pS3CRET db", "redis-cli -a S3CRET ping",
		"docker login -u me -p S3CRET example.org",
		"npm config set //example.org/:_authToken S3CRET",
		"aws configure set aws_secret_access_key S3CRET",
		"git config user.password S3CRET",
		// Shell text, and programs that write their own command line.
		"bash -c tool|--token|S3CRET|--x", "bash -c tool|--token|'S3CRET|S3CRET'|--x",
		"bash -c curl|-u|me:S3CRET|https://example.org",
		"bash -c curl|-H|'Authorization:|Digest|username=\"me\",|response=\"S3CRET\"'|x",
		"bash -c curl|-H|\"Authorization:|ApiKey|S3CRET\"|x",
		"bash -c FOO_TOKEN='S3CRET|S3CRET'|make", "bash -c export|FOO_TOKEN=\"a;S3CRET\";|make",
		"bash -c bash|-c|'tool|--token|S3CRET'",
		"npm|install|--token|S3CRET|left",
		// Variables.
		"env DB_PASS=S3CRET make", "env PASSWORD=correct|horse|S3CRET make", "env PASSWORD=a,S3CRET}S3CRET;S3CRET&S3CRET make",
		"env ENCRYPTION_KEY=S3CRET make", "docker run -e TOKEN=S3CRET x",
		// Data.
		"curl -d {\"password\":|\"a\\\"S3CRET\"} x", "curl -d grant=x&client_secret=S3CRET&a=b x",
		"python3 -c token|=|'S3CRET|S3CRET' x",
		"python3 -c get(u,|auth=('me',|'S3CRET'))",
		"python3 -c get(u,|headers={'Authorization':|'Bot|S3CRET'})",
		"node -e fetch(u,|{headers:|{Authorization:|`Bearer|S3CRET`}})",
		// URLs.
		"curl https://me:a@S3CRET@example.org/ x", "psql postgres://me:S3CRET@example.org/db",
		"curl https://example.org/c?sv=2020&sig=S3CRET", "npm publish --otp S3CRET",
		"curl https://hooks.slack.com/services/T0/B0/S3CRET x",
		"ssh-add -----BEGIN|OPENSSH|PRIVATE|KEY-----|S3CRET|-----END|OPENSSH|PRIVATE|KEY-----",
	} {
		if got := r.CommandLine(arguments(line), 300); strings.Contains(got, "S3CRET") {
			t.Errorf("%s\nbecame %s", line, got)
		}
	}
}

// Keys that no place gives away, by their form.
func TestAttackTokenOnACommandLine(t *testing.T) {
	r := New(Options{Patterns: true})
	for _, token := range []string{
		"AKIA" + "IOSFODNN7EXAMPLE",
		"wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",    // AWS: secret, from its documentation
		"MDEyMzQ1Njc4OWFiY2RlZkdISUpLTE1OT1BxcnN0dXY=",     // base64 of 32 bytes
		"q83vEjRWeJq83vEjRWeJ_-Q3ZmY0YTQ5N2EtZjQ1Zi00",     // URL-safe
		"xoxb" + "-123456789012-abcdefghijkl",              // Slack
		"xoxa" + "-2-123456789012-abcdefghijkl",            //
		"xoxs" + "-123456789012-abcdefghijkl",              //
		"xapp" + "-1-A012345678-123456789-abcdefabcdef",    //
		"xoxe." + "xoxp-1-abcdefghijklmnopqrst",            //
		"eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJ.abcdefg", // JWT, "typ" first
		"eyJraWQiOiIxIiwiYWxnIjoiSFMyNTYifQ.eyJ.abcdefghi", // JWT, "kid" first
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk", // JWT
		"sk-ant-" + "api03-abcdefghijklmnopqrstuvwx",
		"sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123",
		"sk_live_" + "abcdefghijklmnopqrstuvwx",
		"hf_" + "abcdefghijklmnopqrstuvwxyzabcdefgh",
		"pypi-" + "AgEIcHlwaS5vcmcCJDU0abcdefgh",
		"dckr_pat_" + "abcdefghijklmnopqrstuvwxyz",
		"npm_" + strings.Repeat("a1", 18),
		"ghp_" + strings.Repeat("a1", 18),
		"github_pat_" + strings.Repeat("a1", 30),
	} {
		for _, args := range [][]string{{"tool", token}, {"sh", "-c", "echo '" + token + "' | tool"}, {"tool", "--x=" + token}} {
			got := r.CommandLine(args, 300)
			for i := 8; i+8 <= len(token); i++ { // the prefix says of what kind it was
				if strings.Contains(got, token[i:i+8]) {
					t.Errorf("%q became %s", args, got)
					break
				}
			}
		}
	}
}

// The useful part of a record stays in it.
func TestCommandLineKeepsWhatIsNoSecret(t *testing.T) {
	r := New(Options{Patterns: true})
	for _, line := range []string{
		"git log --author=me --since=1 --oneline",
		"git checkout 0123456789abcdef0123456789abcdef01234567",
		"docker pull example.org/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"sort --key=2 /tmp/file", "grep -rn password src/", "env PWD=/work make",
		"node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js --resume 550e8400-e29b-41d4-a716-446655440000",
		"go test -run TestWhatEverybodyReadsIsWrittenOnlyOnceAndNeverAgain2 ./internal/redact",
		"bash -c cd|/work|&&|curl|-sS|'https://example.org/a?b=c'|-o|/dev/null",
		"git commit -m Fix|the|second|of|two|bugs",
		"docker run -p 8080:80 nginx",
	} {
		args := arguments(line)
		if got := r.CommandLine(args, 300); got != strings.Join(args, " ") {
			t.Errorf("%s\nbecame %s", line, got)
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
	got := SecretsOf([]string{"PATH=/bin", "NPM_TOKEN=a", "DB_PASSWORD=b", "OPENAI_API_KEY=c", "SSH_KEY=d", "KEYBOARD=us",
		"HOME=/", "EMPTY_TOKEN="})
	if !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("%q", got)
	}
}
