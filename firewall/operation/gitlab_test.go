package operation

import (
	"net/http"
	"strings"
	"testing"
)

const gitlabEntryText = "gitlab:Acme/Tools/app mergerequests.create, mergerequests.update, mergerequests.comment, " +
	"issues.create, issues.comment"

var jsonHeader = http.Header{"Content-Type": {"application/json; charset=utf-8"}}

// askGitLab asks "METHOD PATH BODY" below the API of a host.
func askGitLab(t *testing.T, r *Rules, host, text string) Decision {
	t.Helper()
	method, rest, _ := strings.Cut(text, " ")
	path, body, _ := strings.Cut(rest, " ")
	header := http.Header{}
	if body != "" {
		header = jsonHeader
	}
	return ask(t, r, NewMemory(), method, host+"/api/v4/"+path, body, header)
}

func TestGitLabOperations(t *testing.T) {
	r := compile(t, gitlabEntryText, "gitlab:git.example.com/acme/app pipelines.retry", "git:gitlab.com/acme/app")
	const app = "projects/acme%2Ftools%2Fapp"
	for _, text := range []string{
		"GET user", "GET version", "GET " + app, "GET projects/ACME%2ftools%2FApp", "GET " + app + "/merge_requests?state=opened",
		"HEAD " + app + "/issues/3/notes",
		"GET " + app + "/repository/files/a%2Fb.txt/raw?ref=main", "GET " + app + "/repository/branches/agent%2Fx",
		"GET " + app + "/pipelines/7/jobs",
		"POST " + app + `/merge_requests {"source_branch":"agent/x","target_branch":"main","title":"t","description":"see docs/a.md\n- one"}`,
		"PUT " + app + `/merge_requests/3 {"title":"t","state_event":"close"}`,
		"POST " + app + `/merge_requests/3/notes {"body":"done: 1/2"}`,
		"POST " + app + `/issues {"title":"t"}`, "POST " + app + `/issues/4/discussions/aa/notes {"body":"yes"}`,
	} {
		if d := askGitLab(t, r, "gitlab.com", text); !d.Allowed {
			t.Errorf("%s: %+v", text, d)
		}
	}
	if d := askGitLab(t, r, "git.example.com", "POST projects/acme%2Fapp/pipelines/7/retry"); !d.Allowed ||
		d.Rule != "gitlab:git.example.com/acme/app pipelines.retry" {
		t.Errorf("%+v", d)
	}
	if d := ask(t, r, NewMemory(), "GET", "gitlab.com/acme/app.git/info/refs?service=git-upload-pack", "", nil); !d.Allowed {
		t.Errorf("git at the same host: %+v", d)
	}
	for wide, narrow := range map[string]string{
		gitlabEntryText: "gitlab:acme/tools/app issues.comment", "gitlab:gitlab.com/acme/app issues.create": "gitlab:acme/app",
	} {
		if !compile(t, wide).Covers(narrow) || compile(t, narrow).Covers(wide) {
			t.Errorf("%q and %q", wide, narrow)
		}
	}
	if text, reads := Words("gitlab:acme/app issues.create"); reads ||
		text != "GitLab's API at gitlab.com: read acme/app, and there issues.create" {
		t.Errorf("%q", text)
	}
	for _, wrong := range []string{
		"gitlab:", "gitlab:acme", "gitlab:acme/* issues.create", "gitlab:*/app", "gitlab:acme//app", "gitlab:acme/../app",
		"gitlab:*.example.com/acme/app",
		"gitlab:git.example.com/app", "gitlab:acme/app everything", "gitlab:acme%2fapp", "gitlab:acme/app/-/issues", "gitlab:192.0.2.1/acme/app",
	} {
		if _, problems := Compile([]string{wrong}); len(problems) == 0 || problems[0].Hint == "" {
			t.Errorf("%q: %+v", wrong, problems)
		}
	}
}

func TestAttackOperationGitLab(t *testing.T) {
	r := compile(t, gitlabEntryText, "gitlab:git.example.com/acme/app")
	const app = "projects/acme%2Ftools%2Fapp"
	comment := "gitlab.com/api/v4/" + app + "/issues/1/notes"
	for name, header := range map[string]http.Header{
		"a form": {"Content-Type": {"application/x-www-form-urlencoded"}}, "no type": {},
		"parts":  {"Content-Type": {"multipart/form-data; boundary=x"}},
		"sudo":   {"Content-Type": {"application/json"}, "Sudo": {"root"}},
		"zipped": {"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
	} {
		if d := ask(t, r, NewMemory(), "POST", comment, `{"body":"x"}`, header); d.Allowed {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for _, host := range []string{"git.example.com", "gitlab.com"} { // each host's entries are its own
		if d := askGitLab(t, r, host, `POST projects/acme%2Fapp/issues {"title":"t"}`); d.Allowed {
			t.Errorf("%s: %+v", host, d)
		}
	}
	for _, path := range []string{"gitlab.com/api/graphql", "gitlab.com/api/v3/projects/acme%2Ftools%2Fapp", "gitlab.com/-/graphql-explorer",
		"gitlab.com/acme/tools/app", "gitlab.com/oauth/token"} {
		if d := ask(t, r, NewMemory(), "POST", path, "{}", jsonHeader); d.Allowed {
			t.Errorf("%s: %+v", path, d)
		}
	}
}
