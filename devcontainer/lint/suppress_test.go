package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
)

func TestSuppression(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"above a member", "{\"image\": \"a:1\",\n// sbx-ignore SBX402: a reason\n\"privileged\": true}", ""},
		{"on the line", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore SBX402: a reason\n}", ""},
		{"block comment", "{\"image\": \"a:1\",\n\"privileged\": /* sbx-ignore SBX402: a reason */ true}", ""},
		{"inside what follows", "{\"image\": \"a:1\",\n// sbx-ignore SBX403: a reason\n\"capAdd\": [\n\"SYS_NICE\",\n\"SYS_ADMIN\"]}", ""},
		{"one element", "{\"image\": \"a:1\", \"capAdd\": [\n// sbx-ignore SBX403: a reason\n\"SYS_ADMIN\",\n\"SYS_PTRACE\"]}", "SBX403"},
		{"whole file", "// sbx-ignore SBX402 SBX403: a reason\n{\"image\": \"a:1\", \"privileged\": true,\n\"capAdd\": [\"SYS_ADMIN\"]}", ""},
		{"several rules", "{\"image\": \"a:1\",\n\"privileged\": \"true\" // sbx-ignore SBX301, SBX402: a reason\n}", ""},
		{"another rule", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore SBX403: a reason\n}", "SBX108 SBX402"},
		{"another line", "{\"image\": \"a:1\", // sbx-ignore SBX402: a reason\n\"privileged\": true}", "SBX108 SBX402"},
		{"no reason", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore SBX402\n}", "SBX107 SBX402"},
		{"empty reason", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore SBX402:  \n}", "SBX107 SBX402"},
		{"no rule", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore: all\n}", "SBX107 SBX402"},
		{"by name", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore Privileged, sbx403: a reason\n}", "SBX108"},
		{"a name with hyphens", "{\"image\": \"a:1\",\n\"initializeCommand\": \"make\" // sbx-ignore initialize-command: a reason\n}", ""},
		{"a family", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore SBX4xx: a reason\n}", "SBX107 SBX402"},
		{"a category", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore supply-chain: a reason\n}", "SBX107 SBX402"},
		{"unknown rule", "{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore SBX499: a reason\n}", "SBX107 SBX402"},
		{"not itself", "{\"image\": \"a:1\" // sbx-ignore SBX108, SBX107: a reason\n}", "SBX108"},
		{"only a text", "{\"image\": \"a:1\", \"name\": \"// sbx-ignore SBX402\"}", ""},
		{"line ends", "{\"image\": \"a:1\",\r\n// sbx-ignore SBX402: a reason\r\n\"privileged\": true\r\n}\r\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings := alone(tt.src)
			if got := reported(findings); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, findings)
			}
		})
	}
}

// What a comment cannot name is said as it is: a family is no rule that does not exist.
func TestSuppressionSaysWhatItTakes(t *testing.T) {
	for word, want := range map[string]string{"SBX4xx": "names several rules with SBX4xx", "security": "names several rules with security",
		"privilegd": "there is no rule privilegd", "SBX499": "there is no rule SBX499"} {
		findings := alone("{\"image\": \"a:1\",\n\"privileged\": true // sbx-ignore " + word + ": a reason\n}")
		if !slices.ContainsFunc(findings, func(f diag.Finding) bool { return f.Rule == "SBX107" && strings.Contains(f.Message, want) }) {
			t.Errorf("%s: %v", word, findings)
		}
	}
}

func TestSuppressionInADockerfile(t *testing.T) {
	const config = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "dev"}`
	for _, tt := range []struct{ name, dockerfile, want string }{
		{"above", "FROM " + pinned + "\n# sbx-ignore SBX705: pinned by its server\nRUN useradd dev && \\\n  curl https://x | sh\n", ""},
		{"further comments",
			"FROM " + pinned + "\n# sbx-ignore SBX705: pinned by its server\n# more\nRUN useradd dev; curl https://x | sh\n", ""},
		{"the next but one", "FROM " + pinned + "\n# sbx-ignore SBX705: pinned by its server\nRUN useradd dev\nRUN curl https://x | sh\n",
			"SBX108 SBX705"},
		{"no reason", "FROM " + pinned + "\n# sbx-ignore SBX705\nRUN useradd dev; curl https://x | sh\n", "SBX107 SBX705"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings := check(t, config, devcontainer.Memory{".devcontainer/Dockerfile": tt.dockerfile})
			if got := reported(findings); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, findings)
			}
		})
	}
}
