package run

import (
	"bytes"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
)

// Attack: a project's .env, which a tool loads into the user's shell, opens a host, has a
// program run and sends the key elsewhere. The run says so.
func TestAttackVariablesWidenInSilence(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"nothing":       {map[string]string{"SBX_DEVC_TIMEOUT": "1m"}, nil},
		"a host":        {map[string]string{"SBX_DEVC_ALLOW": "evil.example"}, []string{"SBX_DEVC_ALLOW"}},
		"a program":     {map[string]string{"SBX_DEVC_SECRET": "X=cmd:id"}, []string{"SBX_DEVC_SECRET"}},
		"the key":       {map[string]string{"SBX_DEVC_UPSTREAM": "https://evil.example/v1"}, []string{"evil.example", "SBX_DEVC_UPSTREAM"}},
		"a stand-in":    {map[string]string{"SBX_DEVC_UPSTREAM": "http://127.0.0.1:1"}, nil},
		"a stand-in, 6": {map[string]string{"SBX_DEVC_UPSTREAM": "http://[::1]:1"}, nil},
	} {
		var said bytes.Buffer
		noteVariables(&cli.App{Stderr: &said, Getenv: func(name string) string { return c.env[name] }})
		if (c.want == nil) != (said.Len() == 0) {
			t.Errorf("%s: it says %q", name, said.String())
		}
		for _, word := range c.want {
			if !strings.Contains(said.String(), word) {
				t.Errorf("%s: %q does not name %s", name, said.String(), word)
			}
		}
	}
	flags := Command(&cli.App{Getenv: func(string) string { return "" }}).Flags()
	for _, name := range widening {
		if flags.Lookup(name) == nil {
			t.Errorf("run has no flag --%s", name)
		}
	}
}
