package operation

import "net/http"

const gitlabRead = "read"

// gitlabRoute is a request that writes, below /api/v4/projects/ID
// (docs.gitlab.com/api/rest). No entry allows anything else: settings, members, keys,
// hooks, variables, forks, files, deleting.
type gitlabRoute struct {
	name    string
	method  string
	pattern string
	members map[string]bool // that the body may have: none names another project
}

var (
	gitlabMergeRequest = words(`title description labels assignee_id assignee_ids reviewer_ids milestone_id target_branch squash`)
	gitlabIssue        = words(`title description labels assignee_id assignee_ids milestone_id due_date weight issue_type`)
	gitlabNote         = words("body position commit_id created_at")
	gitlabNew          = "source_branch remove_source_branch allow_collaboration"
	gitlabChange       = "state_event add_labels remove_labels discussion_locked"
)

var gitlabRoutes = []gitlabRoute{
	{"mergerequests.create", http.MethodPost, "merge_requests", also(gitlabMergeRequest, gitlabNew)},
	{"mergerequests.update", http.MethodPut, "merge_requests/*", also(gitlabMergeRequest, gitlabChange)},
	{"mergerequests.comment", http.MethodPost, "merge_requests/*/notes", gitlabNote},
	{"mergerequests.comment", http.MethodPost, "merge_requests/*/discussions", gitlabNote},
	{"mergerequests.comment", http.MethodPost, "merge_requests/*/discussions/*/notes", gitlabNote},
	{"mergerequests.approve", http.MethodPost, "merge_requests/*/approve", words("sha")},
	{"mergerequests.merge", http.MethodPut, "merge_requests/*/merge", words(`sha squash merge_commit_message squash_commit_message
		should_remove_source_branch merge_when_pipeline_succeeds auto_merge`)},
	{"issues.create", http.MethodPost, "issues", also(gitlabIssue, "confidential")},
	{"issues.update", http.MethodPut, "issues/*", also(gitlabIssue, gitlabChange)},
	{"issues.comment", http.MethodPost, "issues/*/notes", gitlabNote},
	{"issues.comment", http.MethodPost, "issues/*/discussions", gitlabNote},
	{"issues.comment", http.MethodPost, "issues/*/discussions/*/notes", gitlabNote},
	{"statuses.create", http.MethodPost, "statuses/*", words("state ref name context target_url description coverage pipeline_id")},
	{"pipelines.create", http.MethodPost, "pipeline", words("ref")},
	{"pipelines.retry", http.MethodPost, "pipelines/*/retry", nil},
	{"pipelines.cancel", http.MethodPost, "pipelines/*/cancel", nil},
}

func also(members map[string]bool, more string) map[string]bool {
	all := words(more)
	for name := range members {
		all[name] = true
	}
	return all
}

// gitlabReads are the paths below a project that are read.
var gitlabReads = []string{
	"repository/**", "merge_requests", "merge_requests/**", "issues", "issues/**", "pipelines", "pipelines/**", "jobs", "jobs/**",
	"releases", "releases/**", "labels", "labels/*", "milestones", "milestones/**", "members", "members/**", "users", "languages",
}

// gitlabClosedReads are those among them that answer with secrets, or with what is in
// other projects.
var gitlabClosedReads = []string{
	"pipelines/*/variables", "pipelines/*/bridges", "issues/*/links", "issues/*/links/*", "issues/*/related_merge_requests",
	"issues/*/closed_by", "merge_requests/*/closes_issues", "merge_requests/*/related_issues", "merge_requests/*/blocks",
	"merge_requests/*/blocks/*", "merge_requests/*/blockees", "merge_requests/*/dependencies",
}

// gitlabCommonReads have no project and tell the token's owner about himself or the server.
var gitlabCommonReads = []string{"/api/v4/user", "/api/v4/version", "/api/v4/metadata"}
