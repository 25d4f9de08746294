package operationtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const githubEntry = "github:Acme/App pulls.create, issues.comment"

// GitHub is what GitHub's REST API would do.
func GitHub() Class {
	return Class{Name: "github", Entries: []string{githubEntry}, Cases: lines(
		// elsewhere
		"POST api.github.com/repos/evil/app/issues/1/comments {}", "POST api.github.com/repos/acme/other/pulls {}",
		"GET api.github.com/repos/evil/app",
		"POST api.github.com/gists {}", "PATCH api.github.com/gists/1 {}", "POST api.github.com/gists/1/comments {}",
		"GET api.github.com/gists/1",
		"POST api.github.com/user/repos {}", "POST api.github.com/orgs/acme/repos {}", "PUT api.github.com/user/starred/evil/app",
		"GET api.github.com/search/code?q=x",
		"POST api.github.com/repositories/1/issues/1/comments {}", "GET api.github.com/repositories/1", "GET api.github.com/users/evil",
		"GET api.github.com/user/repos",
		"POST api.github.com/markdown {}", "GET api.github.com/notifications", "PUT api.github.com/notifications",
		"POST api.github.com/user/keys {}",
		// here, and not named
		"POST api.github.com/repos/acme/app/issues {}", "PATCH api.github.com/repos/acme/app/issues/1 {}",
		"PATCH api.github.com/repos/acme/app/pulls/1 {}",
		"PUT api.github.com/repos/acme/app/pulls/1/merge {}", `POST api.github.com/repos/acme/app/pulls/1/reviews {"event":"APPROVE"}`,
		"POST api.github.com/repos/acme/app/releases {}", "POST uploads.github.com/repos/acme/app/releases/1/assets?name=x x",
		"POST api.github.com/repos/acme/app/releases/1/assets?name=x x",
		"POST api.github.com/repos/acme/app/actions/workflows/ci.yml/dispatches {}",
		"POST api.github.com/repos/acme/app/dispatches {}", "POST api.github.com/repos/acme/app/actions/runs/1/rerun",
		"PUT api.github.com/repos/acme/app/contents/x {}", "DELETE api.github.com/repos/acme/app/contents/x {}",
		"POST api.github.com/repos/acme/app/git/refs {}",
		"PATCH api.github.com/repos/acme/app/git/refs/heads/main {}", "DELETE api.github.com/repos/acme/app/git/refs/heads/main",
		"POST api.github.com/repos/acme/app/merges {}", "POST api.github.com/repos/acme/app/forks {}",
		"POST api.github.com/repos/acme/app/transfer {}",
		"DELETE api.github.com/repos/acme/app", "PATCH api.github.com/repos/acme/app {}", "POST api.github.com/repos/acme/app/hooks {}",
		"POST api.github.com/repos/acme/app/keys {}", "PUT api.github.com/repos/acme/app/collaborators/evil",
		"PUT api.github.com/repos/acme/app/actions/secrets/X {}",
		"PATCH api.github.com/repos/acme/app/issues/comments/1 {}", "DELETE api.github.com/repos/acme/app/issues/comments/1",
		"POST api.github.com/repos/acme/app/commits/abc/comments {}", "POST api.github.com/repos/acme/app/pages {}",
		"POST api.github.com/repos/acme/app/statuses/abc {}",
		"PUT api.github.com/repos/acme/app/issues/1/lock {}", "POST api.github.com/repos/acme/app/check-runs {}",
		// texts of others
		"GET api.github.com/repos/acme/app/issues/1/timeline", "GET api.github.com/repos/acme/app/issues/1/Timeline/",
		"GET api.github.com/repos/acme/app/issues%2f1%2ftimeline",
		"GET api.github.com/repos/acme/app/compare/main...evil:main", "GET api.github.com/repos/acme/app/compare/main...evil%3amain",
		"GET api.github.com/repos/acme/app/compare/a%2fb...evil:c%2fd", "HEAD api.github.com/repos/acme/app/issues/1/parent",
		// secrets
		"GET api.github.com/repos/acme/app/secret-scanning/alerts",
		"GET api.github.com/repos/acme/app/secret-scanning/alerts/1?hide_secret=false",
		"GET api.github.com/repos/acme/app/Secret-Scanning/alerts/1/locations", "HEAD api.github.com/repos/acme/app/secret-scanning%2falerts",
		"GET api.github.com/repos/acme/app/hooks/1/deliveries/2", "GET api.github.com/repos/acme/app/hooks/1/config",
		// a pull request of another's branch, and bodies with two readings
		`POST api.github.com/repos/acme/app/pulls {"head":"evil:x"}`,
		`POST api.github.com/repos/acme/app/pulls {"head":"x","head_repo":"evil/app"}`,
		`POST api.github.com/repos/acme/app/pulls {"head":"x","head":"evil:x"}`, `POST api.github.com/repos/acme/app/pulls {"head":["evil:x"]}`,
		`POST api.github.com/repos/acme/app/pulls {"head":"x","title":"&head=evil:x&a="}`,
		`POST api.github.com/repos/acme/app/pulls {"head":"x","title":";head=evil:x;"}`,
		`POST api.github.com/repos/acme/app/pulls {"head":"x","Head":"evil:x"}`, `POST api.github.com/repos/acme/app/pulls head=evil:x`,
		// paths and methods
		"POST api.github.com/repos/acme/app/issues/1%2f..%2f..%2f..%2fevil/comments {}",
		"POST api.github.com/repos/acme%2fapp/issues/1/comments {}",
		"POST api.github.com/repos/acme/app/../../evil/app/issues/1/comments {}", "POST api.github.com//repos/acme/app/issues/1/comments {}",
		"POST api.github.com/repos/acme/app/issues/1/comments/ {}", "POST api.github.com/Repos/acme/app/issues/1/comments {}",
		"POST api.github.com/repos/acme/app/issues/1/comments?_method=DELETE {}", "POST api.github.com/repos/acme/app/issues/1/comments?x=1 {}",
		"post api.github.com/repos/acme/app/issues/1/comments {}", "PUT api.github.com/repos/acme/app/issues/1/comments {}",
		"GET api.github.com/repos/acme/app?_method=DELETE", "POST uploads.github.com/repos/acme/app/issues/1/comments {}",
		"GET uploads.github.com/repos/acme/app", "GET api.github.com/repos/acme/",
		"GET api.github.com/repos/acme%2fapp/app/x", "GET api.github.com/repos/*/app", "POST api.github.com/graphql?x=1 {}",
		"GET api.github.com/graphql?query=x",
		"POST api.github.com/graphql/ {}", "POST api.github.com/repos/acme/app/graphql {}",
	)}
}

// GitHubOfOnesOwn is what a GitHub of one's own would do.
func GitHubOfOnesOwn() Class {
	entries := []string{
		"github:ghe.example.com/Acme/App pulls.create, issues.comment, releases.upload", "github:acme/lib pulls.create, issues.comment",
		"git:ghe.example.com/acme/app push refs/heads/agent/*",
	}
	return Class{Name: "github of one's own", Entries: entries, Cases: lines(
		// the same name at the other site
		"GET api.github.com/repos/acme/app", "POST api.github.com/repos/acme/app/issues/1/comments {}",
		"GET ghe.example.com/api/v3/repos/acme/lib",
		"POST ghe.example.com/api/v3/repos/acme/lib/issues/1/comments {}",
		// a part's operation at another part, and paths that are almost a part's
		"POST ghe.example.com/repos/acme/app/issues/1/comments {}", "POST ghe.example.com/api/repos/acme/app/issues/1/comments {}",
		"POST ghe.example.com/api/v4/repos/acme/app/issues/1/comments {}", "POST ghe.example.com/API/v3/repos/acme/app/issues/1/comments {}",
		"POST ghe.example.com/api%2fv3/repos/acme/app/issues/1/comments {}",
		"POST ghe.example.com/api/v3/api/v3/repos/acme/app/issues/1/comments {}",
		"POST ghe.example.com/api/uploads/repos/acme/app/issues/1/comments {}", "GET ghe.example.com/api/uploads/repos/acme/app",
		"POST ghe.example.com/api/v3/repos/acme/app/releases/1/assets?name=x x",
		"POST ghe.example.com/api/uploads/repos/acme/lib/releases/1/assets?name=x x",
		"POST ghe.example.com/api/v3/graphql {}", "POST ghe.example.com/graphql {}", "POST ghe.example.com/api/graphql/ {}",
		"GET ghe.example.com/api/graphql?query=x",
		// its pages and what only it has
		"GET ghe.example.com/", "GET ghe.example.com/acme/app", "POST ghe.example.com/acme/app/issues {}",
		"POST ghe.example.com/login/oauth/access_token {}",
		"POST ghe.example.com/setup/api/start {}", "GET ghe.example.com/api/v3/admin/users", "POST ghe.example.com/api/v3/admin/organizations {}",
		"GET ghe.example.com/api/v3/enterprise/settings/license", "POST ghe.example.com/api/v3/gists {}",
		"POST ghe.example.com/api/v3/app-manifests/x/conversions {}",
		"POST ghe.example.com/api/v3/applications/x/token {}", "GET ghe.example.com/raw/acme/app/main/x", "GET ghe.example.com/storage/avatars/1",
		// a site that no entry names
		"GET api.ghe.example.com/repos/acme/app", "GET api.ghe.com/repos/acme/app", "GET other.example.com/api/v3/repos/acme/app",
	)}
}

// RepositoryInfo is how gh asks for the id of a repository.
const RepositoryInfo = `fragment repo on Repository { id name owner { login } hasIssuesEnabled viewerPermission defaultBranchRef { name } }
	query RepositoryInfo($owner: String!, $name: String!) { repository(owner: $owner, name: ` +
	`$name) { ...repo parent { ...repo } mergeCommitAllowed } }`

// pullRequest is how gh asks for a pull request.
const pullRequest = `query PullRequestByNumber($owner: String!, $repo: String!, $n: Int!) { repository(owner: $owner, name: $repo) {
		pullRequest(number: $n) { id, title, url, body, author { login ... on User { id name } }, headRepository { id, name },
		comments(first: 100) { nodes { id, author { login }, body }, pageInfo { hasNextPage, endCursor }, totalCount },
		labels(first: 100) { nodes { id, name } }, reviewRequests(first: 100) { nodes { requestedReviewer { __typename ... on User { login }
		... on Team { organization { login } name slug } } } },
		statusCheckRollup: commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: 100) { nodes { __typename
		... on CheckRun { name checkSuite { workflowRun { workflow { name } } } } } } } } } } } } }`

// issueView is how a newer gh asks for an issue.
const issueView = `query IssueByNumber($owner: String!, $repo: String!, $number: Int!) { repository(owner: $owner, ` +
	`name: $repo) { hasIssuesEnabled
		issue: issueOrPullRequest(number: $number) { __typename ...on Issue { number, url, state, title, body, author{login,...on User{id,name}},
		assignedActors(first: 10) { nodes { ...on User { id, login, name, __typename } ...on Bot { id, login, __typename } }, totalCount },
		issueType{id,name,description,color}, parent{id,number,title,url,state,repository{nameWithOwner}},
		subIssues(first:100){nodes{id,number,title,url,state,repository{nameWithOwner}},totalCount}, ` +
	`subIssuesSummary{total,completed,percentCompleted},
		blockedBy(first:50){nodes{id,number,title,url,state,repository{nameWithOwner}},totalCount} } } } }`

// Document is a request to GraphQL.
func Document(query string, variables map[string]any) Case {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		panic(err) // the tables hold texts
	}
	return Case{Name: query, Method: http.MethodPost, Host: "api.github.com", Target: "/graphql", Body: string(body),
		Header: http.Header{"Content-Type": {"application/json"}}}
}

// GraphQL is what documents would do that come after the questions with which gh begins.
func GraphQL() Class {
	c := Class{Name: "graphql", Entries: []string{githubEntry}, Before: []Exchange{
		{Document(RepositoryInfo, map[string]any{"owner": "acme", "name": "app"}),
			`{"repository":{"id":"R_acme","name":"app","owner":{"login":"acme"},"parent":{"id":"R_parent","name":"app"}}}`},
		{Document(pullRequest, map[string]any{"owner": "acme", "repo": "app", "n": 1}),
			`{"repository":{"pullRequest":{"id":"PR_acme","title":"PR_title","author":{"id":"U_author"},"headRepository":{"id":"R_fork"},
		"comments":{"nodes":[{"id":"IC_comment"}]}}}}`},
		{Document(issueView, map[string]any{"owner": "acme", "repo": "app", "number": 1}),
			`{"repository":{"issue":{"__typename":"Issue","parent":{"id":"I_above"},"subIssues":{"nodes":[{"id":"I_below"}]}}}}`},
	}}
	documents := documents()
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		one := Document(documents[name], nil)
		one.Name = name
		c.Cases = append(c.Cases, one)
	}
	for _, kind := range []string{"application/x-www-form-urlencoded", "", "text/plain", "multipart/form-data; boundary=x"} {
		one := Document("", nil)
		one.Name = "a form in JSON, as " + kind
		one.Body = `{"query":"{ viewer { login } ` +
			`}","operationName":"&query=mutation{deleteIssue(input:{issueId:\"PR_evil\"}){clientMutationId}}&x="}`
		one.Header = http.Header{"Content-Type": {kind}}
		c.Cases = append(c.Cases, one)
	}
	given := `mutation($id: ID!, $in: AddCommentInput) { a: addComment(input: {subjectId: $id, body: "x"}) { clientMutationId } b: ` +
		`addComment(input: $in) { clientMutationId } }`
	for name, variables := range map[string]map[string]any{
		"a variable":           {"id": "PR_evil", "in": map[string]any{"subjectId": "PR_acme"}},
		"a variable's member":  {"id": "PR_acme", "in": map[string]any{"subjectId": "PR_evil"}},
		"a list of one":        {"id": []string{"PR_acme"}, "in": map[string]any{"subjectId": "PR_acme"}},
		"a number":             {"id": 7, "in": map[string]any{"subjectId": "PR_acme"}},
		"null":                 {"id": nil, "in": map[string]any{"subjectId": "PR_acme"}},
		"a member more":        {"id": "PR_acme", "in": map[string]any{"subjectId": "PR_acme", "repositoryId": "R_evil"}},
		"no variables":         {},
		"the name with a sign": {"$id": "PR_acme", "id": "PR_evil", "in": map[string]any{"subjectId": "PR_acme"}},
	} {
		one := Document(given, variables)
		one.Name = "by variables: " + name
		c.Cases = append(c.Cases, one)
	}
	good := `"query":"{ viewer { login } }"`
	for _, body := range []string{
		`[{` + good + `}]`, `{` + good + `,"query":"{ node(id: \"R_evil\") { id } }"}`, `{` + good + `,"Query":"x"}`,
		`{` + good + `,"id":"PERSISTED"}`,
		`{` + good + `,"extensions":{"persistedQuery":{}}}`, `{` + good + `,"variables":"x"}`, `{"query":["x"]}`, `{}`, ``,
		`query={viewer{login}}`,
		`{` + good + `}{` + good + `}`, `{` + good + strings.Repeat(" ", 512<<10) + `}`,
	} {
		one := Document("", nil)
		one.Name, one.Body = body, body
		c.Cases = append(c.Cases, one)
	}
	return c
}

func documents() map[string]string {
	comment := func(id string) string {
		return `addComment(input: {subjectId: "` + id + `", body: "secret"}) { clientMutationId }`
	}
	inRepository := func(fields string) string { return `{ repository(owner: "acme", name: "app") { ` + fields + ` } }` }
	return map[string]string{
		"an id never seen": `mutation { ` + comment("PR_evil") + ` }`,
		"the id of the parent": `mutation { createPullRequest(input: {repositoryId: "R_parent", headRefName: ` +
			`"x"}) { clientMutationId } }`,
		"the id of a fork": `mutation { createPullRequest(input: {repositoryId: "R_acme", headRepositoryId: "R_fork", ` +
			`headRefName: "x"}) { clientMutationId } }`,
		"the id of a person":         `mutation { ` + comment("U_author") + ` }`,
		"the id of a comment":        `mutation { ` + comment("IC_comment") + ` }`,
		"the id of an issue above":   `mutation { ` + comment("I_above") + ` }`,
		"the id of an issue below":   `mutation { ` + comment("I_below") + ` }`,
		"the text of an issue above": inRepository(`issue(number: 1) { parent { ... on Issue { body } } }`),
		"the texts of issues below":  inRepository(`issue(number: 1) { subIssues(first: 1) { nodes { body } } }`),
		"their repositories": inRepository(
			`issue(number: 1) { subIssues(first: 1) { nodes { repository { issues(first: 1) { nodes { title } } } } } }`),
		"not named: reviewers by name": `mutation { requestReviewsByLogin(input: {pullRequestId: "PR_acme", userLogins: ` +
			`["evil"]}) { clientMutationId } }`,
		"not named: assign by name": `mutation { replaceActorsForAssignable(input: {assignableId: "PR_acme", actorLogins: ` +
			`["evil"]}) { __typename } }`,
		"no entry: an issue below":     `mutation { addSubIssue(input: {issueId: "PR_acme", subIssueId: "I_below"}) { issue { id } } }`,
		"a text that looks like an id": `mutation { ` + comment("PR_title") + ` }`,
		"another's branch": `mutation { createPullRequest(input: {repositoryId: "R_acme", headRefName: ` +
			`"evil:x"}) { clientMutationId } }`,
		"good and bad":           `mutation { a: ` + comment("PR_acme") + ` b: ` + comment("PR_evil") + ` }`,
		"bad under a good alias": `mutation { addComment: createIssue(input: {repositoryId: "R_acme", title: "x"}) { clientMutationId } }`,
		"a fragment":             `mutation { ...f } fragment f on Mutation { ` + comment("PR_evil") + ` }`,
		"a nested fragment": `mutation { ...f } fragment f on Mutation { ... { ...g } } fragment g on Mutation { ` +
			comment("PR_evil") + ` }`,
		"an inline fragment": `mutation { ... on Mutation { ` + comment("PR_evil") + ` } }`,
		"a fragment twice": `mutation { ...f } fragment f on Mutation { ` + comment("PR_acme") + ` } fragment f on Mutation { ` +
			comment("PR_evil") + ` }`,
		"a fragment of itself": `mutation { ...f } fragment f on Mutation { ...f }`,
		"no fragment":          `mutation { ...f }`,
		"a skipped field": `mutation { ` + comment("PR_acme") +
			` deleteIssue(input: {issueId: "PR_acme"}) @skip(if: true) { clientMutationId } }`,
		"two operations": `query q { viewer { login } } mutation m { ` + comment("PR_evil") + ` }`,
		"two members": `mutation { addComment(input: {subjectId: "PR_evil", subjectId: "PR_acme", body: ` +
			`"x"}) { clientMutationId } }`,
		"two inputs": `mutation { addComment(input: {subjectId: "PR_acme", body: "x"}, input: {subjectId: "PR_evil", body: ` +
			`"x"}) { clientMutationId } }`,
		"another member": `mutation { createPullRequest(input: {repositoryId: "R_acme", headRefName: "x", projectId: ` +
			`"R_acme"}) { clientMutationId } }`,
		"no id":                `mutation { addComment(input: {body: "x"}) { clientMutationId } }`,
		"an id in a list":      `mutation { addComment(input: {subjectId: ["PR_evil"], body: "x"}) { clientMutationId } }`,
		"an unknown variable":  `mutation { addComment(input: $other) { clientMutationId } }`,
		"a variable's default": `mutation($x: ID = "PR_evil") { addComment(input: {subjectId: $x, body: "x"}) { clientMutationId } }`,
		"a variable twice": `mutation($x: ID = "PR_acme", $x: ID = "PR_evil") { addComment(input: {subjectId: $x, body: ` +
			`"x"}) { clientMutationId } }`,
		"not named: issue": `mutation { createIssue(input: {repositoryId: "R_acme", title: "x"}) { clientMutationId } }`,
		"not named: merge": `mutation { mergePullRequest(input: {pullRequestId: "PR_acme"}) { clientMutationId } }`,
		"not named: approve": `mutation { addPullRequestReview(input: {pullRequestId: "PR_acme", event: ` +
			`APPROVE}) { clientMutationId } }`,
		"no entry: delete": `mutation { deleteIssue(input: {issueId: "PR_acme"}) { clientMutationId } }`,
		"no entry: commit": `mutation { createCommitOnBranch(input: {branch: {id: "x"}}) { clientMutationId } }`,
		"no entry: ref": `mutation { createRef(input: {repositoryId: "R_acme", name: "refs/heads/x", oid: ` +
			`"0"}) { clientMutationId } }`,
		"no entry: update ref": `mutation { updateRef(input: {refId: "x", oid: "0", force: true}) { clientMutationId } }`,
		"no entry: transfer":   `mutation { transferIssue(input: {issueId: "PR_acme", repositoryId: "R_evil"}) { clientMutationId } }`,
		"no entry: repository": `mutation { createRepository(input: {name: "x", visibility: PUBLIC}) { clientMutationId } }`,
		"no entry: star":       `mutation { addStar(input: {starrableId: "R_acme"}) { clientMutationId } }`,
		"a foreign repository": `{ repository(owner: "evil", name: "app") { id } }`,
		"a foreign one under an alias": `{ acme: repository(owner: "acme", name: "app") { id } app: repository(owner: ` +
			`"evil", name: "app") { id } }`,
		"a foreign one in a fragment": `{ ...f } fragment f on Query { repository(owner: "evil", name: "app") { id } }`,
		"an owner twice":              `{ repository(owner: "evil", owner: "acme", name: "app") { id } }`,
		"an owner that is none":       `{ repository(owner: acme2, name: "app") { id } }`,
		"a slash in a name":           `{ repository(owner: "acme/app/..", name: "app") { id } }`,
		"a star":                      `{ repository(owner: "*", name: "app") { id } }`,
		"search":                      `{ search(query: "x", type: ISSUE, first: 1) { nodes { ... on Issue { body } } } }`,
		"another's user":              `{ user(login: "evil") { login } }`,
		"an organization":             `{ organization(login: "acme") { repositories(first: 1) { nodes { name } } } }`,
		"a resource":                  `{ resource(url: "https://github.com/evil/app") { ... on Repository { id } } }`,
		"a node never seen":           `{ node(id: "R_evil") { ... on Repository { name } } }`,
		"nodes":                       `{ nodes(ids: ["PR_acme", "PR_evil"]) { id } }`,
		"the viewer's repositories": `{ viewer { repositories(first: 1) { nodes { name object(expression: "main:x") { ... ` +
			`on Blob { text } } } } } }`,
		"the viewer's gists":       `{ viewer { gists(first: 1) { nodes { description } } } }`,
		"the owner's repositories": inRepository(`owner { repositories(first: 1) { nodes { name } } }`),
		"the owner's in a fragment": inRepository(
			`owner { ... on Organization { repository(name: "secret") { description object(expression: "x") { id } } } }`),
		"an author's repository": inRepository(
			`pullRequest(number: 1) { author { ... on User { repository(name: "x") { issues(first: 1) { nodes { body } } } } } }`),
		"files of the head's": inRepository(
			`pullRequest(number: 1) { headRepository { object(expression: "main:x") { ... on Blob { text } } } }`),
		"issues that it closes": inRepository(`pullRequest(number: 1) { closingIssuesReferences(first: 1) { nodes { body } } }`),
		"what a timeline mentions": inRepository(
			`issue(number: 1) { timelineItems(first: 1) { nodes { ... on CrossReferencedEvent { source { ... on Issue { body } } } } } }`),
		"through a commit": inRepository(
			`object(expression: "main") { ... on Commit { associatedPullRequests(first: 1) { nodes { body } } } }`),
		"through a payload": `mutation { addComment(input: {subjectId: "PR_acme", body: "x"}) { subject { ... ` +
			`on Issue { repository { owner { repositories { totalCount } } } } } } }`,
		"one name for two fields": inRepository(`pullRequest(number: 1) { ... on A { x: id } ... on B { x: title } }`),
		"one name for two repositories": `{ ... on A { r: repository(owner: "acme", name: "app") { id } } ... on B { r: repository(owner: ` +
			`"evil", name: "app") { id } } }`,
		"an escaped foreign owner":  `{ repository(owner: "\u0065vil", name: "app") { id } }`,
		"an owner in other letters": `{ repository(owner: "\u0430cme", name: "app") { id } }`,
		"a block text":              `mutation { addComment(input: {subjectId: """PR_evil""", body: "x"}) { clientMutationId } }`,
		"an id behind a comment": "mutation { addComment(input: {subjectId: #\"PR_acme\"\n" +
			"\"PR_evil\", body: \"x\"}) { clientMutationId } }",
		"an id as a word":              `mutation { addComment(input: {subjectId: PR_evil, body: "x"}) { clientMutationId } }`,
		"a foreign one by a directive": `query @include(if: true) { ... @include(if: true) { repository(owner: "evil", name: "app") { id } } }`,
		"a mutation in a query":        `query { ` + comment("PR_acme") + ` }`,
		"what a head's commit is in": inRepository(
			`ref(qualifiedName: "x") { target { ... on Commit { repository { issues(first: 1) { nodes { body } } } } } }`),
		"a payload's edge": `mutation { addComment(input: {subjectId: "PR_acme", body: "x"}) { commentEdge { node { repository { owner { gists ` +
			`{ totalCount } } } } } } }`,
		"a deep owner":   inRepository(`owner { ... on User { topRepositories(first: 1, orderBy: null) { nodes { name } } } }`),
		"an enterprise":  `{ enterprise(slug: "acme") { members(first: 1) { totalCount } } }`,
		"a marketplace":  `{ marketplaceListings(first: 1) { nodes { name } } }`,
		"a subscription": `subscription { viewer { login } }`,
		"too deep":       inRepository(strings.Repeat(`commit { `, 60) + `oid` + strings.Repeat(` }`, 60)),
		"a bomb":         inRepository(`...f0`) + bomb(),
		"no document":    `{`,
		"a schema":       `type Query { x: Int }`,
	}
}

// bomb is fragments of which each has the next twice.
func bomb() string {
	var out strings.Builder
	name := "f0"
	for range 30 {
		next := name + "0"
		out.WriteString(" fragment " + name + " on Repository { ..." + next + " ..." + next + " }")
		name = next
	}
	return out.String() + " fragment " + name + " on Repository { id }"
}
