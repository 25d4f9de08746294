package operation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// git is what "git:HOST/OWNER/REPO …" entries allow.
type git struct{ entries []gitEntry }

// gitEntry is one of them.
type gitEntry struct {
	text string
	repo repository // "*" as a segment = any
	does gitAct
	refs []string // of push: "refs/heads/main", "refs/heads/agent/*"
}

// gitAct is what can be done to a repository over HTTP. Each entry allows
// fetching, for a client fetches before it pushes.
type gitAct string

const (
	gitFetch     gitAct = "fetch"
	gitPush      gitAct = "push"
	gitLFS       gitAct = "lfs"
	gitLFSPush   gitAct = "lfs push"
	gitAnnounce  gitAct = "announce" // the refs that a push would meet
	gitDumb      gitAct = "dumb"
	gitMalformed gitAct = "malformed"
)

// repository is a repository at a host.
type repository struct {
	host Host
	path []string // without ".git"; lower case where the host does not tell cases apart
}

const gitForm = "write it as git:github.com/acme/app, with push refs/heads/agent/*, lfs or lfs push behind it for more than fetching"

func parseGit(e entry) (parsed gitEntry, message, hint string) {
	name, path, _ := strings.Cut(e.target, "/")
	host, message, hint := parseHost(name)
	if message != "" {
		return parsed, message, hint
	}
	if host.Wildcard {
		return parsed, fmt.Sprintf("%q names no one host", e.text), gitForm
	}
	read, err := ParsePath("/" + path)
	if err != nil || read.Slashes || slices.ContainsFunc(read.Segments, isPartWildcard) {
		return parsed, fmt.Sprintf("%q names no repository", e.text), gitForm
	}
	parsed = gitEntry{text: e.text, repo: newRepository(host, read.Segments), does: gitFetch}
	if twoSegments(host.Name) && len(parsed.repo.path) != 2 {
		return parsed, fmt.Sprintf("%q names no repository of %s", e.text, host.Name), "its repositories are OWNER/REPO"
	}
	return parsed.parseWords(e.words)
}

func (g gitEntry) hosts() []Host { return []Host{g.repo.host} }

func (g gitEntry) covers(n gitEntry) bool {
	if g.repo.host != n.repo.host || len(g.repo.path) != len(n.repo.path) || !matchSegments(g.repo.path, n.repo.path) {
		return false
	}
	switch n.does {
	case gitFetch:
		return true
	case gitLFS:
		return g.does == gitLFS || g.does == gitLFSPush
	case gitPush:
		return g.does == gitPush && !slices.ContainsFunc(n.refs, func(ref string) bool { return !matchRef(g.refs, ref) })
	}
	return g.does == n.does
}

func (g gitEntry) words() (text string, reads bool) {
	read := "git: read " + strings.Join(g.repo.path, "/")
	at := " at " + g.repo.host.Name
	switch g.does {
	case gitPush:
		return read + at + ", and push to " + strings.Join(g.refs, " and ") + " there", false
	case gitLFS:
		return read + " and its large files" + at, true
	case gitLFSPush:
		return read + at + ", and upload large files there", false
	}
	return read + at, g.does == gitFetch
}

func (g gitEntry) parseWords(words []string) (_ gitEntry, message, hint string) {
	switch {
	case len(words) == 0, slices.Equal(words, []string{"read"}):
		return g, "", ""
	case slices.Equal(words, []string{"lfs"}):
		g.does = gitLFS
		return g, "", ""
	case slices.Contains(g.repo.path, "*"):
		return g, fmt.Sprintf("%q writes to any repository", g.text), "name one repository; * is for reading"
	case slices.Equal(words, []string{"lfs", "push"}):
		g.does = gitLFSPush
		return g, "", ""
	case words[0] != "push":
		return g, fmt.Sprintf("%q is nothing that git does", words[0]), gitForm
	case len(words) == 1:
		return g, fmt.Sprintf("%q names no refs to push", g.text), gitForm
	}
	g.does = gitPush
	for _, ref := range strings.FieldsFunc(strings.Join(words[1:], ","), func(c rune) bool { return c == ',' }) {
		if message, hint = badRefPattern(ref); message != "" {
			return g, message, hint
		}
		g.refs = append(g.refs, ref)
	}
	return g, "", ""
}

// isPartWildcard reports whether a segment is neither a name nor "*".
func isPartWildcard(segment string) bool {
	return segment == "" || segment != "*" && strings.ContainsAny(segment, "*, ")
}

func badRefPattern(ref string) (message, hint string) {
	whole := strings.TrimSuffix(ref, "*")
	switch {
	case !strings.HasPrefix(ref, "refs/"):
		return fmt.Sprintf("%q is no whole ref", ref), "write it as refs/heads/" + ref
	case strings.Count(ref, "/") < 2:
		return fmt.Sprintf("%q is every kind of ref", ref), "name a kind, as in refs/heads/*"
	case whole != ref && !strings.HasSuffix(whole, "/"), !validRef(strings.TrimSuffix(whole, "/")):
		return fmt.Sprintf("%q is no ref", ref), "* stands at the end, behind a slash"
	}
	return "", ""
}

// caseless are the hosts whose repositories have two segments and are the same in
// any case of letters.
var caseless = []string{"github.com", "gist.github.com"}

func twoSegments(host string) bool { return host == "github.com" }

func newRepository(host Host, segments []string) repository {
	path := slices.Clone(segments)
	last := len(path) - 1
	if cut, ok := cutGit(path[last]); ok {
		path[last] = cut
	}
	if slices.Contains(caseless, host.Name) {
		for i, segment := range path {
			path[i] = lowerASCII(segment)
		}
	}
	return repository{host, path}
}

// cutGit takes ".git" from a repository's name.
func cutGit(name string) (string, bool) {
	cut, ok := strings.CutSuffix(name, ".git")
	return cut, ok && cut != ""
}

// lowerASCII leaves what only Unicode takes for letters of one kind.
func lowerASCII(text string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + ('a' - 'A')
		}
		return c
	}, text)
}

// includes reports whether other is r, "*" in r being any segment.
func (r repository) includes(other repository) bool {
	return r.host == other.host && len(r.path) == len(other.path) && !slices.Contains(other.path, "*") && matchSegments(r.path, other.path)
}

// String writes it as an entry does: "github.com/acme/app".
func (r repository) String() string {
	return hostText(&Request{Host: r.host.Name, Port: r.host.Port}) + "/" + strings.Join(r.path, "/")
}

// entryFor returns the entry that names r with words behind it, or "" when an
// entry cannot name it.
func (r repository) entryFor(words ...string) string {
	e := entry{target: r.String(), words: words}
	e.text = strings.Join(append([]string{"git:" + e.target}, words...), " ")
	again, message, _ := parseGit(e)
	if message != "" || len(e.text) > maxEntry || !again.repo.includes(r) {
		return ""
	}
	return e.text
}

// gitRoute is one request of git over HTTP (gitprotocol-http, git-lfs API).
type gitRoute struct {
	method   string
	end      []string // the last segments of the path, behind the repository's; "*" = any
	query    string   // raw; "*" = any
	bodyType string   // of the request; "" = it has none, or any
	does     gitAct
}

var gitRoutes = []gitRoute{
	{http.MethodGet, []string{"info", "refs"}, "service=git-upload-pack", "", gitFetch},
	{http.MethodGet, []string{"info", "refs"}, "service=git-receive-pack", "", gitAnnounce},
	{http.MethodPost, []string{"git-upload-pack"}, "", "application/x-git-upload-pack-request", gitFetch},
	{http.MethodPost, []string{"git-receive-pack"}, "", "application/x-git-receive-pack-request", gitPush},
	{http.MethodGet, []string{"info", "refs"}, "", "", gitDumb},
	{http.MethodGet, []string{"HEAD"}, "", "", gitDumb},
	{http.MethodGet, []string{"objects", "*", "*"}, "", "", gitDumb},
}

// gitCall is a request, understood.
type gitCall struct {
	repo repository
	does gitAct
}

// parseGitCall finds the route of a request. One whose path alone is git's is
// malformed; ok is false for every other.
func parseGitCall(req *Request) (call gitCall, ok bool) {
	host := Host{Name: req.Host, Port: req.Port}
	for _, route := range slices.Concat(gitRoutes, lfsRoutes) {
		cut := len(req.Path.Segments) - len(route.end)
		if cut < 1 || req.Path.Slashes || !matchSegments(route.end, req.Path.Segments[cut:]) {
			continue
		}
		if route.takes(req) {
			return gitCall{newRepository(host, req.Path.Segments[:cut]), route.does}, true
		}
		if !ok {
			call, ok = gitCall{newRepository(host, req.Path.Segments[:cut]), gitMalformed}, true
		}
	}
	return call, ok
}

// takes reports whether a request with the route's path is the route's.
func (r gitRoute) takes(req *Request) bool {
	if r.method != req.Method || r.query != "*" && r.query != req.Query {
		return false
	}
	types := req.Header["Content-Type"]
	if r.bodyType == "" || len(types) != 1 {
		return r.bodyType == ""
	}
	name, _, _ := strings.Cut(types[0], ";")
	return name == r.bodyType
}

func (g *git) judge(m *Memory, req *Request, body *Body) Decision {
	call, ok := parseGitCall(req)
	if !ok {
		return Decision{}
	}
	d := Decision{Operation: "git " + string(call.does) + " " + call.repo.String()}
	switch call.does {
	case gitMalformed:
		d.Operation = "git " + req.Method + " " + call.repo.String()
		d.Reason = "git sends no such request"
	case gitDumb:
		d.Operation = "git fetch " + call.repo.String()
		d.Reason = "git's dumb protocol is not allowed: the server must speak the smart one"
	case gitAnnounce:
		d.Operation = "git push " + call.repo.String()
		g.allow(&d, call.repo, "push", "refs/heads/*")
	case gitPush:
		g.judgePush(&d, m, call.repo, req, body)
	case gitLFS, gitLFSPush:
		g.judgeLFS(&d, call, req, body)
	default:
		g.allow(&d, call.repo)
	}
	return d
}

// allow decides by the first entry of one of the kinds, or of any when none is
// given, that names the repository. words are of the entry that would allow it.
func (g *git) allow(d *Decision, repo repository, words ...string) {
	g.allowActs(d, repo, []gitAct{gitFetch, gitPush, gitLFS, gitLFSPush}, words...)
}

func (g *git) allowActs(d *Decision, repo repository, acts []gitAct, words ...string) {
	for _, e := range g.entries {
		if slices.Contains(acts, e.does) && e.repo.includes(repo) {
			d.Allowed, d.Rule, d.Reason = true, e.text, "the entry names this repository"
			return
		}
	}
	d.Reason, d.Wants = "no entry allows "+d.Operation, repo.entryFor(words...)
}
