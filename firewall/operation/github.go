package operation

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation/strictjson"
)

// github is what "github:OWNER/REPO pulls.create, issues.comment" entries allow at
// GitHub's API. Each allows reading the repository.
type github struct{ entries []githubEntry }

// githubEntry is one of them.
type githubEntry struct {
	text string
	repo []string // lower case; "*" = any, of an entry that reads
	does []string
}

var (
	githubAPI     = Host{Name: "api.github.com", Port: webPort}
	githubUploads = Host{Name: "uploads.github.com", Port: webPort}
)

const githubForm = "write it as github:acme/app pulls.create, issues.comment"

func compileGitHub(entries []entry) (service, []Problem) {
	g := &github{}
	var problems []Problem
	for _, e := range entries {
		parsed, message, hint := parseGitHub(e)
		if message != "" {
			problems = append(problems, Problem{e.index, message, hint})
			continue
		}
		g.entries = append(g.entries, parsed)
	}
	return g, problems
}

func parseGitHub(e entry) (parsed githubEntry, message, hint string) {
	path, err := ParsePath("/" + e.target)
	if err != nil || path.Slashes || len(path.Segments) != 2 || slices.ContainsFunc(path.Segments, isPartWildcard) {
		return parsed, fmt.Sprintf("%q names no repository", e.text), githubForm
	}
	parsed = githubEntry{text: e.text, does: []string{githubRead}}
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

// coversGitHub compares two entries of this kind.
func coversGitHub(wide, narrow entry) bool {
	w, bad, _ := parseGitHub(wide)
	n, alsoBad, _ := parseGitHub(narrow)
	return bad == "" && alsoBad == "" && matchSegments(w.repo, n.repo) &&
		!slices.ContainsFunc(n.does, func(name string) bool { return !slices.Contains(w.does, name) })
}

func wordsGitHub(e entry) (text string, reads bool) {
	g, bad, _ := parseGitHub(e)
	if bad != "" {
		return e.text, false
	}
	text = "GitHub's API: read " + strings.Join(g.repo, "/")
	writes := slices.DeleteFunc(slices.Clone(g.does), func(name string) bool { return name == githubRead })
	if len(writes) == 0 {
		return text, true
	}
	return text + ", and there " + strings.Join(writes, " and "), false
}

func (g *github) hosts() []Host { return []Host{githubAPI, githubUploads} }

// rule returns the entry that allows an operation on a repository.
func (g *github) rule(repo []string, name string) (text string, ok bool) {
	for _, e := range g.entries {
		if slices.Contains(e.does, name) && !slices.Contains(repo, "*") && matchSegments(e.repo, repo) {
			return e.text, true
		}
	}
	return "", false
}

// allow decides about operations on a repository: each needs its entry.
func (g *github) allow(d *Decision, repo []string, names ...string) {
	at := strings.Join(repo, "/")
	d.Operation = "github " + strings.Join(names, ",") + " " + at
	for _, name := range names {
		text, ok := g.rule(repo, name)
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

func (g *github) judge(m *Memory, req *Request, body *Body) Decision {
	d := Decision{Operation: "github " + req.Method + " " + req.Path.Raw}
	if override := overrideParameter(req.Query); override != "" {
		d.Reason = override + " names another method than the request's"
		return d
	}
	switch segments := req.Path.Segments; {
	case req.Host == githubAPI.Name && slices.Equal(segments, []string{"graphql"}):
		g.judgeGraphQL(&d, m, req, body)
	case len(segments) >= 3 && segments[0] == "repos":
		g.judgeREST(&d, req, body)
	case req.Host == githubAPI.Name && len(g.entries) > 0 && isCommonRead(req):
		d.Allowed, d.Rule, d.Reason = true, g.entries[0].text, "every client of the API asks for this"
	default:
		d.Reason = "entries about github are for repositories, and this is none that can be told"
	}
	if !d.Allowed {
		d.Answer = githubRefusal(&d)
	}
	return d
}

// isCommonRead reports whether a request reads what has no repository and is nobody
// else's: who the token is, the API's limits and versions.
func isCommonRead(req *Request) bool {
	return req.Method == http.MethodGet && slices.Contains([]string{"/", "/user", "/rate_limit", "/meta", "/versions"}, req.Path.Raw)
}

// judgeREST decides about "/repos/OWNER/REPO/…".
func (g *github) judgeREST(d *Decision, req *Request, body *Body) {
	repo := []string{lowerASCII(req.Path.Segments[1]), lowerASCII(req.Path.Segments[2])}
	if strings.Contains(repo[0]+repo[1], "/") || repo[1] == "" {
		d.Reason = "the path names no repository"
		return
	}
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	switch {
	case reads && readsForeign(req.Path):
		d.Reason = "the answer may hold what is in other repositories, and an entry is for one alone"
		return
	case reads && req.Host == githubAPI.Name:
		g.allow(d, repo, githubRead)
		return
	}
	route, ok := findGitHubRoute(req)
	if !ok {
		d.Reason = "no entry can allow this: it is none of the known operations on a repository"
		return
	}
	name, err := route.read(req, repo, body)
	if err != nil {
		d.Operation, d.Reason = "github "+route.name+" "+strings.Join(repo, "/"), err.Error()
		return
	}
	g.allow(d, repo, name)
}

func readsForeign(p Path) bool {
	text := strings.TrimSuffix(lowerASCII(strings.Join(p.Segments[3:], "/")), "/")
	if strings.HasPrefix(text, "compare/") && strings.Contains(text, ":") {
		return true // a fork's branch, "OWNER:BRANCH"
	}
	below := strings.Split(text, "/")
	return slices.ContainsFunc(githubForeignReads, func(pattern string) bool { return matchPattern(strings.Split(pattern, "/"), below) })
}

func findGitHubRoute(req *Request) (githubRoute, bool) {
	if req.Path.Slashes {
		return githubRoute{}, false
	}
	for _, route := range githubRoutes {
		host := githubAPI.Name
		if route.uploads {
			host = githubUploads.Name
		}
		if route.method == req.Method && host == req.Host && (req.Query == "" || route.uploads) &&
			matchPattern(strings.Split(route.pattern, "/"), req.Path.Segments[3:]) {
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
	members, err := strictjson.Object(text)
	if err != nil {
		return "", err
	}
	return r.check(repo, members)
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
