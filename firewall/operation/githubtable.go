package operation

import "net/http"

const (
	githubRead    = "read"
	githubApprove = "pulls.approve"
)

// githubRoute is a request that writes, below /repos/OWNER/REPO
// (docs.github.com/rest). GET and HEAD read. No entry allows anything else:
// gists, forks, settings, keys, hooks, collaborators, secrets, deleting.
type githubRoute struct {
	name    string
	method  string
	pattern string
	uploads bool // at the host of uploads

	// check reads a body that says more about the operation than the path; nil =
	// the path says all of it.
	check func(repo []string, members map[string]any) (name string, err error)
}

var githubRoutes = []githubRoute{
	{name: "pulls.create", method: http.MethodPost, pattern: "pulls", check: checkHead},
	{name: "pulls.update", method: http.MethodPatch, pattern: "pulls/*"},
	{name: "pulls.comment", method: http.MethodPost, pattern: "pulls/*/comments"},
	{name: "pulls.comment", method: http.MethodPost, pattern: "pulls/*/comments/*/replies"},
	{name: "pulls.review", method: http.MethodPost, pattern: "pulls/*/reviews", check: checkReview},
	{name: "pulls.review", method: http.MethodPost, pattern: "pulls/*/reviews/*/events", check: checkReview},
	{name: "pulls.reviewers", method: http.MethodPost, pattern: "pulls/*/requested_reviewers"},
	{name: "pulls.reviewers", method: http.MethodDelete, pattern: "pulls/*/requested_reviewers"},
	{name: "pulls.merge", method: http.MethodPut, pattern: "pulls/*/merge"},
	{name: "issues.create", method: http.MethodPost, pattern: "issues"},
	{name: "issues.update", method: http.MethodPatch, pattern: "issues/*"},
	{name: "issues.comment", method: http.MethodPost, pattern: "issues/*/comments"},
	{name: "issues.label", method: http.MethodPost, pattern: "issues/*/labels"},
	{name: "issues.label", method: http.MethodPut, pattern: "issues/*/labels"},
	{name: "issues.label", method: http.MethodDelete, pattern: "issues/*/labels/*"},
	{name: "statuses.create", method: http.MethodPost, pattern: "statuses/*"},
	{name: "checks.write", method: http.MethodPost, pattern: "check-runs"},
	{name: "checks.write", method: http.MethodPatch, pattern: "check-runs/*"},
	{name: "actions.dispatch", method: http.MethodPost, pattern: "actions/workflows/*/dispatches"},
	{name: "actions.rerun", method: http.MethodPost, pattern: "actions/runs/*/rerun"},
	{name: "actions.rerun", method: http.MethodPost, pattern: "actions/runs/*/rerun-failed-jobs"},
	{name: "actions.cancel", method: http.MethodPost, pattern: "actions/runs/*/cancel"},
	{name: "releases.create", method: http.MethodPost, pattern: "releases"},
	{name: "releases.upload", method: http.MethodPost, pattern: "releases/*/assets", uploads: true},
}

// githubClosedReads are requests below a repository that answer with texts of others
// (what mentions an issue, and issues above and below it) or with secrets.
var githubClosedReads = []string{
	"issues/*/timeline", "issues/*/parent", "issues/*/sub_issues", "issues/*/dependencies/**",
	"secret-scanning/**", "hooks/*/deliveries/**", "hooks/*/config",
}

// githubMutation is a mutation of GraphQL: the operation, the members of its input
// that name what it changes, by ids, and the others that it may have.
type githubMutation struct {
	name  string
	ids   []string
	other []string

	// check is as of a githubRoute.
	check func(repo []string, members map[string]any) (name string, err error)
}

var githubMutations = map[string]githubMutation{
	"createPullRequest": {"pulls.create", []string{"repositoryId", "headRepositoryId"},
		[]string{"baseRefName", "headRefName", "title", "body", "draft", "maintainerCanModify"}, checkHeadRef},
	"updatePullRequest": {"pulls.update", []string{"pullRequestId"},
		[]string{"title", "body", "baseRefName", "state", "assigneeIds", "labelIds", "milestoneId", "maintainerCanModify"}, nil},
	"closePullRequest":              {"pulls.update", []string{"pullRequestId"}, nil, nil},
	"reopenPullRequest":             {"pulls.update", []string{"pullRequestId"}, nil, nil},
	"markPullRequestReadyForReview": {"pulls.update", []string{"pullRequestId"}, nil, nil},
	"convertPullRequestToDraft":     {"pulls.update", []string{"pullRequestId"}, nil, nil},
	"requestReviews":                {"pulls.reviewers", []string{"pullRequestId"}, []string{"userIds", "teamIds", "union"}, nil},
	"requestReviewsByLogin": {"pulls.reviewers", []string{"pullRequestId"},
		[]string{"userLogins", "botLogins", "teamSlugs", "union"}, nil},
	"replaceActorsForAssignable": {"issues.update", []string{"assignableId"}, []string{"actorIds", "actorLogins"}, nil},
	"addPullRequestReview":       {"pulls.review", []string{"pullRequestId"}, []string{"body", "event"}, checkReview},
	"mergePullRequest": {"pulls.merge", []string{"pullRequestId"},
		[]string{"mergeMethod", "commitHeadline", "commitBody", "expectedHeadOid", "authorEmail"}, nil},
	"createIssue": {"issues.create", []string{"repositoryId"},
		[]string{"title", "body", "assigneeIds", "labelIds", "milestoneId", "issueTemplate"}, nil},
	"updateIssue": {"issues.update", []string{"id"},
		[]string{"title", "body", "state", "assigneeIds", "labelIds", "milestoneId"}, nil},
	"closeIssue":                {"issues.update", []string{"issueId"}, []string{"stateReason"}, nil},
	"reopenIssue":               {"issues.update", []string{"issueId"}, nil, nil},
	"addComment":                {"issues.comment", []string{"subjectId"}, []string{"body"}, nil},
	"addLabelsToLabelable":      {"issues.label", []string{"labelableId"}, []string{"labelIds"}, nil},
	"removeLabelsFromLabelable": {"issues.label", []string{"labelableId"}, []string{"labelIds"}, nil},
}

func checkHeadRef(repo []string, members map[string]any) (string, error) {
	return checkHead(repo, map[string]any{"head": members["headRefName"]})
}

// The fields of GraphQL that lead from an object to others. A field without a
// selection of its own leads nowhere, and may have any name.
var (
	// graphItems lead from a repository to what an id of the agent's may name.
	graphItems = words("issue issues pullRequest pullRequests issueOrPullRequest")

	// graphPages lead to the objects of a list.
	graphPages = words("nodes edges node")

	// graphParts lead to parts of the same repository.
	graphParts = words(`comments reviews latestReviews reviewThreads labels label commits commit statusCheckRollup contexts checkSuite
		workflowRun workflow files milestone milestones reactionGroups defaultBranchRef baseRef headRef ref refs target object history
		releases release latestRelease releaseAssets tag entries issueTemplates pullRequestTemplates contactLinks branchProtectionRule
		mergeCommit potentialMergeCommit autoMergeRequest authors languages licenseInfo codeOfConduct repositoryTopics
		checkRunCountsByState statusContextCountsByState commentEdge pullRequestReview subIssuesSummary`)

	// graphOutside lead to what may be elsewhere: of it, and of what follows, graphWho
	// alone is read.
	graphOutside = words(`owner author actor user users assignees assignee participants headRepositoryOwner headRepository baseRepository
		repository parent templateRepository mergedBy enabledBy creator editor requestedReviewer reviewRequests projectCards projectItems
		project column status closingIssuesReferences closedByPullRequestsReferences organization team pageInfo topic forks
		assignableUsers mentionableUsers assignedActors suggestedActors
		issueType subIssues blockedBy blocking primaryLanguage fieldValueByName defaultBranchRef subject`)

	// graphWho are the fields without a selection that say who or what something is.
	graphWho = words(`__typename id databaseId login name nameWithOwner slug title url number state color description topic optionId
		totalCount hasNextPage hasPreviousPage startCursor endCursor cursor isPrivate isFork isArchived viewerPermission
		hasIssuesEnabled hasWikiEnabled limit cost remaining resetAt used`)
)
