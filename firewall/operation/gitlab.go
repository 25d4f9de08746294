package operation

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// gitlab is what "gitlab:GROUP/PROJECT mergerequests.create" entries allow at GitLab's
// REST API. Each allows reading the project.
type gitlab struct{ entries []gitlabEntry }

// gitlabEntry is one of them.
type gitlabEntry struct {
	text    string
	host    Host
	project string // lower case, with its groups: "acme/tools/app"
	does    []string
}

const gitlabForm = "write it as gitlab:acme/app mergerequests.create, or gitlab:git.example.com/acme/app for a GitLab of your own"

// parseGitLab reads an entry. A first part with a dot is a host.
func parseGitLab(e entry) (parsed gitlabEntry, message, hint string) {
	parsed = gitlabEntry{text: e.text, host: Host{Name: "gitlab.com", Port: webPort}, does: []string{gitlabRead}}
	project := e.target
	if first, rest, _ := strings.Cut(e.target, "/"); strings.Contains(first, ".") {
		if parsed.host, message, hint = parseHost(first); message != "" {
			return parsed, message, hint
		}
		project = rest
	}
	path, err := ParsePath("/" + project)
	if err != nil || path.Slashes || len(path.Segments) < 2 || parsed.host.Wildcard ||
		slices.ContainsFunc(path.Segments, func(s string) bool { return isPartWildcard(s) || s == "*" || s == "-" }) {
		return parsed, fmt.Sprintf("%q names no project", e.text), gitlabForm
	}
	parsed.project = lowerASCII(strings.Join(path.Segments, "/"))
	for _, name := range strings.FieldsFunc(strings.Join(e.words, ","), func(c rune) bool { return c == ',' }) {
		if !slices.Contains(gitlabNames(), name) {
			return parsed, fmt.Sprintf("%q is no operation of gitlab", name), "use " + strings.Join(gitlabNames(), ", ")
		}
		parsed.does = append(parsed.does, name)
	}
	return parsed, "", ""
}

// gitlabNames are the operations that an entry can name.
func gitlabNames() []string {
	names := []string{gitlabRead}
	for _, route := range gitlabRoutes {
		names = append(names, route.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (g gitlabEntry) hosts() []Host { return []Host{g.host} }

func (g gitlabEntry) covers(n gitlabEntry) bool {
	return g.host == n.host && g.project == n.project &&
		!slices.ContainsFunc(n.does, func(name string) bool { return !slices.Contains(g.does, name) })
}

func (g gitlabEntry) words() (text string, reads bool) {
	text = "GitLab's API at " + g.host.Name + ": read " + g.project
	writes := slices.DeleteFunc(slices.Clone(g.does), func(name string) bool { return name == gitlabRead })
	if len(writes) == 0 {
		return text, true
	}
	return text + ", and there " + strings.Join(writes, " and "), false
}

func (g *gitlab) judge(_ *Memory, req *Request, body *Body) Decision {
	segments := req.Path.Segments
	if segments[0] != "api" {
		return Decision{}
	}
	d := Decision{Operation: "gitlab " + req.Method + " " + req.Path.Raw}
	switch err := checkGitLabRequest(req); {
	case err != nil:
		d.Reason = err.Error()
	case req.Method == http.MethodGet && slices.Contains(gitlabCommonReads, req.Path.Raw):
		i := slices.IndexFunc(g.entries, func(e gitlabEntry) bool { return e.host.Matches(req.Host, req.Port) })
		d.Allowed, d.Rule, d.Reason = true, g.entries[i].text, "every client of the API asks for this"
	case len(segments) >= 4 && segments[1] == "v4" && segments[2] == "projects" && strings.Contains(segments[3], "/"):
		g.judgeProject(&d, req, body)
	default:
		d.Reason = "entries of gitlab are for projects, and this is none that can be told: their path is projects/GROUP%2FPROJECT, and no number"
	}
	if !d.Allowed {
		d.Answer = githubRefusal(&d)
	}
	return d
}

// checkGitLabRequest refuses what makes GitLab take a request for another method's or
// user's.
func checkGitLabRequest(req *Request) error {
	if override := overrideParameter(req.Query); override != "" {
		return errors.New(override + " names another method than the request's")
	}
	as := len(req.Header["Sudo"]) > 0
	for parameter := range strings.FieldsFuncSeq(req.Query, isSeparator) {
		name, _, _ := strings.Cut(parameter, "=")
		name = lowerASCII(decodedName(name))
		as = as || strings.HasPrefix(name, "sudo")
		if strings.HasPrefix(name, "from_project") {
			return errors.New("the answer may hold what is in other projects, and an entry is for one alone")
		}
	}
	if as {
		return errors.New("sudo makes the request another user's")
	}
	return nil
}

// judgeProject decides about "/api/v4/projects/GROUP%2FPROJECT/…".
func (g *gitlab) judgeProject(d *Decision, req *Request, body *Body) {
	project, below := lowerASCII(req.Path.Segments[3]), req.Path.Segments[4:]
	matches := func(pattern string) bool { return matchPattern(strings.Split(pattern, "/"), below) }
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		switch {
		case isClosedGitLabRead(below):
			d.Reason = "the answer may hold secrets, or what is in other projects"
		case len(below) == 0 || slices.ContainsFunc(gitlabReads, matches):
			g.allow(d, req, project, gitlabRead)
		default:
			d.Reason = "no entry can allow this: it is none of the known ways to read a project"
		}
		return
	}
	i := slices.IndexFunc(gitlabRoutes, func(r gitlabRoute) bool { return r.method == req.Method && req.Query == "" && matches(r.pattern) })
	if i < 0 {
		d.Reason = "no entry can allow this: it is none of the known operations on a project"
		return
	}
	if err := gitlabRoutes[i].check(req, body); err != nil {
		d.Operation, d.Reason = "gitlab "+gitlabRoutes[i].name+" "+project, err.Error()
		return
	}
	g.allow(d, req, project, gitlabRoutes[i].name)
}

// isClosedGitLabRead reads a path as servers do that decode slashes before they look for the route.
// The end of it may name a format, as in "variables.json".
func isClosedGitLabRead(segments []string) bool {
	below := strings.Split(lowerASCII(strings.Join(segments, "/")), "/")
	last := len(below) - 1
	below[last], _, _ = strings.Cut(below[last], ".")
	return slices.ContainsFunc(gitlabClosedReads, func(pattern string) bool { return matchPattern(strings.Split(pattern, "/"), below) })
}

// allow decides about an operation on a project.
func (g *gitlab) allow(d *Decision, req *Request, project, name string) {
	d.Operation = "gitlab " + name + " " + project
	for _, e := range g.entries {
		if e.host.Matches(req.Host, req.Port) && e.project == project && slices.Contains(e.does, name) {
			d.Allowed, d.Rule, d.Reason = true, e.text, "the entry names this operation and project"
			return
		}
	}
	d.Reason = "no entry allows " + name + " on " + project + " at " + req.Host
	d.Wants = "gitlab:" + hostText(req) + "/" + project + " " + name
	if _, problems := Compile([]string{d.Wants}); len(problems) > 0 {
		d.Wants = ""
	}
}

// check reads the body of a request that writes: members that the route knows, and no
// text in which GitLab finds a command.
func (r gitlabRoute) check(req *Request, body *Body) error {
	if len(req.Header["Content-Encoding"]) > 0 {
		return errCoding
	}
	text, err := body.Whole(maxAPIBody)
	if err != nil || len(text) == 0 {
		return err
	}
	if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return errors.New("the body is no JSON, and GitLab reads other forms in ways that are not known here")
	}
	members, err := body.parse(text)
	if err != nil {
		return err
	}
	for name, value := range members {
		if !r.members[name] {
			return fmt.Errorf("the member %q is not known for %s: it could name another project", name, r.name)
		}
		if text, ok := value.(string); ok && (name == "body" || name == "description") && hasQuickAction(text) {
			return errors.New(`a line of the text begins with "/", as GitLab's commands do, such as /close and /move`)
		}
	}
	return nil
}

// hasQuickAction reports whether a line of a text could be one of GitLab's quick
// actions, with which a comment closes, moves or merges.
func hasQuickAction(text string) bool {
	isEnd := func(c rune) bool { return c != '\t' && unicode.IsControl(c) || c == '\u2028' || c == '\u2029' }
	for line := range strings.FieldsFuncSeq(text, isEnd) {
		line = strings.TrimLeftFunc(line, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsGraphic(c) })
		if strings.HasPrefix(line, "/") {
			return true
		}
	}
	return false
}
