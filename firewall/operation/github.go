package operation

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// github is what "github:OWNER/REPO pulls.create, issues.comment" entries allow at
// GitHub's API. Each allows reading the repository.
type github struct{ entries []githubEntry }

// githubEntry is one of them.
type githubEntry struct {
	text string
	site githubSite
	repo []string // lower case; "*" = any, of an entry that reads
	does []string
}

const githubForm = "write it as github:acme/app pulls.create, issues.comment, or github:ghe.example.com/acme/app for a GitHub of your own"

// parseGitHub reads an entry. A first part with a dot is a host: names of owners have none.
func parseGitHub(e entry) (parsed githubEntry, message, hint string) {
	host, target := Host{Name: githubCom, Port: webPort}, e.target
	if first, rest, _ := strings.Cut(e.target, "/"); strings.Contains(first, ".") {
		if host, message, hint = parseHost(first); message != "" {
			return parsed, message, hint
		}
		target = rest
	}
	if host.Wildcard || !isGitHub(host.Name) {
		return parsed, fmt.Sprintf("%q names no GitHub", e.text), githubForm
	}
	path, err := ParsePath("/" + target)
	if err != nil || path.Slashes || len(path.Segments) != 2 || slices.ContainsFunc(path.Segments, isPartWildcard) {
		return parsed, fmt.Sprintf("%q names no repository", e.text), githubForm
	}
	parsed = githubEntry{text: e.text, site: newGitHubSite(host), does: []string{githubRead}}
	for _, segment := range path.Segments {
		parsed.repo = append(parsed.repo, lowerASCII(segment))
	}
	for _, name := range strings.FieldsFunc(strings.Join(e.words, ","), func(c rune) bool { return c == ',' }) {
		switch {
		case !slices.Contains(githubNames(), name):
			return parsed, fmt.Sprintf("%q is no operation of github", name), "use " + strings.Join(githubNames(), ", ")
		case name != githubRead && slices.Contains(parsed.repo, "*"):
			return parsed, fmt.Sprintf("%q writes to any repository", e.text), "name one repository; * is for reading"
		}
		parsed.does = append(parsed.does, name)
	}
	return parsed, "", ""
}

// githubNames are the operations that an entry can name.
func githubNames() []string {
	names := []string{githubRead, githubApprove}
	for _, route := range githubRoutes {
		names = append(names, route.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (g githubEntry) hosts() []Host { return g.site.hosts() }

func (g githubEntry) covers(n githubEntry) bool {
	return g.site.is(n.site) && matchSegments(g.repo, n.repo) &&
		!slices.ContainsFunc(n.does, func(name string) bool { return !slices.Contains(g.does, name) })
}

func (g githubEntry) words() (text string, reads bool) {
	text = "GitHub's API" + g.site.inWords() + ": read " + strings.Join(g.repo, "/")
	writes := slices.DeleteFunc(slices.Clone(g.does), func(name string) bool { return name == githubRead })
	if len(writes) == 0 {
		return text, true
	}
	return text + ", and there " + strings.Join(writes, " and "), false
}

// rule returns the entry that allows an operation on a repository.
func (g *github) rule(site githubSite, repo []string, name string) (text string, ok bool) {
	for _, e := range g.entries {
		if e.site.is(site) && slices.Contains(e.does, name) && !slices.Contains(repo, "*") && matchSegments(e.repo, repo) {
			return e.text, true
		}
	}
	return "", false
}

// allow decides about operations on a repository: each needs its entry.
func (g *github) allow(d *Decision, site githubSite, repo []string, names ...string) {
	at := site.target(repo)
	d.Operation = "github " + strings.Join(names, ",") + " " + at
	for _, name := range names {
		text, ok := g.rule(site, repo, name)
		if !ok {
			d.Allowed, d.Rule, d.Reason = false, "", "no entry allows "+name+" on "+at
			d.Wants = "github:" + at + " " + strings.Join(names, ", ")
			if _, bad, _ := parseGitHub(parseEntry(d.Wants)); bad != "" || slices.Contains(repo, "*") {
				d.Wants = ""
			}
			return
		}
		d.Allowed, d.Rule, d.Reason = true, text, "the entry names this operation and repository"
	}
}

// allowCommon allows what every client of a site's API asks for.
func (g *github) allowCommon(d *Decision, site githubSite) {
	i := slices.IndexFunc(g.entries, func(e githubEntry) bool { return e.site.is(site) })
	d.Allowed, d.Rule, d.Reason = true, g.entries[i].text, "every client of the API asks for this"
}

func (g *github) judge(m *Memory, req *Request, body *Body) Decision {
	call, ok := g.call(req)
	if !ok {
		return Decision{}
	}
	d := Decision{Operation: "github " + req.Method + " " + req.Path.Raw}
	if override := overrideParameter(req.Query); override != "" {
		d.Reason = override + " names another method than the request's"
		return d
	}
	switch {
	case call.graphql:
		g.judgeGraphQL(&d, call.site, m, req, body)
	case len(call.below) >= 3 && call.below[0] == "repos":
		g.judgeREST(&d, call, req, body)
	case !call.uploads && isCommonRead(req, call.below):
		g.allowCommon(&d, call.site)
	default:
		d.Reason = "entries about github are for repositories, and this is none that can be told"
	}
	if !d.Allowed {
		d.Answer = githubRefusal(&d)
	}
	return d
}

// call finds the part of an entry's site that a request is for. A GitHub of one's own
// has its pages, and git, at the API's host: those are no calls.
func (g *github) call(req *Request) (call githubCall, ok bool) {
	for _, e := range g.entries {
		if call, ok = e.site.call(req); ok {
			return call, true
		}
	}
	return call, false
}

// isCommonRead reports whether a request reads facts without a repository that are the
// token's own: its user, the API's limits and versions.
func isCommonRead(req *Request, below []string) bool {
	return req.Method == http.MethodGet && !req.Path.Slashes &&
		slices.Contains([]string{"", "user", "rate_limit", "meta", "versions"}, strings.Join(below, "/"))
}

// judgeREST decides about "repos/OWNER/REPO/…".
func (g *github) judgeREST(d *Decision, call githubCall, req *Request, body *Body) {
	repo, below := []string{lowerASCII(call.below[1]), lowerASCII(call.below[2])}, call.below[3:]
	if strings.Contains(repo[0]+repo[1], "/") || repo[1] == "" {
		d.Reason = "the path names no repository"
		return
	}
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	switch {
	case reads && isClosedRead(below):
		d.Reason = "the answer may hold secrets, or what is in other repositories, and an entry is for one alone"
		return
	case reads && !call.uploads:
		g.allow(d, call.site, repo, githubRead)
		return
	}
	route, ok := findGitHubRoute(req, call.uploads, below)
	if !ok {
		d.Reason = "no entry can allow this: it is none of the known operations on a repository"
		return
	}
	name, err := route.read(req, repo, body)
	if err != nil {
		d.Operation, d.Reason = "github "+route.name+" "+call.site.target(repo), err.Error()
		return
	}
	g.allow(d, call.site, repo, name)
}

func isClosedRead(segments []string) bool {
	text := strings.TrimSuffix(lowerASCII(strings.Join(segments, "/")), "/")
	if strings.HasPrefix(text, "compare/") && strings.Contains(text, ":") {
		return true // a fork's branch, "OWNER:BRANCH"
	}
	below := strings.Split(text, "/")
	return slices.ContainsFunc(githubClosedReads, func(pattern string) bool { return matchPattern(strings.Split(pattern, "/"), below) })
}

func findGitHubRoute(req *Request, uploads bool, below []string) (githubRoute, bool) {
	if req.Path.Slashes {
		return githubRoute{}, false
	}
	for _, route := range githubRoutes {
		if route.method == req.Method && route.uploads == uploads && (req.Query == "" || uploads) &&
			matchPattern(strings.Split(route.pattern, "/"), below) {
			return route, true
		}
	}
	return githubRoute{}, false
}

// maxAPIBody bounds a body that is read, in bytes.
const maxAPIBody = 512 << 10

var errForeignHead = errors.New("the branch is another repository's, and an entry is for one alone")

// read returns the operation, which may depend on the body.
func (r githubRoute) read(req *Request, repo []string, body *Body) (name string, err error) {
	if r.check == nil {
		return r.name, nil
	}
	if len(req.Header["Content-Encoding"]) > 0 {
		return "", errCoding
	}
	text, err := body.Whole(maxAPIBody)
	if err != nil {
		return "", err
	}
	if len(text) == 0 {
		text = []byte("{}")
	}
	members, err := parseGitHubBody(req, body, text)
	if err != nil {
		return "", err
	}
	return r.check(repo, members)
}

// parseGitHubBody reads JSON. GitHub takes it under any type, such as curl's usual one of a
// form, as which the text must not be readable then.
func parseGitHubBody(req *Request, body *Body, text []byte) (map[string]any, error) {
	kind := strings.ToLower(strings.Join(req.Header["Content-Type"], ","))
	if !strings.Contains(kind, "json") && bytes.ContainsAny(text, "&;") && bytes.Contains(text, []byte("=")) {
		return nil, errors.New("the body is JSON and could be read as a form: send it with the type application/json")
	}
	return body.parse(text)
}

// checkHead takes a pull request from the repository itself.
func checkHead(repo []string, members map[string]any) (string, error) {
	head, ok := members["head"].(string)
	if !ok && members["head"] != nil {
		return "", errForeignHead
	}
	owner, _, foreign := strings.Cut(head, ":")
	if foreign && lowerASCII(owner) != repo[0] {
		return "", errForeignHead
	}
	if from := members["head_repo"]; from != nil {
		if name, _ := from.(string); lowerASCII(name) != repo[1] && lowerASCII(name) != strings.Join(repo, "/") {
			return "", errForeignHead
		}
	}
	return "pulls.create", nil
}

// checkReview tells an approval, which lets others merge, from a review.
func checkReview(_ []string, members map[string]any) (string, error) {
	switch members["event"] {
	case nil, "", "COMMENT", "REQUEST_CHANGES":
		return "pulls.review", nil
	}
	return githubApprove, nil
}

// githubRefusal is a refusal in the form of GitHub's errors, whose words gh shows.
func githubRefusal(d *Decision) *Answer {
	message := "sandbox: " + d.Reason
	if d.Wants != "" {
		message += "; allowed by: " + d.Wants
	}
	return jsonAnswer(map[string]string{"message": message})
}
