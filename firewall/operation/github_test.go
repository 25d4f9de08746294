package operation

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/operationtest"
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

const repositoryInfo = operationtest.RepositoryInfo

// meet makes the ids of acme/app known, as gh's first questions do.
func (h *hub) meet() {
	h.t.Helper()
	for _, x := range operationtest.GraphQL().Before {
		h.answered(ask(h.t, h.rules, h.memory, x.Method, x.URL(), x.Body, x.Header), x.Data)
	}
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
		"pr create": {
			`mutation PullRequestCreate($input: CreatePullRequestInput!) { createPullRequest(input: $input) { pullRequest { id url } } }`,
			map[string]any{"repositoryId": "R_acme", "title": "t", "body": "b", "draft": false, "headRefName": "agent/x", "baseRefName": "main",
				"maintainerCanModify": true}, "github pulls.create acme/app"},
		"pr create from its own name": {
			`mutation PullRequestCreate($input: CreatePullRequestInput!) { createPullRequest(input: $input) { pullRequest { id } } }`,
			map[string]any{"repositoryId": "R_acme", "headRefName": "acme:agent/x"}, "github pulls.create acme/app"},
		"pr comment": {`mutation CommentCreate($input: AddCommentInput!) { addComment(input: $input) { commentEdge { node { url } } } }`,
			map[string]any{"subjectId": "PR_acme", "body": "b"}, "github issues.comment acme/app"},
		"feature detection": {
			`query PullRequest_fields { PullRequest: __type(name: "PullRequest") { fields(includeDeprecated: true) { name } } }`, nil, ""},
		"who": {`query UserCurrent { viewer { login } }`, nil, ""},
		"issue view": {
			`query IssueByNumber($input: Int) { repository(owner: "ACME", name: "app") { hasIssuesEnabled issue: issueOrPullRequest(number: 7) {
			__typename ... on Issue { id title assignees(first: 100) { nodes { id login name } totalCount } milestone { number title } } } } }`,
			nil, ""},
		"network": {`query RepositoryNetwork { viewer { login } repo_000: repository(owner: "acme", name: "app") { id name owner { login } } }`,
			nil, ""},
		"checks": {
			`query PullRequestStatusChecks($id: ID = "PR_acme") { node(id: $id) { ... on PullRequest { commits(last: ` +
				`1) { nodes { commit { oid } } } } } }`, nil, ""},
	} {
		d := h.graphql(c.query, map[string]any{"input": c.input})
		if !d.Allowed || !strings.HasPrefix(d.Operation, c.want) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for _, text := range []string{
		"GET /repos/acme/app", "GET /repos/Acme/APP/pulls?state=open&per_page=5", "GET /repos/acme/app/contents/a%2fb",
		"GET /repos/acme/app/compare/main...agent/x", "GET /repos/acme/app/issues/1/comments",
		"HEAD /repos/acme/app/issues/7",
		"POST /repos/acme/app/issues/7/comments", "GET /user", "GET /rate_limit",
	} {
		method, target, _ := strings.Cut(text, " ")
		if d := ask(t, h.rules, h.memory, method, "api.github.com"+target, "{}", nil); !d.Allowed {
			t.Errorf("%s: %+v", text, d)
		}
	}
	more := newHub(t, "github:acme/app pulls.reviewers, issues.update")
	more.meet()
	for query, want := range map[string]string{
		`mutation { requestReviewsByLogin(input: {pullRequestId: "PR_acme", userLogins: ["a"], botLogins: [], teamSlugs: ["acme/b"], union: ` +
			`true}) { clientMutationId } }`: "github pulls.reviewers acme/app",
		`mutation { replaceActorsForAssignable(input: {assignableId: "PR_acme", actorLogins: ` +
			`["a"]}) { __typename } }`: "github issues.update acme/app",
	} {
		if d := more.graphql(query, nil); !d.Allowed || d.Operation != want {
			t.Errorf("%s: %+v", query, d)
		}
	}
	create := ask(t, h.rules, h.memory, "POST", "api.github.com/repos/acme/app/pulls",
		`{"title":"t","head":"acme:x","head_repo":"app","base":"main"}`, nil)
	if !create.Allowed || create.Rule != githubEntryText {
		t.Errorf("%+v", create)
	}
}

// What the entries do not allow is refused with a reason. An entry that the refusal names
// allows it.
func TestAttackOperations(t *testing.T) {
	for _, class := range operationtest.Classes() {
		t.Run(class.Name, func(t *testing.T) {
			h := newHub(t, class.Entries...)
			for _, x := range class.Before {
				h.answered(ask(t, h.rules, h.memory, x.Method, x.URL(), x.Body, x.Header), x.Data)
			}
			for _, c := range class.Cases {
				d := ask(t, h.rules, h.memory, c.Method, c.URL(), c.Body, c.Header)
				if d.Allowed || d.Reason == "" {
					t.Errorf("%.200s: %+v", c.Name, d)
				}
				if d.Wants != "" && len(class.Before) == 0 {
					if d := ask(t, compile(t, d.Wants), NewMemory(), c.Method, c.URL(), c.Body, c.Header); !d.Allowed {
						t.Errorf("%s: the entry that it names does not allow it: %+v", c.Name, d)
					}
				}
			}
		})
	}
}

func TestAttackOperationGraphQL(t *testing.T) {
	h := newHub(t, githubEntryText)
	h.meet()
	good := `"query":"{ viewer { login } }"`
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
	if d := ask(t, h.rules, h.memory, "POST", "api.github.com/graphql", zipped(`{`+good+`}`),
		http.Header{"Content-Encoding": {"gzip"}}); d.Allowed {
		t.Errorf("%+v", d)
	}
}

// An id of one repository is no id of another, though both may be written to.
func TestAttackOperationGraphQLIdsOfTwoRepositories(t *testing.T) {
	h := newHub(t, "github:acme/app pulls.create", "github:acme/lib")
	h.meet()
	d := h.graphql(repositoryInfo, map[string]any{"owner": "acme", "name": "lib"})
	h.answered(d, `{"repository":{"id":"R_lib"}}`)
	for query, allowed := range map[string]bool{
		`mutation { createPullRequest(input: {repositoryId: "R_acme", headRefName: "x"}) { clientMutationId } }`: true,
		`mutation { createPullRequest(input: {repositoryId: "R_lib", headRefName: ` +
			`"x"}) { clientMutationId } }`: false,
		`mutation { createPullRequest(input: {repositoryId: "R_acme", headRepositoryId: "R_lib", headRefName: ` +
			`"x"}) { clientMutationId } }`: false,
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
		"github:acme/** read": "names no repository", "github:acme/app pulls.created": "is no operation",
		"github:acme/app gists.create": "is no operation",
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
	if text, reads := Words("github:acme/app pulls.create, issues.comment"); reads ||
		!strings.Contains(text, "pulls.create and issues.comment") {
		t.Error(text, reads)
	}
}

// No document makes the judge fail or take long, and one that it allows stays allowed
// as the parser writes it.
func FuzzGraphQL(f *testing.F) {
	for _, query := range []string{repositoryInfo,
		`mutation { addComment(input: {subjectId: "PR_acme", body: """x"""}) { clientMutationId } }`, `{a:viewer{login}}`} {
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
