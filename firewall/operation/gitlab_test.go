package operation

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const gitlabEntryText = "gitlab:Acme/Tools/app mergerequests.create, mergerequests.update, mergerequests.comment, issues.create, issues.comment"

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
		"GET user", "GET version", "GET " + app, "GET projects/ACME%2ftools%2FApp", "GET " + app + "/merge_requests?state=opened", "HEAD " + app + "/issues/3/notes",
		"GET " + app + "/repository/files/a%2Fb.txt/raw?ref=main", "GET " + app + "/repository/branches/agent%2Fx", "GET " + app + "/pipelines/7/jobs",
		"POST " + app + `/merge_requests {"source_branch":"agent/x","target_branch":"main","title":"t","description":"see docs/a.md\n- one"}`,
		"PUT " + app + `/merge_requests/3 {"title":"t","state_event":"close"}`,
		"POST " + app + `/merge_requests/3/notes {"body":"done: 1/2"}`,
		"POST " + app + `/issues {"title":"t"}`, "POST " + app + `/issues/4/discussions/aa/notes {"body":"yes"}`,
	} {
		if d := askGitLab(t, r, "gitlab.com", text); !d.Allowed {
			t.Errorf("%s: %+v", text, d)
		}
	}
	if d := askGitLab(t, r, "git.example.com", "POST projects/acme%2Fapp/pipelines/7/retry"); !d.Allowed || d.Rule != "gitlab:git.example.com/acme/app pipelines.retry" {
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
	if text, reads := Words("gitlab:acme/app issues.create"); reads || text != "GitLab's API at gitlab.com: read acme/app, and there issues.create" {
		t.Errorf("%q", text)
	}
	for _, wrong := range []string{
		"gitlab:", "gitlab:acme", "gitlab:acme/* issues.create", "gitlab:*/app", "gitlab:acme//app", "gitlab:acme/../app", "gitlab:*.example.com/acme/app",
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
	note := func(text string) string {
		body, err := json.Marshal(map[string]string{"body": text})
		if err != nil {
			t.Fatal(err)
		}
		return "POST " + app + "/issues/1/notes " + string(body)
	}
	for _, text := range []string{
		// other projects
		"GET projects/evil%2Fapp", "GET projects/acme%2Ftools%2Fapp2", "GET projects/acme%2Fapp", "GET projects/42", "GET projects", "GET groups/acme",
		`POST projects/evil%2Fapp/issues {"title":"t"}`, `POST projects/42/issues {"title":"t"}`, `POST projects/acme%2Ftools%2Fapp%2F..%2Fother/issues {"title":"t"}`,
		`POST projects/acme%252Ftools%252Fapp/issues {"title":"t"}`, `POST projects/acme/tools/app/issues {"title":"t"}`,
		"POST " + app + `/merge_requests {"source_branch":"x","target_branch":"main","title":"t","target_project_id":7}`,
		"POST " + app + `/merge_requests {"id":7,"source_branch":"x","target_branch":"main","title":"t"}`,
		"PUT " + app + `/merge_requests/3 {"title":"t","target_project_id":7}`, "POST " + app + `/issues/1/move {"to_project_id":7}`, "POST " + app + `/issues/1/clone {}`,
		"GET " + app + "/repository/compare?from=a&to=b&from_project_id=7", "GET " + app + "/repository/compare?from=a&to=b&From_Project_Id=7",
		"GET " + app + "/issues/1/links", "GET " + app + "/issues/1/related_merge_requests", "POST " + app + `/issues/1/links {"target_project_id":7,"target_issue_iid":1}`,
		// what no entry has
		"DELETE " + app, "DELETE " + app + "/issues/1", "PUT " + app + `/issues/1 {"title":"t"}`, "PUT " + app + "/merge_requests/3/merge", "POST " + app + "/merge_requests/3/approve",
		"POST " + app + `/fork {"namespace":"evil"}`, "PUT " + app + `/repository/files/a {"branch":"main","content":"x"}`, "POST " + app + `/repository/commits {"branch":"main"}`,
		"POST " + app + `/repository/branches {"branch":"x","ref":"main"}`, "POST " + app + `/hooks {"url":"https://evil.test"}`, "POST " + app + `/variables {"key":"A","value":"b"}`,
		"POST " + app + `/members {"user_id":1,"access_level":50}`, "POST " + app + `/deploy_keys {"key":"x"}`, "POST " + app + `/access_tokens {}`, "POST " + app + `/releases {}`,
		"POST " + app + `/pipeline {"ref":"main"}`, "POST " + app + `/trigger/pipeline {"ref":"main","token":"x"}`, "POST " + app + `/snippets {"title":"t"}`, "POST " + app + `/share {"group_id":1}`,
		"POST " + app + "/mirror/pull", "PUT " + app + `/transfer {"namespace":"evil"}`, "POST " + app + `/remote_mirrors {"url":"https://evil.test"}`, "POST " + app + "/uploads",
		"POST snippets {}", "POST projects {}", `POST user/keys {"key":"x"}`, "GET personal_access_tokens",
		// secrets of the project
		"GET " + app + "/variables", "GET " + app + "/pipelines/1/variables", "GET " + app + "/triggers", "GET " + app + "/hooks", "GET " + app + "/export/download", "GET " + app + "/runners",
		// commands in texts
		note("/move evil/app"), note("done\n/close"), note("done\r/merge"), note("  /copy_metadata #1"), note("x\u2028/close"), note("\u200b/close"), note("\ufeff/close"), note("a\v/close"), note("a\u0085/close"),
		"POST " + app + `/issues {"title":"t","description":"x\n/cc @evil\n/move evil/app"}`, "PUT " + app + `/merge_requests/3 {"description":"/merge"}`,
		// as another user, by another method, in other forms
		"GET " + app + "?sudo=root", "GET " + app + "?SUDO=root", "GET " + app + "?_method=DELETE", "GET " + app + "?%73udo=root", "POST " + app + `/issues?title=x {"title":"t"}`,
		"POST " + app + `/issues {"title":"t","title":"u"}`, "POST " + app + "/issues title=t", "POST " + app + `/issues ["title"]`, "POST " + app + `/issues/1%2F..%2F2/notes {"body":"x"}`,
		"POST " + app + `/issues/1/notes/ {"body":"x"}`, "POST " + app + `//issues/1/notes {"body":"x"}`, "WEBSOCKET " + app,
	} {
		if d := askGitLab(t, r, "gitlab.com", text); d.Allowed || d.Reason == "" {
			t.Errorf("%s: %+v", text, d)
		} else if d.Wants != "" && !askGitLab(t, compile(t, d.Wants), "gitlab.com", text).Allowed {
			t.Errorf("%s: the entry that it names does not allow it: %+v", text, d)
		}
	}
	comment := "gitlab.com/api/v4/" + app + "/issues/1/notes"
	for name, header := range map[string]http.Header{
		"a form": {"Content-Type": {"application/x-www-form-urlencoded"}}, "no type": {}, "parts": {"Content-Type": {"multipart/form-data; boundary=x"}},
		"sudo": {"Content-Type": {"application/json"}, "Sudo": {"root"}}, "zipped": {"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
		"another method": {"Content-Type": {"application/json"}, "X-Http-Method-Override": {"DELETE"}},
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
	for _, path := range []string{"gitlab.com/api/graphql", "gitlab.com/api/v3/projects/acme%2Ftools%2Fapp", "gitlab.com/-/graphql-explorer", "gitlab.com/acme/tools/app", "gitlab.com/oauth/token"} {
		if d := ask(t, r, NewMemory(), "POST", path, "{}", jsonHeader); d.Allowed {
			t.Errorf("%s: %+v", path, d)
		}
	}
}
