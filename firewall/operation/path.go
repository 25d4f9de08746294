package operation

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Path is the path of a request, read once from its raw bytes.
type Path struct {
	Raw      string   // as sent, and as it is passed on
	Segments []string // decoded; the last one is "" when Raw ends in "/"

	// Slashes says that a segment holds an encoded "/", as in the names of npm's
	// scoped packages. Servers differ in how they read it: a kind that does not
	// know better refuses it.
	Slashes bool
}

// maxPath bounds a path, in bytes.
const maxPath = 8 << 10

var (
	errPathStart   = errors.New(`the path does not begin with "/"`)
	errPathLong    = errors.New("the path is too long")
	errPathByte    = errors.New("the path holds a byte that must be encoded")
	errPathEscape  = errors.New("the path holds an incomplete escape")
	errPathTwice   = errors.New("the path holds an escape of an escape, or of a byte that servers read differently")
	errPathDots    = errors.New(`the path holds a segment "." or ".."`)
	errPathEmpty   = errors.New("the path holds an empty segment")
	errPathText    = errors.New("the path holds bytes that are no UTF-8, which servers read differently")
	errPathLook    = errors.New("the path holds a character that servers may take for a dot, a slash or another sign of paths")
	errPathParams  = errors.New(`the path holds a segment with ";", which servers read differently`)
	errNotThePath  = errors.New("the request's target is no path")
	errAsteriskURI = errors.New(`the request's target is "*"`)
)

// ParsePath reads the path of a request's target (RFC 3986 section 3.3), without
// its query. It refuses each one that two servers could read in two ways.
func ParsePath(raw string) (Path, error) {
	switch {
	case raw == "*":
		return Path{}, errAsteriskURI
	case strings.Contains(raw, "://"):
		return Path{}, errNotThePath
	case !strings.HasPrefix(raw, "/"):
		return Path{}, errPathStart
	case len(raw) > maxPath:
		return Path{}, errPathLong
	}
	p := Path{Raw: raw}
	parts := strings.Split(raw[1:], "/")
	for i, part := range parts {
		segment, slashes, err := decodeSegment(part)
		switch {
		case err != nil:
			return Path{}, err
		case segment == "" && i < len(parts)-1:
			return Path{}, errPathEmpty
		case hasDots(segment):
			return Path{}, errPathDots
		}
		p.Slashes = p.Slashes || slashes
		p.Segments = append(p.Segments, segment)
	}
	return p, nil
}

// hasDots reports whether a decoded segment, or a part of one between encoded
// slashes, is "." or "..", also with the dots and spaces that Windows leaves out at an end.
func hasDots(segment string) bool {
	for part := range strings.SplitSeq(segment, "/") {
		if strings.HasPrefix(part, ".") && strings.Trim(part, ". ") == "" {
			return true
		}
	}
	return false
}

// lookalikes are what Unicode's compatible forms (NFKC) make a sign of paths.
const lookalikes = "\uff0e\u2024\u2025\ufe52\uff0f\uff3c\ufe68\uff05\ufe6a\uff1b\ufe54\uff1f\ufe56\uff03\ufe5f"

func decodeSegment(part string) (segment string, slashes bool, err error) {
	var out strings.Builder
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case c == ';':
			return "", false, errPathParams
		case c == '%':
			if i+2 >= len(part) {
				return "", false, errPathEscape
			}
			high, low := hexDigit(part[i+1]), hexDigit(part[i+2])
			if high < 0 || low < 0 {
				return "", false, errPathEscape
			}
			i += 2
			switch c = byte(high<<4 | low); {
			case c == '/':
				slashes = true
			case c < 0x20, c == 0x7f, c == '\\', c == '%', c == ';', c == '?', c == '#':
				return "", false, errPathTwice
			}
			out.WriteByte(c)
		case !isPathByte(c):
			return "", false, errPathByte
		default:
			out.WriteByte(c)
		}
	}
	if !utf8.ValidString(out.String()) {
		return "", false, errPathText
	}
	if strings.ContainsAny(out.String(), lookalikes) {
		return "", false, errPathLook
	}
	return out.String(), slashes, nil
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// isPathByte reports whether a path may hold c as it is: RFC 3986's pchar
// without "%" and ";".
func isPathByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-._~!$&'()*+,=:@", c) >= 0
}
