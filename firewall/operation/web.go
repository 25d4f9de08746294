package operation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// web is what "https://HOST METHODS PATHS" entries allow.
type web struct{ entries []webEntry }

// webEntry is one of them: "https://api.example.com GET,HEAD /v1/**".
type webEntry struct {
	text     string
	host     Host
	methods  []string
	patterns []string   // as written
	paths    [][]string // their segments; "*" = one, "**" = any number of them, last only
}

// WebSocket is the Method of a request that asks for a WebSocket (RFC 6455), whose
// messages pass unread. No request has it as its own.
const WebSocket = "WEBSOCKET"

// webMethods are those that an entry can name. CONNECT and TRACE are no
// operation of an API.
var webMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, WebSocket,
}

const webForm = "write it as https://api.example.com GET,HEAD /v1/**"

func parseWeb(e entry) (parsed webEntry, message, hint string) {
	name, ok := strings.CutPrefix(e.target, "//")
	if !ok || name == "" {
		return parsed, fmt.Sprintf("%q names no host", e.text), webForm
	}
	host, message, hint := parseHost(name)
	if message != "" {
		return parsed, message, hint
	}
	if len(e.words) < 2 {
		return parsed, fmt.Sprintf("%q names no methods and paths", e.text), webForm
	}
	parsed = webEntry{text: e.text, host: host, patterns: e.words[1:]}
	for method := range strings.SplitSeq(e.words[0], ",") {
		if !slices.Contains(webMethods, method) {
			return parsed, fmt.Sprintf("%q is no method that an entry can allow", method), "use " + strings.Join(webMethods, ", ")
		}
		parsed.methods = append(parsed.methods, method)
	}
	for _, pattern := range parsed.patterns {
		path, err := ParsePath(pattern)
		if err != nil {
			return parsed, fmt.Sprintf("%q is no path: %v", pattern, err), webForm
		}
		if message, hint := checkPattern(path); message != "" {
			return parsed, message, hint
		}
		parsed.paths = append(parsed.paths, path.Segments)
	}
	return parsed, "", ""
}

// checkPattern refuses paths that are read as no path of a request is. A comma would
// hide the end of an entry in a list.
func checkPattern(path Path) (message, hint string) {
	stars := 0
	for i, segment := range path.Segments {
		stars += strings.Count(segment, "*")
		switch {
		case segment == "**" && i < len(path.Segments)-1:
			return fmt.Sprintf(`%q goes on behind "**"`, path.Raw), `"**" stands at the end, and "*" for one segment`
		case strings.Contains(segment, "*") && segment != "*" && segment != "**":
			return fmt.Sprintf(`%q has a "*" within a segment`, path.Raw), `"*" stands for one whole segment, "**" for all that follow`
		}
	}
	switch {
	case stars != strings.Count(path.Raw, "*"):
		return fmt.Sprintf(`%q has an encoded "*"`, path.Raw), `write "*" for any segment, or leave the path out`
	case strings.Contains(path.Raw, ","):
		return fmt.Sprintf("%q has a comma", path.Raw), "put spaces between paths, each entry on a line of its own, and %2C for a comma in a path"
	}
	return "", ""
}

// maxWants bounds an entry that is offered: one that is cut would be another one.
const maxWants = 250

// wantsWeb is the entry for one request alone; "" when there is none.
func wantsWeb(req *Request) string {
	text := "https://" + hostText(req) + " " + req.Method + " " + req.Path.Raw
	_, problems := Compile([]string{text})
	if len(text) > maxWants || len(problems) > 0 || req.Path.Slashes || strings.ContainsAny(text, `*"'`) {
		return ""
	}
	return text
}

func (w webEntry) hosts() []Host { return []Host{w.host} }

func (w webEntry) covers(n webEntry) bool {
	if !w.host.covers(n.host) {
		return false
	}
	for _, method := range n.methods {
		if !slices.Contains(w.methods, method) {
			return false
		}
	}
	for _, path := range n.paths {
		if !slices.ContainsFunc(w.paths, func(pattern []string) bool { return coversSegments(pattern, path) }) {
			return false
		}
	}
	return true
}

// coversSegments reports whether pattern matches each path that narrow does.
func coversSegments(pattern, narrow []string) bool {
	for i, want := range pattern {
		switch {
		case want == "**":
			return len(narrow) > i
		case i >= len(narrow) || narrow[i] == "**":
			return false
		case want == "*" && narrow[i] != "", want == narrow[i]:
		default:
			return false
		}
	}
	return len(pattern) == len(narrow)
}

func (w webEntry) words() (text string, reads bool) {
	host := w.host.Name
	if w.host.Wildcard {
		host = "any host below " + host
	}
	reads = !slices.ContainsFunc(w.methods, func(m string) bool {
		return m != http.MethodGet && m != http.MethodHead && m != http.MethodOptions
	})
	return strings.Join(w.methods, ", ") + " of " + strings.Join(w.patterns, " and ") + " at " + host, reads
}

func (w *web) judge(_ *Memory, req *Request, _ *Body) Decision {
	d := Decision{Operation: req.Method + " " + req.Path.Raw}
	if override := overrideParameter(req.Query); override != "" {
		d.Reason = override + " names another method than the request's"
		return d
	}
	for _, e := range w.entries {
		if e.host.Matches(req.Host, req.Port) && slices.Contains(e.methods, req.Method) && e.allowsPath(req.Path) {
			d.Allowed, d.Rule, d.Reason = true, e.text, "the entry names this method and path"
			return d
		}
	}
	d.Reason = "no entry allows " + d.Operation + " at " + req.Host
	d.Wants = wantsWeb(req)
	return d
}

// overrideParameter returns the parameter by which a request asks a server to take it for one
// with another method. A Request has no header fields that ask for the same.
func overrideParameter(query string) string {
	for parameter := range strings.FieldsFuncSeq(query, isSeparator) {
		name, _, _ := strings.Cut(parameter, "=")
		if isOverride(name) || isOverride(decodedName(name)) {
			return "the parameter " + name
		}
	}
	return ""
}

func (e webEntry) allowsPath(p Path) bool {
	if p.Slashes {
		return false
	}
	return slices.ContainsFunc(e.paths, func(pattern []string) bool { return matchSegments(pattern, p.Segments) })
}

func matchSegments(pattern, segments []string) bool {
	for i, want := range pattern {
		if want == "**" {
			return len(segments) > i
		}
		if i >= len(segments) || (want != "*" && want != segments[i]) || (want == "*" && segments[i] == "") {
			return false
		}
	}
	return len(pattern) == len(segments)
}

func isSeparator(c rune) bool { return c == '&' || c == ';' }
