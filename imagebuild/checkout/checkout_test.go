package checkout

import (
	"testing"
	"time"

	"github.com/org/claude-sandbox/imagebuild"
)

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestVariablesOfGitHubActions(t *testing.T) {
	c := Checkout{t.TempDir(), env(map[string]string{
		"GITHUB_REF": "refs/tags/v1.2.3", "GITHUB_SHA": "abc", "GITHUB_REPOSITORY": "me/sandbox", "SOURCE_DATE_EPOCH": "60",
		"GITHUB_SERVER_URL": "https://git.example", "GITHUB_WORKFLOW_REF": "me/sandbox/w.yml@main", "GITHUB_RUN_ID": "7",
		"GITHUB_RUN_ATTEMPT": "2",
	})}
	about := imagebuild.About{Revision: "mine"}
	c.Describe(t.Context(), &about)
	want := imagebuild.About{Title: "claude-sandbox", Revision: "mine", Version: "1.2.3", Source: "https://git.example/me/sandbox"}
	if about != want {
		t.Errorf("got %+v", about)
	}
	if date, err := c.Date(t.Context()); err != nil || !date.Equal(time.Unix(60, 0)) {
		t.Errorf("%v, %v", date, err)
	}
	run := imagebuild.Run{Builder: "https://git.example/me/sandbox/w.yml@main",
		Invocation: "https://git.example/me/sandbox/actions/runs/7/attempts/2"}
	if got := c.Run(); got != run {
		t.Errorf("got %+v", got)
	}
	if _, err := (Checkout{t.TempDir(), env(map[string]string{"SOURCE_DATE_EPOCH": "today"})}).Date(t.Context()); err == nil {
		t.Error("a date that is none is taken")
	}
}

func TestVersionIsAFullReleaseOnly(t *testing.T) {
	for ref, want := range map[string]string{
		"refs/tags/v1.2.3": "1.2.3", "refs/tags/v1.2.3-rc.1": "1.2.3-rc.1", "refs/tags/v1": "", "refs/tags/1.2.3": "", "refs/heads/main": "",
	} {
		var about imagebuild.About
		Checkout{t.TempDir(), env(map[string]string{"GITHUB_REF": ref})}.Describe(t.Context(), &about)
		if about.Version != want {
			t.Errorf("%s: version %q, want %q", ref, about.Version, want)
		}
	}
}

func TestWithoutARepositoryNothingIsKnown(t *testing.T) {
	c := Checkout{t.TempDir(), env(nil)}
	if ref, commit, run := c.Ref(t.Context()), c.Commit(t.Context()), c.Run(); ref != "" || commit != "" || run != (imagebuild.Run{}) {
		t.Errorf("%q, %q, %+v", ref, commit, run)
	}
	if date, err := c.Date(t.Context()); err != nil || time.Since(date) > time.Minute {
		t.Errorf("%v, %v", date, err)
	}
}
