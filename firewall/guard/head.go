package guard

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxHead bounds the head of an HTTP request, in bytes. Servers take 8 to 64 KiB.
const maxHead = 64 << 10

// maxFields bounds a head's fields. Servers refuse more than 100 to 200, and some
// overlook those behind the first 2,000, Host among them.
const maxFields = 1000

// chunked is the length of a body that says itself where it ends.
const chunked = -1

// head is what the guard understands of an HTTP/1 request's head.
type head struct {
	host      string // canonical
	port      uint16 // as in Host; 0 = not given
	spelt     string // Host as it arrived
	length    int64  // of the body in bytes; 0 = none, or chunked
	websocket string // Sec-WebSocket-Key of a request that wants to leave HTTP for WebSocket; "" = it does not
	upgrade   bool   // the request wants to leave HTTP for anything
}

var (
	errNoHTTP   = errors.New("the client sent neither TLS nor HTTP/1")
	errHTTP2    = errors.New("HTTP/2 without TLS is not let through, because the guard could not read the host of each request")
	errConnect  = errors.New("CONNECT is not let through: the guard is no proxy")
	errNoHost   = errors.New("the request has no Host")
	errTwoHosts = errors.New("the request has more than one Host")
	errBareLF   = errors.New("a line does not end with CR LF")
)

// headEnd returns the length of the head that b begins with, its empty line
// included, or 0 when it is not complete yet. from is where the last call,
// with less of the same bytes, left off.
func headEnd(b []byte, from int) (int, error) {
	for i := from; i < len(b); i++ {
		if b[i] != '\n' {
			continue
		}
		// Some servers end a line, and so the head, where there is only LF.
		if i == 0 || b[i-1] != '\r' {
			return 0, errBareLF
		}
		if i >= 3 && b[i-2] == '\n' {
			return i + 1, nil
		}
	}
	if len(b) > maxHead {
		return 0, fmt.Errorf("the request's head is larger than %d bytes", maxHead)
	}
	return 0, nil
}

// parseHead understands a whole head as headEnd cuts it. It accepts less than
// servers do: whatever two programs could read in two ways is refused.
func parseHead(b []byte) (head, error) {
	var h head
	if !bytes.HasSuffix(b, []byte("\r\n\r\n")) {
		return h, errNoHTTP
	}
	first, fields, _ := strings.Cut(string(b[:len(b)-2]), "\r\n")
	method, target, minor, err := parseRequestLine(first)
	if err != nil {
		return h, err
	}
	var lengths, codings, hosts, upgrades, keys []string
	for n := 0; fields != ""; n++ {
		if n == maxFields {
			return h, fmt.Errorf("the request has more than %d fields", maxFields)
		}
		var line string
		line, fields, _ = strings.Cut(fields, "\r\n")
		name, value, err := parseField(line)
		if err != nil {
			return h, err
		}
		switch strings.ToLower(name) {
		case "host":
			hosts = append(hosts, value)
		case "content-length":
			lengths = append(lengths, value)
		case "transfer-encoding":
			codings = append(codings, value)
		case "upgrade":
			upgrades = append(upgrades, value)
		case "sec-websocket-key":
			keys = append(keys, value)
		case "connection":
			err = checkConnection(value)
		case "expect":
			err = checkExpect(value)
		}
		if err != nil {
			return h, err
		}
	}
	h.upgrade = len(upgrades) > 0
	if len(upgrades) == 1 && strings.EqualFold(upgrades[0], "websocket") && len(keys) == 1 && minor != '0' {
		h.websocket = keys[0]
	}
	switch len(hosts) {
	case 0:
		return h, errNoHost
	case 1:
	default:
		return h, errTwoHosts
	}
	h.spelt = hosts[0]
	if h.host, h.port, err = parseHost(h.spelt); err != nil {
		return h, err
	}
	if err := checkTarget(method, target, h); err != nil {
		return h, err
	}
	h.length, err = bodyLength(lengths, codings, minor)
	return h, err
}

func parseRequestLine(line string) (method, target string, minor byte, err error) {
	method, rest, ok := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	switch {
	case !ok || !ok2 || !isToken(method):
		return "", "", 0, errNoHTTP
	case version == "HTTP/2.0":
		return "", "", 0, errHTTP2
	case version != "HTTP/1.1" && version != "HTTP/1.0":
		return "", "", 0, errNoHTTP
	case method == "CONNECT":
		return "", "", 0, errConnect
	}
	if target == "" {
		return "", "", 0, errors.New("the request has no target")
	}
	for i := range len(target) {
		if target[i] <= ' ' || target[i] == 0x7f {
			return "", "", 0, fmt.Errorf("the request's target has the character %q", rune(target[i]))
		}
	}
	return method, target, version[len(version)-1], nil
}

// parseField reads one line of the head. A line that begins with a space would
// continue the one before in old servers (RFC 9112 section 5.2), and a space
// before the colon makes some overlook the field (section 5.1).
func parseField(line string) (name, value string, err error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || !isToken(name) {
		return "", "", fmt.Errorf("the request has the malformed line %q", shorten(line))
	}
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return "", "", fmt.Errorf("the request's field %s has the character %q", name, rune(c))
		}
	}
	return name, value, nil
}

// checkConnection refuses a request that asks the next server to drop, before it
// passes the request on (RFC 9110 section 7.6.1), a field that says where the
// request goes or ends.
func checkConnection(value string) error {
	for option := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.Trim(option, " \t")) {
		case "host", "content-length", "transfer-encoding":
			return fmt.Errorf("the request's Connection names %s", shorten(option))
		}
	}
	return nil
}

// checkExpect accepts the one expectation that there is. Servers have taken
// others for it, answered, and read the body as a further request.
func checkExpect(value string) error {
	if !strings.EqualFold(value, "100-continue") {
		return fmt.Errorf("the request expects %q", shorten(value))
	}
	return nil
}

// parseHost reads Host, or the authority of a target.
func parseHost(s string) (string, uint16, error) {
	name, digits, hasPort := s, "", false
	if !strings.HasPrefix(s, "[") { // an IPv6 address is no name anyway
		name, digits, hasPort = strings.Cut(s, ":")
	}
	if name == "" {
		return "", 0, errNoHost
	}
	host, err := plainName(name)
	if err != nil || !hasPort || digits == "" {
		return host, 0, err
	}
	port, ok := decimal(digits)
	if !ok || port == 0 || port > 0xffff {
		return "", 0, fmt.Errorf("the request's host has the port %q", shorten(digits))
	}
	return host, uint16(port), nil
}

// checkTarget accepts a path, "*" for OPTIONS, and a whole URL when it leads
// to the same place as Host: of the two, servers take one or the other.
func checkTarget(method, target string, h head) error {
	if target[0] == '/' || target == "*" && method == "OPTIONS" {
		return nil
	}
	const scheme = "http://"
	if len(target) < len(scheme) || !strings.EqualFold(target[:len(scheme)], scheme) {
		return fmt.Errorf("the request's target %q is neither a path nor an http URL", shorten(target))
	}
	// Some servers take what stands before the first slash, whatever it is, and
	// compare it letter by letter.
	authority, _, _ := strings.Cut(target[len(scheme):], "/")
	host, _, err := parseHost(authority)
	if err != nil {
		return fmt.Errorf("the request's target: %w", err)
	}
	if host != h.host || authority != h.authority() {
		return fmt.Errorf("the request's target and its Host name different places, or not in the usual spelling: %q and %q",
			shorten(authority), h.host)
	}
	return nil
}

// authority is the usual spelling of what Host says.
func (h head) authority() string {
	const defaultPort = 80 // of http
	if h.port == 0 || h.port == defaultPort {
		return h.host
	}
	return h.host + ":" + strconv.Itoa(int(h.port))
}

// bodyLength says how far the body goes (RFC 9112 section 6.3), where there is
// exactly one way to read it.
func bodyLength(lengths, codings []string, minor byte) (int64, error) {
	switch {
	case len(codings) > 0 && len(lengths) > 0:
		return 0, errors.New("the request has both Content-Length and Transfer-Encoding")
	case len(codings) > 1 || len(codings) == 1 && !strings.EqualFold(codings[0], "chunked"):
		return 0, errors.New("the request's Transfer-Encoding is not just \"chunked\"")
	case len(codings) == 1 && minor == '0':
		return 0, errors.New("an HTTP/1.0 request cannot be chunked")
	case len(codings) == 1:
		return chunked, nil
	case len(lengths) == 0:
		return 0, nil
	case len(lengths) > 1:
		return 0, errors.New("the request has more than one Content-Length")
	}
	n, ok := decimal(lengths[0])
	if !ok {
		return 0, fmt.Errorf("the request's Content-Length is %q", shorten(lengths[0]))
	}
	return n, nil
}

// decimal reads digits and nothing else, up to 2^63-1.
func decimal(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// isToken reports whether s is a token of RFC 9110 section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter, digit := 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9'
		if !letter && !digit && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// shorten keeps what a message repeats of a request short.
func shorten(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// rewritten is a head as it is passed on: as it arrived, but for two things. Host
// is in the usual spelling, because servers have taken "ok.test.", "OK.test" or
// "ok.test:80" for none of their sites, and so for the first one. Without upgrade,
// the fields by which a request asks to leave HTTP are removed; a server then
// answers in HTTP, as it may do anyway (RFC 9110 section 7.8).
func (h head) rewritten(b []byte, upgrade bool) []byte {
	if h.spelt == h.authority() && (upgrade || !h.upgrade) {
		return b
	}
	kept := make([]byte, 0, len(b))
	for line := range bytes.SplitAfterSeq(b, []byte("\r\n")) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		switch strings.ToLower(string(name)) {
		case "host":
			kept = append(append(append(kept, name...), ": "+h.authority()...), "\r\n"...)
		case "upgrade", "http2-settings":
			if upgrade {
				kept = append(kept, line...)
			}
		default:
			kept = append(kept, line...)
		}
	}
	return kept
}
