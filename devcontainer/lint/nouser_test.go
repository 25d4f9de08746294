package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
)

// A Dockerfile alone has no configuration that could name a user, so the words
// about it name none.
func TestWordsAboutAMissingUser(t *testing.T) {
	const dockerfile = "FROM debian:13\n"
	for _, c := range []struct{ name, file, message, hint string }{
		{"with a configuration", ".devcontainer/devcontainer.json", "no USER, and the configuration names no remoteUser",
			"create a user and end with USER, or set remoteUser"},
		{"a Dockerfile alone", ".devcontainer/Dockerfile", "no USER, so the container runs as the base image's user, mostly root",
			"create a user and end with USER"},
	} {
		p, err := devcontainer.Load(built(dockerfile, "}"), c.file, c.file)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, f := range lint.Check(p) {
			if f.Rule == "SBX725" {
				said += f.Message + "|" + f.Hint + "|" + strings.Split(dockerfile, "\n")[f.Line-1]
			}
		}
		if want := c.message + "|" + c.hint + "|FROM debian:13"; said != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, said, want)
		}
	}
}
