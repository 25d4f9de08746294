package operationtest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// GitLab is what GitLab's API would do.
func GitLab() Class {
	const app = "projects/acme%2Ftools%2Fapp"
	note := func(text string) string {
		body, err := json.Marshal(map[string]string{"body": text})
		if err != nil {
			panic(err) // it is a text
		}
		return "POST " + app + "/issues/1/notes " + string(body)
	}
	c := Class{Name: "gitlab", Entries: []string{
		"gitlab:Acme/Tools/app mergerequests.create, mergerequests.update, mergerequests.comment, issues.create, issues.comment",
		"gitlab:git.example.com/acme/app"}}
	for _, text := range []string{
		// other projects
		"GET projects/evil%2Fapp", "GET projects/acme%2Ftools%2Fapp2", "GET projects/acme%2Fapp", "GET projects/42",
		"GET projects", "GET groups/acme",
		`POST projects/evil%2Fapp/issues {"title":"t"}`, `POST projects/42/issues {"title":"t"}`,
		`POST projects/acme%2Ftools%2Fapp%2F..%2Fother/issues {"title":"t"}`,
		`POST projects/acme%252Ftools%252Fapp/issues {"title":"t"}`, `POST projects/acme/tools/app/issues {"title":"t"}`,
		"POST " + app + `/merge_requests {"source_branch":"x","target_branch":"main","title":"t","target_project_id":7}`,
		"POST " + app + `/merge_requests {"id":7,"source_branch":"x","target_branch":"main","title":"t"}`,
		"PUT " + app + `/merge_requests/3 {"title":"t","target_project_id":7}`, "POST " + app + `/issues/1/move {"to_project_id":7}`,
		"POST " + app + `/issues/1/clone {}`,
		"GET " + app + "/repository/compare?from=a&to=b&from_project_id=7", "GET " + app + "/repository/compare?from=a&to=b&From_Project_Id=7",
		"GET " + app + "/issues/1/links", "GET " + app + "/issues/1/related_merge_requests",
		"POST " + app + `/issues/1/links {"target_project_id":7,"target_issue_iid":1}`,
		"GET " + app + "/merge_requests/1/blocks", "GET " + app + "/merge_requests/1/blocks/2", "GET " + app + "/merge_requests/1/blockees",
		"GET " + app + "/issues/1/links.json", "GET " + app + "/issues/1/closed_by%2ejson", "GET " + app + "/merge_requests/1/blockees.json",
		// what no entry has
		"DELETE " + app, "DELETE " + app + "/issues/1", "PUT " + app + `/issues/1 {"title":"t"}`, "PUT " + app + "/merge_requests/3/merge",
		"POST " + app + "/merge_requests/3/approve",
		"POST " + app + `/fork {"namespace":"evil"}`, "PUT " + app + `/repository/files/a {"branch":"main","content":"x"}`,
		"POST " + app + `/repository/commits {"branch":"main"}`,
		"POST " + app + `/repository/branches {"branch":"x","ref":"main"}`, "POST " + app + `/hooks {"url":"https://evil.test"}`,
		"POST " + app + `/variables {"key":"A","value":"b"}`,
		"POST " + app + `/members {"user_id":1,"access_level":50}`, "POST " + app + `/deploy_keys {"key":"x"}`,
		"POST " + app + `/access_tokens {}`, "POST " + app + `/releases {}`,
		"POST " + app + `/pipeline {"ref":"main"}`, "POST " + app + `/trigger/pipeline {"ref":"main","token":"x"}`,
		"POST " + app + `/snippets {"title":"t"}`, "POST " + app + `/share {"group_id":1}`,
		"POST " + app + "/mirror/pull", "PUT " + app + `/transfer {"namespace":"evil"}`,
		"POST " + app + `/remote_mirrors {"url":"https://evil.test"}`, "POST " + app + "/uploads",
		"POST snippets {}", "POST projects {}", `POST user/keys {"key":"x"}`, "GET personal_access_tokens",
		// secrets of the project
		"GET " + app + "/variables", "GET " + app + "/pipelines/1/variables", "GET " + app + "/pipelines/1/variables.json",
		"HEAD " + app + "/pipelines/1/variables.", "GET " + app + "/pipelines/1/variables/", "GET " + app + "/pipelines/1%2fvariables",
		"GET " + app + "/pipelines/1/Variables",
		"GET " + app + "/triggers", "GET " + app + "/hooks", "GET " + app + "/export/download", "GET " + app + "/runners",
		// commands in texts
		note("/move evil/app"), note("done\n/close"), note("done\r/merge"), note("  /copy_metadata #1"), note("x\u2028/close"),
		note("\u200b/close"), note("\ufeff/close"), note("a\v/close"), note("a\u0085/close"),
		"POST " + app + `/issues {"title":"t","description":"x\n/cc @evil\n/move evil/app"}`,
		"PUT " + app + `/merge_requests/3 {"description":"/merge"}`,
		// as another user, by another method, in other forms
		"GET " + app + "?sudo=root", "GET " + app + "?SUDO=root", "GET " + app + "?_method=DELETE", "GET " + app + "?%73udo=root",
		"POST " + app + `/issues?title=x {"title":"t"}`,
		"POST " + app + `/issues {"title":"t","title":"u"}`, "POST " + app + "/issues title=t", "POST " + app + `/issues ["title"]`,
		"POST " + app + `/issues/1%2F..%2F2/notes {"body":"x"}`,
		"POST " + app + `/issues/1/notes/ {"body":"x"}`, "POST " + app + `//issues/1/notes {"body":"x"}`, "WEBSOCKET " + app,
	} {
		one := lines(strings.Replace(text, " ", " gitlab.com/api/v4/", 1))[0]
		if one.Body != "" {
			one.Header = http.Header{"Content-Type": {"application/json; charset=utf-8"}}
		}
		c.Cases = append(c.Cases, one)
	}
	return c
}
