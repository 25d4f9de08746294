package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// hub is a stand-in for a GitHub of one's own, as gh sees it: two repositories of the same
// form by REST and by GraphQL. It does what it is asked, for anybody, and remembers it.
type hub struct {
	mu      sync.Mutex
	made    []string // "comment PR_acme hello"
	objects map[string]node
}

// node is an object of GraphQL: its fields, of which one may be a function of arguments.
type node map[string]any

type field func(args map[string]any) any

const hubURL = "https://ok.test/"

func newHub() *hub {
	h := &hub{objects: map[string]node{}}
	for _, owner := range []string{"acme", "evil"} {
		h.addRepository(owner)
	}
	return h
}

func (h *hub) addRepository(owner string) {
	h.objects["U_"+owner] = node{"__typename": "User", "id": "U_" + owner, "login": owner, "name": owner}
	commit := node{"__typename": "Commit", "oid": strings.Repeat("1", 40), "statusCheckRollup": nil}
	item := func(kind, id, path string, number int) node {
		return node{
			"__typename": kind, "id": id + "_" + owner, "number": number, "title": "a title", "body": "a body", "state": "OPEN",
			"url": hubURL + owner + "/app/" + path + "/" + fmt.Sprint(number), "author": h.objects["U_"+owner], "closed": false,
			"createdAt": "2024-01-01T00:00:00Z", "updatedAt": "2024-01-01T00:00:00Z", "comments": pages(), "labels": pages(),
			"assignees": pages(), "projectCards": pages(), "reactionGroups": []any{},
		}
	}
	issue, pull := item("Issue", "I", "issues", 1), item("PullRequest", "PR", "pull", 2)
	for name, value := range (node{
		"headRefName": "agent/x", "baseRefName": "main", "isDraft": false, "isCrossRepository": false,
		"headRepositoryOwner": h.objects["U_"+owner],
		"headRepository":      node{"id": "R_" + owner, "name": "app"}, "commits": pages(node{"commit": commit}), "reviews": pages(),
		"latestReviews":  pages(),
		"reviewRequests": pages(), "mergeable": "MERGEABLE", "additions": 1, "deletions": 0, "files": pages(),
	}) {
		pull[name] = value
	}
	numbered := field(func(args map[string]any) any {
		return map[string]any{"1": issue, "2": pull}[fmt.Sprint(args["number"])]
	})
	repository := node{
		"__typename": "Repository", "id": "R_" + owner, "name": "app", "owner": h.objects["U_"+owner], "nameWithOwner": owner + "/app",
		"hasIssuesEnabled": true, "viewerPermission": "WRITE", "defaultBranchRef": node{"name": "main", "target": commit}, "isPrivate": false,
		"issue": numbered, "issueOrPullRequest": numbered, "pullRequest": numbered, "url": hubURL + owner + "/app", "parent": nil,
		"issues": pages(issue), "labels": pages(), "milestones": pages(), "assignableUsers": pages(), "issueTemplates": []any{},
		"pullRequestTemplates": []any{}, "mergeCommitAllowed": true,
		// Of a branch none is open yet.
		"pullRequests": field(func(args map[string]any) any {
			if args["headRefName"] != nil {
				return pages()
			}
			return pages(pull)
		}),
	}
	for _, one := range []node{repository, issue, pull} {
		h.objects[one["id"].(string)] = one
	}
}

// pages is a connection of GraphQL with all its nodes.
func pages(nodes ...node) node {
	list, edges := []any{}, []any{}
	for _, n := range nodes {
		list, edges = append(list, n), append(edges, node{"node": n})
	}
	return node{"nodes": list, "edges": edges, "totalCount": len(list), "pageInfo": node{"hasNextPage": false, "endCursor": ""}}
}

// did returns what the hub was made to change, in order.
func (h *hub) did() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.made)
}

func (h *hub) note(what string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made = append(h.made, fmt.Sprintf(what, args...))
}

// rest answers below /api/v3.
func (h *hub) rest(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v3")
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Oauth-Scopes", "repo, read:org, gist")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.note("%s %s", r.Method, path)
	}
	switch {
	case path == "/meta":
		_, _ = w.Write([]byte(`{"installed_version": "3.14.0"}`))
	case strings.HasPrefix(path, "/repos/acme/app/pulls/2") && strings.Contains(r.Header.Get("Accept"), "diff"):
		_, _ = w.Write([]byte("diff --git a/file b/file\n+" + fileMarker + "\n"))
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"full_name": strings.TrimPrefix(path, "/repos/"), "description": fileMarker,
			"id": 1, "html_url": hubURL,
			"body": "a body", "upload_url": hubURL + "api/uploads" + strings.TrimSuffix(path, "/tags/v1") + "/1/assets{?name,label}"})
	}
}

// graphql answers a document, as far as it asks for what the hub has; the rest is null.
func (h *hub) graphql(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Query     string
		Variables map[string]any
	}
	err := json.NewDecoder(r.Body).Decode(&request)
	document, bad := parser.ParseQuery(&ast.Source{Input: request.Query})
	if err != nil || bad != nil || len(document.Operations) != 1 {
		http.Error(w, "no document", http.StatusBadRequest)
		return
	}
	root := node{
		"viewer": h.objects["U_acme"], "rateLimit": node{"remaining": 1000},
		"repository": field(func(args map[string]any) any {
			return orNull(h.objects["R_"+strings.ToLower(fmt.Sprint(args["owner"]))])
		}),
		"node": field(func(args map[string]any) any { return orNull(h.objects[fmt.Sprint(args["id"])]) }),
		"__type": field(func(map[string]any) any {
			return node{"fields": []any{node{"name": "reviewDecision"}, node{"name": "statusCheckRollup"}}}
		}),
	}
	if document.Operations[0].Operation == ast.Mutation {
		root = node{"addComment": field(h.addComment), "createPullRequest": field(h.create("pullRequest")),
			"createIssue": field(h.create("issue"))}
	}
	e := executor{document.Fragments, request.Variables}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(map[string]any{"data": e.fields(document.Operations[0].SelectionSet, root)})
}

func orNull(n node) any {
	if n == nil {
		return nil
	}
	return n
}

func (h *hub) addComment(args map[string]any) any {
	input := args["input"].(map[string]any)
	h.note("comment %s %s", input["subjectId"], input["body"])
	return node{"commentEdge": node{"node": node{"url": hubURL + "comment"}}}
}

func (h *hub) create(kind string) field {
	return func(args map[string]any) any {
		input := args["input"].(map[string]any)
		h.note("%s %s %v", kind, input["repositoryId"], input["title"])
		return node{kind: node{"id": "NEW", "url": hubURL + "acme/app/pull/3", "number": 3}}
	}
}

// executor carries a document out.
type executor struct {
	fragments ast.FragmentDefinitionList
	variables map[string]any
}

func (e executor) fields(set ast.SelectionSet, of node) map[string]any {
	out := map[string]any{}
	for _, selection := range set {
		var more ast.SelectionSet
		switch s := selection.(type) {
		case *ast.Field:
			out[s.Alias] = e.value(s, of[s.Name])
			continue
		case *ast.InlineFragment:
			if s.TypeCondition != "" && s.TypeCondition != of["__typename"] {
				continue
			}
			more = s.SelectionSet
		case *ast.FragmentSpread:
			more = e.fragments.ForName(s.Name).SelectionSet
		}
		for name, value := range e.fields(more, of) {
			out[name] = value
		}
	}
	return out
}

func (e executor) value(f *ast.Field, value any) any {
	switch v := value.(type) {
	case field:
		args := map[string]any{}
		for _, a := range f.Arguments {
			args[a.Name], _ = a.Value.Value(e.variables)
		}
		return e.value(f, v(args))
	case node:
		return e.fields(f.SelectionSet, v)
	case []any:
		list := []any{}
		for _, one := range v {
			list = append(list, e.value(f, one))
		}
		return list
	}
	return value
}
