package operation

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

const githubEntryText = "github:Acme/App pulls.create, issues.comment"

// hub asks as gh does, with one memory for all that it asks.
type hub struct {
	t      *testing.T
	rules  *Rules
	memory *Memory
}

func newHub(t *testing.T, entries ...string) *hub {
	t.Helper()
	return &hub{t, compile(t, entries...), NewMemory()}
}

func (h *hub) graphql(query string, variables map[string]any) Decision {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		h.t.Fatal(err)
	}
	return ask(h.t, h.rules, h.memory, "POST", "api.github.com/graphql", string(body), nil)
}

// answered lets a decision see the server's answer.
func (h *hub) answered(d Decision, data string) {
	h.t.Helper()
	if !d.Allowed || d.Observe == nil {
		h.t.Fatalf("%+v", d)
	}
	w := d.Observe(http.StatusOK, http.Header{"Content-Type": {"application/json; charset=utf-8"}})
	for _, part := range []string{`{"data":`, data, `}`} {
		_, _ = io.WriteString(w, part)
	}
	_ = w.Close()
}

const repositoryInfo = `fragment repo on Repository { id name owner { login } hasIssuesEnabled viewerPermission defaultBranchRef { name } }
	query RepositoryInfo($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { ...repo parent { ...repo } mergeCommitAllowed } }`

// meet makes the ids of acme/app known, as gh's first questions do.
func (h *hub) meet() {
	h.t.Helper()
	d := h.graphql(repositoryInfo, map[string]any{"owner": "acme", "name": "app"})
	h.answered(d, `{"repository":{"id":"R_acme","name":"app","owner":{"login":"acme"},"parent":{"id":"R_parent","name":"app"}}}`)
	d = h.graphql(`query PullRequestByNumber($owner: String!, $repo: String!, $n: Int!) { repository(owner: $owner, name: $repo) {
		pullRequest(number: $n) { id, title, url, body, author { login ... on User { id name } }, headRepository { id, name },
		comments(first: 100) { nodes { id, author { login }, body }, pageInfo { hasNextPage, endCursor }, totalCount },
		labels(first: 100) { nodes { id, name } }, reviewRequests(first: 100) { nodes { requestedReviewer { __typename ... on User { login }
		... on Team { organization { login } name slug } } } },
		statusCheckRollup: commits(last: 1) { nodes { commit { statusCheckRollup { contexts(first: 100) { nodes { __typename
		... on CheckRun { name checkSuite { workflowRun { workflow { name } } } } } } } } } } } } }`,
		map[string]any{"owner": "acme", "repo": "app", "n": 1})
	h.answered(d, `{"repository":{"pullRequest":{"id":"PR_acme","title":"PR_title","author":{"id":"U_author"},"headRepository":{"id":"R_fork"},
		"comments":{"nodes":[{"id":"IC_comment"}]}}}}`)
}

// The requests of gh pr create, gh pr view, gh issue view and gh pr comment.
func TestGhWorks(t *testing.T) {
	h := newHub(t, githubEntryText)
	h.meet()
	for name, c := range map[string]struct {
		query string
		input map[string]any
		want  string
	}{
		"pr create": {`mutation PullRequestCreate($input: CreatePullRequestInput!) { createPullRequest(input: $input) { pullRequest { id url } } }`,
			map[string]any{"repositoryId": "R_acme", "title": "t", "body": "b", "draft": false, "headRefName": "agent/x", "baseRefName": "main",
				"maintainerCanModify": true}, "github pulls.create acme/app"},
		"pr create from its own name": {`mutation PullRequestCreate($input: CreatePullRequestInput!) { createPullRequest(input: $input) { pullRequest { id } } }`,
			map[string]any{"repositoryId": "R_acme", "headRefName": "acme:agent/x"}, "github pulls.create acme/app"},
		"pr comment": {`mutation CommentCreate($input: AddCommentInput!) { addComment(input: $input) { commentEdge { node { url } } } }`,
			map[string]any{"subjectId": "PR_acme", "body": "b"}, "github issues.comment acme/app"},
		"feature detection": {`query PullRequest_fields { PullRequest: __type(name: "PullRequest") { fields(includeDeprecated: true) { name } } }`, nil, ""},
		"who":               {`query UserCurrent { viewer { login } }`, nil, ""},
		"issue view": {`query IssueByNumber($input: Int) { repository(owner: "ACME", name: "app") { hasIssuesEnabled issue: issueOrPullRequest(number: 7) {
			__typename ... on Issue { id title assignees(first: 100) { nodes { id login name } totalCount } milestone { number title } } } } }`, nil, ""},
		"network": {`query RepositoryNetwork { viewer { login } repo_000: repository(owner: "acme", name: "app") { id name owner { login } } }`, nil, ""},
		"checks":  {`query PullRequestStatusChecks($id: ID = "PR_acme") { node(id: $id) { ... on PullRequest { commits(last: 1) { nodes { commit { oid } } } } } }`, nil, ""},
	} {
		d := h.graphql(c.query, map[string]any{"input": c.input})
		if !d.Allowed || !strings.HasPrefix(d.Operation, c.want) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for _, text := range []string{
		"GET /repos/acme/app", "GET /repos/Acme/APP/pulls?state=open&per_page=5", "GET /repos/acme/app/contents/a%2fb", "GET /repos/acme/app/compare/main...agent/x", "GET /repos/acme/app/issues/1/comments",
		"HEAD /repos/acme/app/issues/7",
		"POST /repos/acme/app/issues/7/comments", "GET /user", "GET /rate_limit",
	} {
		method, target, _ := strings.Cut(text, " ")
		if d := ask(t, h.rules, h.memory, method, "api.github.com"+target, "{}", nil); !d.Allowed {
			t.Errorf("%s: %+v", text, d)
		}
	}
	create := ask(t, h.rules, h.memory, "POST", "api.github.com/repos/acme/app/pulls", `{"title":"t","head":"acme:x","head_repo":"app","base":"main"}`, nil)
	if !create.Allowed || create.Rule != githubEntryText {
		t.Errorf("%+v", create)
	}
}

func TestAttackOperationGitHubREST(t *testing.T) {
	rules := compile(t, githubEntryText)
	for _, text := range []string{
		// elsewhere
		"POST api.github.com/repos/evil/app/issues/1/comments {}", "POST api.github.com/repos/acme/other/pulls {}", "GET api.github.com/repos/evil/app",
		"POST api.github.com/gists {}", "PATCH api.github.com/gists/1 {}", "POST api.github.com/gists/1/comments {}", "GET api.github.com/gists/1",
		"POST api.github.com/user/repos {}", "POST api.github.com/orgs/acme/repos {}", "PUT api.github.com/user/starred/evil/app", "GET api.github.com/search/code?q=x",
		"POST api.github.com/repositories/1/issues/1/comments {}", "GET api.github.com/repositories/1", "GET api.github.com/users/evil", "GET api.github.com/user/repos",
		"POST api.github.com/markdown {}", "GET api.github.com/notifications", "PUT api.github.com/notifications", "POST api.github.com/user/keys {}",
		// here, and not named
		"POST api.github.com/repos/acme/app/issues {}", "PATCH api.github.com/repos/acme/app/issues/1 {}", "PATCH api.github.com/repos/acme/app/pulls/1 {}",
		"PUT api.github.com/repos/acme/app/pulls/1/merge {}", `POST api.github.com/repos/acme/app/pulls/1/reviews {"event":"APPROVE"}`,
		"POST api.github.com/repos/acme/app/releases {}", "POST uploads.github.com/repos/acme/app/releases/1/assets?name=x x",
		"POST api.github.com/repos/acme/app/releases/1/assets?name=x x", "POST api.github.com/repos/acme/app/actions/workflows/ci.yml/dispatches {}",
		"POST api.github.com/repos/acme/app/dispatches {}", "POST api.github.com/repos/acme/app/actions/runs/1/rerun",
		"PUT api.github.com/repos/acme/app/contents/x {}", "DELETE api.github.com/repos/acme/app/contents/x {}", "POST api.github.com/repos/acme/app/git/refs {}",
		"PATCH api.github.com/repos/acme/app/git/refs/heads/main {}", "DELETE api.github.com/repos/acme/app/git/refs/heads/main",
		"POST api.github.com/repos/acme/app/merges {}", "POST api.github.com/repos/acme/app/forks {}", "POST api.github.com/repos/acme/app/transfer {}",
		"DELETE api.github.com/repos/acme/app", "PATCH api.github.com/repos/acme/app {}", "POST api.github.com/repos/acme/app/hooks {}",
		"POST api.github.com/repos/acme/app/keys {}", "PUT api.github.com/repos/acme/app/collaborators/evil", "PUT api.github.com/repos/acme/app/actions/secrets/X {}",
		"PATCH api.github.com/repos/acme/app/issues/comments/1 {}", "DELETE api.github.com/repos/acme/app/issues/comments/1",
		"POST api.github.com/repos/acme/app/commits/abc/comments {}", "POST api.github.com/repos/acme/app/pages {}", "POST api.github.com/repos/acme/app/statuses/abc {}",
		"PUT api.github.com/repos/acme/app/issues/1/lock {}", "POST api.github.com/repos/acme/app/check-runs {}",
		// texts of others
		"GET api.github.com/repos/acme/app/issues/1/timeline", "GET api.github.com/repos/acme/app/issues/1/Timeline/",
		"GET api.github.com/repos/acme/app/issues%2f1%2ftimeline",
		"GET api.github.com/repos/acme/app/compare/main...evil:main", "GET api.github.com/repos/acme/app/compare/main...evil%3amain",
		"GET api.github.com/repos/acme/app/compare/a%2fb...evil:c%2fd", "HEAD api.github.com/repos/acme/app/issues/1/parent",
		// a pull request of another's branch, and bodies with two readings
		`POST api.github.com/repos/acme/app/pulls {"head":"evil:x"}`, `POST api.github.com/repos/acme/app/pulls {"head":"x","head_repo":"evil/app"}`,
		`POST api.github.com/repos/acme/app/pulls {"head":"x","head":"evil:x"}`, `POST api.github.com/repos/acme/app/pulls {"head":["evil:x"]}`,
		`POST api.github.com/repos/acme/app/pulls {"head":"x","Head":"evil:x"}`, `POST api.github.com/repos/acme/app/pulls head=evil:x`,
		// paths and methods
		"POST api.github.com/repos/acme/app/issues/1%2f..%2f..%2f..%2fevil/comments {}", "POST api.github.com/repos/acme%2fapp/issues/1/comments {}",
		"POST api.github.com/repos/acme/app/../../evil/app/issues/1/comments {}", "POST api.github.com//repos/acme/app/issues/1/comments {}",
		"POST api.github.com/repos/acme/app/issues/1/comments/ {}", "POST api.github.com/Repos/acme/app/issues/1/comments {}",
		"POST api.github.com/repos/acme/app/issues/1/comments?_method=DELETE {}", "POST api.github.com/repos/acme/app/issues/1/comments?x=1 {}",
		"post api.github.com/repos/acme/app/issues/1/comments {}", "PUT api.github.com/repos/acme/app/issues/1/comments {}",
		"GET api.github.com/repos/acme/app?_method=DELETE", "POST uploads.github.com/repos/acme/app/issues/1/comments {}", "GET uploads.github.com/repos/acme/app", "GET api.github.com/repos/acme/",
		"GET api.github.com/repos/acme%2fapp/app/x", "GET api.github.com/repos/*/app", "POST api.github.com/graphql?x=1 {}", "GET api.github.com/graphql?query=x",
		"POST api.github.com/graphql/ {}", "POST api.github.com/repos/acme/app/graphql {}",
	} {
		method, rest, _ := strings.Cut(text, " ")
		target, body, _ := strings.Cut(rest, " ")
		d := ask(t, rules, NewMemory(), method, target, body, nil)
		if d.Allowed || d.Reason == "" {
			t.Errorf("%s: %+v", text, d)
		}
		if d.Wants != "" {
			if d := ask(t, compile(t, d.Wants), NewMemory(), method, target, body, nil); !d.Allowed {
				t.Errorf("%s: the entry that it names does not allow it: %+v", text, d)
			}
		}
	}
}

func TestAttackOperationGraphQL(t *testing.T) {
	h := newHub(t, githubEntryText)
	h.meet()
	comment := func(id string) string {
		return `addComment(input: {subjectId: "` + id + `", body: "secret"}) { clientMutationId }`
	}
	inRepository := func(fields string) string { return `{ repository(owner: "acme", name: "app") { ` + fields + ` } }` }
	for name, query := range map[string]string{
		"an id never seen":              `mutation { ` + comment("PR_evil") + ` }`,
		"the id of the parent":          `mutation { createPullRequest(input: {repositoryId: "R_parent", headRefName: "x"}) { clientMutationId } }`,
		"the id of a fork":              `mutation { createPullRequest(input: {repositoryId: "R_acme", headRepositoryId: "R_fork", headRefName: "x"}) { clientMutationId } }`,
		"the id of a person":            `mutation { ` + comment("U_author") + ` }`,
		"the id of a comment":           `mutation { ` + comment("IC_comment") + ` }`,
		"a text that looks like an id":  `mutation { ` + comment("PR_title") + ` }`,
		"another's branch":              `mutation { createPullRequest(input: {repositoryId: "R_acme", headRefName: "evil:x"}) { clientMutationId } }`,
		"good and bad":                  `mutation { a: ` + comment("PR_acme") + ` b: ` + comment("PR_evil") + ` }`,
		"bad under a good alias":        `mutation { addComment: createIssue(input: {repositoryId: "R_acme", title: "x"}) { clientMutationId } }`,
		"a fragment":                    `mutation { ...f } fragment f on Mutation { ` + comment("PR_evil") + ` }`,
		"a nested fragment":             `mutation { ...f } fragment f on Mutation { ... { ...g } } fragment g on Mutation { ` + comment("PR_evil") + ` }`,
		"an inline fragment":            `mutation { ... on Mutation { ` + comment("PR_evil") + ` } }`,
		"a fragment twice":              `mutation { ...f } fragment f on Mutation { ` + comment("PR_acme") + ` } fragment f on Mutation { ` + comment("PR_evil") + ` }`,
		"a fragment of itself":          `mutation { ...f } fragment f on Mutation { ...f }`,
		"no fragment":                   `mutation { ...f }`,
		"a skipped field":               `mutation { ` + comment("PR_acme") + ` deleteIssue(input: {issueId: "PR_acme"}) @skip(if: true) { clientMutationId } }`,
		"two operations":                `query q { viewer { login } } mutation m { ` + comment("PR_evil") + ` }`,
		"two members":                   `mutation { addComment(input: {subjectId: "PR_evil", subjectId: "PR_acme", body: "x"}) { clientMutationId } }`,
		"two inputs":                    `mutation { addComment(input: {subjectId: "PR_acme", body: "x"}, input: {subjectId: "PR_evil", body: "x"}) { clientMutationId } }`,
		"another member":                `mutation { createPullRequest(input: {repositoryId: "R_acme", headRefName: "x", projectId: "R_acme"}) { clientMutationId } }`,
		"no id":                         `mutation { addComment(input: {body: "x"}) { clientMutationId } }`,
		"an id in a list":               `mutation { addComment(input: {subjectId: ["PR_evil"], body: "x"}) { clientMutationId } }`,
		"an unknown variable":           `mutation { addComment(input: $other) { clientMutationId } }`,
		"a variable's default":          `mutation($x: ID = "PR_evil") { addComment(input: {subjectId: $x, body: "x"}) { clientMutationId } }`,
		"a variable twice":              `mutation($x: ID = "PR_acme", $x: ID = "PR_evil") { addComment(input: {subjectId: $x, body: "x"}) { clientMutationId } }`,
		"not named: issue":              `mutation { createIssue(input: {repositoryId: "R_acme", title: "x"}) { clientMutationId } }`,
		"not named: merge":              `mutation { mergePullRequest(input: {pullRequestId: "PR_acme"}) { clientMutationId } }`,
		"not named: approve":            `mutation { addPullRequestReview(input: {pullRequestId: "PR_acme", event: APPROVE}) { clientMutationId } }`,
		"no entry: delete":              `mutation { deleteIssue(input: {issueId: "PR_acme"}) { clientMutationId } }`,
		"no entry: commit":              `mutation { createCommitOnBranch(input: {branch: {id: "x"}}) { clientMutationId } }`,
		"no entry: ref":                 `mutation { createRef(input: {repositoryId: "R_acme", name: "refs/heads/x", oid: "0"}) { clientMutationId } }`,
		"no entry: update ref":          `mutation { updateRef(input: {refId: "x", oid: "0", force: true}) { clientMutationId } }`,
		"no entry: transfer":            `mutation { transferIssue(input: {issueId: "PR_acme", repositoryId: "R_evil"}) { clientMutationId } }`,
		"no entry: repository":          `mutation { createRepository(input: {name: "x", visibility: PUBLIC}) { clientMutationId } }`,
		"no entry: star":                `mutation { addStar(input: {starrableId: "R_acme"}) { clientMutationId } }`,
		"a foreign repository":          `{ repository(owner: "evil", name: "app") { id } }`,
		"a foreign one under an alias":  `{ acme: repository(owner: "acme", name: "app") { id } app: repository(owner: "evil", name: "app") { id } }`,
		"a foreign one in a fragment":   `{ ...f } fragment f on Query { repository(owner: "evil", name: "app") { id } }`,
		"an owner twice":                `{ repository(owner: "evil", owner: "acme", name: "app") { id } }`,
		"an owner that is none":         `{ repository(owner: acme2, name: "app") { id } }`,
		"a slash in a name":             `{ repository(owner: "acme/app/..", name: "app") { id } }`,
		"a star":                        `{ repository(owner: "*", name: "app") { id } }`,
		"search":                        `{ search(query: "x", type: ISSUE, first: 1) { nodes { ... on Issue { body } } } }`,
		"another's user":                `{ user(login: "evil") { login } }`,
		"an organization":               `{ organization(login: "acme") { repositories(first: 1) { nodes { name } } } }`,
		"a resource":                    `{ resource(url: "https://github.com/evil/app") { ... on Repository { id } } }`,
		"a node never seen":             `{ node(id: "R_evil") { ... on Repository { name } } }`,
		"nodes":                         `{ nodes(ids: ["PR_acme", "PR_evil"]) { id } }`,
		"the viewer's repositories":     `{ viewer { repositories(first: 1) { nodes { name object(expression: "main:x") { ... on Blob { text } } } } } }`,
		"the viewer's gists":            `{ viewer { gists(first: 1) { nodes { description } } } }`,
		"the owner's repositories":      inRepository(`owner { repositories(first: 1) { nodes { name } } }`),
		"the owner's in a fragment":     inRepository(`owner { ... on Organization { repository(name: "secret") { description object(expression: "x") { id } } } }`),
		"an author's repository":        inRepository(`pullRequest(number: 1) { author { ... on User { repository(name: "x") { issues(first: 1) { nodes { body } } } } } }`),
		"files of the head's":           inRepository(`pullRequest(number: 1) { headRepository { object(expression: "main:x") { ... on Blob { text } } } }`),
		"issues that it closes":         inRepository(`pullRequest(number: 1) { closingIssuesReferences(first: 1) { nodes { body } } }`),
		"what a timeline mentions":      inRepository(`issue(number: 1) { timelineItems(first: 1) { nodes { ... on CrossReferencedEvent { source { ... on Issue { body } } } } } }`),
		"through a commit":              inRepository(`object(expression: "main") { ... on Commit { associatedPullRequests(first: 1) { nodes { body } } } }`),
		"through a payload":             `mutation { addComment(input: {subjectId: "PR_acme", body: "x"}) { subject { ... on Issue { repository { owner { repositories { totalCount } } } } } } }`,
		"one name for two fields":       inRepository(`pullRequest(number: 1) { ... on A { x: id } ... on B { x: title } }`),
		"one name for two repositories": `{ ... on A { r: repository(owner: "acme", name: "app") { id } } ... on B { r: repository(owner: "evil", name: "app") { id } } }`,
		"a subscription":                `subscription { viewer { login } }`,
		"too deep":                      inRepository(strings.Repeat(`commit { `, 60) + `oid` + strings.Repeat(` }`, 60)),
		"a bomb":                        inRepository(`...f0`) + bomb(),
		"no document":                   `{`,
		"a schema":                      `type Query { x: Int }`,
	} {
		if d := h.graphql(query, nil); d.Allowed || d.Reason == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
	good := `"query":"{ viewer { login } }"`
	for _, body := range []string{
		`[{` + good + `}]`, `{` + good + `,"query":"{ node(id: \"R_evil\") { id } }"}`, `{` + good + `,"Query":"x"}`, `{` + good + `,"id":"PERSISTED"}`,
		`{` + good + `,"extensions":{"persistedQuery":{}}}`, `{` + good + `,"variables":"x"}`, `{"query":["x"]}`, `{}`, ``, `query={viewer{login}}`,
		`{` + good + `}{` + good + `}`, `{` + good + strings.Repeat(" ", maxAPIBody) + `}`,
	} {
		if d := ask(t, h.rules, h.memory, "POST", "api.github.com/graphql", body, nil); d.Allowed {
			t.Errorf("%.80s: %+v", body, d)
		}
	}
	if d := ask(t, h.rules, h.memory, "POST", "api.github.com/graphql", `{`+good+`}`, nil); !d.Allowed {
		t.Errorf("%+v", d)
	}
	if d := ask(t, h.rules, h.memory, "POST", "api.github.com/graphql?x=1", `{`+good+`}`, nil); d.Allowed {
		t.Errorf("%+v", d)
	}
	review := newHub(t, "github:acme/app pulls.review")
	review.meet()
	for event, allowed := range map[string]bool{"COMMENT": true, "APPROVE": false} {
		d := review.graphql(`mutation { addPullRequestReview(input: {pullRequestId: "PR_acme", event: `+event+`}) { clientMutationId } }`, nil)
		rest := ask(t, review.rules, review.memory, "POST", "api.github.com/repos/acme/app/pulls/1/reviews", `{"event":"`+event+`"}`, nil)
		if d.Allowed != allowed || rest.Allowed != allowed {
			t.Errorf("%s: %+v %+v", event, d, rest)
		}
	}
	if d := ask(t, h.rules, h.memory, "POST", "api.github.com/graphql", zipped(`{`+good+`}`), http.Header{"Content-Encoding": {"gzip"}}); d.Allowed {
		t.Errorf("%+v", d)
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

// An id of one repository is no id of another, though both may be written to.
func TestAttackOperationGraphQLIdsOfTwoRepositories(t *testing.T) {
	h := newHub(t, "github:acme/app pulls.create", "github:acme/lib")
	h.meet()
	d := h.graphql(repositoryInfo, map[string]any{"owner": "acme", "name": "lib"})
	h.answered(d, `{"repository":{"id":"R_lib"}}`)
	for query, allowed := range map[string]bool{
		`mutation { createPullRequest(input: {repositoryId: "R_acme", headRefName: "x"}) { clientMutationId } }`:                            true,
		`mutation { createPullRequest(input: {repositoryId: "R_lib", headRefName: "x"}) { clientMutationId } }`:                             false,
		`mutation { createPullRequest(input: {repositoryId: "R_acme", headRepositoryId: "R_lib", headRefName: "x"}) { clientMutationId } }`: false,
		`mutation { a: createPullRequest(input: {repositoryId: "R_acme", headRefName: "x"}) { clientMutationId }
			b: createPullRequest(input: {repositoryId: "R_lib", headRefName: "x"}) { clientMutationId } }`: false,
		`mutation { b: createPullRequest(input: {repositoryId: "R_lib", headRefName: "x"}) { clientMutationId }
			a: createPullRequest(input: {repositoryId: "R_acme", headRefName: "x"}) { clientMutationId } }`: false,
		`{ a: repository(owner: "acme", name: "app") { id } b: repository(owner: "acme", name: "lib") { id } }`: true,
	} {
		if d := h.graphql(query, nil); d.Allowed != allowed {
			t.Errorf("%s: %+v", query, d)
		}
	}
	// Answers that are no answer teach nothing.
	d = h.graphql(repositoryInfo, map[string]any{"owner": "acme", "name": "app"})
	for _, c := range []struct {
		status int
		header http.Header
	}{
		{500, http.Header{"Content-Type": {"application/json"}}}, {200, http.Header{"Content-Type": {"text/html"}}},
		{200, http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}},
	} {
		if d.Observe(c.status, c.header) != nil {
			t.Errorf("%+v is read", c)
		}
	}
}

func TestGitHubEntries(t *testing.T) {
	for text, want := range map[string]string{
		"github:acme": "names no repository", "github:acme/app/x": "names no repository", "github:": "names no repository",
		"github:acme/** read": "names no repository", "github:acme/app pulls.created": "is no operation", "github:acme/app gists.create": "is no operation",
		"github:acme/* issues.comment": "writes to any repository", "github:acme/app PULLS.CREATE": "is no operation",
	} {
		_, problems := Compile([]string{text})
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%q: %+v, want %q", text, problems, want)
		}
	}
	r := compile(t, "github:acme/* read", "github:acme/app pulls.create,issues.comment")
	for text, want := range map[string]bool{
		"github:Acme/lib": true, "github:evil/lib": false, "github:acme/app issues.comment": true, "github:acme/app read, pulls.create": true,
		"github:acme/app pulls.merge": false, "github:acme/lib issues.comment": false, "github:*/* read": false,
	} {
		if r.Covers(text) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
	if text, reads := Words("github:acme/app pulls.create, issues.comment"); reads || !strings.Contains(text, "pulls.create and issues.comment") {
		t.Error(text, reads)
	}
}

// No document makes the judge fail or take long, and one that it allows stays allowed
// as the parser writes it.
func FuzzGraphQL(f *testing.F) {
	for _, query := range []string{repositoryInfo, `mutation { addComment(input: {subjectId: "PR_acme", body: """x"""}) { clientMutationId } }`, `{a:viewer{login}}`} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		h := newHub(t, githubEntryText)
		h.memory.idsAt(newGitHubSite(Host{Name: githubCom, Port: webPort})).record("PR_acme", []string{"acme", "app"})
		d := h.graphql(query, map[string]any{"owner": "acme", "name": "app"})
		if d.Allowed && (d.Rule != githubEntryText || strings.Contains(d.Operation, "evil")) {
			t.Fatalf("%q: %+v", query, d)
		}
	})
}
