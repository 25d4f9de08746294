package operation

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// registries is what the entries of one kind of registry allow: "npm:read" for the
// public one, "npm:npm.example.com/team read" for another.
type registries struct {
	kind  *registryKind
	sites []registrySite
}

// registryKind is one protocol of packages, as data.
type registryKind struct {
	word   string
	public []registrySite
	data   map[string][]string // hosts to which a named registry leads for its files
	routes []registryRoute

	// tokens says that clients ask for a token for each package, and then send that.
	tokens bool

	// segments reads a path whose segments hold slashes; nil refuses it.
	segments func(Path) []string

	// refusal is a text that the kind's clients show; nil = they show a plain one.
	refusal func(message string) any
}

// registrySite is a host of a registry, and the path below which it is.
type registrySite struct {
	text   string // the entry
	host   Host
	prefix []string
	files  bool // it serves files alone, at paths of any form
}

// registryRoute is one request of a protocol.
type registryRoute struct {
	method  string // GET means HEAD as well
	pattern string // segments as path.Match has them; "**" = one or more
	query   string // "" = none; "*" = any
	name    string // of the operation, for people
	writes  bool   // known, and refused: a download it is not

	// check refuses by what else the request says; nil = nothing more to check.
	check func(req *Request, body *Body) error
}

func (k *registryKind) asKind() kind {
	return newKind(k.word, k.parse, func(all []registryEntry) service {
		r := &registries{kind: k}
		for _, e := range all {
			r.sites = append(r.sites, e.sites...)
		}
		return r
	})
}

// registryEntry is an entry of a kind with the sites that it opens.
type registryEntry struct {
	kind, target string
	sites        []registrySite
}

func (k *registryKind) parse(e entry) (parsed registryEntry, message, hint string) {
	parsed = registryEntry{kind: k.word, target: e.target}
	hint = fmt.Sprintf("write it as %s:read, or %s:HOST read for a registry of your own", k.word, k.word)
	switch {
	case e.target == "read" && len(e.words) == 0:
		for _, s := range k.public {
			s.text = e.text
			parsed.sites = append(parsed.sites, s)
		}
		return parsed, "", ""
	case !slices.Equal(e.words, []string{"read"}):
		return parsed, fmt.Sprintf("%q names something else than reading", e.text), hint
	}
	name, below, hasPath := strings.Cut(e.target, "/")
	host, message, hostHint := parseHost(name)
	switch {
	case message != "":
		return parsed, message, hostHint
	case host.Wildcard:
		return parsed, fmt.Sprintf("%q names no one host", e.text), hint
	}
	site := registrySite{text: e.text, host: host}
	if hasPath {
		read, err := ParsePath("/" + below)
		if err != nil || read.Slashes || slices.ContainsFunc(read.Segments, isPartWildcard) || slices.Contains(read.Segments, "*") {
			return parsed, fmt.Sprintf("%q names no path of a registry", e.text), hint
		}
		site.prefix = read.Segments
	}
	parsed.sites = append(parsed.sites, site)
	for _, name := range k.data[host.Name] {
		host, _, _ := parseHost(name)
		parsed.sites = append(parsed.sites, registrySite{text: e.text, host: host, files: true})
	}
	return parsed, "", ""
}

func (e registryEntry) hosts() (all []Host) {
	for _, s := range e.sites {
		all = append(all, s.host)
	}
	return all
}

func (e registryEntry) covers(narrow registryEntry) bool {
	return !slices.ContainsFunc(narrow.sites, func(one registrySite) bool {
		return !slices.ContainsFunc(e.sites, func(other registrySite) bool { return other.covers(one) })
	})
}

func (e registryEntry) words() (text string, reads bool) {
	if e.target == "read" {
		return e.kind + ": download packages", true
	}
	return e.kind + ": download packages at " + e.target, true
}

func (s registrySite) covers(o registrySite) bool {
	return s.host.covers(o.host) && (s.files || !o.files) && slices.Equal(s.prefix, o.prefix)
}

func (r *registries) judge(_ *Memory, req *Request, body *Body) Decision {
	if !slices.ContainsFunc(r.sites, func(s registrySite) bool { return s.holds(req) }) {
		return Decision{}
	}
	d := Decision{Reason: r.kind.word + ":read is for downloads, and this is none that it knows"}
	for _, s := range r.sites {
		if s.host.Matches(req.Host, req.Port) && r.decide(&d, s, req, body) {
			break
		}
	}
	if !d.Allowed && r.kind.refusal != nil {
		d.Answer = jsonAnswer(r.kind.refusal("sandbox: " + d.Reason))
	}
	return d
}

// holds reports whether a request is for what is below the site's path. Other registries
// may be at the same host, below theirs.
func (s registrySite) holds(req *Request) bool {
	n := len(s.prefix)
	return s.host.Matches(req.Host, req.Port) && len(req.Path.Segments) >= n && slices.Equal(req.Path.Segments[:n], s.prefix)
}

// decide decides by one site. ok says that it is certain: no other site allows it.
func (r *registries) decide(d *Decision, s registrySite, req *Request, body *Body) (ok bool) {
	route, ok := r.kind.route(s, req)
	if !ok {
		return false
	}
	d.Operation = r.kind.word + " " + route.name + " " + req.Path.Raw
	if route.writes {
		d.Reason = r.kind.word + ":read is for downloads, and this is " + route.name
		return true
	}
	if route.check != nil {
		if err := route.check(req, body); err != nil {
			d.Reason = err.Error()
			return true
		}
	}
	d.Allowed, d.Rule, d.Reason = true, s.text, "the entry allows downloads"
	d.Keyless = s.files || r.kind.tokens && hasBearer(req)
	return true
}

func hasBearer(req *Request) bool {
	scheme, _, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "bearer")
}

var filesRoute = registryRoute{name: "download"}

// route finds the request in the kind's table.
func (k *registryKind) route(s registrySite, req *Request) (route registryRoute, ok bool) {
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if s.files {
		return filesRoute, method == http.MethodGet
	}
	segments := req.Path.Segments
	if req.Path.Slashes {
		if k.segments == nil {
			return route, false
		}
		segments = k.segments(req.Path)
	}
	if len(segments) <= len(s.prefix) || !slices.Equal(segments[:len(s.prefix)], s.prefix) {
		return route, false
	}
	for _, route := range k.routes {
		if route.method == method && (route.query == "*" || req.Query == "" || route.writes) &&
			matchPattern(strings.Split(route.pattern, "/"), segments[len(s.prefix):]) {
			return route, true
		}
	}
	return route, false
}

// matchPattern matches segments by path.Match, and "**" by one or more of them. A
// segment that is empty matches "" alone.
func matchPattern(pattern, segments []string) bool {
	if len(pattern) == 0 || len(segments) == 0 {
		return len(pattern) == len(segments)
	}
	if pattern[0] == "**" {
		if segments[0] == "" {
			return false
		}
		return matchPattern(pattern[1:], segments[1:]) || matchPattern(pattern, segments[1:])
	}
	if segments[0] == "" || pattern[0] == "" {
		return segments[0] == pattern[0] && matchPattern(pattern[1:], segments[1:])
	}
	ok, err := path.Match(pattern[0], segments[0])
	return ok && err == nil && matchPattern(pattern[1:], segments[1:])
}
