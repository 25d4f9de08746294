package relay

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/firewall/operation"
)

// maxFields bounds the fields of a request's head.
const maxFields = 128

// unread is why a request was not judged: it can be read in more than one way, or
// asks for what no request may.
type unread struct {
	status int
	reason string
}

func (u *unread) Error() string { return u.reason }

func unreadable(format string, args ...any) *unread {
	return &unread{http.StatusForbidden, fmt.Sprintf(format, args...)}
}

// readRequest reads the head of a request to name and port, as the judges have it.
func readRequest(r *http.Request, name string, port uint16) (*operation.Request, *unread) {
	if err := checkAuthority(r, name, port); err != nil {
		return nil, err
	}
	method := r.Method
	switch r.Method {
	case http.MethodConnect, http.MethodTrace, operation.WebSocket:
		return nil, unreadable("%s is no operation", r.Method)
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		// There are servers that overlook it, and take it for the next request.
		if r.ContentLength != 0 {
			return nil, unreadable("a %s request has a body", r.Method)
		}
	}
	if err := checkFields(r); err != nil {
		return nil, err
	}
	if len(r.Header["Upgrade"]) > 0 {
		if err := checkWebSocket(r); err != nil {
			return nil, err
		}
		method = operation.WebSocket
	}
	target, query, _ := strings.Cut(r.RequestURI, "?")
	path, err := operation.ParsePath(target)
	if err != nil {
		return nil, unreadable("%v", err)
	}
	if i := strings.IndexFunc(query, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }); i >= 0 {
		return nil, unreadable("the query holds a byte that must be encoded")
	}
	return &operation.Request{Host: name, Port: port, Method: method, Path: path, Query: query, Header: r.Header}, nil
}

// checkAuthority holds Host and :authority against the name that the connection
// is for. HTTP/2 clients may ask over one connection for every name of its
// certificate (RFC 9113 section 9.1.1), and ours has one.
func checkAuthority(r *http.Request, name string, port uint16) *unread {
	for _, h := range r.Header["Host"] { // HTTP/2; in HTTP/1.1 there is one, and it is taken out
		if h != r.Host {
			return unreadable("the request names two hosts, %q and %q", r.Host, h)
		}
	}
	host, number, found := strings.Cut(r.Host, ":")
	if !found {
		number = "443"
	}
	if !strings.EqualFold(host, name) || number != strconv.Itoa(int(port)) {
		reason := fmt.Sprintf("the request is for %q on a connection to %s", r.Host, authorityOf(name, port))
		return &unread{http.StatusMisdirectedRequest, reason}
	}
	return nil
}

// authorityOf is how a request to a name names it.
func authorityOf(name string, port uint16) string {
	if port == 443 {
		return name
	}
	return name + ":" + strconv.Itoa(int(port))
}

// steering are fields by which a server takes a request for one with another
// method, path or host, or writes elsewhere (RFC 4918 section 10.3), as plainField writes them.
var steering = []string{
	"forwarded", "x-forwarded-host", "x-forwarded-prefix", "x-forwarded-uri", "x-forwarded-path", "x-forwarded-server", "x-forwarded-method",
	"x-host", "x-original-host", "x-original-method", "x-original-uri", "x-original-url", "x-rewrite-url", "x-rewrite-uri",
	"x-http-host-override",
	"x-http-method", "x-http-method-override", "x-method-override", "x-envoy-original-path", "x-envoy-original-host", "destination",
}

// copying are the ends of fields by which stores of objects take the content from another path:
// x-amz-copy-source, x-ms-rename-source and their like.
var copying = []string{"-copy-source", "-rename-source"}

// single are fields of which a server may take the first or the last, or another spelling.
var single = []string{
	"authorization", "content-type", "content-encoding", "content-length", "transfer-encoding", "host", "git-protocol", "if-match", "range",
}

// plainField is the name of a field as servers may read it that make a variable of it: in CGI
// (RFC 3875 section 4.1.18) "-" and "_" are one letter, and for some servers each sign is.
func plainField(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z':
			return c + ('a' - 'A')
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			return c
		}
		return '-'
	}, name)
}

func checkFields(r *http.Request) *unread {
	count := 0
	for field, values := range r.Header {
		count += len(values)
		plain := plainField(field)
		switch {
		case slices.Contains(steering, plain), slices.ContainsFunc(copying, func(end string) bool { return strings.HasSuffix(plain, end) }):
			return unreadable("%s makes servers take the request for another one", field)
		case !slices.Contains(single, plain):
		case len(values) > 1:
			return unreadable("the request has %s more than once", field)
		case !strings.EqualFold(field, plain):
			return unreadable("servers may read the field %s as %s", field, plain)
		}
	}
	switch {
	case count > maxFields:
		return &unread{http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the request has more than %d fields", maxFields)}
	case len(r.Trailer) > 0:
		return unreadable("the request has fields behind its body")
	}
	for _, option := range strings.Split(strings.Join(r.Header["Connection"], ","), ",") {
		switch strings.ToLower(strings.TrimSpace(option)) {
		case "", "close", "keep-alive", "te":
		case "upgrade":
			if len(r.Header["Upgrade"]) == 0 {
				return unreadable("the request asks to leave HTTP and names no protocol")
			}
		default:
			return unreadable("the field Connection names %q", strings.TrimSpace(option))
		}
	}
	return nil
}
