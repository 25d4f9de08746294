package diag_test

import (
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
)

func TestSuggest(t *testing.T) {
	known := []string{"remoteUser", "runArgs", "capAdd", "forwardPorts", "pypi"}
	for word, want := range map[string]string{
		"remoteuser": "remoteUser", "run_args": "runArgs", "cap-add": "capAdd", "forwardPort": "forwardPorts",
		"remtoeUser": "remoteUser", "user": "", "x": "", "somethingElse": "",
		"pipy": "pypi", "npm": "", "pypy": "pypi",
	} {
		if got := diag.Suggest(word, known); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
}
