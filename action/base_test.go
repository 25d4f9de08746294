package action

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/agent"
)

// objects is a stand-in of GitHub's trees and blobs, by path of the API.
type objects map[string]string

func (o objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := o[strings.TrimPrefix(r.URL.Path, "/repos/o/r")]
	if !ok || r.Header.Get("Authorization") != "Bearer "+jobToken {
		http.NotFound(w, r)
		return
	}
	fmt.Fprint(w, text)
}

func sha(n int) string { return fmt.Sprintf("%040x", n) }

// tree writes a tree of lines "MODE TYPE NUMBER PATH".
func tree(lines ...string) string {
	var entries []string
	for _, line := range lines {
		var mode, kind, path string
		var n int
		_, _ = fmt.Sscan(line, &mode, &kind, &n, &path)
		entries = append(entries, fmt.Sprintf(`{"mode":%q,"type":%q,"sha":%q,"path":%q}`, mode, kind, sha(n), path))
	}
	return `{"tree":[` + strings.Join(entries, ",") + `]}`
}

func blob(text string) string {
	return fmt.Sprintf(`{"encoding":"base64","content":%q}`, base64.StdEncoding.EncodeToString([]byte(text)))
}

func repository() objects {
	return objects{
		"/collaborators/ann/permission": `{"permission":"write"}`,
		"/git/trees/" + sha(1):          tree("100644 blob 10 CLAUDE.md", "040000 tree 2 .claude", "100644 blob 11 main.go", "040000 tree 4 sub"),
		"/git/trees/" + sha(2): tree("100644 blob 12 CLAUDE.md", "040000 tree 3 rules", "100644 blob 13 rules/style.md",
			"100644 blob 14 skills/build/SKILL.md",
			"120000 blob 15 skills/build/link.md", "100644 blob 16 settings.json", "100644 blob 17 agents/a.md"),
		"/git/trees/" + sha(4):  tree("100644 blob 18 CLAUDE.md"),
		"/git/blobs/" + sha(10): blob("base text\n"), "/git/blobs/" + sha(12): blob("more base text"), "/git/blobs/" + sha(13): blob("a rule"),
		"/git/blobs/" + sha(14): blob("---\nname: build\ndescription: d\nhooks:\n  Stop: evil\n---\nRun make.\n"),
		"/git/blobs/" + sha(16): blob(`{"hooks":{}}`),
		"/git/blobs/" + sha(17): blob("---\nname: a\ndescription: d\n---\nBe kind.\n"), "/git/blobs/" + sha(18): blob("of the folder\n"),
	}
}

// Attack: a fork's pull request brings instructions of its own. Claude has the base's.
func TestAttackAForksInstructions(t *testing.T) {
	api := httptest.NewServer(repository())
	defer api.Close()
	for _, c := range []struct {
		name, base, folder, want, warning string
	}{
		{"the base's", sha(1), "", "CLAUDE.md=base text|more base text|a rule; agents/a.md; skills/build/SKILL.md", ""},
		{"a folder's", sha(1), "sub", "CLAUDE.md=of the folder", ""},
		{"unknown", sha(9), "", "", "reach Claude"},
		{"no name", "../../../users", "", "", "no name of a commit"},
		{"none", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			event, workspace := filepath.Join(dir, "event.json"), filepath.Join(dir, "w")
			write(t, filepath.Join(workspace, "CLAUDE.md"), "EVIL")
			write(t, filepath.Join(workspace, "sub", "CLAUDE.md"), "EVIL")
			write(t, filepath.Join(workspace, ".claude", "skills", "build", "SKILL.md"), "EVIL")
			write(t, event, fmt.Sprintf(`{"repository":{"full_name":"o/r"},"sender":{"login":"ann"},
				"pull_request":{"base":{"sha":%q},"head":{"repo":{"full_name":"x/r"}}}}`, c.base))
			r := runStep(t, t.Context(), map[string]string{
				"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": event, "GITHUB_REPOSITORY": "o/r", "GITHUB_ACTOR": "ann",
				"GITHUB_API_URL":   api.URL,
				"GITHUB_WORKSPACE": workspace, "INPUT_GITHUB_TOKEN": jobToken, "INPUT_WORKING_DIRECTORY": c.folder,
			}, func(_ context.Context, job Job) (Report, error) {
				var got []string
				if job.Texts != nil {
					for _, f := range job.Texts.Files {
						if strings.Contains(string(f.Data), "EVIL") || strings.Contains(string(f.Data), "evil") || strings.Contains(f.Path, "settings") {
							t.Errorf("%s: %s", f.Path, f.Data)
						}
						name := f.Path
						if name == "CLAUDE.md" {
							name += "=" + strings.ReplaceAll(strings.TrimSpace(string(f.Data)), "\n\n", "|")
						}
						got = append(got, name)
					}
				}
				if strings.Join(slices.Sorted(slices.Values(got)), "; ") != c.want || !job.Untrusted || job.instructions().Memory ||
					job.instructions().Texts {
					t.Errorf("%q, want %q", got, c.want)
				}
				return Report{Outcome: agent.Outcome{Conclusion: agent.Success}, Result: &agent.Result{Text: "done"}}, nil
			})
			if r.conclusion != agent.Success || !strings.Contains(r.log, c.warning) || (c.warning == "") == strings.Contains(r.log, "::warning") {
				t.Errorf("%s\n%s", r.conclusion, r.log)
			}
		})
	}
}
